#include "base/status.h"

#include "base/strbuf.h"
#include "base/test.h"

TT_TEST(status, carries_code_and_text) {
  tt_status_t status = tt_status_create(TT_OUT_OF_RANGE, "index %d of %s", 7, "x");
  TT_EXPECT_EQ(tt_status_code(status), TT_OUT_OF_RANGE);
  TT_EXPECT_STR(tt_status_message(status), "index 7 of x");
  tt_status_t copy = tt_status_copy(status);
  status = tt_status_annotate(status, "op '%s'", "take");
  TT_EXPECT_STR(tt_status_message(status), "op 'take': index 7 of x");
  TT_EXPECT_EQ(tt_status_code(status), TT_OUT_OF_RANGE);
  TT_EXPECT_STR(tt_status_message(copy), "index 7 of x");
  tt_status_free(copy);
  tt_status_free(status);
  TT_EXPECT(tt_status_is_ok(tt_status_create(TT_OK, "no error")));
  TT_EXPECT(tt_status_is_ok(tt_status_annotate(TT_OK_STATUS, "context")));
  TT_EXPECT_STR(tt_status_message(TT_OK_STATUS), "");
}

// absl's canonical numbers, which PJRT shares
TT_TEST(status, codes_are_the_canonical_ones) {
  static const struct { int number; const char* name; } codes[] = {
      {0, "OK"}, {1, "CANCELLED"}, {2, "UNKNOWN"}, {3, "INVALID_ARGUMENT"}, {4, "DEADLINE_EXCEEDED"},
      {5, "NOT_FOUND"}, {6, "ALREADY_EXISTS"}, {7, "PERMISSION_DENIED"}, {8, "RESOURCE_EXHAUSTED"},
      {9, "FAILED_PRECONDITION"}, {10, "ABORTED"}, {11, "OUT_OF_RANGE"}, {12, "UNIMPLEMENTED"},
      {13, "INTERNAL"}, {14, "UNAVAILABLE"}, {15, "DATA_LOSS"}, {16, "UNAUTHENTICATED"}};
  for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); ++i) {
    TT_EXPECT_STR(tt_status_code_name((tt_status_code_t)codes[i].number), codes[i].name);
  }
  TT_EXPECT_STR(tt_status_code_name((tt_status_code_t)99), "UNKNOWN_CODE");
}

TT_TEST(status, join_keeps_the_first) {
  tt_status_t joined = tt_status_join(TT_OK_STATUS, tt_status_create(TT_INTERNAL, "second"));
  joined = tt_status_join(joined, tt_status_create(TT_ABORTED, "third"));
  joined = tt_status_join(joined, TT_OK_STATUS);
  TT_EXPECT_EQ(tt_status_code(joined), TT_INTERNAL);
  TT_EXPECT_STR(tt_status_message(joined), "second");
  tt_status_free(joined);
}

TT_TEST(strbuf, grows_and_remembers_a_failure) {
  tt_strbuf_t text;
  tt_strbuf_initialize(&text);
  TT_EXPECT_STR(tt_strbuf_text(&text), "");
  for (int i = 0; i < 1000; ++i) tt_strbuf_printf(&text, "%03d,", i);
  tt_strbuf_puts(&text, "end");
  tt_strbuf_putc(&text, '.');
  tt_strbuf_append(&text, "!!", 1);
  TT_EXPECT_EQ(text.size, 4005);
  TT_EXPECT(strncmp(tt_strbuf_text(&text), "000,001,", 8) == 0);
  TT_EXPECT_STR(tt_strbuf_text(&text) + 3996, "999,end.!");
  TT_EXPECT_OK(tt_strbuf_status(&text));
  tt_alloc_fault_arm(1);
  while (!text.failed && text.size < 1 << 20) tt_strbuf_puts(&text, "more text");
  tt_alloc_fault_arm(0);
  size_t size = text.size;
  tt_strbuf_puts(&text, "lost");
  TT_EXPECT_EQ(text.size, size);
  TT_EXPECT_ERROR(tt_strbuf_status(&text), TT_RESOURCE_EXHAUSTED, "host memory");
  tt_strbuf_deinitialize(&text);
}

int main(int argc, char** argv) { return tt_test_main(argc, argv); }
