/* Which section runs: a pure function of the file and the facts of the machine. */
#include "internal.h"

static void add_missing_features(const pptf_entry *entry, const ppt_cpu_facts *facts, ppt_text *why) {
  for (unsigned bit = 0; bit < 256; bit++) {
    uint64_t missing = entry->features[bit / 64] & ~facts->features[bit / 64];
    if (!(missing >> bit % 64 & 1)) continue;
    const char *feature = ppt_cpu_feature_name(entry->machine, bit);
    ppt_text_add(why, "%s %s", why->length ? "," : "needs", feature ? feature : "an unknown feature");
  }
}

/* Why an entry cannot run, as the end of a sentence; "" when it can. */
static void judge(const ppt_fat *fat, const pptf_entry *entry, const ppt_cpu_facts *facts,
                  const char *target, ppt_text *why) {
  const char *name = ppt_fat_string(fat, entry->target);
  if (entry->kind != PPTF_KIND_IMAGE && entry->kind != PPTF_KIND_ELF_SHARED) {
    ppt_text_add(why, "holds no code for a CPU");
    return;
  }
  if (entry->machine != facts->machine) {
    ppt_text_add(why, "is for %s, this is %s", ppt_machine_name(entry->machine),
                 ppt_machine_name(facts->machine));
    return;
  }
  if (target && strcmp(target, name) != 0) {
    ppt_text_add(why, "is not the target %s that was asked for", target);
    return;
  }
  if (entry->abi_version != PPT_KERNEL_ABI_VERSION) {
    ppt_text_add(why, "has version %u of the kernel interface, this library has %u",
                 (unsigned)entry->abi_version, PPT_KERNEL_ABI_VERSION);
    return;
  }
  add_missing_features(entry, facts, why);
  if (why->length) return;
  if ((entry->min_vl && facts->vector_bits < entry->min_vl) ||
      (entry->max_vl && facts->vector_bits > entry->max_vl))
    ppt_text_add(why, "needs vectors of %u to %u bits, this machine has %u", entry->min_vl, entry->max_vl,
                 (unsigned)facts->vector_bits);
}

long ppt_select(const ppt_fat *fat, const ppt_cpu_facts *facts, const char *target, ppt_text *report) {
  long best = -1;
  uint32_t best_rank = 0;
  for (size_t i = 0; i < fat->header.entry_count; i++) {
    pptf_entry entry;
    char words[256] = "";
    ppt_text why = {words, sizeof words, 0};
    ppt_fat_entry(fat, i, &entry);
    judge(fat, &entry, facts, target, &why);
    ppt_text_add(report, "section %zu, %s (rank %u): %s\n", i, ppt_fat_string(fat, entry.target),
                 (unsigned)entry.rank, why.length ? words : "fits");
    if (why.length == 0 && (best < 0 || entry.rank > best_rank)) {
      best = (long)i;
      best_rank = entry.rank;
    }
  }
  return best;
}
