/* Contexts: hooks, the facts of the machine, the pool, and scratch that is kept between launches. */
#include <stdio.h>
#include <stdlib.h>

#include "internal.h"

static void *default_allocate(void *user, size_t size, size_t alignment) {
  (void)user;
  return ppt_system_allocate(size, alignment);
}

static void default_release(void *user, void *memory, size_t size) {
  (void)user;
  (void)size;
  ppt_system_release(memory);
}

/* The options of a caller who may know fewer fields than this library. */
static ppt_status read_options(const ppt_context_options *given, ppt_context_options *options) {
  const ppt_context_options defaults = PPT_CONTEXT_OPTIONS_INIT;
  *options = defaults;
  if (!given) return PPT_OK;
  if (given->struct_size < 8 || given->struct_size > 4096)
    return ppt_fail(PPT_E_INVALID_ARGUMENT, "context options of %u bytes; begin with PPT_CONTEXT_OPTIONS_INIT",
                    (unsigned)given->struct_size);
  memcpy(options, given, given->struct_size < sizeof *options ? given->struct_size : sizeof *options);
  if (options->allocator && (!options->allocator->allocate || !options->allocator->release))
    return ppt_fail(PPT_E_INVALID_ARGUMENT, "the allocator needs both functions, allocate and release");
  return PPT_OK;
}

static ppt_status read_threads(const char *text, uint32_t *threads) {
  char *end;
  unsigned long value = strtoul(text, &end, 10);
  if (end == text || *end || value > 4096)
    return ppt_fail(PPT_E_INVALID_ARGUMENT, "PPT_THREADS is '%s', not a number from 0 to 4096", text);
  *threads = (uint32_t)value;
  return PPT_OK;
}

static ppt_status read_environment(ppt_context_options *options) {
  const char *threads = ppt_environment("PPT_THREADS");
  if (!options->cpu_features) options->cpu_features = ppt_environment("PPT_CPU_FEATURES");
  if (!options->target) options->target = ppt_environment("PPT_TARGET");
  return threads && !options->threads ? read_threads(threads, &options->threads) : PPT_OK;
}

static void describe(ppt_context *context) {
  ppt_text text = {context->device, sizeof context->device, 0};
  ppt_text_add(&text, "%s", ppt_machine_name(context->facts.machine));
  for (unsigned bit = 0; bit < 256; bit++) {
    if (context->facts.features[bit / 64] >> bit % 64 & 1)
      ppt_text_add(&text, " +%s", ppt_cpu_feature_name(context->facts.machine, bit));
  }
  if (context->facts.vector_bits)
    ppt_text_add(&text, ", vectors of %u bits", (unsigned)context->facts.vector_bits);
}

static ppt_status configure(ppt_context *context, const ppt_context_options *options) {
  context->log = options->log;
  context->log_user = options->log_user;
  context->threads = options->threads ? options->threads : ppt_processor_count();
  context->spin_microseconds = options->spin_microseconds;
  if (options->target && strlen(options->target) >= sizeof context->target)
    return ppt_fail(PPT_E_INVALID_ARGUMENT, "no target has a name as long as '%s'", options->target);
  if (options->target) memcpy(context->target, options->target, strlen(options->target));
  ppt_cpu_probe(&context->facts);
  ppt_status status = options->cpu_features ? ppt_cpu_mask(&context->facts, options->cpu_features) : PPT_OK;
  if (!status) describe(context);
  return status;
}

ppt_status ppt_context_create(const ppt_context_options *given, ppt_context **out) {
  ppt_status status = PPT_OK;
  ppt_context_options options;
  ppt_allocator allocator = {NULL, default_allocate, default_release};
  ppt_context *context = NULL;
  if (!out) return ppt_fail(PPT_E_INVALID_ARGUMENT, "ppt_context_create has nowhere to put the context");
  *out = NULL;
  TRY(read_options(given, &options));
  if (!(options.flags & PPT_CONTEXT_IGNORE_ENVIRONMENT)) TRY(read_environment(&options));
  if (options.allocator) allocator = *options.allocator;
  context = allocator.allocate(allocator.user, sizeof *context, 64);
  if (!context) TRY(ppt_fail(PPT_E_NO_MEMORY, "no memory for a context"));
  memset(context, 0, sizeof *context);
  context->allocator = allocator;
  status = ppt_mutex_init(&context->lock);
  if (status) {
    allocator.release(allocator.user, context, sizeof *context);
    return status;
  }
  atomic_init(&context->references, 1);
  status = configure(context, &options);
  if (status) {
    ppt_context_release(context);
    return status;
  }
  *out = context;
done:
  return status;
}

void ppt_context_destroy(ppt_context *context) {
  if (context) ppt_context_release(context);
}

void ppt_context_retain(ppt_context *context) {
  atomic_fetch_add_explicit(&context->references, 1, memory_order_relaxed);
}

ppt_status ppt_context_own_threads(ppt_context *context) {
  if (!context->process) context->process = ppt_process_number();
  if (context->process == ppt_process_number()) return PPT_OK;
  return ppt_fail(PPT_E_UNSUPPORTED, "the process was forked after its context had launched; make a context here");
}

void ppt_context_release(ppt_context *context) {
  if (atomic_fetch_sub_explicit(&context->references, 1, memory_order_acq_rel) != 1) return;
  if (!context->process || context->process == ppt_process_number()) { /* a fork leaves the threads behind */
    ppt_pool_destroy(context->pool);
    ppt_teams_destroy(context->teams);
  }
  while (context->free_seats) {
    ppt_seat *seat = context->free_seats;
    context->free_seats = seat->next;
    ppt_release(context, seat->scratch, seat->size);
    ppt_release(context, seat, sizeof *seat);
  }
  ppt_mutex_destroy(&context->lock);
  ppt_allocator allocator = context->allocator;
  allocator.release(allocator.user, context, sizeof *context);
}

const char *ppt_context_device(const ppt_context *context) {
  return context ? context->device : "";
}

ppt_status ppt_allocate(ppt_context *context, size_t size, void *out) {
  void *memory = context->allocator.allocate(context->allocator.user, size ? size : 1, 64);
  if (!memory) return ppt_fail(PPT_E_NO_MEMORY, "no memory for %zu bytes", size);
  memset(memory, 0, size);
  memcpy(out, &memory, sizeof memory);
  return PPT_OK;
}

void ppt_release(ppt_context *context, void *memory, size_t size) {
  if (memory) context->allocator.release(context->allocator.user, memory, size ? size : 1);
}

void ppt_log(const ppt_context *context, ppt_log_level level, const char *format, ...) {
  if (!context->log) return;
  char sentence[512];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(sentence, sizeof sentence, format, arguments);
  va_end(arguments);
  context->log(context->log_user, level, sentence);
}

ppt_status ppt_seat_reserve(ppt_context *context, ppt_seat *seat, size_t size) {
  if (seat->size >= size) return PPT_OK;
  void *scratch = NULL;
  ppt_status status = ppt_allocate(context, size, &scratch);
  if (status) return status;
  ppt_release(context, seat->scratch, seat->size);
  seat->scratch = scratch;
  seat->size = size;
  return PPT_OK;
}
