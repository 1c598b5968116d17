// The text reader, verifier and printer for tests/test_text_round_trip.py.
#include <stdlib.h>
#include <string.h>

#include "ir/text.h"

#define EXPORT __attribute__((visibility("default")))
EXPORT char* text_round_trip(const char* text, size_t size, unsigned flags, int* out_code);
EXPORT void text_free(char* text);

// The program printed (code 0) or the error's message; free with text_free.
char* text_round_trip(const char* text, size_t size, unsigned flags, int* out_code) {
  tt_module_t* module = NULL;
  tt_strbuf_t printed;
  tt_strbuf_initialize(&printed);
  tt_status_t status = tt_module_parse(text, size, &module);
  if (tt_status_is_ok(status)) status = tt_module_verify(module);
  if (tt_status_is_ok(status)) status = tt_module_print(module, flags, &printed);
  *out_code = (int)tt_status_code(status);
  char* result = strdup(tt_status_is_ok(status) ? tt_strbuf_text(&printed) : tt_status_message(status));
  tt_status_free(status);
  tt_strbuf_deinitialize(&printed);
  tt_module_release(module);
  return result;
}

void text_free(char* text) { free(text); }
