/* SHA-256 (FIPS 180-4). */
#include "internal.h"

static const uint32_t round_constants[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

static uint32_t rotate(uint32_t word, unsigned count) {
  return word >> count | word << (32 - count);
}

static uint32_t big_endian(const unsigned char *bytes) {
  return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
}

static void compress(uint32_t state[8], const unsigned char block[64]) {
  uint32_t words[64];
  for (size_t i = 0; i < 16; i++) words[i] = big_endian(block + 4 * i);
  for (size_t i = 16; i < 64; i++) {
    uint32_t a = words[i - 15], b = words[i - 2];
    uint32_t low = rotate(a, 7) ^ rotate(a, 18) ^ a >> 3;
    uint32_t high = rotate(b, 17) ^ rotate(b, 19) ^ b >> 10;
    words[i] = words[i - 16] + low + words[i - 7] + high;
  }
  uint32_t h[8];
  memcpy(h, state, sizeof h);
  for (size_t i = 0; i < 64; i++) {
    uint32_t choice = (h[4] & h[5]) ^ (~h[4] & h[6]);
    uint32_t majority = (h[0] & h[1]) ^ (h[0] & h[2]) ^ (h[1] & h[2]);
    uint32_t first = h[7] + (rotate(h[4], 6) ^ rotate(h[4], 11) ^ rotate(h[4], 25)) + choice +
                     round_constants[i] + words[i];
    uint32_t second = (rotate(h[0], 2) ^ rotate(h[0], 13) ^ rotate(h[0], 22)) + majority;
    memmove(h + 1, h, 7 * sizeof *h);
    h[4] += first;
    h[0] = first + second;
  }
  for (size_t i = 0; i < 8; i++) state[i] += h[i];
}

void ppt_sha256_init(ppt_sha256 *sha) {
  static const uint32_t start[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                    0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  memcpy(sha->state, start, sizeof start);
  sha->length = 0;
}

void ppt_sha256_add(ppt_sha256 *sha, const void *bytes, size_t size) {
  const unsigned char *next = bytes;
  size_t filled = sha->length % 64;
  sha->length += size;
  if (filled) {
    size_t part = size < 64 - filled ? size : 64 - filled;
    memcpy(sha->block + filled, next, part);
    if (filled + part < 64) return;
    compress(sha->state, sha->block);
    next += part;
    size -= part;
  }
  for (; size >= 64; next += 64, size -= 64) compress(sha->state, next);
  if (size) memcpy(sha->block, next, size);
}

void ppt_sha256_finish(ppt_sha256 *sha, unsigned char digest[32]) {
  static const unsigned char padding[64] = {0x80};
  uint64_t bits = sha->length * 8;
  unsigned char length[8];
  for (unsigned i = 0; i < 8; i++) length[i] = (unsigned char)(bits >> (56 - 8 * i));
  size_t filled = sha->length % 64;
  ppt_sha256_add(sha, padding, filled < 56 ? 56 - filled : 120 - filled);
  ppt_sha256_add(sha, length, 8);
  for (unsigned i = 0; i < 32; i++) digest[i] = (unsigned char)(sha->state[i / 4] >> (24 - 8 * (i % 4)));
}

bool ppt_sha256_matches(const void *bytes, size_t size, const unsigned char digest[32]) {
  ppt_sha256 sha;
  unsigned char found[32];
  ppt_sha256_init(&sha);
  ppt_sha256_add(&sha, bytes, size);
  ppt_sha256_finish(&sha, found);
  return memcmp(found, digest, 32) == 0;
}
