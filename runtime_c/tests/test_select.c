/* Selection by table: facts and wishes -> the target that runs, and the reason why others do not. */
#include "test.h"

#define BIT(constant, name, bit) X86_##constant = bit,
enum { PPTF_X86_64_FEATURES(BIT) };
#undef BIT
#define BIT(constant, name, bit) ARM_##constant = bit,
enum { PPTF_AARCH64_FEATURES(BIT) };
#undef BIT

#define HAS(feature) ((uint64_t)1 << (feature))

static const uint64_t avx2 = HAS(X86_AVX) | HAS(X86_AVX2) | HAS(X86_FMA);
static const uint64_t avx512 = HAS(X86_AVX512F) | HAS(X86_AVX512VL);

typedef struct row {
  ppt_cpu_facts facts;
  const char *wish;
  const char *chosen; /* NULL: none */
  const char *reason; /* stands in the report */
} row;

static const char *choose(const ppt_fat *fat, const row *wanted, char *report, size_t size) {
  ppt_text text = {report, size, 0};
  static char name[64];
  pptf_entry entry;
  long index = ppt_select(fat, &wanted->facts, wanted->wish, &text);
  if (index < 0) return NULL;
  ppt_fat_entry(fat, (size_t)index, &entry);
  snprintf(name, sizeof name, "%s", ppt_fat_string(fat, entry.target));
  return name;
}

static void table(void) {
  const uint16_t x86 = PPTF_MACHINE_X86_64, arm = PPTF_MACHINE_AARCH64;
  const uint64_t neon = HAS(ARM_NEON), sve = HAS(ARM_NEON) | HAS(ARM_SVE);
  const row rows[] = {
      {{x86, 0, {0}}, NULL, "x86-64", "avx2 (rank 20): needs avx, avx2, fma"},
      {{x86, 0, {avx2}}, NULL, "avx2", "avx512 (rank 40): needs avx512f, avx512vl"},
      {{x86, 0, {avx2 & ~HAS(X86_FMA)}}, NULL, "x86-64", "avx2 (rank 20): needs fma"},
      {{x86, 0, {avx2 | avx512}}, NULL, "avx512", "avx512+bf16 (rank 42): needs avx512bf16"},
      {{x86, 0, {avx2 | avx512 | HAS(X86_AVX512BF16)}}, NULL, "avx512+bf16", "avx2 (rank 20): fits"},
      {{x86, 0, {avx2 | avx512}}, "avx2", "avx2", "avx512 (rank 40): is not the target avx2"},
      {{x86, 0, {avx2}}, "avx512", NULL, "avx512 (rank 40): needs avx512f"},
      {{x86, 0, {avx2}}, "z80", NULL, "x86-64 (rank 10): is not the target z80"},
      {{x86, 0, {0}}, NULL, "x86-64", "future (rank 90): has version 2 of the kernel interface"},
      {{x86, 0, {0}}, NULL, "x86-64", "neon (rank 10): is for AArch64, this is x86-64"},
      {{x86, 0, {0}}, NULL, "x86-64", "sm_80 (rank 80): holds no code for a CPU"},
      {{arm, 0, {neon}}, NULL, "neon", "sve (rank 20): needs sve"},
      {{arm, 128, {sve}}, NULL, "sve", "sve256 (rank 30): needs vectors of 256 to 256 bits, this machine has 128"},
      {{arm, 256, {sve}}, NULL, "sve256", "sve (rank 20): fits"},
      {{arm, 512, {sve}}, NULL, "sve", "sve256 (rank 30): needs vectors of 256 to 256 bits"},
      {{arm, 0, {0}}, NULL, NULL, "neon (rank 10): needs neon"},
  };
  file_bytes file = test_file("sections.pptf");
  ppt_fat fat;
  CHECK(ppt_fat_open(&fat, file.bytes, file.size) == PPT_OK);
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    char report[4096] = "";
    const char *chosen = choose(&fat, rows + i, report, sizeof report);
    bool same = chosen && rows[i].chosen ? strcmp(chosen, rows[i].chosen) == 0 : chosen == rows[i].chosen;
    if (!same || !strstr(report, rows[i].reason))
      fprintf(stderr, "row %zu: %s\n%s", i, chosen ? chosen : "none", report);
    CHECK(same && strstr(report, rows[i].reason));
  }
  free(file.bytes);
}

static void masks(void) {
  ppt_cpu_facts facts = {PPTF_MACHINE_X86_64, 0, {avx2 | avx512}};
  CHECK(ppt_cpu_mask(&facts, "-avx2,-avx512f,") == PPT_OK);
  CHECK(facts.features[0] == (HAS(X86_AVX) | HAS(X86_FMA) | HAS(X86_AVX512VL)));
  CHECK_FAILS(ppt_cpu_mask(&facts, "-avx9"), PPT_E_INVALID_ARGUMENT, "-avx9");
  CHECK_FAILS(ppt_cpu_mask(&facts, "avx"), PPT_E_INVALID_ARGUMENT, "-NAME");
  CHECK(ppt_cpu_mask(&facts, "") == PPT_OK);
}

static void nothing_fits(void) {
  ppt_context_options options = PPT_CONTEXT_OPTIONS_INIT;
  options.flags = PPT_CONTEXT_IGNORE_ENVIRONMENT;
  options.target = "avx9";
  ppt_context *context;
  ppt_module *module;
  file_bytes file = test_file("sections.pptf");
  CHECK(ppt_context_create(&options, &context) == PPT_OK);
  CHECK_FAILS(ppt_module_open_memory(context, file.bytes, file.size, NULL, &module), PPT_E_NO_IMAGE, "avx9");
  CHECK(strstr(ppt_last_error(), "section 8, sm_80") && strstr(ppt_last_error(), "add one with -t "));
  CHECK(module == NULL);
  ppt_context_destroy(context);
  free(file.bytes);
}

int main(void) {
  RUN(table);
  RUN(masks);
  RUN(nothing_fits);
  return 0;
}
