/* Damage of fat files: every truncation and every flipped bit is refused, with nothing read beyond the end. */
#include "test.h"

/* Opens a file and checks all payloads, from memory of exactly its size. */
static ppt_status open_all(const unsigned char *bytes, size_t size) {
  ppt_fat fat;
  ppt_status status = ppt_fat_open(&fat, bytes, size);
  for (size_t i = 0; !status && i < fat.header.entry_count; i++) {
    pptf_entry entry;
    ppt_fat_entry(&fat, i, &entry);
    status = ppt_fat_check_payload(&fat, &entry);
  }
  return status;
}

static void golden_files_open(void) {
  const char *names[] = {"small.pptf", "sections.pptf"};
  for (size_t i = 0; i < 2; i++) {
    file_bytes file = test_file(names[i]);
    CHECK(open_all(file.bytes, file.size) == PPT_OK);
    free(file.bytes);
  }
}

static void every_truncation_is_refused(void) {
  file_bytes file = test_file("small.pptf");
  for (size_t size = 0; size < file.size; size++) {
    unsigned char *part = malloc(size ? size : 1);
    CHECK(part != NULL);
    memcpy(part, file.bytes, size);
    CHECK_FAILS(open_all(part, size), PPT_E_CORRUPT, "fat file");
    free(part);
  }
  free(file.bytes);
}

static void every_flipped_bit_is_refused(void) {
  file_bytes file = test_file("small.pptf");
  for (size_t bit = 0; bit < 8 * file.size; bit++) {
    file.bytes[bit / 8] ^= (unsigned char)(1u << bit % 8);
    ppt_status status = open_all(file.bytes, file.size);
    CHECK(status == PPT_E_CORRUPT || status == PPT_E_VERSION);
    file.bytes[bit / 8] ^= (unsigned char)(1u << bit % 8);
  }
  CHECK(open_all(file.bytes, file.size) == PPT_OK);
  free(file.bytes);
}

/* Reads everything that an open file offers, so that sanitizers see a bad offset. */
static size_t read_all(const ppt_fat *fat) {
  size_t sum = 0;
  for (size_t i = 0; i < fat->header.entry_count; i++) {
    pptf_entry entry;
    ppt_fat_entry(fat, i, &entry);
    sum += strlen(ppt_fat_string(fat, entry.target)) + strlen(ppt_fat_string(fat, entry.options));
    for (size_t k = 0; k < entry.kernel_count; k++) {
      pptf_kernel kernel;
      pptf_signature_kernel signature;
      ppt_fat_kernel(fat, entry.kernel_first + k, &kernel);
      ppt_fat_signature_kernel(fat, kernel.signature, &signature);
      sum += strlen(ppt_fat_string(fat, signature.name));
      for (size_t a = 0; a < signature.argument_count; a++) {
        pptf_signature_argument argument;
        ppt_fat_signature_argument(fat, signature.argument_first + a, &argument);
        sum += strlen(ppt_fat_string(fat, argument.name));
      }
    }
    for (size_t byte = 0; byte < entry.payload_size; byte++) sum += fat->bytes[entry.offset + byte];
  }
  return sum;
}

static void signed_damage_is_refused_or_harmless(void) {
  file_bytes file = test_file("small.pptf");
  const unsigned char values[] = {0x00, 0x01, 0x7f, 0x80, 0xff};
  size_t opened = 0;
  for (size_t at = 0; at < file.size; at++) {
    for (size_t v = 0; v < sizeof values; v++) {
      unsigned char *copy = malloc(file.size);
      ppt_fat fat;
      CHECK(copy != NULL);
      memcpy(copy, file.bytes, file.size);
      copy[at] = values[v];
      test_sign(copy, file.size);
      if (ppt_fat_open(&fat, copy, file.size) == PPT_OK) opened += read_all(&fat) > 0;
      free(copy);
    }
  }
  CHECK(opened > 0);
  free(file.bytes);
}

static void other_versions(void) {
  file_bytes file = test_file("small.pptf");
  file.bytes[8] = 2;
  CHECK_FAILS(open_all(file.bytes, file.size), PPT_E_VERSION, "version 2");
  free(file.bytes);
}

int main(void) {
  RUN(golden_files_open);
  RUN(every_truncation_is_refused);
  RUN(every_flipped_bit_is_refused);
  RUN(signed_damage_is_refused_or_harmless);
  RUN(other_versions);
  return 0;
}
