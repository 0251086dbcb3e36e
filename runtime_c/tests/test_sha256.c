/* The examples of FIPS 180-4, and pieces of any size. */
#include "test.h"

static void check_hash(const char *text, size_t size, const char *hex) {
  unsigned char digest[32];
  for (size_t i = 0; i < 32; i++) {
    unsigned value;
    CHECK(sscanf(hex + 2 * i, "%2x", &value) == 1);
    digest[i] = (unsigned char)value;
  }
  CHECK(ppt_sha256_matches(text, size, digest));
  digest[31] ^= 1;
  CHECK(!ppt_sha256_matches(text, size, digest));
}

static void known_answers(void) {
  static char million[1000000];
  const char *two_blocks = "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq";
  check_hash("", 0, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  check_hash("abc", 3, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  check_hash(two_blocks, strlen(two_blocks), "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  memset(million, 'a', sizeof million);
  check_hash(million, sizeof million, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

static void pieces_of_any_size(void) {
  unsigned char bytes[300], whole[32], pieces[32];
  for (size_t i = 0; i < sizeof bytes; i++) bytes[i] = (unsigned char)(i * 7);
  for (size_t size = 0; size < sizeof bytes; size++) {
    for (size_t step = 1; step < 130; step += 13) {
      ppt_sha256 sha;
      ppt_sha256_init(&sha);
      ppt_sha256_add(&sha, bytes, size);
      ppt_sha256_finish(&sha, whole);
      ppt_sha256_init(&sha);
      for (size_t at = 0; at < size; at += step) ppt_sha256_add(&sha, bytes + at, size - at < step ? size - at : step);
      ppt_sha256_finish(&sha, pieces);
      CHECK(memcmp(whole, pieces, 32) == 0);
    }
  }
}

int main(void) {
  RUN(known_answers);
  RUN(pieces_of_any_size);
  return 0;
}
