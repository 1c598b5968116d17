#define _GNU_SOURCE   // uselocale
#include "base/format.h"

#include <locale.h>
#include <stdio.h>
#include <stdlib.h>

// The C library's own object for "C": never freed, and made without memory, so that two threads at the first
// call write the same pointer. 0 (no such locale) leaves the thread's locale as it is.
static locale_t c_locale(void) {
  static locale_t known;
  locale_t found = __atomic_load_n(&known, __ATOMIC_RELAXED);
  if (!found) {
    found = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    __atomic_store_n(&known, found, __ATOMIC_RELAXED);
  }
  return found;
}

int tt_format_va(char* out, size_t size, const char* format, va_list args) {
  locale_t before = uselocale(c_locale());
  int length = vsnprintf(out, size, format, args);
  uselocale(before);
  return length;
}

double tt_format_read_f64(const char* text, char** out_stop) {
  locale_t before = uselocale(c_locale());
  double value = strtod(text, out_stop);
  uselocale(before);
  return value;
}
