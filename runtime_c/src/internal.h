/* What the files of the library share. Layers: status < system < file < selection < module < launch. */
#ifndef PPT_INTERNAL_H
#define PPT_INTERNAL_H

#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "os.h"
#include "pptc_fatbin.h"
#include "pptc_kernel.h"
#include "pptrt.h"

/* Inside a function with `ppt_status status` and a label `done`. */
#define TRY(expression)                \
  do {                                 \
    status = (expression);             \
    if (status != PPT_OK) goto done;   \
  } while (0)

#if defined(__GNUC__)
#define PPT_FORMAT(text, first) __attribute__((format(printf, text, first)))
#else
#define PPT_FORMAT(text, first)
#endif

/* ---------------------------------------------------------------- status.c */

/* Keeps the sentence as the thread's last error and returns `status`. */
ppt_status ppt_fail(ppt_status status, const char *format, ...) PPT_FORMAT(2, 3);

/* A text of bounded length; what does not fit is cut. */
typedef struct ppt_text {
  char *bytes;
  size_t capacity;
  size_t length;
} ppt_text;

void ppt_text_add(ppt_text *text, const char *format, ...) PPT_FORMAT(2, 3);

/* ---------------------------------------------------------------- sha256.c */

typedef struct ppt_sha256 {
  uint32_t state[8];
  uint64_t length;
  unsigned char block[64];
} ppt_sha256;

void ppt_sha256_init(ppt_sha256 *sha);
void ppt_sha256_add(ppt_sha256 *sha, const void *bytes, size_t size);
void ppt_sha256_finish(ppt_sha256 *sha, unsigned char digest[32]);

/* True when `bytes` have the hash. */
bool ppt_sha256_matches(const void *bytes, size_t size, const unsigned char digest[32]);

/* ---------------------------------------------------------------- cpu_features*.c */

typedef struct ppt_cpu_facts {
  uint16_t machine;      /* PPTF_MACHINE_* */
  uint32_t vector_bits;  /* length of scalable vectors, 0 where there are none */
  uint64_t features[4];
} ppt_cpu_facts;

/* The facts of the processor that runs the program, as far as the system saves the registers. */
void ppt_cpu_probe(ppt_cpu_facts *facts);

/* Takes the features of a list "-avx512f,-avx2" away. */
ppt_status ppt_cpu_mask(ppt_cpu_facts *facts, const char *list);

/* LLVM's name of a feature bit of a machine, or NULL. */
const char *ppt_cpu_feature_name(uint16_t machine, unsigned bit);

/* "x86-64", "AArch64", ... */
const char *ppt_machine_name(uint16_t machine);

/* ---------------------------------------------------------------- fatfile.c */

/* A PPTF whose header, tables and rows have been checked: offsets in it may be used. */
typedef struct ppt_fat {
  const unsigned char *bytes;
  pptf_header header;
  pptf_signature_header signature;
} ppt_fat;

/* Checks everything but the payloads. The file may be shorter than `size`. */
ppt_status ppt_fat_open(ppt_fat *fat, const void *bytes, size_t size);
void ppt_fat_entry(const ppt_fat *fat, size_t index, pptf_entry *entry);
void ppt_fat_kernel(const ppt_fat *fat, size_t index, pptf_kernel *kernel);
void ppt_fat_signature_kernel(const ppt_fat *fat, size_t index, pptf_signature_kernel *kernel);
void ppt_fat_signature_argument(const ppt_fat *fat, size_t index, pptf_signature_argument *argument);
void ppt_fat_signature_pair(const ppt_fat *fat, size_t index, pptf_signature_pair *pair);
const char *ppt_fat_string(const ppt_fat *fat, uint32_t offset);

/* Compares the payload with its hash. */
ppt_status ppt_fat_check_payload(const ppt_fat *fat, const pptf_entry *entry);

/* ---------------------------------------------------------------- elf_section.c */

typedef struct ppt_elf_section {
  size_t offset;    /* in the file */
  size_t size;
  uint64_t address; /* relative to the image */
} ppt_elf_section;

bool ppt_elf_is(const unsigned char *bytes, size_t size);
ppt_status ppt_elf_find_section(const unsigned char *bytes, size_t size, const char *name,
                                ppt_elf_section *section);

/* True when the section is loaded where its header says. */
bool ppt_elf_is_mapped(const unsigned char *bytes, size_t size, const ppt_elf_section *section);

/* True when an address of the image is loaded as code. */
bool ppt_elf_is_code(const unsigned char *bytes, size_t size, uint64_t address);

/* ---------------------------------------------------------------- select.c */

/* Which entry of a file runs on a machine: of those that fit, the first of the highest rank. Writes
 * a line per entry to the report. Returns -1 when none fits. */
long ppt_select(const ppt_fat *fat, const ppt_cpu_facts *facts, const char *target, ppt_text *report);

/* ---------------------------------------------------------------- context.c */

struct ppt_pool;
struct ppt_seat;

struct ppt_context {
  atomic_size_t references;
  ppt_allocator allocator;
  ppt_log_function *log;
  void *log_user;
  uint32_t threads;
  uint32_t spin_microseconds;
  ppt_cpu_facts facts;
  char target[64];
  char device[512];
  ppt_mutex lock;            /* of what follows */
  struct ppt_pool *pool;     /* these two are made by the first launch that needs them */
  struct ppt_teams *teams;
  uint64_t process;          /* that their threads are in; 0 before */
  struct ppt_seat *free_seats;
};

/* With the lock: PPT_E_UNSUPPORTED where the threads of the context are those of another process. */
ppt_status ppt_context_own_threads(ppt_context *context);
void ppt_context_retain(ppt_context *context);
void ppt_context_release(ppt_context *context);

/* Zeroed memory from the context's allocator, aligned to 64 bytes. */
ppt_status ppt_allocate(ppt_context *context, size_t size, void *out);
void ppt_release(ppt_context *context, void *memory, size_t size);
void ppt_log(const ppt_context *context, ppt_log_level level, const char *format, ...) PPT_FORMAT(3, 4);

/* ---------------------------------------------------------------- pool.c */

typedef void ppt_task(void *user, uint32_t worker, uint64_t begin, uint64_t end);
typedef struct ppt_pool ppt_pool;

/* A pool of `workers` threads beside the one that calls ppt_pool_run. */
ppt_status ppt_pool_create(ppt_context *context, uint32_t workers, ppt_pool **pool);
void ppt_pool_destroy(ppt_pool *pool);

/* Takes the pool for a run; false when another thread has it. */
bool ppt_pool_take(ppt_pool *pool);
void ppt_pool_leave(ppt_pool *pool);

/* Runs the task over [begin, end) in parts, on the workers 1 .. n and on this thread as worker 0;
 * returns when all is done. The caller has taken the pool. */
void ppt_pool_run(ppt_pool *pool, ppt_task *task, void *user, uint64_t begin, uint64_t end);
uint32_t ppt_pool_workers(const ppt_pool *pool);

/* Tells the processor that this thread spins. */
static inline void ppt_pause(void) {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("yield");
#endif
}

/* ---------------------------------------------------------------- module.c, launch.c */

struct ppt_function {
  ppt_module *module;
  const char *name;
  ppt_kernel *kernel;
  uint64_t scratch_bytes;
  uint64_t shared_bytes;    /* of memory that the threads of a block share */
  uint32_t threads;         /* of a block */
  uint32_t flags;           /* PPTF_KERNEL_* */
  uint32_t code_flags;      /* PPTF_CODE_* */
  uint32_t argument_count;  /* those that a launch passes */
  const ppt_argument *arguments;
  uint32_t pair_count;
  const pptf_signature_pair *pairs; /* numbered like `arguments` */
};

ppt_context *ppt_module_context(const ppt_module *module);

/* Scratch of one thread, kept for the next launch. */
typedef struct ppt_seat {
  struct ppt_seat *next;
  void *scratch;
  size_t size;
} ppt_seat;

ppt_status ppt_seat_reserve(ppt_context *context, ppt_seat *seat, size_t size);
ppt_seat *ppt_pool_seat(ppt_pool *pool, uint32_t worker);

/* The service `print`. */
void ppt_print_number(const ppt_services *services, double value, uint32_t layout);

/* ---------------------------------------------------------------- team.c */

typedef struct ppt_teams ppt_teams;

/* The cube and two vector cores. */
enum { PPT_MOST_CORES = 3 };

/* Runs one core of one block with the scratch of a thread. */
typedef void ppt_core_task(void *user, const ppt_seat *seat, const ppt_services *services, uint32_t core,
                           uint64_t block);

ppt_status ppt_teams_create(ppt_context *context, ppt_teams **teams);
void ppt_teams_destroy(ppt_teams *teams);

/* Runs all cores of the blocks [begin, end), those of a block at the same time; this thread works too, on
 * `seat`. Waits while another launch has the teams. PPT_E_FAULT when the cores of a block wait without end. */
ppt_status ppt_teams_run(ppt_teams *teams, const ppt_function *function, ppt_seat *seat, ppt_core_task *task,
                         void *user, uint64_t begin, uint64_t end);

#endif
