#include "base/strbuf.h"

#include <stdarg.h>
#include <string.h>

#include "base/alloc.h"
#include "base/format.h"

void tt_strbuf_initialize(tt_strbuf_t* buffer) { memset(buffer, 0, sizeof(*buffer)); }

void tt_strbuf_deinitialize(tt_strbuf_t* buffer) {
  tt_free(buffer->data);
  memset(buffer, 0, sizeof(*buffer));
}

static bool reserve(tt_strbuf_t* buffer, size_t extra) {
  if (buffer->failed) return false;
  size_t needed;
  void* block = buffer->data;
  if (tt_checked_add(buffer->size, extra, &needed) && tt_checked_add(needed, 1, &needed)) {
    if (needed <= buffer->capacity) return true;
    tt_status_t status = tt_grow(&block, &buffer->capacity, TT_MAX(needed, buffer->capacity * 2), 1);
    if (tt_status_is_ok(status)) {
      buffer->data = block;
      return true;
    }
    tt_status_ignore(status);  // kept as `failed`
  }
  buffer->failed = true;
  return false;
}

void tt_strbuf_append(tt_strbuf_t* buffer, const char* data, size_t size) {
  if (!reserve(buffer, size)) return;
  if (size) memcpy(buffer->data + buffer->size, data, size);
  buffer->size += size;
  buffer->data[buffer->size] = 0;
}

void tt_strbuf_puts(tt_strbuf_t* buffer, const char* text) { tt_strbuf_append(buffer, text, strlen(text)); }

void tt_strbuf_putc(tt_strbuf_t* buffer, char c) { tt_strbuf_append(buffer, &c, 1); }

void tt_strbuf_printf(tt_strbuf_t* buffer, const char* format, ...) {
  va_list args;
  va_start(args, format);
  int length = tt_format_va(NULL, 0, format, args);
  va_end(args);
  if (length < 0 || !reserve(buffer, (size_t)length)) return;
  va_start(args, format);
  tt_format_va(buffer->data + buffer->size, (size_t)length + 1, format, args);
  va_end(args);
  buffer->size += (size_t)length;
}

tt_status_t tt_strbuf_status(const tt_strbuf_t* buffer) {
  if (!buffer->failed) return TT_OK_STATUS;
  return tt_status_create(TT_RESOURCE_EXHAUSTED, "out of host memory writing text after %zu bytes", buffer->size);
}

const char* tt_strbuf_text(const tt_strbuf_t* buffer) { return buffer->data ? buffer->data : ""; }
