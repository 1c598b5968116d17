#include "cache/lru.h"

#include "base/hash.h"
#include "base/test.h"

typedef struct counted_s {
  int references;
  int id;
} counted_t;
static void counted_retain(void* value) { ++((counted_t*)value)->references; }
static void counted_release(void* value) { --((counted_t*)value)->references; }

TT_TEST(lru, evicts_the_oldest_c1) {
  tt_lru_t* lru = NULL;
  TT_EXPECT_OK(tt_lru_create(3, counted_retain, counted_release, &lru));
  counted_t values[5] = {{0, 0}, {0, 1}, {0, 2}, {0, 3}, {0, 4}};
  for (int i = 0; i < 3; ++i) TT_EXPECT_OK(tt_lru_insert(lru, (uint64_t)i, &i, sizeof(i), &values[i]));
  int key = 0;
  counted_t* found = tt_lru_find(lru, 0, &key, sizeof(key));
  TT_EXPECT(found == &values[0]);
  TT_EXPECT_EQ(values[0].references, 2);
  counted_release(found);
  key = 3;
  TT_EXPECT_OK(tt_lru_insert(lru, 3, &key, sizeof(key), &values[3]));
  key = 1;
  TT_EXPECT(!tt_lru_find(lru, 1, &key, sizeof(key)));
  TT_EXPECT_EQ(values[1].references, 0);
  tt_lru_stats_t stats;
  tt_lru_stats(lru, &stats);
  TT_EXPECT_EQ(stats.entries, 3);
  TT_EXPECT_EQ(stats.evictions, 1);
  tt_lru_set_capacity(lru, 1);
  tt_lru_stats(lru, &stats);
  TT_EXPECT_EQ(stats.entries, 1);
  TT_EXPECT_EQ(values[3].references, 1);
  tt_lru_release(lru);
  for (int i = 0; i < 5; ++i) TT_EXPECT_EQ(values[i].references, 0);
}

TT_TEST(lru, equal_hashes_keep_keys_apart_c3) {
  tt_lru_t* lru = NULL;
  TT_EXPECT_OK(tt_lru_create(100, counted_retain, counted_release, &lru));
  counted_t a = {0, 1}, b = {0, 2}, c = {0, 3};
  TT_EXPECT_OK(tt_lru_insert(lru, 7, "aa", 2, &a));
  TT_EXPECT_OK(tt_lru_insert(lru, 7, "bb", 2, &b));
  TT_EXPECT_EQ(((counted_t*)tt_lru_find(lru, 7, "aa", 2))->id, 1);
  TT_EXPECT_EQ(((counted_t*)tt_lru_find(lru, 7, "bb", 2))->id, 2);
  TT_EXPECT(!tt_lru_find(lru, 7, "b", 1));
  TT_EXPECT_OK(tt_lru_insert(lru, 7, "aa", 2, &c));  // replaces
  TT_EXPECT_EQ(a.references, 1);
  TT_EXPECT_EQ(((counted_t*)tt_lru_find(lru, 7, "aa", 2))->id, 3);
  tt_lru_release(lru);
}

TT_TEST(lru, many_entries_and_growth) {
  int64_t before = tt_alloc_stats().live_blocks;
  tt_lru_t* lru = NULL;
  TT_EXPECT_OK(tt_lru_create(5000, NULL, NULL, &lru));
  static int values[10000];
  for (int i = 0; i < 10000; ++i) {
    TT_EXPECT_OK(tt_lru_insert(lru, tt_hash_bytes(0, &i, sizeof(i)), &i, sizeof(i), &values[i]));
  }
  for (int i = 0; i < 10000; ++i) {
    void* expected = i >= 5000 ? &values[i] : NULL;
    TT_EXPECT(tt_lru_find(lru, tt_hash_bytes(0, &i, sizeof(i)), &i, sizeof(i)) == expected);
  }
  uint64_t allocations = tt_alloc_stats().allocations;
  for (int i = 5000; i < 6000; ++i) (void)tt_lru_find(lru, tt_hash_bytes(0, &i, sizeof(i)), &i, sizeof(i));
  TT_EXPECT_EQ(tt_alloc_stats().allocations, allocations);  // C5
  tt_lru_release(lru);
  TT_EXPECT_EQ(tt_alloc_stats().live_blocks, before);
}

TT_TEST(lru, allocation_failures_leave_it_whole) {
  for (uint64_t nth = 1; nth < 12; ++nth) {
    int64_t before = tt_alloc_stats().live_blocks;
    tt_alloc_fault_arm(nth);
    tt_lru_t* lru = NULL;
    tt_status_t status = tt_lru_create(10, NULL, NULL, &lru);
    int value = 0;
    for (int i = 0; i < 8 && tt_status_is_ok(status); ++i)
      status = tt_lru_insert(lru, (uint64_t)i, &i, sizeof(i), &value);
    tt_alloc_fault_arm(0);
    tt_status_free(status);
    tt_lru_release(lru);
    TT_EXPECT_EQ(tt_alloc_stats().live_blocks, before);
  }
}

int main(int argc, char** argv) { return tt_test_main(argc, argv); }
