/* Launches of kernels written here: bound arguments, grids, and everything that is refused. */
#include <sys/wait.h>
#include <unistd.h>

#include "test.h"

/* ---------------------------------------------------------------- the kernels of image.pptf */

/* Every block multiplies its share of n elements; scratch must be its own and aligned. */
static void scale(const ppt_args *args, const ppt_group *group) {
  const float *x = args->pointers[0];
  float *y = args->pointers[1], factor;
  int64_t n = (int64_t)args->scalars[1];
  memcpy(&factor, args->scalars, sizeof factor);
  CHECK(args->struct_size == sizeof *args && args->version == PPT_KERNEL_ABI_VERSION);
  CHECK(group->struct_size == sizeof *group && group->block_end <= group->block_count);
  CHECK(args->scratch && (uintptr_t)args->scratch % PPT_SCRATCH_ALIGNMENT == 0);
  memset(args->scratch, (int)group->worker, 256);
  for (uint64_t block = group->block_begin; block < group->block_end; block++) {
    int64_t begin = n * (int64_t)block / (int64_t)group->block_count;
    int64_t end = n * (int64_t)(block + 1) / (int64_t)group->block_count;
    for (int64_t i = begin; i < end; i++) y[i] = factor * x[i];
  }
  for (size_t i = 0; i < 256; i++) CHECK(((unsigned char *)args->scratch)[i] == group->worker);
}

static void count(const ppt_args *args, const ppt_group *group) {
  int32_t *counts = args->pointers[0];
  for (uint64_t block = group->block_begin; block < group->block_end; block++) counts[block]++;
}

static void single(const ppt_args *args, const ppt_group *group) {
  uint16_t *x = args->pointers[0];
  memset(args->scratch, 1, 100000);
  CHECK(group->block_begin == 0 && group->block_end == 1);
  x[0]++;
}

static void faulty(const ppt_args *args, const ppt_group *group) {
  (void)group;
  *args->fault |= 0x20;
}

/* ---------------------------------------------------------------- a module of them */

typedef struct fixture {
  file_bytes file;
  ppt_context *context;
  ppt_module *module;
  const ppt_function *scale, *count, *single, *faulty;
} fixture;

static const ppt_function *find(ppt_module *module, const char *name) {
  const ppt_function *function;
  CHECK(ppt_module_function(module, name, &function) == PPT_OK);
  return function;
}

static fixture open_fixture(uint32_t threads) {
  ppt_kernel *const kernels[] = {scale, count, single, faulty};
  ppt_context_options options = PPT_CONTEXT_OPTIONS_INIT;
  fixture f;
  options.flags = PPT_CONTEXT_IGNORE_ENVIRONMENT;
  options.threads = threads;
  f.file = test_image(kernels, 4);
  CHECK(ppt_context_create(&options, &f.context) == PPT_OK);
  CHECK(ppt_module_open_section(f.context, f.file.bytes, f.file.bytes + f.file.size, NULL, &f.module) == PPT_OK);
  f.scale = find(f.module, "scale");
  f.count = find(f.module, "count");
  f.single = find(f.module, "single");
  f.faulty = find(f.module, "faulty");
  return f;
}

static void close_fixture(fixture *f) {
  ppt_context_destroy(f->context); /* the module keeps it alive */
  ppt_module_close(f->module);
  free(f->file.bytes);
}

/* ---------------------------------------------------------------- tests */

static void reflection(void) {
  fixture f = open_fixture(1);
  ppt_argument argument;
  CHECK(ppt_module_function_count(f.module) == 4 && ppt_module_function_at(f.module, 4) == NULL);
  CHECK(strcmp(ppt_module_target(f.module), "x86-64") == 0);
  CHECK(strstr(ppt_module_report(f.module), "x86-64 (rank 0): fits"));
  CHECK(strcmp(ppt_function_name(f.scale), "scale") == 0 && ppt_function_scratch_bytes(f.scale) == 256);
  CHECK(ppt_function_uses_grid(f.scale) && !ppt_function_uses_grid(f.single));
  CHECK(ppt_function_argument_count(f.scale) == 4 && ppt_function_argument_count(f.count) == 1);
  CHECK(ppt_function_argument(f.scale, 1, &argument) == PPT_OK);
  CHECK(strcmp(argument.name, "y") == 0 && argument.kind == PPT_POINTER && argument.access == PPT_WRITES);
  CHECK(argument.dtype.code == 2 && argument.dtype.bits == 32 && argument.dtype.lanes == 1);
  CHECK(ppt_function_argument(f.scale, 3, &argument) == PPT_OK && argument.kind == PPT_SCALAR);
  CHECK(ppt_function_argument(f.count, 0, &argument) == PPT_OK && strcmp(argument.name, "counts") == 0);
  CHECK_FAILS(ppt_function_argument(f.scale, 4, &argument), PPT_E_INVALID_ARGUMENT, "no argument 4");
  const ppt_function *none;
  CHECK_FAILS(ppt_module_function(f.module, "scales", &none), PPT_E_NOT_FOUND, "scale, count, single");
  CHECK(none == NULL);
  close_fixture(&f);
}

static void results(uint32_t threads) {
  fixture f = open_fixture(threads);
  static float x[1000], y[1001];
  for (size_t i = 0; i < 1000; i++) x[i] = (float)i;
  for (uint64_t grid = 1; grid < 40; grid += 3) {
    float factor = (float)grid;
    int64_t n = 1000, extent = 1000;
    y[1000] = -1;
    memset(y, 0, 1000 * sizeof *y);
    const ppt_tensor args[] = {ppt_array(x, PPT_F32, 1, &extent), ppt_array(y, PPT_F32, 1, &extent),
                               ppt_scalar(&factor, PPT_F32), ppt_scalar(&n, PPT_I64)};
    CHECK(ppt_launch(f.scale, args, 4, grid, NULL) == PPT_OK);
    for (size_t i = 0; i < 1000; i++) CHECK(y[i] == factor * x[i]);
    CHECK(y[1000] == -1);
  }
  close_fixture(&f);
}

static void one_thread(void) {
  results(1);
}

static void many_threads(void) {
  results(4);
}

static void block_ranges(void) {
  fixture f = open_fixture(2);
  int32_t counts[10] = {0};
  int64_t extent = 10;
  const ppt_tensor args[] = {ppt_array(counts, PPT_I32, 1, &extent)};
  CHECK(ppt_launch(f.count, args, 1, 10, NULL) == PPT_OK);
  CHECK(ppt_launch_blocks(f.count, args, 1, (ppt_blocks){3, 5, 10}, NULL) == PPT_OK);
  CHECK(ppt_launch(f.count, args, 1, 0, NULL) == PPT_OK);
  for (int i = 0; i < 10; i++) CHECK(counts[i] == (i == 3 || i == 4 ? 2 : 1));
  CHECK_FAILS(ppt_launch_blocks(f.count, args, 1, (ppt_blocks){5, 3, 10}, NULL), PPT_E_INVALID_ARGUMENT, "grid");
  CHECK_FAILS(ppt_launch_blocks(f.count, args, 1, (ppt_blocks){0, 11, 10}, NULL), PPT_E_INVALID_ARGUMENT, "grid");
  CHECK_FAILS(ppt_launch(f.count, args, 1, UINT64_MAX, NULL), PPT_E_INVALID_ARGUMENT, "grid");
  close_fixture(&f);
}

static void kernels_without_blocks(void) {
  fixture f = open_fixture(2);
  uint16_t x[4] = {7};
  int64_t extent = 4;
  const ppt_tensor args[] = {ppt_array(x, PPT_BF16, 1, &extent)};
  CHECK(ppt_launch(f.single, args, 1, 1, NULL) == PPT_OK && x[0] == 8);
  CHECK_FAILS(ppt_launch(f.single, args, 1, 2, NULL), PPT_E_INVALID_ARGUMENT, "grid of 1");
  CHECK_FAILS(ppt_launch(f.faulty, NULL, 0, 1, NULL), PPT_E_FAULT, "0x20");
  close_fixture(&f);
}

static void wrong_arguments(void) {
  fixture f = open_fixture(1);
  float x[16] = {0}, y[16], factor = 2;
  double wide = 2;
  int64_t n = 16, extent = 16, negative = -1, huge[2] = {INT64_MAX, 8};
  uint64_t unsigned_n = 16;
  const ppt_tensor good[4] = {ppt_array(x, PPT_F32, 1, &extent), ppt_array(y, PPT_F32, 1, &extent),
                              ppt_scalar(&factor, PPT_F32), ppt_scalar(&n, PPT_I64)};
  const struct {
    size_t index;
    ppt_tensor tensor;
    ppt_status status;
    const char *word;
  } rows[] = {
      {0, ppt_scalar(&factor, PPT_F32), PPT_E_TYPE, "argument 0, x, is an array"},
      {0, ppt_array(x, PPT_BF16, 1, &extent), PPT_E_TYPE, "float32, not bfloat16"},
      {0, ppt_array(x, PPT_F32, 1, NULL), PPT_E_INVALID_ARGUMENT, "no shape"},
      {0, ppt_array(NULL, PPT_F32, 1, &extent), PPT_E_INVALID_ARGUMENT, "no data"},
      {0, ppt_array((char *)x + 2, PPT_F32, 1, &extent), PPT_E_INVALID_ARGUMENT, "aligned"},
      {0, ppt_array(x, PPT_F32, 1, &negative), PPT_E_INVALID_ARGUMENT, "no memory has"},
      {0, ppt_array(x, PPT_F32, 2, huge), PPT_E_INVALID_ARGUMENT, "no memory has"},
      {2, ppt_array(&factor, PPT_F32, 1, &extent), PPT_E_TYPE, "argument 2, factor, is a scalar"},
      {2, ppt_scalar(&wide, PPT_F64), PPT_E_TYPE, "float32, not float64"},
      {3, ppt_scalar(NULL, PPT_I64), PPT_E_INVALID_ARGUMENT, "no value"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    ppt_tensor args[4];
    memcpy(args, good, sizeof args);
    args[rows[i].index] = rows[i].tensor;
    CHECK_FAILS(ppt_launch(f.scale, args, 4, 1, NULL), rows[i].status, rows[i].word);
  }
  ppt_tensor args[4];
  memcpy(args, good, sizeof args);
  args[3] = ppt_scalar(&unsigned_n, PPT_U64); /* integers without a sign */
  CHECK(ppt_launch(f.scale, args, 4, 1, NULL) == PPT_OK);
  args[0].device.kind = 2;
  CHECK_FAILS(ppt_launch(f.scale, args, 4, 1, NULL), PPT_E_TYPE, "memory of the CPU");
  CHECK_FAILS(ppt_launch(f.scale, good, 3, 1, NULL), PPT_E_INVALID_ARGUMENT, "4 arguments, not 3");
  CHECK_FAILS(ppt_launch(f.scale, NULL, 4, 1, NULL), PPT_E_INVALID_ARGUMENT, "missing");
  CHECK_FAILS(ppt_launch(NULL, good, 4, 1, NULL), PPT_E_INVALID_ARGUMENT, "kernel");
  CHECK_FAILS(ppt_launch(f.scale, good, 4, 1, (ppt_stream *)x), PPT_E_UNSUPPORTED, "stream");
  close_fixture(&f);
}

static ppt_status scale_between(const fixture *f, const ppt_tensor *from, const ppt_tensor *to, int64_t n) {
  float factor = 3;
  const ppt_tensor args[] = {*from, *to, ppt_scalar(&factor, PPT_F32), ppt_scalar(&n, PPT_I64)};
  return ppt_launch(f->scale, args, 4, 1, NULL);
}

static void overlaps(void) {
  fixture f = open_fixture(1);
  float memory[64] = {1};
  int64_t eight = 8, nine = 9, none = 0, shape[2] = {4, 4}, rows[2] = {16, 1}, back[2] = {-4, 1}, even[1] = {2};
  ppt_tensor low = ppt_array(memory, PPT_F32, 1, &eight), next = ppt_array(memory + 8, PPT_F32, 1, &eight);
  ppt_tensor near = ppt_array(memory + 7, PPT_F32, 1, &eight), longer = ppt_array(memory, PPT_F32, 1, &nine);
  CHECK(scale_between(&f, &low, &next, 8) == PPT_OK);
  CHECK(scale_between(&f, &low, &low, 8) == PPT_OK && memory[0] == 3); /* in place, as the signature allows */
  CHECK_FAILS(scale_between(&f, &low, &near, 8), PPT_E_OVERLAP, "writes y, which overlaps x");
  CHECK_FAILS(scale_between(&f, &longer, &low, 8), PPT_E_OVERLAP, "overlaps");
  ppt_tensor empty = ppt_array(memory + 4, PPT_F32, 1, &none);
  CHECK(scale_between(&f, &low, &empty, 0) == PPT_OK);
  ppt_tensor strided = ppt_array(memory, PPT_F32, 2, shape), backward = ppt_array(memory + 12, PPT_F32, 2, shape);
  ppt_tensor inside = ppt_array(memory + 20, PPT_F32, 1, &eight), beyond = ppt_array(memory + 52, PPT_F32, 1, &eight);
  strided.strides = rows;
  backward.strides = back; /* covers 0 .. 15 from the end */
  CHECK_FAILS(scale_between(&f, &strided, &inside, 4), PPT_E_OVERLAP, "overlaps");
  CHECK(scale_between(&f, &strided, &beyond, 4) == PPT_OK);
  CHECK_FAILS(scale_between(&f, &backward, &low, 4), PPT_E_OVERLAP, "overlaps");
  CHECK(scale_between(&f, &backward, &inside, 4) == PPT_OK);
  low.strides = even;
  next.data = memory + 15;
  CHECK(scale_between(&f, &low, &next, 8) == PPT_OK);
  next.data = memory;
  next.byte_offset = 4 * 14;
  CHECK_FAILS(scale_between(&f, &low, &next, 8), PPT_E_OVERLAP, "overlaps");
  close_fixture(&f);
}

typedef struct user {
  fixture *f;
  bool ok;
} user;

static void *launch_often(void *data) {
  user *u = data;
  u->ok = true;
  for (int i = 0; i < 300; i++) {
    float x[64], y[64];
    int64_t extent = 64;
    for (int k = 0; k < 64; k++) x[k] = (float)(k + i);
    const ppt_tensor from = ppt_array(x, PPT_F32, 1, &extent), to = ppt_array(y, PPT_F32, 1, &extent);
    float factor = 3;
    const ppt_tensor args[] = {from, to, ppt_scalar(&factor, PPT_F32), ppt_scalar(&extent, PPT_I64)};
    u->ok &= ppt_launch(u->f->scale, args, 4, 8, NULL) == PPT_OK;
    for (int k = 0; k < 64; k++) u->ok &= y[k] == 3 * x[k];
  }
  return NULL;
}

static void shared_by_threads(void) {
  fixture f = open_fixture(3);
  ppt_thread threads[8];
  user users[8];
  for (int i = 0; i < 8; i++) {
    users[i].f = &f;
    CHECK(ppt_thread_start(&threads[i], launch_often, &users[i]) == PPT_OK);
  }
  for (int i = 0; i < 8; i++) {
    ppt_thread_join(threads[i]);
    CHECK(users[i].ok);
  }
  close_fixture(&f);
}

/* A child has the memory of its parent, not its threads. */
static void after_a_fork(void) {
  for (int launched = 0; launched < 2; launched++) {
    fixture f = open_fixture(2);
    int32_t counts[8] = {0};
    int64_t extent = 8;
    const ppt_tensor args[] = {ppt_array(counts, PPT_I32, 1, &extent)};
    if (launched) CHECK(ppt_launch(f.count, args, 1, 8, NULL) == PPT_OK);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
      if (launched) CHECK_FAILS(ppt_launch(f.count, args, 1, 8, NULL), PPT_E_UNSUPPORTED, "make a context here");
      else CHECK(ppt_launch(f.count, args, 1, 8, NULL) == PPT_OK && counts[7] == 1);
      close_fixture(&f); /* leaves the threads that are not here alone */
      _exit(0);
    }
    int status = -1;
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    CHECK(ppt_launch(f.count, args, 1, 8, NULL) == PPT_OK && counts[7] == 1 + launched);
    close_fixture(&f);
  }
}

int main(void) {
  RUN(reflection);
  RUN(one_thread);
  RUN(many_threads);
  RUN(block_ranges);
  RUN(kernels_without_blocks);
  RUN(wrong_arguments);
  RUN(overlaps);
  RUN(shared_by_threads);
  RUN(after_a_fork);
  return 0;
}
