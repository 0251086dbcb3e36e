/* Reading PPTF. The file is believed in nothing: ppt_fat_open checks every offset, count and hash but
 * those of the payloads, so that everything after it may index without checks. */
#include "internal.h"

static ppt_status damaged(const char *what) {
  return ppt_fail(PPT_E_CORRUPT, "damaged fat file: %s; copy or compile it again", what);
}

/* True when [offset, offset + size) lies within `total`. */
static bool within(uint64_t offset, uint64_t size, uint64_t total) {
  return offset <= total && size <= total - offset;
}

/* True when `count` rows of `stride` bytes fit `size`. */
static bool rows_fit(uint64_t count, uint64_t stride, uint64_t size) {
  return stride == 0 ? count == 0 : count <= size / stride;
}

static uint64_t align_up(uint64_t offset, uint64_t alignment) {
  return (offset + alignment - 1) & ~(alignment - 1);
}

/* ---------------------------------------------------------------- header and hashes */

static ppt_status read_header(ppt_fat *fat, size_t size) {
  pptf_header *header = &fat->header;
  if (size < PPTF_MAGIC_SIZE || memcmp(fat->bytes, PPTF_MAGIC, PPTF_MAGIC_SIZE) != 0)
    return ppt_fail(PPT_E_CORRUPT, "not a fat file: it does not begin with the magic of PPTF");
  if (size < PPTF_HEADER_SIZE) return damaged("it ends within its header");
  pptf_header_read(header, fat->bytes);
  if (header->version_major != PPTF_VERSION_MAJOR)
    return ppt_fail(PPT_E_VERSION, "the fat file has version %u, this library reads version %u",
                    header->version_major, PPTF_VERSION_MAJOR);
  if (header->header_size < PPTF_HEADER_SIZE || header->entry_size < PPTF_ENTRY_SIZE)
    return damaged("its records are shorter than those of its version");
  if (header->total_size > size) return damaged("it is shorter than it says");
  if (header->entries_offset != header->header_size || header->flags || header->reserved)
    return damaged("unknown flags or layout");
  if (!within(header->header_size, 0, header->total_size) ||
      !rows_fit(header->entry_count, header->entry_size, header->total_size - header->header_size))
    return damaged("its entry table ends beyond it");
  return PPT_OK;
}

static uint64_t tables_begin(const pptf_header *header) {
  return header->header_size + (uint64_t)header->entry_count * header->entry_size;
}

static ppt_status check_content_id(const ppt_fat *fat) {
  static const unsigned char blank[32];
  const size_t at = offsetof(pptf_header, content_id);
  ppt_sha256 sha;
  unsigned char found[32];
  ppt_sha256_init(&sha);
  ppt_sha256_add(&sha, fat->bytes, at);
  ppt_sha256_add(&sha, blank, sizeof blank);
  ppt_sha256_add(&sha, fat->bytes + at + 32, (size_t)tables_begin(&fat->header) - at - 32);
  ppt_sha256_finish(&sha, found);
  if (memcmp(found, fat->header.content_id, 32) != 0)
    return damaged("its header or entry table do not match the content id");
  return PPT_OK;
}

static ppt_status check_tables(const ppt_fat *fat) {
  const pptf_header *header = &fat->header;
  uint64_t begin = tables_begin(header), end = begin + header->tables_size;
  if (!within(begin, header->tables_size, header->total_size)) return damaged("its tables end beyond it");
  if (!ppt_sha256_matches(fat->bytes + begin, (size_t)header->tables_size, header->tables_hash))
    return damaged("its tables do not match their hash");
  const uint64_t regions[4][2] = {{header->strings_offset, header->strings_size},
                                  {header->signature_offset, header->signature_size},
                                  {header->kernels_offset, header->kernels_size},
                                  {header->map_offset, header->map_size}};
  for (size_t i = 0; i < 4; i++) {
    if (regions[i][0] < begin || !within(regions[i][0], regions[i][1], end))
      return damaged("a table lies outside of the tables");
  }
  const unsigned char *strings = fat->bytes + header->strings_offset;
  if (!header->strings_size || strings[0] || strings[header->strings_size - 1])
    return damaged("its strings do not begin and end with NUL");
  return PPT_OK;
}

/* ---------------------------------------------------------------- rows */

static const unsigned char *entry_row(const ppt_fat *fat, size_t index) {
  return fat->bytes + fat->header.entries_offset + index * fat->header.entry_size;
}

void ppt_fat_entry(const ppt_fat *fat, size_t index, pptf_entry *entry) {
  pptf_entry_read(entry, entry_row(fat, index));
}

void ppt_fat_kernel(const ppt_fat *fat, size_t index, pptf_kernel *kernel) {
  pptf_kernel_read(kernel, fat->bytes + fat->header.kernels_offset + index * PPTF_KERNEL_SIZE);
}

const char *ppt_fat_string(const ppt_fat *fat, uint32_t offset) {
  return (const char *)fat->bytes + fat->header.strings_offset + offset;
}

static bool is_string(const ppt_fat *fat, uint32_t offset) {
  return offset < fat->header.strings_size;
}

static ppt_status check_entry(const ppt_fat *fat, const pptf_entry *entry, uint64_t *end) {
  const pptf_header *header = &fat->header;
  bool alignment = entry->align >= PPTF_PAYLOAD_ALIGN && entry->align <= 1u << 20 &&
                   (entry->align & (entry->align - 1)) == 0;
  if (!alignment || entry->offset != align_up(*end, entry->align) ||
      !within(entry->offset, entry->payload_size, header->total_size))
    return damaged("a payload does not follow the one before it");
  for (uint64_t i = *end; i < entry->offset; i++) {
    if (fat->bytes[i]) return damaged("bytes between its payloads belong to nothing");
  }
  *end = entry->offset + entry->payload_size;
  if (!is_string(fat, entry->target) || !is_string(fat, entry->triple) ||
      !is_string(fat, entry->producer) || !is_string(fat, entry->options))
    return damaged("an entry has a string that does not exist");
  if (!within(entry->map_first, entry->map_count, header->map_size / 8) ||
      !within(entry->kernel_first, entry->kernel_count, header->kernels_size / PPTF_KERNEL_SIZE))
    return damaged("an entry has rows that do not exist");
  if ((entry->kind == PPTF_KIND_IMAGE) != ((entry->flags & PPTF_ENTRY_NO_HASH) != 0))
    return damaged("an entry says the wrong thing about its hash");
  const uint32_t known = PPTF_ENTRY_REQUIRED | PPTF_ENTRY_COMPRESSED | PPTF_ENTRY_DEBUG | PPTF_ENTRY_NO_HASH;
  if ((entry->flags & PPTF_ENTRY_REQUIRED) &&
      ((entry->flags & ~known) || !entry->kind || entry->kind > PPTF_KIND_ASSEMBLY))
    return ppt_fail(PPT_E_VERSION, "the fat file has a required entry of kind %u and flags %#x that this "
                    "library does not know", entry->kind, (unsigned)entry->flags);
  return PPT_OK;
}

static ppt_status check_entries(const ppt_fat *fat) {
  uint64_t end = tables_begin(&fat->header) + fat->header.tables_size;
  for (size_t i = 0; i < fat->header.entry_count; i++) {
    pptf_entry entry;
    ppt_fat_entry(fat, i, &entry);
    ppt_status status = check_entry(fat, &entry, &end);
    if (status) return status;
  }
  return end == fat->header.total_size ? PPT_OK : damaged("bytes at its end belong to nothing");
}

static ppt_status check_kernels(const ppt_fat *fat) {
  for (size_t i = 0; i < fat->header.kernels_size / PPTF_KERNEL_SIZE; i++) {
    pptf_kernel kernel;
    ppt_fat_kernel(fat, i, &kernel);
    if (kernel.signature >= fat->signature.kernel_count || !is_string(fat, kernel.symbol))
      return damaged("a kernel has no signature or symbol");
  }
  for (uint64_t i = 0; i < fat->header.map_size / 8; i++) {
    const unsigned char *pair = fat->bytes + fat->header.map_offset + 8 * i;
    if (!is_string(fat, pptf_u32(pair)) || !is_string(fat, pptf_u32(pair + 4)))
      return damaged("a pair of its string map does not exist");
  }
  return PPT_OK;
}

/* ---------------------------------------------------------------- signature */

static const unsigned char *signature_rows(const ppt_fat *fat) {
  return fat->bytes + fat->header.signature_offset + fat->signature.header_size;
}

static const unsigned char *argument_rows(const ppt_fat *fat) {
  return signature_rows(fat) + (size_t)fat->signature.kernel_count * fat->signature.kernel_size;
}

static const unsigned char *pair_rows(const ppt_fat *fat) {
  return argument_rows(fat) + (size_t)fat->signature.argument_count * fat->signature.argument_size;
}

void ppt_fat_signature_kernel(const ppt_fat *fat, size_t index, pptf_signature_kernel *kernel) {
  pptf_signature_kernel_read(kernel, signature_rows(fat) + index * fat->signature.kernel_size);
}

void ppt_fat_signature_argument(const ppt_fat *fat, size_t index, pptf_signature_argument *argument) {
  pptf_signature_argument_read(argument, argument_rows(fat) + index * fat->signature.argument_size);
}

void ppt_fat_signature_pair(const ppt_fat *fat, size_t index, pptf_signature_pair *pair) {
  pptf_signature_pair_read(pair, pair_rows(fat) + index * fat->signature.pair_size);
}

static ppt_status read_signature(ppt_fat *fat) {
  pptf_signature_header *head = &fat->signature;
  uint64_t left = fat->header.signature_size;
  if (left < PPTF_SIGNATURE_HEADER_SIZE) return damaged("its signature ends within the header");
  pptf_signature_header_read(head, fat->bytes + fat->header.signature_offset);
  if (head->header_size < PPTF_SIGNATURE_HEADER_SIZE || head->header_size > left ||
      head->kernel_size < PPTF_SIGNATURE_KERNEL_SIZE ||
      head->argument_size < PPTF_SIGNATURE_ARGUMENT_SIZE || head->pair_size < PPTF_SIGNATURE_PAIR_SIZE)
    return damaged("the records of its signature are shorter than those of its version");
  left -= head->header_size;
  const uint32_t tables[3][2] = {{head->kernel_count, head->kernel_size},
                                 {head->argument_count, head->argument_size},
                                 {head->pair_count, head->pair_size}};
  for (size_t i = 0; i < 3; i++) {
    if (!rows_fit(tables[i][0], tables[i][1], left)) return damaged("its signature ends beyond its bytes");
    left -= (uint64_t)tables[i][0] * tables[i][1];
  }
  return PPT_OK;
}

static ppt_status check_pairs(const ppt_fat *fat, const pptf_signature_kernel *kernel) {
  for (uint32_t i = 0; i < kernel->pair_count; i++) {
    pptf_signature_pair pair;
    ppt_fat_signature_pair(fat, kernel->pair_first + i, &pair);
    if (pair.written >= kernel->argument_count || pair.read >= kernel->argument_count)
      return damaged("an in-place pair names an argument that does not exist");
  }
  return PPT_OK;
}

static ppt_status check_signature(const ppt_fat *fat) {
  const pptf_signature_header *head = &fat->signature;
  uint64_t arguments = 0, pairs = 0; /* rows belong to one kernel each, in order */
  for (size_t i = 0; i < head->kernel_count; i++) {
    pptf_signature_kernel kernel;
    ppt_fat_signature_kernel(fat, i, &kernel);
    if (!is_string(fat, kernel.name) || kernel.argument_first != arguments || kernel.pair_first != pairs ||
        !within(arguments, kernel.argument_count, head->argument_count) ||
        !within(pairs, kernel.pair_count, head->pair_count))
      return damaged("a kernel of its signature has rows that do not exist");
    arguments += kernel.argument_count;
    pairs += kernel.pair_count;
    ppt_status status = check_pairs(fat, &kernel);
    if (status) return status;
  }
  for (size_t i = 0; i < head->argument_count; i++) {
    pptf_signature_argument argument;
    ppt_fat_signature_argument(fat, i, &argument);
    if (!is_string(fat, argument.name) || argument.kind > PPTF_ARGUMENT_SCALAR ||
        argument.role > PPTF_ROLE_SUBBLOCK_IDX)
      return damaged("an argument of its signature is of an unknown kind");
  }
  return PPT_OK;
}

/* ---------------------------------------------------------------- the whole */

ppt_status ppt_fat_open(ppt_fat *fat, const void *bytes, size_t size) {
  ppt_status status = PPT_OK;
  memset(fat, 0, sizeof *fat);
  fat->bytes = bytes;
  TRY(read_header(fat, size));
  TRY(check_content_id(fat));
  TRY(check_tables(fat));
  TRY(read_signature(fat));
  TRY(check_signature(fat));
  TRY(check_entries(fat));
  TRY(check_kernels(fat));
done:
  return status;
}

ppt_status ppt_fat_check_payload(const ppt_fat *fat, const pptf_entry *entry) {
  if (entry->flags & PPTF_ENTRY_COMPRESSED)
    return ppt_fail(PPT_E_UNSUPPORTED, "section %s is compressed; this library reads no zstd",
                    ppt_fat_string(fat, entry->target));
  if (!ppt_sha256_matches(fat->bytes + entry->offset, (size_t)entry->payload_size, entry->payload_hash))
    return ppt_fail(PPT_E_CORRUPT, "damaged fat file: section %s does not match its hash",
                    ppt_fat_string(fat, entry->target));
  return PPT_OK;
}
