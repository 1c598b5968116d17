// Growing text buffer with a sticky failure: write freely, check once at the end.
#ifndef TT_BASE_STRBUF_H_
#define TT_BASE_STRBUF_H_

#include "base/base.h"
#include "base/status.h"

typedef struct tt_strbuf_s {
  char* data;  // NUL-terminated once anything was written
  size_t size;
  size_t capacity;
  bool failed;
} tt_strbuf_t;

void tt_strbuf_initialize(tt_strbuf_t* buffer);
void tt_strbuf_deinitialize(tt_strbuf_t* buffer);
void tt_strbuf_append(tt_strbuf_t* buffer, const char* data, size_t size);
void tt_strbuf_puts(tt_strbuf_t* buffer, const char* text);
void tt_strbuf_putc(tt_strbuf_t* buffer, char c);
void tt_strbuf_printf(tt_strbuf_t* buffer, const char* format, ...) TT_PRINTF(2, 3);
// OK, or RESOURCE_EXHAUSTED if any write failed.
tt_status_t tt_strbuf_status(const tt_strbuf_t* buffer) TT_MUST_USE;
const char* tt_strbuf_text(const tt_strbuf_t* buffer);  // "" when empty

#endif  // TT_BASE_STRBUF_H_
