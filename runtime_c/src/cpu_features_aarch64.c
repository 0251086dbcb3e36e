/* Features of AArch64 processors: the words that the system reports, and the vector length. */
#include "internal.h"

#if defined(__aarch64__) && defined(__linux__)
#include <sys/auxv.h>
#include <sys/prctl.h>

#define BIT(constant, name, bit) F_##constant = bit,
enum { PPTF_AARCH64_FEATURES(BIT) };
#undef BIT

typedef struct row {
  unsigned char feature;
  unsigned char word; /* 0: HWCAP, 1: HWCAP2 */
  unsigned char bit;
} row;

/* Bits by number: headers of old systems lack the later names. */
static const row rows[] = {
    {F_NEON, 0, 1},  {F_LSE, 0, 8},   {F_FULLFP16, 0, 10}, {F_RDM, 0, 12},   {F_DOTPROD, 0, 20},
    {F_SVE, 0, 22},  {F_FP16FML, 0, 23}, {F_SVE2, 1, 1},   {F_F32MM, 1, 10}, {F_F64MM, 1, 11},
    {F_I8MM, 1, 13}, {F_BF16, 1, 14}, {F_SME, 1, 23},
};

#ifndef PR_SVE_GET_VL
#define PR_SVE_GET_VL 51
#endif

void ppt_cpu_probe(ppt_cpu_facts *facts) {
  memset(facts, 0, sizeof *facts);
  facts->machine = PPTF_MACHINE_AARCH64;
  const unsigned long words[2] = {getauxval(AT_HWCAP), getauxval(AT_HWCAP2)};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    if (words[rows[i].word] >> rows[i].bit & 1)
      facts->features[rows[i].feature / 64] |= (uint64_t)1 << rows[i].feature % 64;
  }
  if (facts->features[0] >> F_SVE & 1) {
    int length = prctl(PR_SVE_GET_VL);
    if (length > 0) facts->vector_bits = ((uint32_t)length & 0xffff) * 8;
  }
}
#else
typedef int ppt_not_aarch64; /* the file has a declaration on every machine */
#endif
