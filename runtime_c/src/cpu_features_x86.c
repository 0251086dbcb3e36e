/* Features of x86-64 processors: CPUID, and XGETBV for the registers that the system saves. */
#include "internal.h"

#if defined(__x86_64__)
#include <cpuid.h>

enum { EAX, EBX, ECX, EDX };

/* What of XCR0 a feature needs: SSE and AVX state; and the three of AVX-512; tiles. */
enum { NO_STATE = 0, AVX_STATE = 0x6, AVX512_STATE = 0xe6, TILE_STATE = 0x60000 };

#define BIT(constant, name, bit) F_##constant = bit,
enum { PPTF_X86_64_FEATURES(BIT) };
#undef BIT

typedef struct row {
  unsigned char feature;
  unsigned char subleaf;
  unsigned char word;
  unsigned char bit;
  uint32_t leaf;
  uint32_t state;
} row;

static const row rows[] = {
    {F_SSE3, 0, ECX, 0, 1, NO_STATE},
    {F_PCLMUL, 0, ECX, 1, 1, NO_STATE},
    {F_SSSE3, 0, ECX, 9, 1, NO_STATE},
    {F_FMA, 0, ECX, 12, 1, AVX_STATE},
    {F_CX16, 0, ECX, 13, 1, NO_STATE},
    {F_SSE4_1, 0, ECX, 19, 1, NO_STATE},
    {F_SSE4_2, 0, ECX, 20, 1, NO_STATE},
    {F_MOVBE, 0, ECX, 22, 1, NO_STATE},
    {F_POPCNT, 0, ECX, 23, 1, NO_STATE},
    {F_AES, 0, ECX, 25, 1, NO_STATE},
    {F_AVX, 0, ECX, 28, 1, AVX_STATE},
    {F_F16C, 0, ECX, 29, 1, AVX_STATE},
    {F_SAHF, 0, ECX, 0, 0x80000001, NO_STATE},
    {F_LZCNT, 0, ECX, 5, 0x80000001, NO_STATE},
    {F_BMI, 0, EBX, 3, 7, NO_STATE},
    {F_AVX2, 0, EBX, 5, 7, AVX_STATE},
    {F_BMI2, 0, EBX, 8, 7, NO_STATE},
    {F_AVX512F, 0, EBX, 16, 7, AVX512_STATE},
    {F_AVX512DQ, 0, EBX, 17, 7, AVX512_STATE},
    {F_AVX512IFMA, 0, EBX, 21, 7, AVX512_STATE},
    {F_AVX512CD, 0, EBX, 28, 7, AVX512_STATE},
    {F_SHA, 0, EBX, 29, 7, NO_STATE},
    {F_AVX512BW, 0, EBX, 30, 7, AVX512_STATE},
    {F_AVX512VL, 0, EBX, 31, 7, AVX512_STATE},
    {F_AVX512VBMI, 0, ECX, 1, 7, AVX512_STATE},
    {F_AVX512VBMI2, 0, ECX, 6, 7, AVX512_STATE},
    {F_GFNI, 0, ECX, 8, 7, NO_STATE},
    {F_VAES, 0, ECX, 9, 7, AVX_STATE},
    {F_VPCLMULQDQ, 0, ECX, 10, 7, AVX_STATE},
    {F_AVX512VNNI, 0, ECX, 11, 7, AVX512_STATE},
    {F_AVX512BITALG, 0, ECX, 12, 7, AVX512_STATE},
    {F_AVX512VPOPCNTDQ, 0, ECX, 14, 7, AVX512_STATE},
    {F_AMX_BF16, 0, EDX, 22, 7, TILE_STATE},
    {F_AVX512FP16, 0, EDX, 23, 7, AVX512_STATE},
    {F_AMX_TILE, 0, EDX, 24, 7, TILE_STATE},
    {F_AMX_INT8, 0, EDX, 25, 7, TILE_STATE},
    {F_AVXVNNI, 1, EAX, 4, 7, AVX_STATE},
    {F_AVX512BF16, 1, EAX, 5, 7, AVX512_STATE},
    {F_AMX_FP16, 1, EAX, 21, 7, TILE_STATE},
    {F_AVXIFMA, 1, EAX, 23, 7, AVX_STATE},
    {F_AVXVNNIINT8, 1, EDX, 4, 7, AVX_STATE},
    {F_AVXNECONVERT, 1, EDX, 5, 7, AVX_STATE},
};

/* The register sets that the system saves at a switch: a virtual machine may announce AVX without. */
static uint64_t saved_state(void) {
  unsigned words[4] = {0};
  if (!__get_cpuid_count(1, 0, &words[EAX], &words[EBX], &words[ECX], &words[EDX])) return 0;
  if (!(words[ECX] >> 27 & 1)) return 0; /* OSXSAVE */
  uint32_t low, high;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return (uint64_t)high << 32 | low;
}

void ppt_cpu_probe(ppt_cpu_facts *facts) {
  memset(facts, 0, sizeof *facts);
  facts->machine = PPTF_MACHINE_X86_64;
  uint64_t saved = saved_state();
  unsigned words[4] = {0};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    const row *r = rows + i;
    if (i == 0 || r->leaf != r[-1].leaf || r->subleaf != r[-1].subleaf) { /* slow in virtual machines */
      memset(words, 0, sizeof words);
      __get_cpuid_count(r->leaf, r->subleaf, &words[EAX], &words[EBX], &words[ECX], &words[EDX]);
    }
    if ((words[r->word] >> r->bit & 1) && (saved & r->state) == r->state)
      facts->features[r->feature / 64] |= (uint64_t)1 << r->feature % 64;
  }
}
#else
typedef int ppt_not_x86_64; /* the file has a declaration on every machine */
#endif
