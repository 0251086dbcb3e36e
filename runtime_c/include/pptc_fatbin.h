/* PPTF version 1, the file format of pptc: records, enumerations and feature bits.
 *
 * Generated from pptc/link/format.py by `python -m pptc.link.format_header`; edit that file instead.
 * Files are little endian. Records are read field by field with pptf_*_read from memory that the
 * caller has checked to hold PPTF_*_SIZE bytes; a record is never cast onto a file.
 */
#ifndef PPTC_FATBIN_H
#define PPTC_FATBIN_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#define PPTF_STATIC_ASSERT(condition, sentence) static_assert(condition, sentence)
#else
#define PPTF_STATIC_ASSERT(condition, sentence) _Static_assert(condition, sentence)
#endif

#define PPTF_VERSION_MAJOR 1u
#define PPTF_VERSION_MINOR 0u
#define PPTF_MAGIC "PPTF\015\012\032\000"
#define PPTF_MAGIC_SIZE 8u
#define PPTF_SECTION_NAME "pptfat"
#define PPTF_TABLE_ALIGN 8u
#define PPTF_PAYLOAD_ALIGN 64u

#define PPTF_KIND_IMAGE 1u /* Code in the image that carries the file; the payload is a table of distances to its kernels. */
#define PPTF_KIND_ELF_SHARED 2u /* A shared image for a CPU. */
#define PPTF_KIND_ELF_OBJECT 3u /* A relocatable object. */
#define PPTF_KIND_PTX 4u /* Text for a CUDA driver. */
#define PPTF_KIND_CUBIN 5u /* Machine code for a CUDA driver. */
#define PPTF_KIND_HSACO 6u /* A code object for a HIP driver. */
#define PPTF_KIND_SPIRV 7u /* SPIR-V. */
#define PPTF_KIND_LLVM_BITCODE 8u /* LLVM bitcode. */
#define PPTF_KIND_CCE_SOURCE 9u /* C++ for Ascend's compiler. */
#define PPTF_KIND_CCE_BINARY 10u /* Machine code for an Ascend driver. */
#define PPTF_KIND_PLAN 11u /* Launch plan of core entries. */
#define PPTF_KIND_PARAMETERS 12u /* Weights. */
#define PPTF_KIND_METADATA 13u /* Text about the file. */
#define PPTF_KIND_ASSEMBLY 14u /* Assembly text, for simulation. */

#define PPTF_MACHINE_ANY 0u /* Fits any machine. */
#define PPTF_MACHINE_X86_64 62u /* x86-64. */
#define PPTF_MACHINE_AARCH64 183u /* AArch64. */
#define PPTF_MACHINE_CUDA 190u /* NVIDIA. */
#define PPTF_MACHINE_AMDGPU 224u /* AMD. */

#define PPTF_ENTRY_REQUIRED 1u /* A reader that does not know this entry's kind or flags must refuse the file. */
#define PPTF_ENTRY_COMPRESSED 2u /* The payload is a zstd frame of raw_size bytes. */
#define PPTF_ENTRY_DEBUG 4u /* The payload carries debug information. */
#define PPTF_ENTRY_NO_HASH 8u /* The payload is finished by a system linker and has no hash (entries of kind IMAGE). */

#define PPTF_KERNEL_USES_GRID 1u /* Blocks of a grid do different work; other kernels run as one block. */
#define PPTF_KERNEL_MAY_ALIAS 2u /* Arguments may overlap each other in any way. */

#define PPTF_CODE_DIVISIBLE 1u /* One block may run as any number of blocks, which share its work. */
#define PPTF_CODE_CONCURRENT 2u /* Blocks wait for each other: all of a launch run at the same time. */

#define PPTF_ARGUMENT_POINTER 0u /* The address of an array. */
#define PPTF_ARGUMENT_SCALAR 1u /* A value. */

#define PPTF_ACCESS_READ 1u /* It may read. */
#define PPTF_ACCESS_WRITE 2u /* It may write. */

#define PPTF_ROLE_PASSED 0u /* An ordinary argument, passed by the caller. */
#define PPTF_ROLE_BLOCK_IDX 1u /* The number of the block. */
#define PPTF_ROLE_BLOCK_NUM 2u /* The number of blocks. */
#define PPTF_ROLE_SUBBLOCK_IDX 3u /* The number of the vector sub-block. */

/* X(constant, LLVM's name, bit) */
#define PPTF_X86_64_FEATURES(X) \
  X(SSE3, "sse3", 0) \
  X(SSSE3, "ssse3", 1) \
  X(SSE4_1, "sse4.1", 2) \
  X(SSE4_2, "sse4.2", 3) \
  X(POPCNT, "popcnt", 4) \
  X(CX16, "cx16", 5) \
  X(SAHF, "sahf", 6) \
  X(AVX, "avx", 7) \
  X(AVX2, "avx2", 8) \
  X(BMI, "bmi", 9) \
  X(BMI2, "bmi2", 10) \
  X(F16C, "f16c", 11) \
  X(FMA, "fma", 12) \
  X(LZCNT, "lzcnt", 13) \
  X(MOVBE, "movbe", 14) \
  X(AVX512F, "avx512f", 15) \
  X(AVX512BW, "avx512bw", 16) \
  X(AVX512CD, "avx512cd", 17) \
  X(AVX512DQ, "avx512dq", 18) \
  X(AVX512VL, "avx512vl", 19) \
  X(AVX512BF16, "avx512bf16", 20) \
  X(AVX512VNNI, "avx512vnni", 21) \
  X(AVX512FP16, "avx512fp16", 22) \
  X(AVX512IFMA, "avx512ifma", 23) \
  X(AVX512VBMI, "avx512vbmi", 24) \
  X(AVX512VBMI2, "avx512vbmi2", 25) \
  X(AVX512BITALG, "avx512bitalg", 26) \
  X(AVX512VPOPCNTDQ, "avx512vpopcntdq", 27) \
  X(AVXVNNI, "avxvnni", 28) \
  X(AVXIFMA, "avxifma", 29) \
  X(AVXVNNIINT8, "avxvnniint8", 30) \
  X(AVXNECONVERT, "avxneconvert", 31) \
  X(GFNI, "gfni", 32) \
  X(AES, "aes", 33) \
  X(VAES, "vaes", 34) \
  X(PCLMUL, "pclmul", 35) \
  X(VPCLMULQDQ, "vpclmulqdq", 36) \
  X(SHA, "sha", 37) \
  X(AMX_TILE, "amx-tile", 38) \
  X(AMX_INT8, "amx-int8", 39) \
  X(AMX_BF16, "amx-bf16", 40) \
  X(AMX_FP16, "amx-fp16", 41)

/* X(constant, LLVM's name, bit) */
#define PPTF_AARCH64_FEATURES(X) \
  X(NEON, "neon", 0) \
  X(FULLFP16, "fullfp16", 1) \
  X(DOTPROD, "dotprod", 2) \
  X(BF16, "bf16", 3) \
  X(I8MM, "i8mm", 4) \
  X(SVE, "sve", 5) \
  X(SVE2, "sve2", 6) \
  X(FP16FML, "fp16fml", 7) \
  X(LSE, "lse", 8) \
  X(RDM, "rdm", 9) \
  X(F32MM, "f32mm", 10) \
  X(F64MM, "f64mm", 11) \
  X(SME, "sme", 12)

static inline uint16_t pptf_u16(const unsigned char *bytes) {
  return (uint16_t)(bytes[0] | bytes[1] << 8);
}

static inline uint32_t pptf_u32(const unsigned char *bytes) {
  return pptf_u16(bytes) | (uint32_t)pptf_u16(bytes + 2) << 16;
}

static inline uint64_t pptf_u64(const unsigned char *bytes) {
  return pptf_u32(bytes) | (uint64_t)pptf_u32(bytes + 4) << 32;
}

/* The first bytes of a PPTF. */
typedef struct pptf_header {
  uint8_t magic[8]; /* PPTF CR LF ^Z NUL: shows damage by text mode */
  uint16_t version_major; /* a reader refuses other major versions */
  uint16_t version_minor; /* higher ones only append */
  uint32_t header_size; /* bytes of this record */
  uint64_t total_size; /* bytes of the whole file */
  uint64_t flags; /* none is defined */
  uint32_t entry_count; /* rows of the entry table */
  uint32_t entry_size; /* bytes of a row */
  uint64_t entries_offset; /* equals header_size */
  uint64_t strings_offset; /* string table: NUL-terminated UTF-8, first byte NUL */
  uint64_t strings_size;
  uint64_t signature_offset; /* kernels and their arguments */
  uint64_t signature_size;
  uint64_t parameters_offset; /* weights in this file, 0 when they are external */
  uint64_t parameters_size;
  uint8_t content_id[32]; /* sha256 of this record with this field zero, followed by the entry table */
  uint64_t kernels_offset; /* table of kernel rows, all entries' in order */
  uint64_t kernels_size;
  uint64_t map_offset; /* string map: pairs of u32 offsets of strings */
  uint64_t map_size;
  uint64_t tables_size; /* bytes between the entry table and the first payload, padding left out */
  uint64_t reserved; /* zero */
  uint8_t tables_hash[32]; /* sha256 of these bytes */
} pptf_header;

#define PPTF_HEADER_SIZE 208u

PPTF_STATIC_ASSERT(sizeof(pptf_header) == PPTF_HEADER_SIZE, "layout of pptf_header");
PPTF_STATIC_ASSERT(offsetof(pptf_header, magic) == 0, "layout of pptf_header");
PPTF_STATIC_ASSERT(offsetof(pptf_header, version_major) == 8, "layout of pptf_header");
PPTF_STATIC_ASSERT(offsetof(pptf_header, version_minor) == 10, "layout of pptf_header");
PPTF_STATIC_ASSERT(offsetof(pptf_header, header_size) == 12, "layout of pptf_header");
PPTF_STATIC_ASSERT(offsetof(pptf_header, total_size) == 16, "layout of pptf_header");
PPTF_STATIC_ASSERT(offsetof(pptf_header, flags) == 24, "layout of pptf_header");
PPTF_STATIC_ASSERT(offsetof(pptf_header, entry_count) == 32, "layout of pptf_header");
PPTF_STATIC_ASSERT(offsetof(pptf_header, entry_size) == 36, "layout of pptf_header");
PPTF_STATIC_ASSERT(offsetof(pptf_header, entries_offset) == 40, "layout of pptf_header");
PPTF_STATIC_ASSERT(offsetof(pptf_header, strings_offset) == 48, "layout of pptf_header");
PPTF_STATIC_ASSERT(offsetof(pptf_header, strings_size) == 56, "layout of pptf_header");
PPTF_STATIC_ASSERT(offsetof(pptf_header, signature_offset) == 64, "layout of pptf_header");
PPTF_STATIC_ASSERT(offsetof(pptf_header, signature_size) == 72, "layout of pptf_header");
PPTF_STATIC_ASSERT(offsetof(pptf_header, parameters_offset) == 80, "layout of pptf_header");
PPTF_STATIC_ASSERT(offsetof(pptf_header, parameters_size) == 88, "layout of pptf_header");
PPTF_STATIC_ASSERT(offsetof(pptf_header, content_id) == 96, "layout of pptf_header");
PPTF_STATIC_ASSERT(offsetof(pptf_header, kernels_offset) == 128, "layout of pptf_header");
PPTF_STATIC_ASSERT(offsetof(pptf_header, kernels_size) == 136, "layout of pptf_header");
PPTF_STATIC_ASSERT(offsetof(pptf_header, map_offset) == 144, "layout of pptf_header");
PPTF_STATIC_ASSERT(offsetof(pptf_header, map_size) == 152, "layout of pptf_header");
PPTF_STATIC_ASSERT(offsetof(pptf_header, tables_size) == 160, "layout of pptf_header");
PPTF_STATIC_ASSERT(offsetof(pptf_header, reserved) == 168, "layout of pptf_header");
PPTF_STATIC_ASSERT(offsetof(pptf_header, tables_hash) == 176, "layout of pptf_header");

static inline void pptf_header_read(pptf_header *out, const unsigned char *bytes) {
  memcpy(out->magic, bytes + 0, 8);
  out->version_major = pptf_u16(bytes + 8);
  out->version_minor = pptf_u16(bytes + 10);
  out->header_size = pptf_u32(bytes + 12);
  out->total_size = pptf_u64(bytes + 16);
  out->flags = pptf_u64(bytes + 24);
  out->entry_count = pptf_u32(bytes + 32);
  out->entry_size = pptf_u32(bytes + 36);
  out->entries_offset = pptf_u64(bytes + 40);
  out->strings_offset = pptf_u64(bytes + 48);
  out->strings_size = pptf_u64(bytes + 56);
  out->signature_offset = pptf_u64(bytes + 64);
  out->signature_size = pptf_u64(bytes + 72);
  out->parameters_offset = pptf_u64(bytes + 80);
  out->parameters_size = pptf_u64(bytes + 88);
  memcpy(out->content_id, bytes + 96, 32);
  out->kernels_offset = pptf_u64(bytes + 128);
  out->kernels_size = pptf_u64(bytes + 136);
  out->map_offset = pptf_u64(bytes + 144);
  out->map_size = pptf_u64(bytes + 152);
  out->tables_size = pptf_u64(bytes + 160);
  out->reserved = pptf_u64(bytes + 168);
  memcpy(out->tables_hash, bytes + 176, 32);
}

/* A row of the entry table: one payload and what it needs. */
typedef struct pptf_entry {
  uint16_t kind; /* PPTF_KIND_* */
  uint16_t machine; /* PPTF_MACHINE_* */
  uint32_t flags; /* PPTF_ENTRY_* */
  uint64_t offset; /* of the payload */
  uint64_t payload_size; /* bytes in the file */
  uint64_t raw_size; /* bytes after decompression */
  uint32_t align; /* of the payload, in the file and in memory */
  uint32_t rank; /* of the entries that fit a machine, the highest runs */
  uint64_t features[4]; /* feature bits that the machine must have */
  uint16_t min_vl; /* least vector length in bits, 0: any */
  uint16_t max_vl; /* largest vector length in bits, 0: any */
  uint32_t arch; /* number of the GPU architecture */
  uint32_t isa_version; /* 78 for PTX 7.8 */
  uint32_t target; /* string: name of the target */
  uint32_t triple; /* string: LLVM triple */
  uint32_t producer; /* string: the compiler */
  uint32_t options; /* string: options that shaped the code */
  uint32_t map_first; /* first pair of the string map */
  uint32_t map_count; /* number of pairs */
  uint32_t kernel_first; /* first row of the kernel table */
  uint32_t kernel_count; /* number of rows */
  uint32_t abi_version; /* kernel ABI of CPU code, PPT_KERNEL_ABI_VERSION */
  uint64_t reserved; /* zero */
  uint8_t payload_hash[32]; /* sha256 of the raw payload */
} pptf_entry;

#define PPTF_ENTRY_SIZE 160u

PPTF_STATIC_ASSERT(sizeof(pptf_entry) == PPTF_ENTRY_SIZE, "layout of pptf_entry");
PPTF_STATIC_ASSERT(offsetof(pptf_entry, kind) == 0, "layout of pptf_entry");
PPTF_STATIC_ASSERT(offsetof(pptf_entry, machine) == 2, "layout of pptf_entry");
PPTF_STATIC_ASSERT(offsetof(pptf_entry, flags) == 4, "layout of pptf_entry");
PPTF_STATIC_ASSERT(offsetof(pptf_entry, offset) == 8, "layout of pptf_entry");
PPTF_STATIC_ASSERT(offsetof(pptf_entry, payload_size) == 16, "layout of pptf_entry");
PPTF_STATIC_ASSERT(offsetof(pptf_entry, raw_size) == 24, "layout of pptf_entry");
PPTF_STATIC_ASSERT(offsetof(pptf_entry, align) == 32, "layout of pptf_entry");
PPTF_STATIC_ASSERT(offsetof(pptf_entry, rank) == 36, "layout of pptf_entry");
PPTF_STATIC_ASSERT(offsetof(pptf_entry, features) == 40, "layout of pptf_entry");
PPTF_STATIC_ASSERT(offsetof(pptf_entry, min_vl) == 72, "layout of pptf_entry");
PPTF_STATIC_ASSERT(offsetof(pptf_entry, max_vl) == 74, "layout of pptf_entry");
PPTF_STATIC_ASSERT(offsetof(pptf_entry, arch) == 76, "layout of pptf_entry");
PPTF_STATIC_ASSERT(offsetof(pptf_entry, isa_version) == 80, "layout of pptf_entry");
PPTF_STATIC_ASSERT(offsetof(pptf_entry, target) == 84, "layout of pptf_entry");
PPTF_STATIC_ASSERT(offsetof(pptf_entry, triple) == 88, "layout of pptf_entry");
PPTF_STATIC_ASSERT(offsetof(pptf_entry, producer) == 92, "layout of pptf_entry");
PPTF_STATIC_ASSERT(offsetof(pptf_entry, options) == 96, "layout of pptf_entry");
PPTF_STATIC_ASSERT(offsetof(pptf_entry, map_first) == 100, "layout of pptf_entry");
PPTF_STATIC_ASSERT(offsetof(pptf_entry, map_count) == 104, "layout of pptf_entry");
PPTF_STATIC_ASSERT(offsetof(pptf_entry, kernel_first) == 108, "layout of pptf_entry");
PPTF_STATIC_ASSERT(offsetof(pptf_entry, kernel_count) == 112, "layout of pptf_entry");
PPTF_STATIC_ASSERT(offsetof(pptf_entry, abi_version) == 116, "layout of pptf_entry");
PPTF_STATIC_ASSERT(offsetof(pptf_entry, reserved) == 120, "layout of pptf_entry");
PPTF_STATIC_ASSERT(offsetof(pptf_entry, payload_hash) == 128, "layout of pptf_entry");

static inline void pptf_entry_read(pptf_entry *out, const unsigned char *bytes) {
  out->kind = pptf_u16(bytes);
  out->machine = pptf_u16(bytes + 2);
  out->flags = pptf_u32(bytes + 4);
  out->offset = pptf_u64(bytes + 8);
  out->payload_size = pptf_u64(bytes + 16);
  out->raw_size = pptf_u64(bytes + 24);
  out->align = pptf_u32(bytes + 32);
  out->rank = pptf_u32(bytes + 36);
  for (int i = 0; i < 4; i++) out->features[i] = pptf_u64(bytes + 40 + 8 * i);
  out->min_vl = pptf_u16(bytes + 72);
  out->max_vl = pptf_u16(bytes + 74);
  out->arch = pptf_u32(bytes + 76);
  out->isa_version = pptf_u32(bytes + 80);
  out->target = pptf_u32(bytes + 84);
  out->triple = pptf_u32(bytes + 88);
  out->producer = pptf_u32(bytes + 92);
  out->options = pptf_u32(bytes + 96);
  out->map_first = pptf_u32(bytes + 100);
  out->map_count = pptf_u32(bytes + 104);
  out->kernel_first = pptf_u32(bytes + 108);
  out->kernel_count = pptf_u32(bytes + 112);
  out->abi_version = pptf_u32(bytes + 116);
  out->reserved = pptf_u64(bytes + 120);
  memcpy(out->payload_hash, bytes + 128, 32);
}

/* A row of the kernel table: where an entry's code has a kernel. */
typedef struct pptf_kernel {
  uint32_t signature; /* number of the kernel in the signature */
  uint32_t symbol; /* string: its symbol in the payload */
  uint64_t address; /* relative to the image; for IMAGE the offset of a distance in the payload */
  uint64_t scratch_bytes; /* memory that one running block needs; of a pair, each of its threads */
  uint32_t threads; /* that run one block: of a GPU, or the cores of a pair */
  uint32_t shared_bytes; /* of memory that they share */
  uint32_t flags; /* CodeFlag */
  uint32_t reserved; /* zero */
} pptf_kernel;

#define PPTF_KERNEL_SIZE 40u

PPTF_STATIC_ASSERT(sizeof(pptf_kernel) == PPTF_KERNEL_SIZE, "layout of pptf_kernel");
PPTF_STATIC_ASSERT(offsetof(pptf_kernel, signature) == 0, "layout of pptf_kernel");
PPTF_STATIC_ASSERT(offsetof(pptf_kernel, symbol) == 4, "layout of pptf_kernel");
PPTF_STATIC_ASSERT(offsetof(pptf_kernel, address) == 8, "layout of pptf_kernel");
PPTF_STATIC_ASSERT(offsetof(pptf_kernel, scratch_bytes) == 16, "layout of pptf_kernel");
PPTF_STATIC_ASSERT(offsetof(pptf_kernel, threads) == 24, "layout of pptf_kernel");
PPTF_STATIC_ASSERT(offsetof(pptf_kernel, shared_bytes) == 28, "layout of pptf_kernel");
PPTF_STATIC_ASSERT(offsetof(pptf_kernel, flags) == 32, "layout of pptf_kernel");
PPTF_STATIC_ASSERT(offsetof(pptf_kernel, reserved) == 36, "layout of pptf_kernel");

static inline void pptf_kernel_read(pptf_kernel *out, const unsigned char *bytes) {
  out->signature = pptf_u32(bytes);
  out->symbol = pptf_u32(bytes + 4);
  out->address = pptf_u64(bytes + 8);
  out->scratch_bytes = pptf_u64(bytes + 16);
  out->threads = pptf_u32(bytes + 24);
  out->shared_bytes = pptf_u32(bytes + 28);
  out->flags = pptf_u32(bytes + 32);
  out->reserved = pptf_u32(bytes + 36);
}

/* The first bytes of the signature; the rows of the three tables follow in this order. */
typedef struct pptf_signature_header {
  uint32_t header_size; /* bytes of this record */
  uint32_t kernel_size; /* bytes of a kernel row */
  uint32_t kernel_count;
  uint32_t argument_size; /* bytes of an argument row */
  uint32_t argument_count;
  uint32_t pair_size; /* bytes of an in-place pair */
  uint32_t pair_count;
  uint32_t reserved; /* zero */
} pptf_signature_header;

#define PPTF_SIGNATURE_HEADER_SIZE 32u

PPTF_STATIC_ASSERT(sizeof(pptf_signature_header) == PPTF_SIGNATURE_HEADER_SIZE, "layout of pptf_signature_header");
PPTF_STATIC_ASSERT(offsetof(pptf_signature_header, header_size) == 0, "layout of pptf_signature_header");
PPTF_STATIC_ASSERT(offsetof(pptf_signature_header, kernel_size) == 4, "layout of pptf_signature_header");
PPTF_STATIC_ASSERT(offsetof(pptf_signature_header, kernel_count) == 8, "layout of pptf_signature_header");
PPTF_STATIC_ASSERT(offsetof(pptf_signature_header, argument_size) == 12, "layout of pptf_signature_header");
PPTF_STATIC_ASSERT(offsetof(pptf_signature_header, argument_count) == 16, "layout of pptf_signature_header");
PPTF_STATIC_ASSERT(offsetof(pptf_signature_header, pair_size) == 20, "layout of pptf_signature_header");
PPTF_STATIC_ASSERT(offsetof(pptf_signature_header, pair_count) == 24, "layout of pptf_signature_header");
PPTF_STATIC_ASSERT(offsetof(pptf_signature_header, reserved) == 28, "layout of pptf_signature_header");

static inline void pptf_signature_header_read(pptf_signature_header *out, const unsigned char *bytes) {
  out->header_size = pptf_u32(bytes);
  out->kernel_size = pptf_u32(bytes + 4);
  out->kernel_count = pptf_u32(bytes + 8);
  out->argument_size = pptf_u32(bytes + 12);
  out->argument_count = pptf_u32(bytes + 16);
  out->pair_size = pptf_u32(bytes + 20);
  out->pair_count = pptf_u32(bytes + 24);
  out->reserved = pptf_u32(bytes + 28);
}

/* A kernel, the same in all entries. */
typedef struct pptf_signature_kernel {
  uint32_t name; /* string */
  uint32_t flags; /* PPTF_KERNEL_* */
  uint32_t argument_first;
  uint32_t argument_count;
  uint32_t pair_first;
  uint32_t pair_count;
} pptf_signature_kernel;

#define PPTF_SIGNATURE_KERNEL_SIZE 24u

PPTF_STATIC_ASSERT(sizeof(pptf_signature_kernel) == PPTF_SIGNATURE_KERNEL_SIZE, "layout of pptf_signature_kernel");
PPTF_STATIC_ASSERT(offsetof(pptf_signature_kernel, name) == 0, "layout of pptf_signature_kernel");
PPTF_STATIC_ASSERT(offsetof(pptf_signature_kernel, flags) == 4, "layout of pptf_signature_kernel");
PPTF_STATIC_ASSERT(offsetof(pptf_signature_kernel, argument_first) == 8, "layout of pptf_signature_kernel");
PPTF_STATIC_ASSERT(offsetof(pptf_signature_kernel, argument_count) == 12, "layout of pptf_signature_kernel");
PPTF_STATIC_ASSERT(offsetof(pptf_signature_kernel, pair_first) == 16, "layout of pptf_signature_kernel");
PPTF_STATIC_ASSERT(offsetof(pptf_signature_kernel, pair_count) == 20, "layout of pptf_signature_kernel");

static inline void pptf_signature_kernel_read(pptf_signature_kernel *out, const unsigned char *bytes) {
  out->name = pptf_u32(bytes);
  out->flags = pptf_u32(bytes + 4);
  out->argument_first = pptf_u32(bytes + 8);
  out->argument_count = pptf_u32(bytes + 12);
  out->pair_first = pptf_u32(bytes + 16);
  out->pair_count = pptf_u32(bytes + 20);
}

/* An argument of a kernel. */
typedef struct pptf_signature_argument {
  uint32_t name; /* string */
  uint8_t kind; /* PPTF_ARGUMENT_* */
  uint8_t role; /* PPTF_ROLE_* */
  uint16_t access; /* PPTF_ACCESS_* */
  uint8_t dtype_code; /* DLPack type code */
  uint8_t dtype_bits;
  uint16_t dtype_lanes;
  uint32_t reserved; /* zero */
} pptf_signature_argument;

#define PPTF_SIGNATURE_ARGUMENT_SIZE 16u

PPTF_STATIC_ASSERT(sizeof(pptf_signature_argument) == PPTF_SIGNATURE_ARGUMENT_SIZE, "layout of pptf_signature_argument");
PPTF_STATIC_ASSERT(offsetof(pptf_signature_argument, name) == 0, "layout of pptf_signature_argument");
PPTF_STATIC_ASSERT(offsetof(pptf_signature_argument, kind) == 4, "layout of pptf_signature_argument");
PPTF_STATIC_ASSERT(offsetof(pptf_signature_argument, role) == 5, "layout of pptf_signature_argument");
PPTF_STATIC_ASSERT(offsetof(pptf_signature_argument, access) == 6, "layout of pptf_signature_argument");
PPTF_STATIC_ASSERT(offsetof(pptf_signature_argument, dtype_code) == 8, "layout of pptf_signature_argument");
PPTF_STATIC_ASSERT(offsetof(pptf_signature_argument, dtype_bits) == 9, "layout of pptf_signature_argument");
PPTF_STATIC_ASSERT(offsetof(pptf_signature_argument, dtype_lanes) == 10, "layout of pptf_signature_argument");
PPTF_STATIC_ASSERT(offsetof(pptf_signature_argument, reserved) == 12, "layout of pptf_signature_argument");

static inline void pptf_signature_argument_read(pptf_signature_argument *out, const unsigned char *bytes) {
  out->name = pptf_u32(bytes);
  out->kind = *(bytes + 4);
  out->role = *(bytes + 5);
  out->access = pptf_u16(bytes + 6);
  out->dtype_code = *(bytes + 8);
  out->dtype_bits = *(bytes + 9);
  out->dtype_lanes = pptf_u16(bytes + 10);
  out->reserved = pptf_u32(bytes + 12);
}

/* Two arguments that may be the very same memory. */
typedef struct pptf_signature_pair {
  uint16_t written; /* number of an argument of the kernel */
  uint16_t read; /* number of an argument of the kernel */
} pptf_signature_pair;

#define PPTF_SIGNATURE_PAIR_SIZE 4u

PPTF_STATIC_ASSERT(sizeof(pptf_signature_pair) == PPTF_SIGNATURE_PAIR_SIZE, "layout of pptf_signature_pair");
PPTF_STATIC_ASSERT(offsetof(pptf_signature_pair, written) == 0, "layout of pptf_signature_pair");
PPTF_STATIC_ASSERT(offsetof(pptf_signature_pair, read) == 2, "layout of pptf_signature_pair");

static inline void pptf_signature_pair_read(pptf_signature_pair *out, const unsigned char *bytes) {
  out->written = pptf_u16(bytes);
  out->read = pptf_u16(bytes + 2);
}

#ifdef __cplusplus
}
#endif

#endif
