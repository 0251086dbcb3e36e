/* pptrt: loads and runs kernels compiled by pptc.
 *
 * Introduction. A program that adds two arrays with the kernel `vadd` of vadd.so:
 *
 *   #include <pptrt.h>
 *   #include <stdio.h>
 *   int main(void) {
 *     static float x[64 * 64], y[64 * 64], z[64 * 64];
 *     int64_t shape[] = {64, 64};
 *     int32_t rows = 64;
 *     ppt_context *context = NULL;
 *     ppt_module *module = NULL;
 *     const ppt_function *vadd;
 *     ppt_status status = ppt_context_create(NULL, &context);
 *     if (!status) status = ppt_module_open_file(context, "vadd.so", NULL, &module);
 *     if (!status) status = ppt_module_function(module, "vadd", &vadd);
 *     if (!status) {
 *       ppt_tensor args[] = {ppt_array(x, PPT_F32, 2, shape), ppt_array(y, PPT_F32, 2, shape),
 *                            ppt_array(z, PPT_F32, 2, shape), ppt_scalar(&rows, PPT_I32)};
 *       status = ppt_launch(vadd, args, 4, 1, NULL);
 *     }
 *     if (status) fprintf(stderr, "%s\n", ppt_last_error());
 *     ppt_module_close(module);
 *     ppt_context_destroy(context);
 *     return status != PPT_OK;
 *   }
 *
 * Manners. Every call that can fail returns a ppt_status, 0 for success; ppt_last_error() then gives
 * a sentence. Handles are opaque; what a call named create or open makes, destroy or close releases,
 * and both take NULL. Result parameters come last and are NULL or zero after a failure. Structures
 * that a caller fills begin with struct_size, have an INIT macro and grow at the end only. There is
 * no global state but each thread's last error, and nothing runs before or after main. Handles may
 * be shared by threads once the call that made them has returned. A forked child may use what its parent
 * opened until the parent's context has launched a grid; after that it needs a context of its own.
 */
#ifndef PPTRT_H
#define PPTRT_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(PPT_STATIC)
#define PPT_API
#elif defined(__GNUC__)
#define PPT_API __attribute__((visibility("default")))
#else
#define PPT_API
#endif

/* Major part: refuses to work together when it differs; minor part: later ones only add. */
#define PPT_ABI_VERSION_MAJOR 1
#define PPT_ABI_VERSION_MINOR 0

/* The version of the library: major * 65536 + minor. */
PPT_API uint32_t ppt_version(void);

/* ---------------------------------------------------------------- status */

/* X(name, value, sentence) */
#define PPT_STATUS_LIST(X)                                                              \
  X(OK, 0, "success")                                                                   \
  X(E_INVALID_ARGUMENT, 1, "an argument of the call is wrong")                          \
  X(E_NO_MEMORY, 2, "out of memory")                                                    \
  X(E_IO, 3, "a file cannot be read")                                                   \
  X(E_CORRUPT, 4, "the file is damaged")                                                \
  X(E_VERSION, 5, "the file needs a newer library")                                     \
  X(E_UNSUPPORTED, 6, "the library cannot do this yet")                                 \
  X(E_NOT_FOUND, 7, "no kernel has this name")                                          \
  X(E_NO_IMAGE, 8, "no section of the file fits this machine")                          \
  X(E_LOAD, 9, "the system cannot load the code")                                       \
  X(E_TYPE, 10, "an argument of a kernel has the wrong kind or element type")           \
  X(E_OVERLAP, 11, "memory that a kernel writes overlaps another argument")             \
  X(E_FAULT, 12, "a kernel met a value that it has no result for")                      \
  X(E_SYSTEM, 13, "a call of the operating system failed")

typedef enum ppt_status {
#define PPT_STATUS_VALUE(name, value, sentence) PPT_##name = value,
  PPT_STATUS_LIST(PPT_STATUS_VALUE)
#undef PPT_STATUS_VALUE
  PPT_STATUS_FORCE_32_BITS = 0x7fffffff
} ppt_status;

/* What a status means in general; never NULL. */
PPT_API const char *ppt_status_string(ppt_status status);

/* What was wrong in the last call of this thread that failed, with what to do about it. Valid until
 * the next call that fails in this thread; "" before any. */
PPT_API const char *ppt_last_error(void);

/* ---------------------------------------------------------------- tensors */

/* A data type as in DLPack. `lanes` is 1 but for packed types. */
typedef struct ppt_dtype {
  uint8_t code;
  uint8_t bits;
  uint16_t lanes;
} ppt_dtype;

#define PPT_TYPE_CODE(code, bits) ((code) | (bits) << 8 | 1 << 16)

/* The common types, for ppt_array and ppt_scalar. */
typedef enum ppt_type {
  PPT_I8 = PPT_TYPE_CODE(0, 8),
  PPT_I16 = PPT_TYPE_CODE(0, 16),
  PPT_I32 = PPT_TYPE_CODE(0, 32),
  PPT_I64 = PPT_TYPE_CODE(0, 64),
  PPT_U8 = PPT_TYPE_CODE(1, 8),
  PPT_U16 = PPT_TYPE_CODE(1, 16),
  PPT_U32 = PPT_TYPE_CODE(1, 32),
  PPT_U64 = PPT_TYPE_CODE(1, 64),
  PPT_F16 = PPT_TYPE_CODE(2, 16),
  PPT_F32 = PPT_TYPE_CODE(2, 32),
  PPT_F64 = PPT_TYPE_CODE(2, 64),
  PPT_BF16 = PPT_TYPE_CODE(4, 16),
  PPT_BOOL = PPT_TYPE_CODE(6, 8),
  PPT_F8E4M3FN = PPT_TYPE_CODE(10, 8),
  PPT_F8E5M2 = PPT_TYPE_CODE(12, 8)
} ppt_type;

typedef struct ppt_device {
  int32_t kind; /* as in DLPack: 1 is the CPU */
  int32_t id;
} ppt_device;

#define PPT_DEVICE_CPU 1

/* An array or, with rank 0, a scalar, laid out as DLTensor: a pointer to one may be passed. The
 * caller owns all memory. `strides` count elements; NULL means dense rows. */
typedef struct ppt_tensor {
  void *data;
  ppt_device device;
  int32_t rank;
  ppt_dtype dtype;
  const int64_t *shape;
  const int64_t *strides;
  uint64_t byte_offset;
} ppt_tensor;

/* A dense array in the memory of the CPU; shape has `rank` extents. */
static inline ppt_tensor ppt_array(const void *data, ppt_type type, int32_t rank, const int64_t *shape) {
  ppt_tensor tensor;
  tensor.data = (void *)(uintptr_t)data;
  tensor.device.kind = PPT_DEVICE_CPU;
  tensor.device.id = 0;
  tensor.rank = rank;
  tensor.dtype.code = (uint8_t)((unsigned)type & 255);
  tensor.dtype.bits = (uint8_t)((unsigned)type >> 8 & 255);
  tensor.dtype.lanes = (uint16_t)((unsigned)type >> 16);
  tensor.shape = shape;
  tensor.strides = NULL;
  tensor.byte_offset = 0;
  return tensor;
}

/* A scalar; `value` must live until the launch returns. */
static inline ppt_tensor ppt_scalar(const void *value, ppt_type type) {
  return ppt_array(value, type, 0, NULL);
}

/* ---------------------------------------------------------------- context */

/* Memory hooks. `allocate` returns memory of at least `alignment` (a power of two) or NULL. */
typedef struct ppt_allocator {
  void *user;
  void *(*allocate)(void *user, size_t size, size_t alignment);
  void (*release)(void *user, void *memory, size_t size);
} ppt_allocator;

typedef enum ppt_log_level { PPT_LOG_ERROR = 1, PPT_LOG_INFO = 2 } ppt_log_level;

typedef void ppt_log_function(void *user, ppt_log_level level, const char *sentence);

/* PPT_THREADS, PPT_CPU_FEATURES and PPT_TARGET of the environment fill in what the options leave
 * open; with this flag they are not read. */
#define PPT_CONTEXT_IGNORE_ENVIRONMENT 1u

typedef struct ppt_context_options {
  uint32_t struct_size;
  uint32_t flags;                 /* PPT_CONTEXT_* */
  uint32_t threads;               /* that run a grid, the caller's included; 0: one per processor */
  uint32_t spin_microseconds;     /* that an idle worker waits awake before it sleeps */
  const ppt_allocator *allocator; /* NULL: malloc */
  ppt_log_function *log;          /* NULL: silence */
  void *log_user;
  const char *cpu_features;       /* features to take away: "-avx512f,-avx2"; NULL: none */
  const char *target;             /* use only sections of this target; NULL: any */
} ppt_context_options;

#define PPT_CONTEXT_OPTIONS_INIT \
  { sizeof(ppt_context_options), 0, 0, 100, NULL, NULL, NULL, NULL, NULL }

/* Probes the processor; threads start with the first launch that needs them. */
typedef struct ppt_context ppt_context;

/* `options` may be NULL. The caller destroys the context; open modules keep it alive. */
PPT_API ppt_status ppt_context_create(const ppt_context_options *options, ppt_context **context);
PPT_API void ppt_context_destroy(ppt_context *context);

/* The processor in words: architecture and the features that sections may ask for. */
PPT_API const char *ppt_context_device(const ppt_context *context);

/* ---------------------------------------------------------------- modules */

/* An open file. Of all sections that fit the machine the best one is loaded. */
typedef struct ppt_module ppt_module;

/* Use the caller's bytes in place; they must live as long as the module. */
#define PPT_OPEN_BORROW 1u

typedef struct ppt_module_options {
  uint32_t struct_size;
  uint32_t flags; /* PPT_OPEN_* */
} ppt_module_options;

#define PPT_MODULE_OPTIONS_INIT \
  { sizeof(ppt_module_options), 0 }

/* Opens a .so or .pptf file; `options` may be NULL. */
PPT_API ppt_status ppt_module_open_file(ppt_context *context, const char *path,
                                        const ppt_module_options *options, ppt_module **module);

/* Opens the bytes of such a file; a copy is made unless PPT_OPEN_BORROW is set. */
PPT_API ppt_status ppt_module_open_memory(ppt_context *context, const void *bytes, size_t size,
                                          const ppt_module_options *options, ppt_module **module);

/* Opens the section pptfat of the running program, into which objects of `pptc -c` were linked:
 *
 *   extern const char __start_pptfat[], __stop_pptfat[];
 *   ppt_module_open_section(context, __start_pptfat, __stop_pptfat, NULL, &module);
 */
PPT_API ppt_status ppt_module_open_section(ppt_context *context, const void *begin, const void *end,
                                           const ppt_module_options *options, ppt_module **module);

/* Functions of the module must not be used any more. */
PPT_API void ppt_module_close(ppt_module *module);

/* The target whose section was loaded. */
PPT_API const char *ppt_module_target(const ppt_module *module);

/* One line per section of the file: why it was taken or turned down. */
PPT_API const char *ppt_module_report(const ppt_module *module);

/* ---------------------------------------------------------------- kernels */

/* A kernel of a module; belongs to it. */
typedef struct ppt_function ppt_function;

PPT_API size_t ppt_module_function_count(const ppt_module *module);

/* Kernel `index` in the order of the source; NULL beyond the last. */
PPT_API const ppt_function *ppt_module_function_at(const ppt_module *module, size_t index);

PPT_API ppt_status ppt_module_function(const ppt_module *module, const char *name,
                                       const ppt_function **function);

PPT_API const char *ppt_function_name(const ppt_function *function);

/* Memory that one running block needs; the library provides it. */
PPT_API uint64_t ppt_function_scratch_bytes(const ppt_function *function);

/* 1 when the blocks of a grid do different work, 0 for a kernel that runs as one block. */
PPT_API int ppt_function_uses_grid(const ppt_function *function);

typedef enum ppt_argument_kind { PPT_POINTER = 0, PPT_SCALAR = 1 } ppt_argument_kind;

#define PPT_READS 1u
#define PPT_WRITES 2u

/* One argument that ppt_launch takes. */
typedef struct ppt_argument {
  const char *name;
  ppt_argument_kind kind;
  ppt_dtype dtype;
  uint32_t access; /* PPT_READS | PPT_WRITES of the memory behind a pointer */
} ppt_argument;

/* The arguments of a launch; block numbers and the like are not among them. */
PPT_API size_t ppt_function_argument_count(const ppt_function *function);
PPT_API ppt_status ppt_function_argument(const ppt_function *function, size_t index,
                                         ppt_argument *argument);

/* ---------------------------------------------------------------- launch */

/* Reserved; NULL runs the kernel before the call returns. */
typedef struct ppt_stream ppt_stream;

/* Runs `grid` blocks of a kernel on the threads of its context; the work of a kernel that runs as one
 * block is divided among them where the compiler proved that it may be. `args` are its arguments in their
 * order: arrays for pointers, rank 0 for scalars. An array that the kernel writes must not overlap
 * another argument, but may be the very same memory where the signature says so. Element types are
 * compared, extents are not: the kernel's own arguments say how much it touches. */
PPT_API ppt_status ppt_launch(const ppt_function *function, const ppt_tensor *args, size_t count,
                              uint64_t grid, ppt_stream *stream);

/* Runs the blocks [begin, end) of a grid of `count`. */
typedef struct ppt_blocks {
  uint64_t begin;
  uint64_t end;
  uint64_t count;
} ppt_blocks;

PPT_API ppt_status ppt_launch_blocks(const ppt_function *function, const ppt_tensor *args,
                                     size_t count, ppt_blocks blocks, ppt_stream *stream);

#ifdef __cplusplus
}
#endif

#endif
