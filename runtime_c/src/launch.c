/* Launches: arguments are checked and bound, then the blocks run on the pool or on this thread. */
#include <inttypes.h>
#include <stdio.h>

#include "internal.h"

enum { MAX_ARGUMENTS = 128 };

/* The bytes [begin, end) that an array covers. */
typedef struct byte_range {
  uintptr_t begin;
  uintptr_t end;
} byte_range;

typedef struct launch_call {
  const ppt_function *function;
  void *pointers[MAX_ARGUMENTS];
  uint64_t scalars[MAX_ARGUMENTS];
  byte_range ranges[MAX_ARGUMENTS]; /* by argument; empty for scalars */
  ppt_pool *pool;              /* NULL: the calling thread works alone */
  ppt_seat *seat;              /* of the calling thread */
  uint64_t block_count;
  uint64_t fault;
} launch_call;

/* ---------------------------------------------------------------- arguments */

static const char *type_word(uint8_t code) {
  static const char *const words[] = {"int", "uint", "float", "opaque", "bfloat", "complex", "bool"};
  return code < sizeof words / sizeof *words ? words[code] : "type ";
}

static bool is_integer(ppt_dtype dtype) {
  return dtype.code <= 1;
}

/* Integers without a sign fit both kinds. */
static bool same_type(ppt_dtype wanted, ppt_dtype given) {
  bool code = wanted.code == given.code || (is_integer(wanted) && is_integer(given));
  return code && wanted.bits == given.bits && wanted.lanes == given.lanes;
}

static size_t element_bytes(ppt_dtype dtype) {
  return ((size_t)dtype.bits * dtype.lanes + 7) / 8;
}

static ppt_status wrong(ppt_status status, const ppt_function *function, size_t index, const char *what) {
  return ppt_fail(status, "%s: argument %zu, %s, %s", function->name, index, function->arguments[index].name,
                  what);
}

static ppt_status check_type(const ppt_function *function, size_t index, const ppt_tensor *tensor) {
  const ppt_argument *argument = function->arguments + index;
  if (argument->kind == PPT_SCALAR && tensor->rank != 0)
    return wrong(PPT_E_TYPE, function, index, "is a scalar; pass it with rank 0");
  if (argument->kind == PPT_POINTER && tensor->rank == 0)
    return wrong(PPT_E_TYPE, function, index, "is an array; pass it with its extents");
  if (!same_type(argument->dtype, tensor->dtype))
    return ppt_fail(PPT_E_TYPE, "%s: argument %zu, %s, has elements of %s%u, not %s%u", function->name, index,
                    argument->name, type_word(argument->dtype.code), argument->dtype.bits,
                    type_word(tensor->dtype.code), tensor->dtype.bits);
  if (tensor->device.kind != PPT_DEVICE_CPU)
    return wrong(PPT_E_TYPE, function, index, "is not in the memory of the CPU");
  return PPT_OK;
}

/* The bytes that an array covers; false when its extents are negative or beyond all memory. */
static bool covered(const ppt_tensor *tensor, byte_range *out) {
  int64_t low = 0, high = 0, dense = 1, bytes = (int64_t)element_bytes(tensor->dtype);
  bool empty = false;
  for (int32_t i = tensor->rank - 1; i >= 0; i--) {
    int64_t extent = tensor->shape[i], stride = tensor->strides ? tensor->strides[i] : dense, reach;
    if (extent < 0 || __builtin_mul_overflow(dense, extent ? extent : 1, &dense)) return false;
    empty |= extent == 0;
    if (extent == 0) continue;
    if (__builtin_mul_overflow(extent - 1, stride, &reach)) return false;
    if (__builtin_add_overflow(reach < 0 ? low : high, reach, reach < 0 ? &low : &high)) return false;
  }
  if (__builtin_mul_overflow(low, bytes, &low) || __builtin_add_overflow(high, 1, &high) ||
      __builtin_mul_overflow(high, bytes, &high))
    return false;
  uintptr_t start = (uintptr_t)tensor->data + (uintptr_t)tensor->byte_offset;
  uintptr_t below = (uintptr_t)0 - (uintptr_t)low;
  if (!empty && (below > start || (uintptr_t)high > UINTPTR_MAX - start)) return false;
  out->begin = empty ? start : start - below;
  out->end = empty ? start : start + (uintptr_t)high;
  return true;
}

static ppt_status bind_array(launch_call *call, size_t index, const ppt_tensor *tensor, size_t *count) {
  const ppt_function *function = call->function;
  byte_range *range = call->ranges + index;
  if (tensor->rank < 0 || tensor->rank > 64 || !tensor->shape)
    return wrong(PPT_E_INVALID_ARGUMENT, function, index, "has no shape");
  if (!covered(tensor, range))
    return wrong(PPT_E_INVALID_ARGUMENT, function, index, "has extents that no memory has");
  if (range->begin != range->end && !tensor->data)
    return wrong(PPT_E_INVALID_ARGUMENT, function, index, "has no data");
  char *data = (char *)tensor->data + tensor->byte_offset;
  size_t bytes = element_bytes(tensor->dtype);
  if (bytes && (bytes & (bytes - 1)) == 0 && (uintptr_t)data % bytes)
    return wrong(PPT_E_INVALID_ARGUMENT, function, index, "is not aligned to its elements");
  call->pointers[(*count)++] = data;
  return PPT_OK;
}

static ppt_status bind_scalar(launch_call *call, size_t index, const ppt_tensor *tensor, size_t *count) {
  size_t bytes = element_bytes(tensor->dtype);
  if (!tensor->data) return wrong(PPT_E_INVALID_ARGUMENT, call->function, index, "has no value");
  if (bytes > 8) return wrong(PPT_E_TYPE, call->function, index, "is wider than a scalar can be");
  uint64_t value = 0; /* the value's bits in the low bytes: these machines are little endian */
  memcpy(&value, (const char *)tensor->data + tensor->byte_offset, bytes);
  call->scalars[(*count)++] = value;
  return PPT_OK;
}

static ppt_status bind(launch_call *call, const ppt_tensor *tensors) {
  const ppt_function *function = call->function;
  size_t pointers = 0, scalars = 0;
  for (size_t i = 0; i < function->argument_count; i++) {
    ppt_status status = check_type(function, i, tensors + i);
    if (!status && function->arguments[i].kind == PPT_POINTER)
      status = bind_array(call, i, tensors + i, &pointers);
    else if (!status)
      status = bind_scalar(call, i, tensors + i, &scalars);
    if (status) return status;
  }
  return PPT_OK;
}

/* ---------------------------------------------------------------- overlap */

static bool allowed_in_place(const ppt_function *function, size_t written, size_t other) {
  for (uint32_t i = 0; i < function->pair_count; i++) {
    const pptf_signature_pair *pair = function->pairs + i;
    if (pair->written == written && pair->read == other) return true;
  }
  return false;
}

static ppt_status check_pair(const launch_call *call, size_t written, size_t other) {
  const ppt_function *function = call->function;
  const byte_range *a = call->ranges + written, *b = call->ranges + other;
  if (a->begin >= b->end || b->begin >= a->end) return PPT_OK;
  bool same = a->begin == b->begin && a->end == b->end;
  if (same && (allowed_in_place(function, written, other) || allowed_in_place(function, other, written)))
    return PPT_OK;
  return ppt_fail(PPT_E_OVERLAP, "%s: it writes %s, which overlaps %s; pass memory of its own", function->name,
                  function->arguments[written].name, function->arguments[other].name);
}

static ppt_status check_overlap(const launch_call *call) {
  const ppt_function *function = call->function;
  if (function->flags & PPTF_KERNEL_MAY_ALIAS) return PPT_OK;
  for (size_t i = 0; i < function->argument_count; i++) {
    if (!(function->arguments[i].access & PPT_WRITES) || call->ranges[i].begin == call->ranges[i].end) continue;
    for (size_t j = 0; j < function->argument_count; j++) {
      if (i == j || call->ranges[j].begin == call->ranges[j].end) continue;
      ppt_status status = check_pair(call, i, j);
      if (status) return status;
    }
  }
  return PPT_OK;
}

/* ---------------------------------------------------------------- running */

void ppt_print_number(const ppt_services *services, double value, uint32_t layout) {
  (void)services;
  int width = (int)(layout & 255), digits = (int)(layout >> 8);
  if (!layout) {
    fputc('\n', stderr);
  } else if (value != value) {
    fprintf(stderr, "%*s ", width, "nan"); /* of either sign */
  } else {
    fprintf(stderr, "%*.*f ", width, digits, value);
  }
}

/* Of a block that waits for nobody. */
static const ppt_services own_services = {
    .struct_size = sizeof own_services, .version = PPT_KERNEL_ABI_VERSION, .print = ppt_print_number};

static void run_group(launch_call *call, const ppt_seat *seat, const ppt_services *services,
                      const ppt_group *group) {
  const ppt_args args = {.struct_size = sizeof args,
                         .version = PPT_KERNEL_ABI_VERSION,
                         .pointers = call->pointers,
                         .scalars = call->scalars,
                         .scratch = seat->scratch,
                         .fault = &call->fault,
                         .services = services};
  call->function->kernel(&args, group);
}

static void run_blocks(void *user, uint32_t worker, uint64_t begin, uint64_t end) {
  launch_call *call = user;
  const ppt_group group = {sizeof group, worker, begin, end, call->block_count, 0};
  run_group(call, worker ? ppt_pool_seat(call->pool, worker) : call->seat, &own_services, &group);
}

static void run_core(void *user, const ppt_seat *seat, const ppt_services *services, uint32_t core,
                     uint64_t block) {
  launch_call *call = user;
  const ppt_group group = {sizeof group, 0, block, block + 1, call->block_count, core};
  run_group(call, seat, services, &group);
}

/* Runs blocks whose threads wait for each other. */
static ppt_status run_teams(ppt_context *context, launch_call *call, ppt_blocks blocks) {
  ppt_status status = PPT_OK;
  ppt_mutex_lock(&context->lock);
  status = ppt_context_own_threads(context);
  if (!status && !context->teams) status = ppt_teams_create(context, &context->teams);
  ppt_mutex_unlock(&context->lock);
  if (status) return status;
  return ppt_teams_run(context->teams, call->function, call->seat, run_core, call, blocks.begin, blocks.end);
}

/* Takes the context's pool for a launch of several blocks, making it at the first; leaves call->pool
 * NULL where one thread is enough or another launch has the pool. */
static ppt_status take_pool(ppt_context *context, uint64_t blocks, launch_call *call) {
  ppt_status status = PPT_OK;
  if (context->threads < 2 || blocks < 2) return PPT_OK;
  ppt_mutex_lock(&context->lock);
  status = ppt_context_own_threads(context);
  if (!status && !context->pool) status = ppt_pool_create(context, context->threads - 1, &context->pool);
  ppt_mutex_unlock(&context->lock);
  if (status || !ppt_pool_take(context->pool)) return status;
  call->pool = context->pool;
  for (uint32_t i = 1; i <= ppt_pool_workers(call->pool) && !status; i++)
    status = ppt_seat_reserve(context, ppt_pool_seat(call->pool, i), (size_t)call->function->scratch_bytes);
  return status;
}

static ppt_status take_seat(ppt_context *context, launch_call *call) {
  ppt_status status = PPT_OK;
  ppt_mutex_lock(&context->lock);
  call->seat = context->free_seats;
  if (call->seat) context->free_seats = call->seat->next;
  ppt_mutex_unlock(&context->lock);
  if (!call->seat) TRY(ppt_allocate(context, sizeof *call->seat, &call->seat));
  TRY(ppt_seat_reserve(context, call->seat, (size_t)call->function->scratch_bytes));
done:
  return status;
}

static void leave_seat(ppt_context *context, ppt_seat *seat) {
  if (!seat) return;
  ppt_mutex_lock(&context->lock);
  seat->next = context->free_seats;
  context->free_seats = seat;
  ppt_mutex_unlock(&context->lock);
}

/* The one block of a kernel whose work may be divided, as one block per thread. */
static ppt_blocks divided(const ppt_function *function, ppt_blocks blocks) {
  if (blocks.count == 1 && blocks.end == 1 && function->code_flags & PPTF_CODE_DIVISIBLE) {
    blocks.end = blocks.count = ppt_module_context(function->module)->threads;
    blocks.begin = 0;
  }
  return blocks;
}

static ppt_status run(launch_call *call, ppt_blocks blocks) {
  ppt_status status = PPT_OK;
  ppt_context *context = ppt_module_context(call->function->module);
  TRY(take_seat(context, call));
  if (call->function->threads > 1 || call->function->code_flags & PPTF_CODE_CONCURRENT) {
    TRY(run_teams(context, call, blocks));
  } else {
    TRY(take_pool(context, blocks.end - blocks.begin, call));
    if (call->pool) ppt_pool_run(call->pool, run_blocks, call, blocks.begin, blocks.end);
    else run_blocks(call, 0, blocks.begin, blocks.end);
  }
  if (call->fault)
    TRY(ppt_fail(PPT_E_FAULT, "%s: fault %#" PRIx64 " of a value; its outputs are undefined",
                 call->function->name, call->fault));
done:
  if (call->pool) ppt_pool_leave(call->pool);
  leave_seat(context, call->seat);
  return status;
}

static ppt_status check_call(const ppt_function *function, const ppt_tensor *args, size_t count,
                             ppt_blocks blocks, const ppt_stream *stream) {
  if (!function) return ppt_fail(PPT_E_INVALID_ARGUMENT, "a launch needs a kernel");
  if (stream) return ppt_fail(PPT_E_UNSUPPORTED, "%s: pass NULL for the stream", function->name);
  if (count != function->argument_count)
    return ppt_fail(PPT_E_INVALID_ARGUMENT, "%s takes %u arguments, not %zu", function->name,
                    (unsigned)function->argument_count, count);
  if (count > MAX_ARGUMENTS)
    return ppt_fail(PPT_E_UNSUPPORTED, "%s has more than %d arguments", function->name, MAX_ARGUMENTS);
  if (count && !args) return ppt_fail(PPT_E_INVALID_ARGUMENT, "%s: the arguments are missing", function->name);
  if (blocks.begin > blocks.end || blocks.end > blocks.count || blocks.count > INT32_MAX)
    return ppt_fail(PPT_E_INVALID_ARGUMENT, "%s: blocks %" PRIu64 " to %" PRIu64 " of %" PRIu64
                    " are no part of a grid", function->name, blocks.begin, blocks.end, blocks.count);
  if (blocks.count > 1 && !(function->flags & PPTF_KERNEL_USES_GRID))
    return ppt_fail(PPT_E_INVALID_ARGUMENT, "%s does not ask for its block: launch it with a grid of 1",
                    function->name);
  if (function->code_flags & PPTF_CODE_CONCURRENT && blocks.end - blocks.begin != blocks.count)
    return ppt_fail(PPT_E_INVALID_ARGUMENT, "%s: its blocks wait for each other; launch all of them at once",
                    function->name);
  return PPT_OK;
}

ppt_status ppt_launch_blocks(const ppt_function *function, const ppt_tensor *args, size_t count,
                             ppt_blocks blocks, ppt_stream *stream) {
  ppt_status status = PPT_OK;
  launch_call call;
  TRY(check_call(function, args, count, blocks, stream));
  blocks = divided(function, blocks);
  call.function = function;
  call.pool = NULL;
  call.seat = NULL;
  call.block_count = blocks.count;
  call.fault = 0;
  memset(call.ranges, 0, function->argument_count * sizeof *call.ranges);
  TRY(bind(&call, args));
  TRY(check_overlap(&call));
  if (blocks.begin < blocks.end) TRY(run(&call, blocks));
done:
  return status;
}

ppt_status ppt_launch(const ppt_function *function, const ppt_tensor *args, size_t count, uint64_t grid,
                      ppt_stream *stream) {
  const ppt_blocks all = {0, grid, grid};
  return ppt_launch_blocks(function, args, count, all, stream);
}
