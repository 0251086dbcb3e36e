/* Kept-alive worker threads. A run is announced by one atomic word; a worker that finds it open joins,
 * takes parts of the range until none is left, and leaves. The caller works too, then closes the run
 * and waits only for those who joined: a worker that sleeps through a short run costs nothing. */
#include "internal.h"

/* The word `state`: number of the run, whether it is closed, and how many workers are in it. */
#define CLOSED ((uint64_t)1 << 31)
#define JOINED (CLOSED - 1)
#define RUN_SHIFT 32

typedef struct worker {
  ppt_pool *pool;
  ppt_thread thread;
  uint32_t number; /* from 1 */
  ppt_seat seat;
} worker;

struct ppt_pool {
  ppt_context *context;
  uint32_t started;      /* threads that run */
  uint32_t capacity;
  uint64_t spin_nanoseconds;
  worker *workers;

  atomic_flag taken;
  _Alignas(64) atomic_uint_fast64_t state;
  _Alignas(64) atomic_uint_fast64_t next; /* first element of the range that nobody has */
  uint64_t end;
  uint64_t part;
  ppt_task *task;
  void *user;

  _Alignas(64) atomic_uint sleepers; /* workers and callers that wait on a condition */
  atomic_bool stop;
  ppt_mutex lock;
  ppt_condition wake; /* a run began */
  ppt_condition done; /* a run lost its last worker */
};

static void work(ppt_pool *pool, uint32_t number) {
  for (;;) {
    uint64_t begin = atomic_fetch_add_explicit(&pool->next, pool->part, memory_order_relaxed);
    if (begin >= pool->end) return;
    uint64_t left = pool->end - begin;
    pool->task(pool->user, number, begin, begin + (left < pool->part ? left : pool->part));
  }
}

/* ---------------------------------------------------------------- waiting */

typedef bool ready(ppt_pool *pool, uint64_t run);

static bool has_begun(ppt_pool *pool, uint64_t last) {
  uint64_t state = atomic_load(&pool->state);
  return (!(state & CLOSED) && state >> RUN_SHIFT != last) || atomic_load(&pool->stop);
}

static bool is_empty(ppt_pool *pool, uint64_t run) {
  (void)run;
  return (atomic_load(&pool->state) & JOINED) == 0;
}

/* Waits awake for a while, then asleep. */
static void wait_until(ppt_pool *pool, ready *is_ready, uint64_t run, ppt_condition *condition) {
  uint64_t limit = ppt_clock() + pool->spin_nanoseconds;
  do {
    for (int i = 0; i < 64; i++) {
      if (is_ready(pool, run)) return;
      ppt_pause();
    }
  } while (ppt_clock() < limit);
  ppt_mutex_lock(&pool->lock);
  atomic_fetch_add(&pool->sleepers, 1); /* before the last look: who changes the state looks here after */
  while (!is_ready(pool, run)) ppt_condition_wait(condition, &pool->lock);
  atomic_fetch_sub(&pool->sleepers, 1);
  ppt_mutex_unlock(&pool->lock);
}

static void wake(ppt_pool *pool, ppt_condition *condition) {
  if (atomic_load(&pool->sleepers) == 0) return;
  ppt_mutex_lock(&pool->lock);
  ppt_condition_wake_all(condition);
  ppt_mutex_unlock(&pool->lock);
}

/* ---------------------------------------------------------------- workers */

/* Enters the open run, if there still is one; returns its number, or `last`. */
static uint64_t join_run(ppt_pool *pool, uint64_t last) {
  uint64_t state = atomic_load(&pool->state);
  while (!(state & CLOSED) && state >> RUN_SHIFT != last) {
    if (atomic_compare_exchange_weak(&pool->state, &state, state + 1)) return state >> RUN_SHIFT;
  }
  return last;
}

static void *run_worker(void *user) {
  worker *self = user;
  ppt_pool *pool = self->pool;
  uint64_t last = 0;
  for (;;) {
    wait_until(pool, has_begun, last, &pool->wake);
    if (atomic_load(&pool->stop)) return NULL;
    uint64_t run = join_run(pool, last);
    if (run == last) continue;
    last = run;
    work(pool, self->number);
    uint64_t before = atomic_fetch_sub(&pool->state, 1);
    if ((before & CLOSED) && (before & JOINED) == 1) wake(pool, &pool->done);
  }
}

ppt_status ppt_pool_create(ppt_context *context, uint32_t workers, ppt_pool **out) {
  ppt_status status = PPT_OK;
  ppt_pool *pool = NULL;
  *out = NULL;
  TRY(ppt_allocate(context, sizeof *pool, &pool));
  pool->context = context;
  pool->capacity = workers;
  pool->spin_nanoseconds = (uint64_t)context->spin_microseconds * 1000;
  atomic_flag_clear(&pool->taken);
  atomic_init(&pool->state, CLOSED);
  status = ppt_mutex_init(&pool->lock);
  if (!status) status = ppt_condition_init(&pool->wake);
  if (!status) status = ppt_condition_init(&pool->done);
  if (status) {
    ppt_release(context, pool, sizeof *pool);
    return status;
  }
  status = ppt_allocate(context, workers * sizeof *pool->workers, &pool->workers);
  for (uint32_t i = 0; i < workers && !status; i++) {
    worker *each = pool->workers + i;
    each->pool = pool;
    each->number = i + 1;
    status = ppt_thread_start(&each->thread, run_worker, each);
    if (!status) pool->started++;
  }
  if (status) {
    ppt_pool_destroy(pool);
    return status;
  }
  *out = pool;
done:
  return status;
}

void ppt_pool_destroy(ppt_pool *pool) {
  if (!pool) return;
  ppt_context *context = pool->context;
  atomic_store(&pool->stop, true);
  wake(pool, &pool->wake);
  for (uint32_t i = 0; i < pool->started; i++) {
    worker *each = pool->workers + i;
    ppt_thread_join(each->thread);
    ppt_release(context, each->seat.scratch, each->seat.size);
  }
  ppt_condition_destroy(&pool->done);
  ppt_condition_destroy(&pool->wake);
  ppt_mutex_destroy(&pool->lock);
  ppt_release(context, pool->workers, pool->capacity * sizeof *pool->workers);
  ppt_release(context, pool, sizeof *pool);
}

/* ---------------------------------------------------------------- runs */

bool ppt_pool_take(ppt_pool *pool) {
  return !atomic_flag_test_and_set_explicit(&pool->taken, memory_order_acquire);
}

void ppt_pool_leave(ppt_pool *pool) {
  atomic_flag_clear_explicit(&pool->taken, memory_order_release);
}

uint32_t ppt_pool_workers(const ppt_pool *pool) {
  return pool->started;
}

ppt_seat *ppt_pool_seat(ppt_pool *pool, uint32_t number) {
  return &pool->workers[number - 1].seat;
}

void ppt_pool_run(ppt_pool *pool, ppt_task *task, void *user, uint64_t begin, uint64_t end) {
  uint64_t shares = 4 * ((uint64_t)pool->started + 1);
  uint64_t run = (atomic_load_explicit(&pool->state, memory_order_relaxed) >> RUN_SHIFT) + 1;
  pool->task = task;
  pool->user = user;
  pool->end = end;
  pool->part = (end - begin) / shares ? (end - begin) / shares : 1;
  atomic_store_explicit(&pool->next, begin, memory_order_relaxed);
  atomic_store(&pool->state, (uint32_t)run ? run << RUN_SHIFT : (uint64_t)1 << RUN_SHIFT);
  wake(pool, &pool->wake);
  work(pool, 0);
  atomic_fetch_or(&pool->state, CLOSED);
  wait_until(pool, is_empty, 0, &pool->done);
}
