// A small test harness. One <noun>_test.c per <noun>.c:
//
//   TT_TEST(arena, grows) { TT_EXPECT_EQ(1, 1); }
//   int main(int argc, char** argv) { return tt_test_main(argc, argv); }
//
// A test registers itself; `name_test [substring]` runs those whose name contains the substring.
// The closing line is "N passed, N failed, N skipped". A failed expectation ends its test.
#ifndef TT_BASE_TEST_H_
#define TT_BASE_TEST_H_

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/base.h"
#include "base/status.h"

typedef struct tt_test_s {
  const char* name;
  void (*run)(void);
  struct tt_test_s* next;
} tt_test_t;

static tt_test_t* tt_tests;
static int tt_test_failures;
static const char* tt_test_skip_reason;

#define TT_TEST(group, test)                                                               \
  static void group##_##test##_run(void);                                                  \
  static tt_test_t group##_##test##_entry = {#group "." #test, group##_##test##_run, NULL}; \
  __attribute__((constructor)) static void group##_##test##_register(void) {               \
    group##_##test##_entry.next = tt_tests;                                                \
    tt_tests = &group##_##test##_entry;                                                    \
  }                                                                                        \
  static void group##_##test##_run(void)

#define TT_TEST_FAIL(...)                               \
  do {                                                  \
    fprintf(stderr, "%s:%d: ", __FILE__, __LINE__);     \
    fprintf(stderr, __VA_ARGS__);                       \
    fputc('\n', stderr);                                \
    ++tt_test_failures;                                 \
  } while (0)
#define TT_EXPECT(condition)                                    \
  do {                                                          \
    if (!(condition)) {                                         \
      TT_TEST_FAIL("expected %s", #condition);                  \
      return;                                                   \
    }                                                           \
  } while (0)
#define TT_EXPECT_EQ(actual, expected)                                                      \
  do {                                                                                      \
    long long tt_a_ = (long long)(actual), tt_e_ = (long long)(expected);                   \
    if (tt_a_ != tt_e_) {                                                                   \
      TT_TEST_FAIL("%s is %lld, expected %lld (%s)", #actual, tt_a_, tt_e_, #expected);     \
      return;                                                                               \
    }                                                                                       \
  } while (0)
#define TT_EXPECT_NEAR(actual, expected, tolerance)                                         \
  do {                                                                                      \
    double tt_a_ = (actual), tt_e_ = (expected);                                            \
    if (!(fabs(tt_a_ - tt_e_) <= (tolerance))) {                                            \
      TT_TEST_FAIL("%s is %.17g, expected %.17g", #actual, tt_a_, tt_e_);                   \
      return;                                                                               \
    }                                                                                       \
  } while (0)
#define TT_EXPECT_STR(actual, expected)                                                     \
  do {                                                                                      \
    const char *tt_a_ = (actual), *tt_e_ = (expected);                                      \
    if (strcmp(tt_a_, tt_e_) != 0) {                                                        \
      TT_TEST_FAIL("%s is\n%s\nexpected\n%s", #actual, tt_a_, tt_e_);                       \
      return;                                                                               \
    }                                                                                       \
  } while (0)
#define TT_EXPECT_CONTAINS(actual, part)                                                    \
  do {                                                                                      \
    const char *tt_a_ = (actual), *tt_p_ = (part);                                          \
    if (!strstr(tt_a_, tt_p_)) {                                                            \
      TT_TEST_FAIL("%s is\n%s\nwhich does not contain\n%s", #actual, tt_a_, tt_p_);         \
      return;                                                                               \
    }                                                                                       \
  } while (0)
#define TT_EXPECT_OK(expr)                                                                  \
  do {                                                                                      \
    tt_status_t tt_s_ = (expr);                                                             \
    if (!tt_status_is_ok(tt_s_)) {                                                          \
      TT_TEST_FAIL("%s: %s: %s", #expr, tt_status_code_name(tt_status_code(tt_s_)), tt_status_message(tt_s_)); \
      tt_status_free(tt_s_);                                                                \
      return;                                                                               \
    }                                                                                       \
  } while (0)
// Expects an error of `code` whose message contains `part`; frees it.
#define TT_EXPECT_ERROR(expr, expected_code, part)                                          \
  do {                                                                                      \
    tt_status_t tt_s_ = (expr);                                                             \
    bool tt_match_ = tt_status_code(tt_s_) == (expected_code) && strstr(tt_status_message(tt_s_), part); \
    if (!tt_match_) {                                                                       \
      TT_TEST_FAIL("%s gave %s: %s\nexpected %s containing '%s'", #expr,                    \
                   tt_status_code_name(tt_status_code(tt_s_)), tt_status_message(tt_s_),    \
                   tt_status_code_name(expected_code), part);                               \
    }                                                                                       \
    tt_status_free(tt_s_);                                                                  \
    if (!tt_match_) return;                                                                 \
  } while (0)
// Skips carry a reason and are listed.
#define TT_SKIP(reason)            \
  do {                             \
    tt_test_skip_reason = (reason); \
    return;                        \
  } while (0)

static int tt_test_main(int argc, char** argv) {
  const char* filter = argc > 1 ? argv[1] : "";
  int passed = 0, failed = 0, skipped = 0;
  // registered newest first: run in source order
  tt_test_t* ordered = NULL;
  while (tt_tests) {
    tt_test_t* next = tt_tests->next;
    tt_tests->next = ordered;
    ordered = tt_tests;
    tt_tests = next;
  }
  for (tt_test_t* test = ordered; test; test = test->next) {
    if (!strstr(test->name, filter)) continue;
    int before = tt_test_failures;
    tt_test_skip_reason = NULL;
    test->run();
    if (tt_test_failures != before) {
      ++failed;
      printf("FAILED %s\n", test->name);
    } else if (tt_test_skip_reason) {
      ++skipped;
      printf("SKIPPED %s: %s\n", test->name, tt_test_skip_reason);
    } else {
      ++passed;
    }
  }
  printf("%d passed, %d failed, %d skipped\n", passed, failed, skipped);
  return failed || (passed + skipped == 0) ? 1 : 0;
}

#endif  // TT_BASE_TEST_H_
