#include "base/arena.h"

#include "base/test.h"

static bool is_zero(const char* bytes, size_t size) {
  for (size_t i = 0; i < size; ++i) {
    if (bytes[i]) return false;
  }
  return true;
}

TT_TEST(arena, zeroed_aligned_and_apart) {
  int64_t before = tt_alloc_stats().live_blocks;
  tt_arena_t arena;
  tt_arena_initialize(&arena);
  TT_EXPECT_EQ(tt_alloc_stats().live_blocks, before);
  enum { COUNT = 400 };
  char* blocks[COUNT];
  for (int round = 0; round < 4; ++round) {
    for (int i = 0; i < COUNT; ++i) {
      size_t size = (size_t)(i * 7 % 500);
      blocks[i] = tt_arena_alloc(&arena, size);
      TT_EXPECT(blocks[i] && (uintptr_t)blocks[i] % 16 == 0);
      TT_EXPECT(is_zero(blocks[i], size));  // after a reset, too
      memset(blocks[i], i + 1, size);
    }
    for (int i = 0; i < COUNT; ++i) {
      for (size_t j = 0; j < (size_t)(i * 7 % 500); ++j) TT_EXPECT_EQ(blocks[i][j], (char)(i + 1));
    }
    tt_arena_reset(&arena);
  }
  tt_arena_deinitialize(&arena);
  TT_EXPECT_EQ(tt_alloc_stats().live_blocks, before);
}

TT_TEST(arena, large_blocks) {
  tt_arena_t arena;
  tt_arena_initialize(&arena);
  char* small = tt_arena_strndup(&arena, "kept text", 4);
  char* large = tt_arena_alloc(&arena, (size_t)5 << 20);
  TT_EXPECT(large && is_zero(large, (size_t)5 << 20));
  TT_EXPECT_STR(small, "kept");
  TT_EXPECT_STR(tt_arena_printf(&arena, "%d-%s", 42, "x"), "42-x");
  int numbers[3] = {1, 2, 3};
  int* copy = tt_arena_copy(&arena, numbers, sizeof(numbers));
  TT_EXPECT(copy != numbers && memcmp(copy, numbers, sizeof(numbers)) == 0);
  TT_EXPECT(tt_arena_copy(&arena, NULL, 0) != NULL);
  tt_arena_deinitialize(&arena);
}

TT_TEST(arena, impossible_sizes_give_null) {
  tt_arena_t arena;
  tt_arena_initialize(&arena);
  TT_EXPECT(!tt_arena_alloc(&arena, SIZE_MAX));
  TT_EXPECT(!tt_arena_alloc(&arena, SIZE_MAX - 32));
  TT_EXPECT(!tt_arena_alloc_array(&arena, SIZE_MAX / 2, 3));
  TT_EXPECT(!tt_arena_strndup(&arena, "", SIZE_MAX));
  TT_EXPECT(tt_arena_alloc(&arena, 8) != NULL);  // still usable
  tt_arena_deinitialize(&arena);
}

TT_TEST(arena, short_of_memory) {
  tt_arena_t arena;
  tt_arena_initialize(&arena);
  tt_alloc_fault_arm(1);
  TT_EXPECT(!tt_arena_alloc(&arena, 8));
  tt_alloc_fault_arm(0);
  char* first = tt_arena_alloc(&arena, 8);
  TT_EXPECT(first != NULL);
  tt_alloc_fault_arm(1);
  TT_EXPECT(!tt_arena_alloc(&arena, 1 << 16));
  tt_alloc_fault_arm(0);
  memset(first, 1, 8);
  TT_EXPECT(tt_arena_alloc(&arena, 1 << 16) != NULL);
  tt_arena_deinitialize(&arena);
}

int main(int argc, char** argv) { return tt_test_main(argc, argv); }
