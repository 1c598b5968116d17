#include "base/alloc.h"

#include "base/test.h"

TT_TEST(alloc, counters_return_to_their_start) {
  tt_alloc_stats_t before = tt_alloc_stats();
  void *a, *b, *c;
  char* text;
  TT_EXPECT_OK(tt_alloc(100, &a));
  for (int i = 0; i < 100; ++i) TT_EXPECT_EQ(((char*)a)[i], 0);
  TT_EXPECT_OK(tt_alloc(0, &b));
  TT_EXPECT(b != NULL && a != b);
  TT_EXPECT_OK(tt_alloc_aligned(1000, 4096, &c));
  TT_EXPECT_EQ((uintptr_t)c % 4096, 0);
  TT_EXPECT_OK(tt_strndup("hello world", 5, &text));
  TT_EXPECT_STR(text, "hello");
  TT_EXPECT_EQ(tt_alloc_stats().live_blocks, before.live_blocks + 4);
  tt_free(a);
  tt_free(b);
  tt_free(c);
  tt_free(text);
  tt_free(NULL);
  TT_EXPECT_EQ(tt_alloc_stats().live_blocks, before.live_blocks);
  TT_EXPECT_EQ(tt_alloc_stats().allocations, before.allocations + 4);
}

TT_TEST(alloc, growing_keeps_the_contents) {
  int* numbers = NULL;
  size_t capacity = 0;
  for (size_t i = 0; i < 1000; ++i) {
    void* block = numbers;
    TT_EXPECT_OK(tt_grow(&block, &capacity, i + 1, sizeof(int)));
    numbers = block;
    TT_EXPECT(capacity >= i + 1);
    numbers[i] = (int)i;
  }
  for (int i = 0; i < 1000; ++i) TT_EXPECT_EQ(numbers[i], i);
  tt_free(numbers);
}

TT_TEST(alloc, impossible_sizes) {
  void* block;
  TT_EXPECT_ERROR(tt_alloc(SIZE_MAX, &block), TT_RESOURCE_EXHAUSTED, "18446744073709551615");
  TT_EXPECT(!block);
  TT_EXPECT_ERROR(tt_alloc_array(SIZE_MAX / 2, 4, &block), TT_RESOURCE_EXHAUSTED, "");
  TT_EXPECT(!block);
  TT_EXPECT_OK(tt_alloc(8, &block));
  memcpy(block, "content", 8);
  size_t capacity = 8;
  TT_EXPECT_ERROR(tt_grow(&block, &capacity, SIZE_MAX / 2, 4), TT_RESOURCE_EXHAUSTED, "");
  TT_EXPECT_STR((char*)block, "content");
  TT_EXPECT_EQ(capacity, 8);
  tt_free(block);
}

TT_TEST(alloc, the_nth_fails_once) {
  void *first, *second, *third;
  tt_alloc_fault_arm(2);
  TT_EXPECT_OK(tt_alloc(8, &first));
  TT_EXPECT(!tt_alloc_fault_fired());
  TT_EXPECT_ERROR(tt_alloc(8, &second), TT_RESOURCE_EXHAUSTED, "8");
  TT_EXPECT(tt_alloc_fault_fired());
  TT_EXPECT_OK(tt_alloc(8, &third));
  tt_alloc_fault_arm(1);
  void* grown = third;
  TT_EXPECT_ERROR(tt_realloc(100, &grown), TT_RESOURCE_EXHAUSTED, "100");
  TT_EXPECT(grown == third);
  tt_alloc_fault_arm(0);
  tt_free(first);
  tt_free(third);
}

int main(int argc, char** argv) { return tt_test_main(argc, argv); }
