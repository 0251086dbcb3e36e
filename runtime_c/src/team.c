/* Blocks whose cores wait for each other: a thread each, with queues of slots between the cores of a block that wait
 * when they are empty or full. The cores of a block form a team; a team runs one block after another. Where blocks
 * wait for each other too, every block has a team.
 *
 * Each end of a queue counts what its cores have done. A core that must wait looks for a while, then sleeps on the
 * team's condition. When all cores sleep or are done and none can go on, the block is stuck: it is let run to its
 * end over slots that hold nothing, and the launch fails. */
#include <inttypes.h>

#include "internal.h"

enum { MOST_CORES = PPT_MOST_CORES, MOST_QUEUES = 32, MOST_THREADS = 1024 };

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
  ppt_teams *all;
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

/* Where cores of one kind meet. */
typedef struct meeting {
  uint32_t arrived;
  uint32_t gone; /* have run to their end */
  uint32_t expected;
  uint64_t round;
} meeting;

struct ppt_teams {
  ppt_context *context;
  ppt_pool *pool;
  ppt_mutex lock; /* held by the launch that uses the teams */
  uint32_t count;
  slot_team *teams;
  ppt_mutex door; /* of the meetings */
  ppt_condition opened;
  meeting meetings[PPT_MEET_ALL + 1];
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

/* ---------------------------------------------------------------- meetings */

/* At the door: those who wait go on when all have come, and are stuck when those who are missing have gone. */
static void look_who_is_there(ppt_teams *all, meeting *where, uint32_t count) {
  if (where->arrived == 0 || where->arrived + where->gone < count) return;
  if (where->arrived < count) {
    for (uint32_t i = 0; i < all->count; i++) atomic_store(&all->teams[i].stuck, true);
  }
  where->arrived = 0;
  where->round++;
  ppt_condition_wake_all(&all->opened);
}

static void meet(const ppt_services *services, uint32_t who, uint32_t count) {
  ppt_teams *all = core_of(services)->all;
  meeting *where = all->meetings + who;
  ppt_mutex_lock(&all->door);
  uint64_t round = where->round;
  where->arrived++;
  if (count && count < where->expected) where->expected = count;
  look_who_is_there(all, where, where->expected);
  while (where->round == round) ppt_condition_wait(&all->opened, &all->door);
  ppt_mutex_unlock(&all->door);
}

static void leave(const team_core *self) {
  ppt_teams *all = self->all;
  uint32_t own = self->number || self->team->core_count == 1 ? PPT_MEET_VECTOR : PPT_MEET_CUBE;
  ppt_mutex_lock(&all->door);
  for (uint32_t who = 0; who <= PPT_MEET_ALL; who++) {
    meeting *where = all->meetings + who;
    where->gone += who == own || who == PPT_MEET_ALL || self->team->core_count == 1;
    look_who_is_there(all, where, where->expected);
  }
  ppt_mutex_unlock(&all->door);
}

static void expect(ppt_teams *teams, uint32_t blocks, uint32_t cores) {
  const meeting vector = {.expected = blocks * (cores > 1 ? cores - 1 : 1)}, cube = {.expected = blocks};
  const meeting all = {.expected = blocks * cores};
  teams->meetings[PPT_MEET_VECTOR] = vector;
  teams->meetings[PPT_MEET_CUBE] = cube;
  teams->meetings[PPT_MEET_ALL] = all;
}

static void pause_core(const ppt_services *services) {
  (void)services;
  ppt_thread_yield();
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
    if (block + 1 == last) leave(self);
    end_block(self);
  }
}

/* ---------------------------------------------------------------- making and ending */

static ppt_status team_init(ppt_teams *all, slot_team *team) {
  const ppt_services services = {sizeof services, PPT_KERNEL_ABI_VERSION, claim_slot, send_slot, receive_slot,
                                 free_slot,       meet,                   pause_core, ppt_print_number};
  team->spin_nanoseconds = (uint64_t)all->context->spin_microseconds * 1000;
  for (uint32_t i = 0; i < MOST_CORES; i++) {
    team->cores[i].services = services;
    team->cores[i].team = team;
    team->cores[i].all = all;
    team->cores[i].number = i;
  }
  ppt_status status = ppt_mutex_init(&team->lock);
  if (!status) status = ppt_condition_init(&team->changed);
  return status;
}

static uint32_t usual_threads(const ppt_context *context) {
  return context->threads < MOST_CORES ? MOST_CORES : context->threads;
}

static void close_teams(ppt_teams *teams) {
  ppt_context *context = teams->context;
  ppt_pool_destroy(teams->pool);
  for (uint32_t i = 0; teams->teams && i < teams->count; i++) {
    slot_team *each = teams->teams + i;
    ppt_release(context, each->memory.scratch, each->memory.size);
    ppt_condition_destroy(&each->changed);
    ppt_mutex_destroy(&each->lock);
  }
  ppt_release(context, teams->teams, teams->count * sizeof *teams->teams);
  teams->pool = NULL;
  teams->teams = NULL;
}

static ppt_status open_teams(ppt_teams *teams, uint32_t threads) {
  ppt_status status = PPT_OK;
  teams->count = threads;
  TRY(ppt_pool_create(teams->context, threads - 1, &teams->pool));
  TRY(ppt_allocate(teams->context, teams->count * sizeof *teams->teams, &teams->teams));
  for (uint32_t i = 0; i < teams->count; i++) TRY(team_init(teams, teams->teams + i));
done:
  if (status) close_teams(teams);
  return status;
}

ppt_status ppt_teams_create(ppt_context *context, ppt_teams **out) {
  ppt_status status = PPT_OK;
  ppt_teams *teams = NULL;
  *out = NULL;
  TRY(ppt_allocate(context, sizeof *teams, &teams));
  teams->context = context;
  status = ppt_mutex_init(&teams->lock);
  if (!status) status = ppt_mutex_init(&teams->door);
  if (!status) status = ppt_condition_init(&teams->opened);
  if (!status) status = open_teams(teams, usual_threads(context));
  if (status) ppt_teams_destroy(teams);
  else *out = teams;
done:
  return status;
}

void ppt_teams_destroy(ppt_teams *teams) {
  if (!teams) return;
  close_teams(teams);
  ppt_condition_destroy(&teams->opened);
  ppt_mutex_destroy(&teams->door);
  ppt_mutex_destroy(&teams->lock);
  ppt_release(teams->context, teams, sizeof *teams);
}

/* ---------------------------------------------------------------- runs */

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
  expect(teams, used, function->threads);
done:
  return status;
}

/* How many teams run so many blocks: one each where these wait for each other, else as many as there are threads. */
static ppt_status count_teams(ppt_teams *teams, const ppt_function *function, uint64_t blocks, uint32_t *used) {
  uint64_t most = (ppt_pool_workers(teams->pool) + 1) / function->threads;
  *used = (uint32_t)(blocks < most ? blocks : most);
  if (!(function->code_flags & PPTF_CODE_CONCURRENT) || *used == blocks) return PPT_OK;
  if (blocks * function->threads > MOST_THREADS)
    return ppt_fail(PPT_E_UNSUPPORTED, "%s: its blocks wait for each other, and %" PRIu64
                    " of them are more than %d threads can run at once", function->name, blocks, MOST_THREADS);
  *used = (uint32_t)blocks;
  close_teams(teams);
  return open_teams(teams, (uint32_t)blocks * function->threads);
}

ppt_status ppt_teams_run(ppt_teams *teams, const ppt_function *function, ppt_seat *seat, ppt_core_task *task,
                         void *user, uint64_t begin, uint64_t end) {
  ppt_status status = PPT_OK;
  bool stuck = false;
  uint32_t used;
  ppt_mutex_lock(&teams->lock);
  if (!teams->pool) TRY(open_teams(teams, usual_threads(teams->context))); /* an earlier launch got too few */
  TRY(count_teams(teams, function, end - begin, &used));
  TRY(prepare(teams, function, used));
  team_run run = {teams, task, user, used, function->threads, seat, begin, end};
  ppt_pool_run(teams->pool, run_core, &run, 0, (uint64_t)used * function->threads);
  for (uint32_t i = 0; i < used; i++) stuck |= atomic_load(&teams->teams[i].stuck);
  if (stuck)
    TRY(ppt_fail(PPT_E_FAULT, "%s: its cores wait for each other without end; its outputs are undefined",
                 function->name));
done:
  ppt_mutex_unlock(&teams->lock);
  return status;
}
