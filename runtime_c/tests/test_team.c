/* Teams: what one core sends the others receive, in order and whole, however many blocks and threads there are. */
#include "test.h"

enum { ITEMS = 200, WORDS = 256, SLOTS = 3, BYTES = WORDS * 4 };

typedef struct tally {
  atomic_uint sums[64]; /* by block: what the cube got back */
  bool lazy;            /* a vector core that frees nothing */
} tally;

static uint32_t *claim(const ppt_services *s, uint32_t queue) {
  return s->claim_slot(s, queue, SLOTS, queue * SLOTS * BYTES, BYTES);
}

static uint32_t *receive(const ppt_services *s, uint32_t queue) {
  return s->receive_slot(s, queue, SLOTS, queue * SLOTS * BYTES, BYTES);
}

/* The cube sends numbers and takes back what the vector cores make of them, each in its half of a slot. */
static void run_cube(tally *t, const ppt_services *s, uint64_t block) {
  uint32_t sum = 0;
  for (uint32_t item = 0; item < ITEMS; item++) {
    uint32_t *there = claim(s, 0);
    for (uint32_t i = 0; i < WORDS; i++) there[i] = item + (uint32_t)block;
    s->send_slot(s, 0);
    const uint32_t *back = receive(s, 1);
    for (uint32_t i = 0; i < WORDS; i++) sum += back[i] == 2 * (item + (uint32_t)block);
    s->free_slot(s, 1);
  }
  atomic_fetch_add(&t->sums[block], sum);
}

static void run_vector(const tally *t, const ppt_services *s, uint32_t number) {
  for (uint32_t item = 0; item < ITEMS; item++) {
    const uint32_t *there = receive(s, 0);
    uint32_t *back = claim(s, 1);
    for (uint32_t i = number * WORDS / 2; i < (number + 1) * WORDS / 2; i++) back[i] = 2 * there[i];
    s->send_slot(s, 1);
    if (!t->lazy) s->free_slot(s, 0);
  }
}

static void run_core(void *user, const ppt_seat *seat, const ppt_services *services, uint32_t core,
                     uint64_t block) {
  memset(seat->scratch, (int)core, 64); /* each thread has its own */
  if (core == 0) run_cube(user, services, block);
  else run_vector(user, services, core - 1);
  for (int i = 0; i < 64; i++) CHECK(((unsigned char *)seat->scratch)[i] == core);
}

static void run_on(uint32_t threads, uint32_t spin, bool lazy) {
  ppt_context_options options = PPT_CONTEXT_OPTIONS_INIT;
  const ppt_function function = {.name = "pair", .threads = 3, .scratch_bytes = 64, .shared_bytes = 2 * SLOTS * BYTES};
  ppt_context *context;
  ppt_teams *teams;
  ppt_seat seat = {0};
  options.flags = PPT_CONTEXT_IGNORE_ENVIRONMENT;
  options.threads = threads;
  options.spin_microseconds = spin;
  CHECK(ppt_context_create(&options, &context) == PPT_OK);
  CHECK(ppt_teams_create(context, &teams) == PPT_OK);
  CHECK(ppt_seat_reserve(context, &seat, 64) == PPT_OK);
  for (uint64_t blocks = 0; blocks <= 7; blocks++) {
    tally t = {.lazy = lazy};
    ppt_status status = ppt_teams_run(teams, &function, &seat, run_core, &t, 2, 2 + blocks);
    CHECK(status == (lazy && blocks ? PPT_E_FAULT : PPT_OK));
    for (uint64_t block = 0; block < 64 && !lazy; block++)
      CHECK(atomic_load(&t.sums[block]) == (block >= 2 && block < 2 + blocks ? ITEMS * WORDS : 0));
  }
  ppt_release(context, seat.scratch, seat.size);
  ppt_teams_destroy(teams);
  ppt_context_destroy(context);
}

static void all_arrives(void) {
  for (uint32_t threads = 1; threads <= 8; threads++) run_on(threads, threads % 2 ? 50 : 0, false);
}

static void a_stuck_block_ends(void) {
  for (uint32_t threads = 1; threads <= 8; threads += 3) run_on(threads, 20, true);
}

/* ---------------------------------------------------------------- meetings */

typedef struct crowd {
  atomic_uint steps[8];
  bool early; /* one block goes before the last meeting */
} crowd;

/* After a meeting every block has done its step. */
static void run_step(void *user, const ppt_seat *seat, const ppt_services *services, uint32_t core, uint64_t block) {
  crowd *c = user;
  (void)seat;
  for (uint32_t step = 0; step < 8; step++) {
    if (c->early && step == 7 && block == 3) return;
    atomic_fetch_add(&c->steps[step], 1);
    services->meet(services, core == 1 ? PPT_MEET_VECTOR : PPT_MEET_ALL, 0);
    services->pause(services);
    CHECK(c->early || atomic_load(&c->steps[step]) == 24);
  }
}

static void all_blocks_meet(void) {
  const ppt_function function = {.name = "crowd", .threads = 1, .code_flags = PPTF_CODE_CONCURRENT};
  ppt_context_options options = PPT_CONTEXT_OPTIONS_INIT;
  ppt_context *context;
  ppt_teams *teams;
  ppt_seat seat = {0};
  options.flags = PPT_CONTEXT_IGNORE_ENVIRONMENT;
  options.threads = 2;
  CHECK(ppt_context_create(&options, &context) == PPT_OK);
  CHECK(ppt_teams_create(context, &teams) == PPT_OK);
  for (int i = 0; i < 6; i++) {
    crowd c = {.early = i % 3 == 1};
    ppt_status status = ppt_teams_run(teams, &function, &seat, run_step, &c, 0, 24);
    CHECK(status == (c.early ? PPT_E_FAULT : PPT_OK));
  }
  crowd c = {.early = false};
  CHECK_FAILS(ppt_teams_run(teams, &function, &seat, run_step, &c, 0, 5000), PPT_E_UNSUPPORTED, "at once");
  ppt_release(context, seat.scratch, seat.size);
  ppt_teams_destroy(teams);
  ppt_context_destroy(context);
}

int main(void) {
  RUN(all_arrives);
  RUN(a_stuck_block_ends);
  RUN(all_blocks_meet);
  return 0;
}
