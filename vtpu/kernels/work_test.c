// Work areas: zeroed, aligned, taken again without an allocation, safe between threads, gone after a trim.
#include "kernels/work.h"

#include <string.h>

#include "base/alloc.h"
#include "base/test.h"
#include "base/thread.h"

TT_TEST(work, second_taker_allocates_nothing) {
  static const size_t sizes[] = {0, 1, 192, 193, 4096, 100000, TT_K_WORK_KEPT_BYTES - 64};
  for (size_t i = 0; i < TT_ARRAY_LENGTH(sizes); ++i) {
    void* area = NULL;
    TT_EXPECT_OK(tt_k_work_take(sizes[i], &area));
    memset(area, 0xab, sizes[i]);
    tt_k_work_give(area);
    uint64_t before = tt_alloc_stats().allocations;
    TT_EXPECT_OK(tt_k_work_take(sizes[i], &area));
    TT_EXPECT_EQ(tt_alloc_stats().allocations, before);
    TT_EXPECT_EQ((uintptr_t)area % 64, 0);
    for (size_t k = 0; k < sizes[i]; ++k) TT_EXPECT_EQ(((const char*)area)[k], 0);
    tt_k_work_give(area);
  }
  tt_k_work_give(NULL);
}

TT_TEST(work, large_ones_are_not_kept_and_a_trim_leaves_none) {
  tt_k_work_trim();
  int64_t live = tt_alloc_stats().live_blocks;
  void *large = NULL, *small[6];
  TT_EXPECT_OK(tt_k_work_take(TT_K_WORK_KEPT_BYTES, &large));
  for (int i = 0; i < 6; ++i) TT_EXPECT_OK(tt_k_work_take(100, &small[i]));
  TT_EXPECT_EQ(tt_alloc_stats().live_blocks, live + 7);
  tt_k_work_give(large);
  TT_EXPECT_EQ(tt_alloc_stats().live_blocks, live + 6);
  for (int i = 0; i < 6; ++i) tt_k_work_give(small[i]);
  TT_EXPECT_EQ(tt_alloc_stats().live_blocks, live + 4);   // W2
  tt_k_work_trim();
  TT_EXPECT_EQ(tt_alloc_stats().live_blocks, live);
}

TT_TEST(work, impossible_sizes_and_failed_allocations) {
  void* area = &area;
  tt_status_t status = tt_k_work_take(SIZE_MAX - 3, &area);
  TT_EXPECT_EQ(tt_status_code(status), TT_RESOURCE_EXHAUSTED);
  TT_EXPECT(area == NULL);
  tt_status_free(status);
  tt_k_work_trim();
  tt_alloc_fault_arm(1);
  status = tt_k_work_take(100, &area);
  tt_alloc_fault_arm(0);
  TT_EXPECT_EQ(tt_status_code(status), TT_RESOURCE_EXHAUSTED);
  TT_EXPECT(area == NULL);
  tt_status_free(status);
}

static void take_and_give(void* self) {
  for (int i = 0; i < 20000; ++i) {
    void* areas[3] = {NULL};
    for (int k = 0; k < 3; ++k) {
      tt_status_t status = tt_k_work_take(200, &areas[k]);
      if (!tt_status_is_ok(status)) tt_status_free(status);
      else memset(areas[k], (int)(intptr_t)self, 200);
    }
    for (int k = 0; k < 3; ++k) {      // nobody else wrote into it
      for (int j = 0; areas[k] && j < 200; j += 50) TT_EXPECT_EQ(((const char*)areas[k])[j], (int)(intptr_t)self);
      tt_k_work_give(areas[k]);
    }
  }
}
TT_TEST(work, one_owner_at_a_time) {
  tt_thread_t threads[4];
  for (intptr_t i = 0; i < 4; ++i) TT_EXPECT_OK(tt_thread_create(&threads[i], "work", take_and_give, (void*)(i + 1)));
  for (int i = 0; i < 4; ++i) tt_thread_join(&threads[i]);
  tt_k_work_trim();
}

int main(int argc, char** argv) { return tt_test_main(argc, argv); }
