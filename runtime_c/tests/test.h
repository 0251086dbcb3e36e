/* A test program is a list of functions; the first check that fails ends it with file, line and text. */
#ifndef PPT_TEST_H
#define PPT_TEST_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"

#define CHECK(condition)                                                              \
  do {                                                                                \
    if (!(condition)) {                                                               \
      fprintf(stderr, "%s:%d: %s\n  last error: %s\n", __FILE__, __LINE__, #condition, \
              ppt_last_error());                                                      \
      exit(1);                                                                        \
    }                                                                                 \
  } while (0)

/* The status, and a word that the sentence must hold. */
#define CHECK_FAILS(call, wanted, word)                       \
  do {                                                        \
    CHECK((call) == (wanted));                                \
    CHECK(strstr(ppt_last_error(), word) != NULL);            \
  } while (0)

#define RUN(test)                       \
  do {                                  \
    test();                             \
    printf("%s\n", #test);              \
  } while (0)

typedef struct file_bytes {
  unsigned char *bytes;
  size_t size;
} file_bytes;

/* A file of the folder tests/data; the caller frees the bytes. */
file_bytes test_file(const char *name);

/* Makes the hashes of header and tables fit again, as one who means harm would. */
void test_sign(unsigned char *bytes, size_t size);

/* The file image.pptf with the kernels of a test, for the host; the caller frees the bytes. */
file_bytes test_image(ppt_kernel *const *kernels, size_t count);

#endif
