/* The little of ELF that finds a section of an image and tells code from data. Bounds are checked. */
#include "internal.h"

enum {
  HEADER_SIZE = 64,
  SECTION_SIZE = 64,
  SEGMENT_SIZE = 56,
  SEGMENT_LOAD = 1,
  SEGMENT_EXECUTABLE = 1,
  SECTION_NOBITS = 8
};

bool ppt_elf_is(const unsigned char *bytes, size_t size) {
  static const unsigned char ident[] = {0x7f, 'E', 'L', 'F', 2, 1};
  return size >= HEADER_SIZE && memcmp(bytes, ident, sizeof ident) == 0;
}

/* A table of `count` rows, or NULL when it is not in the file. */
static const unsigned char *table(const unsigned char *bytes, size_t size, uint64_t offset, uint64_t count,
                                  uint64_t stride) {
  if (offset > size || count * stride > size - offset) return NULL;
  return bytes + offset;
}

/* True when the string at `offset` of a section is `name`. */
static bool is_named(const unsigned char *bytes, size_t size, const unsigned char *strings, uint64_t offset,
                     const char *name) {
  uint64_t start = pptf_u64(strings + 24), length = pptf_u64(strings + 32), need = strlen(name) + 1;
  if (start > size || length > size - start || offset > length || need > length - offset) return false;
  return memcmp(bytes + start + offset, name, need) == 0;
}

ppt_status ppt_elf_find_section(const unsigned char *bytes, size_t size, const char *name,
                                ppt_elf_section *section) {
  uint64_t count = pptf_u16(bytes + 60), names = pptf_u16(bytes + 62);
  const unsigned char *rows = table(bytes, size, pptf_u64(bytes + 40), count, SECTION_SIZE);
  if (pptf_u16(bytes + 58) != SECTION_SIZE || !rows || names >= count)
    return ppt_fail(PPT_E_CORRUPT, "damaged ELF file: its section table ends beyond it");
  for (uint64_t i = 1; i < count; i++) {
    const unsigned char *row = rows + i * SECTION_SIZE;
    if (!is_named(bytes, size, rows + names * SECTION_SIZE, pptf_u32(row), name)) continue;
    uint64_t offset = pptf_u64(row + 24), length = pptf_u64(row + 32);
    if (pptf_u32(row + 4) == SECTION_NOBITS || offset > size || length > size - offset)
      return ppt_fail(PPT_E_CORRUPT, "damaged ELF file: section %s ends beyond it", name);
    section->offset = (size_t)offset;
    section->size = (size_t)length;
    section->address = pptf_u64(row + 16);
    return PPT_OK;
  }
  return ppt_fail(PPT_E_NO_IMAGE, "the file has no section %s: it was not made by pptc", name);
}

bool ppt_elf_is_code(const unsigned char *bytes, size_t size, uint64_t address) {
  uint64_t count = pptf_u16(bytes + 56);
  const unsigned char *rows = table(bytes, size, pptf_u64(bytes + 32), count, SEGMENT_SIZE);
  if (!rows || pptf_u16(bytes + 54) != SEGMENT_SIZE) return false;
  for (uint64_t i = 0; i < count; i++) {
    const unsigned char *row = rows + i * SEGMENT_SIZE;
    if (pptf_u32(row) != SEGMENT_LOAD || !(pptf_u32(row + 4) & SEGMENT_EXECUTABLE)) continue;
    uint64_t start = pptf_u64(row + 16), length = pptf_u64(row + 40);
    if (address >= start && address - start < length) return true;
  }
  return false;
}

bool ppt_elf_is_mapped(const unsigned char *bytes, size_t size, const ppt_elf_section *section) {
  uint64_t count = pptf_u16(bytes + 56);
  const unsigned char *rows = table(bytes, size, pptf_u64(bytes + 32), count, SEGMENT_SIZE);
  if (!rows || pptf_u16(bytes + 54) != SEGMENT_SIZE) return false;
  for (uint64_t i = 0; i < count; i++) {
    const unsigned char *row = rows + i * SEGMENT_SIZE;
    uint64_t offset = pptf_u64(row + 8), length = pptf_u64(row + 32);
    if (pptf_u32(row) != SEGMENT_LOAD || section->offset < offset) continue;
    uint64_t skipped = section->offset - offset;
    if (skipped <= length && section->size <= length - skipped &&
        section->address == pptf_u64(row + 16) + skipped)
      return true;
  }
  return false;
}
