#include "base/status.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/format.h"

struct tt_status_s {
  tt_status_code_t code;
  bool is_static;
  char message[];
};

static struct {
  struct tt_status_s head;
  char message[64];
} out_of_memory_status = {{TT_RESOURCE_EXHAUSTED, true}, "out of host memory"};

tt_status_t tt_status_create_va(tt_status_code_t code, const char* format, va_list args) {
  if (code == TT_OK) return TT_OK_STATUS;
  va_list measure;
  va_copy(measure, args);
  int length = tt_format_va(NULL, 0, format, measure);
  va_end(measure);
  if (length < 0) length = 0;
  // Not through tt_alloc: an error about an injected allocation failure must keep its text.
  tt_status_t status = malloc(sizeof(*status) + (size_t)length + 1);
  if (!status) return &out_of_memory_status.head;
  status->code = code;
  status->is_static = false;
  tt_format_va(status->message, (size_t)length + 1, format, args);
  return status;
}

tt_status_t tt_status_create(tt_status_code_t code, const char* format, ...) {
  va_list args;
  va_start(args, format);
  tt_status_t status = tt_status_create_va(code, format, args);
  va_end(args);
  return status;
}

tt_status_t tt_status_copy(tt_status_t status) {
  if (!status || status->is_static) return status;
  return tt_status_create(status->code, "%s", status->message);
}

tt_status_t tt_status_annotate(tt_status_t status, const char* format, ...) {
  if (!status || status->is_static) return status;
  va_list args;
  va_start(args, format);
  tt_status_t context = tt_status_create_va(status->code, format, args);
  va_end(args);
  if (context->is_static) return status;
  tt_status_t joined = tt_status_create(status->code, "%s: %s", context->message, status->message);
  tt_status_free(context);
  tt_status_free(status);
  return joined;
}

tt_status_t tt_status_join(tt_status_t first, tt_status_t second) {
  if (!first) return second;
  tt_status_free(second);
  return first;
}

void tt_status_free(tt_status_t status) {
  if (status && !status->is_static) free(status);
}

tt_status_code_t tt_status_code(tt_status_t status) { return status ? status->code : TT_OK; }

const char* tt_status_message(tt_status_t status) { return status ? status->message : ""; }

const char* tt_status_code_name(tt_status_code_t code) {
  switch (code) {
#define TT_STATUS_CODE(number, name) \
  case TT_##name:                    \
    return #name;
#include "tt/status_codes.def"
#undef TT_STATUS_CODE
  }
  return "UNKNOWN_CODE";
}
