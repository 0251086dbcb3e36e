/* Names of machines and feature bits, and the mask that takes features away. */
#include "internal.h"

#define NAME(constant, name, bit) [bit] = name,
static const char *const x86_64_names[256] = {PPTF_X86_64_FEATURES(NAME)};
static const char *const aarch64_names[256] = {PPTF_AARCH64_FEATURES(NAME)};
#undef NAME

const char *ppt_machine_name(uint16_t machine) {
  switch (machine) {
    case PPTF_MACHINE_ANY:
      return "any machine";
    case PPTF_MACHINE_X86_64:
      return "x86-64";
    case PPTF_MACHINE_AARCH64:
      return "AArch64";
    case PPTF_MACHINE_CUDA:
      return "an NVIDIA GPU";
    case PPTF_MACHINE_AMDGPU:
      return "an AMD GPU";
    default:
      return "an unknown machine";
  }
}

const char *ppt_cpu_feature_name(uint16_t machine, unsigned bit) {
  if (bit >= 256) return NULL;
  if (machine == PPTF_MACHINE_X86_64) return x86_64_names[bit];
  if (machine == PPTF_MACHINE_AARCH64) return aarch64_names[bit];
  return NULL;
}

static bool clear(ppt_cpu_facts *facts, const char *name, size_t length) {
  for (unsigned bit = 0; bit < 256; bit++) {
    const char *known = ppt_cpu_feature_name(facts->machine, bit);
    if (known && strlen(known) == length && memcmp(known, name, length) == 0) {
      facts->features[bit / 64] &= ~((uint64_t)1 << bit % 64);
      return true;
    }
  }
  return false;
}

ppt_status ppt_cpu_mask(ppt_cpu_facts *facts, const char *list) {
  while (*list) {
    size_t length = strcspn(list, ",");
    if (length && (list[0] != '-' || !clear(facts, list + 1, length - 1))) {
      return ppt_fail(PPT_E_INVALID_ARGUMENT,
                      "'%.*s' does not take away a known feature of %s; write -NAME,-NAME", (int)length,
                      list, ppt_machine_name(facts->machine));
    }
    list += length;
    list += *list == ',';
  }
  return PPT_OK;
}
