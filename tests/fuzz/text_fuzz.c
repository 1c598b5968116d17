// StableHLO text: a program or an error with line and column. A program that the verifier accepts is printed,
// read again and equal; nothing leaks.
#include <ctype.h>
#include <string.h>

#include "fuzz.h"
#include "ir/text.h"

static bool has_position(const char* message) {
  const char* c = message;
  while (isdigit((unsigned char)*c)) ++c;
  if (c == message || *c != ':') return false;
  const char* column = ++c;
  while (isdigit((unsigned char)*c)) ++c;
  return c > column && c[0] == ':' && c[1] == ' ';
}

static void expect_refusal(tt_status_t status, const char* by) {
  tt_status_code_t code = tt_status_code(status);
  FUZZ_REQUIRE(code == TT_INVALID_ARGUMENT || code == TT_UNIMPLEMENTED || code == TT_RESOURCE_EXHAUSTED,
      "%s: %s: %s", by,
               tt_status_code_name(code), tt_status_message(status));
  FUZZ_REQUIRE(code == TT_RESOURCE_EXHAUSTED || has_position(tt_status_message(status)), "%s: %s", by,
               tt_status_message(status));
  tt_status_free(status);
}

static void round_trip(const tt_module_t* module, uint32_t flags) {
  tt_strbuf_t text;
  tt_strbuf_initialize(&text);
  tt_status_t status = tt_module_print(module, flags, &text);
  FUZZ_REQUIRE(tt_status_is_ok(status), "%s", tt_status_message(status));
  tt_module_t* again = NULL;
  status = tt_module_parse(tt_strbuf_text(&text), strlen(tt_strbuf_text(&text)), &again);
  FUZZ_REQUIRE(tt_status_is_ok(status), "%s\n%s", tt_status_message(status), tt_strbuf_text(&text));
  FUZZ_REQUIRE(tt_module_equal(module, again), "\n%s", tt_strbuf_text(&text));
  FUZZ_REQUIRE(tt_module_hash(module) == tt_module_hash(again), "\n%s", tt_strbuf_text(&text));
  tt_module_release(again);
  tt_strbuf_deinitialize(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  int64_t live = tt_alloc_stats().live_blocks;
  tt_module_t* module = NULL;
  tt_status_t status = tt_module_parse((const char*)data, size, &module);
  if (!tt_status_is_ok(status)) {
    expect_refusal(status, "read");
  } else {
    status = tt_module_verify(module);
    if (tt_status_is_ok(status)) {
      round_trip(module, TT_PRINT_DEFAULT);
      round_trip(module, TT_PRINT_LOCATIONS);
    } else {
      expect_refusal(status, "verify");
    }
    tt_module_release(module);
  }
  FUZZ_REQUIRE(tt_alloc_stats().live_blocks == live, "%lld blocks leaked",
      (long long)(tt_alloc_stats().live_blocks - live));
  return 0;
}
