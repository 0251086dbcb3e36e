/* The pool: every element once, whoever takes it, and no run is lost or doubled. */
#include <time.h>

#include "test.h"

enum { MOST = 5000 };

typedef struct tally {
  atomic_uint hits[MOST];
  atomic_uint workers[8];
} tally;

static void count_hits(void *user, uint32_t worker, uint64_t begin, uint64_t end) {
  tally *t = user;
  atomic_fetch_add(&t->workers[worker], 1);
  for (uint64_t i = begin; i < end; i++) atomic_fetch_add(&t->hits[i], 1);
}

static ppt_context *context_with(uint32_t threads, uint32_t spin) {
  ppt_context_options options = PPT_CONTEXT_OPTIONS_INIT;
  ppt_context *context;
  options.flags = PPT_CONTEXT_IGNORE_ENVIRONMENT;
  options.threads = threads;
  options.spin_microseconds = spin;
  CHECK(ppt_context_create(&options, &context) == PPT_OK);
  return context;
}

static void run_and_check(ppt_pool *pool, uint64_t begin, uint64_t end) {
  static tally t;
  memset(&t, 0, sizeof t);
  CHECK(ppt_pool_take(pool));
  CHECK(!ppt_pool_take(pool));
  ppt_pool_run(pool, count_hits, &t, begin, end);
  ppt_pool_leave(pool);
  for (uint64_t i = 0; i < MOST; i++) CHECK(atomic_load(&t.hits[i]) == (i >= begin && i < end));
}

static void every_element_once(void) {
  for (uint32_t workers = 1; workers <= 4; workers++) {
    ppt_context *context = context_with(workers + 1, 20);
    ppt_pool *pool;
    CHECK(ppt_pool_create(context, workers, &pool) == PPT_OK);
    for (uint64_t end = 0; end < 40; end++) run_and_check(pool, 0, end);
    run_and_check(pool, 17, MOST);
    for (int i = 0; i < 500; i++) run_and_check(pool, 3, 9);
    ppt_pool_destroy(pool);
    ppt_context_destroy(context);
  }
}

static void nap(long nanoseconds) {
  struct timespec time = {0, nanoseconds};
  nanosleep(&time, NULL);
}

static void sleepers_wake(void) {
  ppt_context *context = context_with(4, 0);
  ppt_pool *pool;
  CHECK(ppt_pool_create(context, 3, &pool) == PPT_OK);
  for (int i = 0; i < 200; i++) {
    run_and_check(pool, 0, 100);
    if (i % 10 == 0) nap(1000000);
  }
  ppt_pool_destroy(pool);
  ppt_context_destroy(context);
}

static void slow_part(void *user, uint32_t worker, uint64_t begin, uint64_t end) {
  nap(200000);
  count_hits(user, worker, begin, end);
}

static void others_help(void) {
  static tally t;
  ppt_context *context = context_with(4, 100);
  ppt_pool *pool;
  unsigned helpers = 0;
  CHECK(ppt_pool_create(context, 3, &pool) == PPT_OK);
  CHECK(ppt_pool_workers(pool) == 3 && ppt_pool_take(pool));
  ppt_pool_run(pool, slow_part, &t, 0, 400);
  for (uint32_t worker = 1; worker < 4; worker++) helpers += atomic_load(&t.workers[worker]) > 0;
  CHECK(helpers > 0);
  ppt_pool_leave(pool);
  ppt_pool_destroy(pool);
  ppt_context_destroy(context);
}

int main(void) {
  RUN(every_element_once);
  RUN(sleepers_wake);
  RUN(others_help);
  return 0;
}
