#include "test.h"

file_bytes test_file(const char *name) {
  char path[1024];
  snprintf(path, sizeof path, "%s/%s", TEST_DATA, name);
  FILE *file = fopen(path, "rb");
  CHECK(file != NULL);
  CHECK(fseek(file, 0, SEEK_END) == 0);
  long size = ftell(file);
  CHECK(size > 0 && fseek(file, 0, SEEK_SET) == 0);
  file_bytes out = {malloc((size_t)size), (size_t)size};
  CHECK(out.bytes != NULL && fread(out.bytes, 1, out.size, file) == out.size);
  fclose(file);
  return out;
}

void test_sign(unsigned char *bytes, size_t size) {
  pptf_header header;
  ppt_sha256 sha;
  pptf_header_read(&header, bytes);
  uint64_t tables = header.header_size + (uint64_t)header.entry_count * header.entry_size;
  if (tables > size || header.tables_size > size - tables) return;
  ppt_sha256_init(&sha);
  ppt_sha256_add(&sha, bytes + tables, (size_t)header.tables_size);
  ppt_sha256_finish(&sha, bytes + offsetof(pptf_header, tables_hash));
  memset(bytes + offsetof(pptf_header, content_id), 0, 32);
  ppt_sha256_init(&sha);
  ppt_sha256_add(&sha, bytes, (size_t)tables);
  ppt_sha256_finish(&sha, bytes + offsetof(pptf_header, content_id));
}

file_bytes test_image(ppt_kernel *const *kernels, size_t count) {
  file_bytes file = test_file("image.pptf");
  ppt_fat fat;
  pptf_entry entry;
  CHECK(ppt_fat_open(&fat, file.bytes, file.size) == PPT_OK);
  ppt_fat_entry(&fat, 0, &entry);
  CHECK(entry.payload_size == 8 * count);
  ppt_cpu_facts facts; /* the file says x86-64; its kernels here are the host's */
  ppt_cpu_probe(&facts);
  file.bytes[fat.header.entries_offset + offsetof(pptf_entry, machine)] = (unsigned char)facts.machine;
  test_sign(file.bytes, file.size);
  for (size_t i = 0; i < count; i++) {
    unsigned char *word = file.bytes + entry.offset + 8 * i;
    uintptr_t code;
    memcpy(&code, kernels + i, sizeof code);
    uint64_t distance = code - (uintptr_t)word;
    for (size_t byte = 0; byte < 8; byte++) word[byte] = (unsigned char)(distance >> 8 * byte);
  }
  return file;
}
