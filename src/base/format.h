// Numbers in text, written and read alike whatever locale the host program has set: a decimal point, ASCII
// digits and letters. printf, strtod and <ctype.h> follow the locale, so our texts go through here instead.
#ifndef TT_BASE_FORMAT_H_
#define TT_BASE_FORMAT_H_

#include <stdarg.h>

#include "base/base.h"

// As vsnprintf and strtod in the C locale. The calling thread's locale is the same afterwards.
int tt_format_va(char* out, size_t size, const char* format, va_list args);
double tt_format_read_f64(const char* text, char** out_stop);   // out_stop may be NULL

static inline bool tt_is_digit(char c) { return c >= '0' && c <= '9'; }
static inline bool tt_is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
static inline bool tt_is_hex_digit(char c) {
  return tt_is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

#endif  // TT_BASE_FORMAT_H_
