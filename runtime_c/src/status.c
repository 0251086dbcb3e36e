/* Status words, sentences, and texts of bounded length. */
#include <stdio.h>

#include "internal.h"

static _Thread_local char last_error[2048];

uint32_t ppt_version(void) {
  return (uint32_t)PPT_ABI_VERSION_MAJOR << 16 | PPT_ABI_VERSION_MINOR;
}

const char *ppt_status_string(ppt_status status) {
  switch (status) {
#define CASE(name, value, sentence) \
  case PPT_##name:                  \
    return sentence;
    PPT_STATUS_LIST(CASE)
#undef CASE
    case PPT_STATUS_FORCE_32_BITS:
      break;
  }
  return "unknown status";
}

const char *ppt_last_error(void) {
  return last_error;
}

ppt_status ppt_fail(ppt_status status, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(last_error, sizeof last_error, format, arguments);
  va_end(arguments);
  return status;
}

void ppt_text_add(ppt_text *text, const char *format, ...) {
  size_t room = text->capacity - text->length;
  if (room <= 1) return;
  va_list arguments;
  va_start(arguments, format);
  int wanted = vsnprintf(text->bytes + text->length, room, format, arguments);
  va_end(arguments);
  if (wanted > 0) text->length += (size_t)wanted < room ? (size_t)wanted : room - 1;
}
