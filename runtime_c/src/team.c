/* Blocks that several cores work on: a thread each, with queues of slots between them that wait when they are
 * empty or full. The cores of a block form a team; a team runs one block after another.
 *
 * Each end of a queue counts what its cores have done. A core that must wait looks for a while, then sleeps on the
 * team's condition. When all cores sleep or are done and none can go on, the block is stuck: it is let run to its
 * end over slots that hold nothing, and the launch fails. */
#include "internal.h"

enum { MOST_CORES = PPT_MOST_CORES, MOST_QUEUES = 32 };

typedef struct slot_team slot_team;

typedef struct slot_queue {
  atomic_uint_fast64_t filled[MOST_CORES - 1]; /* by vector core; a queue from the cube uses the first */
  atomic_uint_fast64_t freed[MOST_CORES - 1];
  uint64_t taken[MOST_CORES - 1]; /* each of them is its consumer's own */
} slot_queue;

/* What a core waits for: a free slot of a queue of so many, or with none the next full one. */
typedef struct wish {
  uint32_t queue;
  uint32_t slots;
} wish;

typedef struct team_core {
  ppt_services services; /* first: kernels hand it back */
  slot_team *team;
  uint32_t number; /* 0 the cube, then the vector cores */
  bool asleep;     /* these three under the team's lock */
  bool finished;
  wish wish;
} team_core;

struct slot_team {
  ppt_mutex lock;
  ppt_condition changed;
  team_core cores[MOST_CORES];
  uint32_t core_count;
  uint64_t spin_nanoseconds;
  atomic_uint sleepers;
  atomic_bool stuck;
  uint32_t finished;
  uint64_t round; /* of blocks */
  slot_queue queues[MOST_QUEUES];
  ppt_seat memory; /* of the slots */
};

struct ppt_teams {
  ppt_context *context;
  ppt_pool *pool;
  ppt_mutex lock; /* held by the launch that uses the teams */
  uint32_t count;
  slot_team *teams;
};

/* ---------------------------------------------------------------- queues */

/* Even queues lead from the cube to the vector cores. */
static bool from_vectors(uint32_t number) {
  return number & 1;
}

static uint32_t vector_number(const team_core *self) {
  return self->number ? self->number - 1 : 0;
}

static uint64_t least(const atomic_uint_fast64_t *counts, uint32_t count) {
  uint64_t found = atomic_load(counts);
  for (uint32_t i = 1; i < count; i++) {
    uint64_t other = atomic_load(counts + i);
    if (other < found) found = other;
  }
  return found;
}

static bool is_granted(team_core *self, wish wanted) {
  slot_team *team = self->team;
  slot_queue *queue = team->queues + wanted.queue;
  uint32_t vectors = team->core_count - 1, own = vector_number(self);
  bool many = from_vectors(wanted.queue);
  if (wanted.slots)
    return atomic_load(&queue->filled[own]) - least(queue->freed, many ? 1 : vectors) < wanted.slots;
  return least(queue->filled, many ? vectors : 1) > queue->taken[own];
}

/* With the lock: whether nobody can go on any more. */
static void look_for_stuck(slot_team *team) {
  bool waiting = false;
  for (uint32_t i = 0; i < team->core_count; i++) {
    team_core *each = team->cores + i;
    if (each->finished) continue;
    if (!each->asleep || is_granted(each, each->wish)) return;
    waiting = true;
  }
  if (!waiting) return;
  atomic_store(&team->stuck, true);
  ppt_condition_wake_all(&team->changed);
}

static void wait_for(team_core *self, wish wanted) {
  slot_team *team = self->team;
  uint64_t limit = ppt_clock() + team->spin_nanoseconds;
  do {
    for (int i = 0; i < 64; i++) {
      if (is_granted(self, wanted) || atomic_load(&team->stuck)) return;
      ppt_pause();
    }
  } while (ppt_clock() < limit);
  ppt_mutex_lock(&team->lock);
  atomic_fetch_add(&team->sleepers, 1); /* before the last look: who changes a count looks here after */
  self->wish = wanted;
  self->asleep = true;
  while (!is_granted(self, wanted) && !atomic_load(&team->stuck)) {
    look_for_stuck(team);
    if (!atomic_load(&team->stuck)) ppt_condition_wait(&team->changed, &team->lock);
  }
  self->asleep = false;
  atomic_fetch_sub(&team->sleepers, 1);
  ppt_mutex_unlock(&team->lock);
}

static void count_on(slot_team *team, atomic_uint_fast64_t *count) {
  atomic_fetch_add(count, 1);
  if (atomic_load(&team->sleepers) == 0) return;
  ppt_mutex_lock(&team->lock);
  ppt_condition_wake_all(&team->changed);
  ppt_mutex_unlock(&team->lock);
}

/* ---------------------------------------------------------------- services */

static team_core *core_of(const ppt_services *services) {
  return (team_core *)(uintptr_t)services;
}

static void *slot(const team_core *self, uint64_t number, uint32_t slots, uint64_t offset, uint64_t bytes) {
  return (char *)self->team->memory.scratch + offset + number % slots * bytes;
}

static void *claim_slot(const ppt_services *services, uint32_t number, uint32_t slots, uint64_t offset,
                        uint64_t bytes) {
  team_core *self = core_of(services);
  wait_for(self, (wish){number, slots});
  uint64_t count = atomic_load(&self->team->queues[number].filled[vector_number(self)]);
  return slot(self, count, slots, offset, bytes);
}

static void send_slot(const ppt_services *services, uint32_t number) {
  team_core *self = core_of(services);
  count_on(self->team, &self->team->queues[number].filled[vector_number(self)]);
}

static void *receive_slot(const ppt_services *services, uint32_t number, uint32_t slots, uint64_t offset,
                          uint64_t bytes) {
  team_core *self = core_of(services);
  wait_for(self, (wish){number, 0});
  return slot(self, self->team->queues[number].taken[vector_number(self)]++, slots, offset, bytes);
}

static void free_slot(const ppt_services *services, uint32_t number) {
  team_core *self = core_of(services);
  count_on(self->team, &self->team->queues[number].freed[vector_number(self)]);
}

/* ---------------------------------------------------------------- blocks */

/* With the lock: the next block finds all queues empty. */
static void begin_round(slot_team *team) {
  for (uint32_t i = 0; i < MOST_QUEUES; i++) {
    slot_queue *each = team->queues + i;
    for (uint32_t end = 0; end < MOST_CORES - 1; end++) {
      atomic_store_explicit(&each->filled[end], 0, memory_order_relaxed);
      atomic_store_explicit(&each->freed[end], 0, memory_order_relaxed);
      each->taken[end] = 0;
    }
  }
  for (uint32_t i = 0; i < team->core_count; i++) team->cores[i].finished = false;
  team->finished = 0;
  team->round++;
  ppt_condition_wake_all(&team->changed);
}

/* Waits until all cores are done with the block. */
static void end_block(team_core *self) {
  slot_team *team = self->team;
  ppt_mutex_lock(&team->lock);
  self->finished = true;
  if (++team->finished == team->core_count) {
    begin_round(team);
  } else {
    uint64_t round = team->round;
    look_for_stuck(team);
    while (team->round == round) ppt_condition_wait(&team->changed, &team->lock);
  }
  ppt_mutex_unlock(&team->lock);
}

typedef struct team_run {
  ppt_teams *teams;
  ppt_core_task *task;
  void *user;
  uint32_t used; /* teams */
  uint32_t core_count;
  ppt_seat *seat; /* of the calling thread */
  uint64_t begin;
  uint64_t end;
} team_run;

/* One core of one team: number `at` of all, counted team by team. The blocks are dealt out in equal parts. */
static void run_core(void *user, uint32_t worker, uint64_t at, uint64_t after) {
  team_run *run = user;
  (void)after; /* as many parts as cores: one each */
  uint64_t number = at / run->core_count, blocks = run->end - run->begin;
  slot_team *team = run->teams->teams + number;
  team_core *self = team->cores + at % run->core_count;
  const ppt_seat *seat = worker ? ppt_pool_seat(run->teams->pool, worker) : run->seat;
  uint64_t first = run->begin + blocks * number / run->used, last = run->begin + blocks * (number + 1) / run->used;
  for (uint64_t block = first; block < last && !atomic_load(&team->stuck); block++) {
    run->task(run->user, seat, &self->services, self->number, block);
    end_block(self);
  }
}

static ppt_status prepare(ppt_teams *teams, const ppt_function *function, uint32_t used) {
  ppt_status status = PPT_OK;
  for (uint32_t i = 0; i < used; i++) {
    slot_team *each = teams->teams + i;
    each->core_count = function->threads;
    atomic_store(&each->stuck, false);
    begin_round(each);
    TRY(ppt_seat_reserve(teams->context, &each->memory, (size_t)function->shared_bytes));
  }
  for (uint32_t i = 1; i <= ppt_pool_workers(teams->pool); i++)
    TRY(ppt_seat_reserve(teams->context, ppt_pool_seat(teams->pool, i), (size_t)function->scratch_bytes));
done:
  return status;
}

ppt_status ppt_teams_run(ppt_teams *teams, const ppt_function *function, ppt_seat *seat, ppt_core_task *task,
                         void *user, uint64_t begin, uint64_t end) {
  ppt_status status = PPT_OK;
  bool stuck = false;
  uint64_t most = (ppt_pool_workers(teams->pool) + 1) / function->threads;
  uint32_t used = (uint32_t)(end - begin < most ? end - begin : most);
  team_run run = {teams, task, user, used, function->threads, seat, begin, end};
  ppt_mutex_lock(&teams->lock);
  TRY(prepare(teams, function, used));
  ppt_pool_run(teams->pool, run_core, &run, 0, (uint64_t)used * function->threads);
  for (uint32_t i = 0; i < used; i++) stuck |= atomic_load(&teams->teams[i].stuck);
  if (stuck)
    TRY(ppt_fail(PPT_E_FAULT, "%s: its cores wait for each other without end; its outputs are undefined",
                 function->name));
done:
  ppt_mutex_unlock(&teams->lock);
  return status;
}

/* ---------------------------------------------------------------- making and ending */

static ppt_status team_init(slot_team *team, uint64_t spin_nanoseconds) {
  const ppt_services services = {sizeof services, PPT_KERNEL_ABI_VERSION, claim_slot, send_slot, receive_slot,
                                 free_slot};
  team->spin_nanoseconds = spin_nanoseconds;
  for (uint32_t i = 0; i < MOST_CORES; i++) {
    team->cores[i].services = services;
    team->cores[i].team = team;
    team->cores[i].number = i;
  }
  ppt_status status = ppt_mutex_init(&team->lock);
  if (!status) status = ppt_condition_init(&team->changed);
  return status;
}

ppt_status ppt_teams_create(ppt_context *context, ppt_teams **out) {
  ppt_status status = PPT_OK;
  ppt_teams *teams = NULL;
  uint32_t threads = context->threads < MOST_CORES ? MOST_CORES : context->threads;
  *out = NULL;
  TRY(ppt_allocate(context, sizeof *teams, &teams));
  teams->context = context;
  teams->count = threads / 2;
  status = ppt_mutex_init(&teams->lock);
  if (!status) status = ppt_pool_create(context, threads - 1, &teams->pool);
  if (!status) status = ppt_allocate(context, teams->count * sizeof *teams->teams, &teams->teams);
  for (uint32_t i = 0; i < teams->count && !status; i++)
    status = team_init(teams->teams + i, (uint64_t)context->spin_microseconds * 1000);
  if (status) ppt_teams_destroy(teams);
  else *out = teams;
done:
  return status;
}

void ppt_teams_destroy(ppt_teams *teams) {
  if (!teams) return;
  ppt_context *context = teams->context;
  ppt_pool_destroy(teams->pool);
  for (uint32_t i = 0; teams->teams && i < teams->count; i++) {
    slot_team *each = teams->teams + i;
    ppt_release(context, each->memory.scratch, each->memory.size);
    ppt_condition_destroy(&each->changed);
    ppt_mutex_destroy(&each->lock);
  }
  ppt_release(context, teams->teams, teams->count * sizeof *teams->teams);
  ppt_mutex_destroy(&teams->lock);
  ppt_release(context, teams, sizeof *teams);
}
