/* The ABI of the CPU kernels that pptc makes: the only thing that a host shares with generated code.
 *
 * A tile kernel NAME is compiled to `ppt_kernel NAME.kernel`, a hidden symbol. It reads its arguments
 * from a ppt_args, runs the blocks of a ppt_group, calls nothing and keeps nothing. Structures begin
 * with their size and grow at the end only; a field is used only where struct_size covers it.
 * This header stands alone: it needs no other header of the library.
 */
#ifndef PPTC_KERNEL_H
#define PPTC_KERNEL_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PPT_KERNEL_ABI_VERSION 1u

/* Every scratch pointer has at least this alignment, in bytes. */
#define PPT_SCRATCH_ALIGNMENT 64u

/* Scratch up to this size fits the stack of a plain symbol; above, only NAME_ws(args, scratch) exists. */
#define PPT_STACK_SCRATCH_BYTES 262144u

/* Which cores of all blocks meet. */
#define PPT_MEET_VECTOR 0u
#define PPT_MEET_CUBE 1u
#define PPT_MEET_ALL 2u

/* What a kernel may ask for while it runs. The cores of a block pass tiles to each other in the slots of queues,
 * `slots` of `bytes` bytes each, the first one `offset` bytes into the memory that they share. `meet` returns when
 * `count` cores of a kind have called it, or with 0 all of them; `pause` lets others run.
 * `print` shows a number on standard error, as digits << 8 | width say, or ends the line with a layout of 0. */
typedef struct ppt_services ppt_services;
struct ppt_services {
  uint32_t struct_size;
  uint32_t version; /* PPT_KERNEL_ABI_VERSION */
  void *(*claim_slot)(const ppt_services *, uint32_t queue, uint32_t slots, uint64_t offset, uint64_t bytes);
  void (*send_slot)(const ppt_services *, uint32_t queue);
  void *(*receive_slot)(const ppt_services *, uint32_t queue, uint32_t slots, uint64_t offset, uint64_t bytes);
  void (*free_slot)(const ppt_services *, uint32_t queue);
  void (*meet)(const ppt_services *, uint32_t who, uint32_t count);
  void (*pause)(const ppt_services *);
  void (*print)(const ppt_services *, double value, uint32_t layout);
};

/* What all blocks of a launch share, but for scratch, which belongs to one worker. */
typedef struct ppt_args {
  uint32_t struct_size;
  uint32_t version;                    /* PPT_KERNEL_ABI_VERSION */
  void *const *pointers;               /* the pointer arguments in their order */
  const uint64_t *scalars;             /* the other arguments in their order, bits in the low bytes; */
                                       /* SPMD arguments are left out, they come from the group */
  const int64_t *symbols;              /* values of symbolic extents, or NULL */
  void *scratch;                       /* this worker's own, NULL where the kernel needs none */
  uint64_t *fault;                     /* sticky word for faults of values, or NULL */
  const ppt_services *services;        /* of the library; NULL where a program calls a kernel itself */
} ppt_args;

/* The blocks [block_begin, block_end) of a grid of block_count, to be run by one worker. */
typedef struct ppt_group {
  uint32_t struct_size;
  uint32_t worker; /* number of the worker, from 0 */
  uint64_t block_begin;
  uint64_t block_end;
  uint64_t block_count;
  uint64_t core; /* which core of the block to run: 0 the cube, then the vector cores; 0 where there is one */
} ppt_group;

typedef void ppt_kernel(const ppt_args *args, const ppt_group *group);

#if defined(__cplusplus)
#define PPT_STATIC_ASSERT(condition, sentence) static_assert(condition, sentence)
#else
#define PPT_STATIC_ASSERT(condition, sentence) _Static_assert(condition, sentence)
#endif

PPT_STATIC_ASSERT(sizeof(void *) == 8, "kernels are 64-bit code");
PPT_STATIC_ASSERT(sizeof(ppt_args) == 56, "layout of ppt_args");
PPT_STATIC_ASSERT(offsetof(ppt_args, version) == 4, "layout of ppt_args");
PPT_STATIC_ASSERT(offsetof(ppt_args, pointers) == 8, "layout of ppt_args");
PPT_STATIC_ASSERT(offsetof(ppt_args, scalars) == 16, "layout of ppt_args");
PPT_STATIC_ASSERT(offsetof(ppt_args, symbols) == 24, "layout of ppt_args");
PPT_STATIC_ASSERT(offsetof(ppt_args, scratch) == 32, "layout of ppt_args");
PPT_STATIC_ASSERT(offsetof(ppt_args, fault) == 40, "layout of ppt_args");
PPT_STATIC_ASSERT(offsetof(ppt_args, services) == 48, "layout of ppt_args");
PPT_STATIC_ASSERT(offsetof(ppt_services, claim_slot) == 8, "layout of ppt_services");
PPT_STATIC_ASSERT(offsetof(ppt_services, send_slot) == 16, "layout of ppt_services");
PPT_STATIC_ASSERT(offsetof(ppt_services, receive_slot) == 24, "layout of ppt_services");
PPT_STATIC_ASSERT(offsetof(ppt_services, free_slot) == 32, "layout of ppt_services");
PPT_STATIC_ASSERT(offsetof(ppt_services, meet) == 40, "layout of ppt_services");
PPT_STATIC_ASSERT(offsetof(ppt_services, pause) == 48, "layout of ppt_services");
PPT_STATIC_ASSERT(offsetof(ppt_services, print) == 56, "layout of ppt_services");
PPT_STATIC_ASSERT(sizeof(ppt_group) == 40, "layout of ppt_group");
PPT_STATIC_ASSERT(offsetof(ppt_group, worker) == 4, "layout of ppt_group");
PPT_STATIC_ASSERT(offsetof(ppt_group, block_begin) == 8, "layout of ppt_group");
PPT_STATIC_ASSERT(offsetof(ppt_group, block_end) == 16, "layout of ppt_group");
PPT_STATIC_ASSERT(offsetof(ppt_group, block_count) == 24, "layout of ppt_group");
PPT_STATIC_ASSERT(offsetof(ppt_group, core) == 32, "layout of ppt_group");

#ifdef __cplusplus
}
#endif

#endif
