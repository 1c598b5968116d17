#include "base/freelist.h"

#include "base/test.h"
#include "base/thread.h"

typedef struct record_s {
  int64_t owner;
  struct record_s* next;
  char tail[20];
} record_t;

TT_TEST(freelist, hands_out_distinct_records_and_takes_them_back_f1) {
  int64_t before = tt_alloc_stats().live_blocks;
  tt_freelist_t list;
  TT_FREELIST_INITIALIZE(&list, record_t, next);
  TT_EXPECT_EQ(tt_alloc_stats().live_blocks, before);
  enum { COUNT = 300 };
  record_t* records[COUNT];
  for (int i = 0; i < COUNT; ++i) {
    void* record;
    TT_EXPECT_OK(tt_freelist_take(&list, &record));
    TT_EXPECT_EQ((uintptr_t)record % 16, 0);
    records[i] = record;
    TT_EXPECT_EQ(records[i]->owner, 0);
    memset(records[i], 0xff, sizeof(record_t));
    records[i]->owner = i + 1;
  }
  for (int i = 0; i < COUNT; ++i) TT_EXPECT_EQ(records[i]->owner, i + 1);  // none overlaps another
  uint64_t allocations = tt_alloc_stats().allocations;
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < COUNT; ++i) tt_freelist_give(&list, records[i]);
    for (int i = 0; i < COUNT; ++i) {
      void* record;
      TT_EXPECT_OK(tt_freelist_take(&list, &record));
      records[i] = record;
    }
  }
  TT_EXPECT_EQ(tt_alloc_stats().allocations, allocations);
  tt_freelist_deinitialize(&list);
  TT_EXPECT_EQ(tt_alloc_stats().live_blocks, before);
}

TT_TEST(freelist, short_of_memory) {
  tt_freelist_t list;
  TT_FREELIST_INITIALIZE(&list, record_t, next);
  void* record;
  tt_alloc_fault_arm(1);
  TT_EXPECT_ERROR(tt_freelist_take(&list, &record), TT_RESOURCE_EXHAUSTED, "");
  tt_alloc_fault_arm(0);
  TT_EXPECT_OK(tt_freelist_take(&list, &record));
  tt_freelist_deinitialize(&list);
}

// Each holder writes its name, and finds it again: no record has two holders.
typedef struct holder_s {
  tt_freelist_t* list;
  int64_t name;
  int wrong;
} holder_t;
static void hold_and_give(void* arg) {
  holder_t* holder = arg;
  for (int round = 0; round < 20000; ++round) {
    record_t* records[3];
    for (int i = 0; i < 3; ++i) {
      void* record = NULL;
      tt_status_t status = tt_freelist_take(holder->list, &record);
      if (!tt_status_is_ok(status)) ++holder->wrong;
      tt_status_free(status);
      if (!record) return;
      records[i] = record;
      records[i]->owner = holder->name * 4 + i;
    }
    for (int i = 0; i < 3; ++i) {
      if (records[i]->owner != holder->name * 4 + i) ++holder->wrong;
      tt_freelist_give(holder->list, records[i]);
    }
  }
}
TT_TEST(freelist, threads_f3) {
  tt_freelist_t list;
  TT_FREELIST_INITIALIZE(&list, record_t, next);
  holder_t holders[4];
  tt_thread_t threads[4];
  for (int i = 0; i < 4; ++i) {
    holders[i] = (holder_t){&list, i + 1, 0};
    TT_EXPECT_OK(tt_thread_create(&threads[i], "holder", hold_and_give, &holders[i]));
  }
  for (int i = 0; i < 4; ++i) tt_thread_join(&threads[i]);
  for (int i = 0; i < 4; ++i) TT_EXPECT_EQ(holders[i].wrong, 0);
  tt_freelist_deinitialize(&list);
}

int main(int argc, char** argv) { return tt_test_main(argc, argv); }
