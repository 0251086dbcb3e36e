/* Contexts: options, hooks, failing memory, and modules from files. */
#include "test.h"

static void options_are_checked(void) {
  ppt_context *context = (ppt_context *)1;
  ppt_context_options options = PPT_CONTEXT_OPTIONS_INIT;
  options.struct_size = 3;
  CHECK_FAILS(ppt_context_create(&options, &context), PPT_E_INVALID_ARGUMENT, "PPT_CONTEXT_OPTIONS_INIT");
  CHECK(context == NULL);
  options.struct_size = sizeof options;
  options.cpu_features = "-nonsense";
  CHECK_FAILS(ppt_context_create(&options, &context), PPT_E_INVALID_ARGUMENT, "-nonsense");
  CHECK_FAILS(ppt_context_create(&options, NULL), PPT_E_INVALID_ARGUMENT, "nowhere");
  const ppt_allocator half = {NULL, NULL, NULL};
  options.cpu_features = NULL;
  options.allocator = &half;
  CHECK_FAILS(ppt_context_create(&options, &context), PPT_E_INVALID_ARGUMENT, "allocate and release");
  ppt_context_destroy(NULL);
  ppt_module_close(NULL);
}

static void older_callers(void) {
  ppt_context_options options = PPT_CONTEXT_OPTIONS_INIT;
  ppt_context *context;
  options.struct_size = offsetof(ppt_context_options, allocator); /* a program of before the hooks */
  options.allocator = (const ppt_allocator *)1;
  CHECK(ppt_context_create(&options, &context) == PPT_OK);
  ppt_context_destroy(context);
}

static void environment(void) {
  ppt_context_options options = PPT_CONTEXT_OPTIONS_INIT;
  ppt_context *context;
  CHECK(setenv("PPT_CPU_FEATURES", "-nonsense", 1) == 0);
  CHECK_FAILS(ppt_context_create(NULL, &context), PPT_E_INVALID_ARGUMENT, "-nonsense");
  options.flags = PPT_CONTEXT_IGNORE_ENVIRONMENT;
  CHECK(ppt_context_create(&options, &context) == PPT_OK);
  ppt_context_destroy(context);
  CHECK(unsetenv("PPT_CPU_FEATURES") == 0 && setenv("PPT_THREADS", "3", 1) == 0);
  CHECK(ppt_context_create(NULL, &context) == PPT_OK && context->threads == 3);
  ppt_context_destroy(context);
  CHECK(setenv("PPT_THREADS", "many", 1) == 0);
  CHECK_FAILS(ppt_context_create(NULL, &context), PPT_E_INVALID_ARGUMENT, "PPT_THREADS is 'many'");
  CHECK(unsetenv("PPT_THREADS") == 0);
}

static void every_status_has_a_sentence(void) {
#define HAS_SENTENCE(name, value, sentence)                            \
  CHECK(PPT_##name == (value));                                        \
  CHECK(strcmp(ppt_status_string(PPT_##name), sentence) == 0);
  PPT_STATUS_LIST(HAS_SENTENCE)
#undef HAS_SENTENCE
  CHECK(strcmp(ppt_status_string((ppt_status)999), "unknown status") == 0);
  CHECK(ppt_version() == 0x10000);
}

static void last_sentence(void *user, ppt_log_level level, const char *sentence) {
  if (level == PPT_LOG_ERROR) snprintf(user, 200, "%s", sentence);
}

static void files_are_checked(void) {
  char logged[200] = "";
  ppt_context_options options = PPT_CONTEXT_OPTIONS_INIT;
  ppt_context *context;
  ppt_module *module;
  options.log = last_sentence;
  options.log_user = logged;
  CHECK(ppt_context_create(&options, &context) == PPT_OK);
  CHECK_FAILS(ppt_module_open_file(context, "/nonexistent.pptf", NULL, &module), PPT_E_IO, "cannot open");
  CHECK(strstr(logged, "/nonexistent.pptf"));
  CHECK_FAILS(ppt_module_open_file(context, "/", NULL, &module), PPT_E_IO, "is not a file");
  CHECK_FAILS(ppt_module_open_file(context, "/proc/self/exe", NULL, &module), PPT_E_NO_IMAGE, "no section pptfat");
  CHECK_FAILS(ppt_module_open_file(context, NULL, NULL, &module), PPT_E_INVALID_ARGUMENT, "path");
  CHECK_FAILS(ppt_module_open_memory(context, NULL, 0, NULL, &module), PPT_E_INVALID_ARGUMENT, "bytes");
  CHECK_FAILS(ppt_module_open_memory(context, "x", 1, NULL, &module), PPT_E_CORRUPT, "not a fat file");
  CHECK_FAILS(ppt_module_open_memory(NULL, "x", 1, NULL, &module), PPT_E_INVALID_ARGUMENT, "context");
  CHECK_FAILS(ppt_module_open_section(context, "x", NULL, NULL, &module), PPT_E_INVALID_ARGUMENT, "addresses");
  CHECK(module == NULL);
  ppt_context_destroy(context);
}

/* ---------------------------------------------------------------- memory that ends */

typedef struct budget {
  long left; /* allocations until the first that fails */
  long live;
} budget;

static void *allocate(void *user, size_t size, size_t alignment) {
  budget *b = user;
  if (b->left-- <= 0) return NULL;
  void *memory = ppt_system_allocate(size, alignment);
  b->live += memory != NULL;
  return memory;
}

static void release(void *user, void *memory, size_t size) {
  budget *b = user;
  memset(memory, 0xdd, size); /* the size must be the one that was asked for */
  b->live--;
  ppt_system_release(memory);
}

static void add_one(const ppt_args *args, const ppt_group *group) {
  int32_t *counts = args->pointers[0];
  for (uint64_t block = group->block_begin; block < group->block_end; block++) counts[block]++;
}

/* Opens, launches twice and closes; `spent` is what the second launch allocated. */
static ppt_status live_once(budget *b, const file_bytes *file, long *spent) {
  ppt_status status = PPT_OK;
  ppt_allocator hooks = {b, allocate, release};
  ppt_context_options options = PPT_CONTEXT_OPTIONS_INIT;
  ppt_context *context = NULL;
  ppt_module *module = NULL;
  const ppt_function *function;
  int32_t counts[8] = {0};
  int64_t extent = 8;
  const ppt_tensor args[] = {ppt_array(counts, PPT_I32, 1, &extent)};
  options.allocator = &hooks;
  options.threads = 3;
  TRY(ppt_context_create(&options, &context));
  TRY(ppt_module_open_section(context, file->bytes, file->bytes + file->size, NULL, &module));
  TRY(ppt_module_function(module, "count", &function));
  TRY(ppt_launch(function, args, 1, 8, NULL));
  *spent = b->left;
  TRY(ppt_launch(function, args, 1, 8, NULL));
  *spent -= b->left;
  for (int i = 0; i < 8; i++) CHECK(counts[i] == 2);
done:
  ppt_module_close(module);
  ppt_context_destroy(context);
  return status;
}

static void failing_memory(void) {
  ppt_kernel *const kernels[] = {add_one, add_one, add_one, add_one};
  file_bytes file = test_image(kernels, 4);
  long spent = -1, failures = 0;
  for (long allowed = 0;; allowed++) {
    budget b = {allowed, 0};
    ppt_status status = live_once(&b, &file, &spent);
    CHECK(b.live == 0);
    if (status == PPT_OK) break;
    CHECK(status == PPT_E_NO_MEMORY);
    failures++;
  }
  CHECK(failures > 5 && spent == 0); /* no memory is asked for after the first launch */
  free(file.bytes);
}

/* ---------------------------------------------------------------- concatenated files */

static void linked_together(void) {
  ppt_kernel *const kernels[] = {add_one, add_one, add_one, add_one};
  file_bytes one = test_image(kernels, 4);
  size_t room = (one.size + 63) / 64 * 64;
  unsigned char *both = calloc(2, room);
  ppt_context *context;
  ppt_module *module;
  CHECK(both != NULL);
  memcpy(both, one.bytes, one.size);
  memcpy(both + room, one.bytes, one.size);
  CHECK(ppt_context_create(NULL, &context) == PPT_OK);
  CHECK(ppt_module_open_section(context, both, both + 2 * room, NULL, &module) == PPT_OK);
  CHECK(ppt_module_function_count(module) == 8);
  ppt_module_close(module);
  both[room + 9]++; /* the second one is damaged */
  CHECK(ppt_module_open_section(context, both, both + 2 * room, NULL, &module) == PPT_E_VERSION);
  ppt_context_destroy(context);
  free(both);
  free(one.bytes);
}

int main(void) {
  RUN(options_are_checked);
  RUN(older_callers);
  RUN(environment);
  RUN(every_status_has_a_sentence);
  RUN(files_are_checked);
  RUN(failing_memory);
  RUN(linked_together);
  return 0;
}
