#include "exec/memory.h"

#include <pthread.h>

#include "base/test.h"
#include "base/thread.h"

#define MB ((int64_t)1 << 20)

TT_TEST(memory, aligned_and_counted_m1) {
  tt_vmem_pool_t* pool;
  TT_EXPECT_OK(tt_vmem_pool_create("test device", 64 * MB, &pool));
  const size_t sizes[] = {0, 1, 63, 64, 65, 4096, 100000, 1 << 20, (1 << 20) + 1, 5 << 20};
  tt_vmem_t* blocks[10];
  int64_t capacity = 0;
  for (int i = 0; i < 10; ++i) {
    TT_EXPECT_OK(tt_vmem_allocate(pool, sizes[i], &blocks[i]));
    TT_EXPECT_EQ((uintptr_t)blocks[i]->data % 64, 0);
    TT_EXPECT(blocks[i]->capacity >= sizes[i]);
    TT_EXPECT_EQ(blocks[i]->bytes, sizes[i]);
    memset(blocks[i]->data, i + 1, blocks[i]->capacity);
    capacity += (int64_t)blocks[i]->capacity;
    volatile char past = ((char*)blocks[i]->data)[blocks[i]->capacity + 63];  // M1: readable
    (void)past;
  }
  tt_vmem_stats_t stats;
  tt_vmem_stats(pool, &stats);
  TT_EXPECT_EQ(stats.bytes_in_use, capacity);
  TT_EXPECT_EQ(stats.num_allocs, 10);
  TT_EXPECT_EQ(stats.largest_alloc_bytes, 5 << 20);
  TT_EXPECT(stats.bytes_reserved >= stats.bytes_in_use && stats.bytes_reserved <= stats.bytes_limit);
  for (int i = 0; i < 10; ++i) {
    TT_EXPECT_EQ(((unsigned char*)blocks[i]->data)[blocks[i]->capacity - 1], i + 1);
    TT_EXPECT_EQ(((unsigned char*)blocks[i]->data)[0], i + 1);
    tt_vmem_release(blocks[i]);
  }
  tt_vmem_stats(pool, &stats);
  TT_EXPECT_EQ(stats.bytes_in_use, 0);
  TT_EXPECT_EQ(stats.peak_bytes_in_use, capacity);
  TT_EXPECT(stats.bytes_reserved > 0);
  tt_vmem_reset_peak(pool);
  tt_vmem_trim(pool);
  tt_vmem_stats(pool, &stats);
  TT_EXPECT_EQ(stats.bytes_reserved, 0);
  TT_EXPECT_EQ(stats.peak_bytes_in_use, 0);
  tt_vmem_pool_release(pool);
}

TT_TEST(memory, budget_is_kept_m2) {
  tt_vmem_pool_t* pool;
  TT_EXPECT_OK(tt_vmem_pool_create("vtpu:0 device", 10 * MB, &pool));
  tt_vmem_t *a, *b, *c;
  TT_EXPECT_OK(tt_vmem_allocate(pool, 6 * MB, &a));
  TT_EXPECT_ERROR(tt_vmem_allocate(pool, 5 * MB, &b), TT_RESOURCE_EXHAUSTED, "vtpu:0 device");
  TT_EXPECT(!b);
  TT_EXPECT_ERROR(tt_vmem_allocate(pool, SIZE_MAX - 5, &b), TT_RESOURCE_EXHAUSTED, "asked");
  TT_EXPECT_OK(tt_vmem_allocate(pool, 4 * MB, &b));
  tt_vmem_release(a);
  // cached 6 MB cannot serve 6.5 MB: it goes back to the system first
  tt_vmem_release(b);
  TT_EXPECT_OK(tt_vmem_allocate(pool, 9 * MB + MB / 2, &c));
  tt_vmem_stats_t stats;
  tt_vmem_stats(pool, &stats);
  TT_EXPECT(stats.bytes_reserved <= stats.bytes_limit);
  tt_vmem_release(c);
  tt_vmem_pool_release(pool);
}

// Small blocks all over, then a request that only fits once free pages inside segments are given back.
TT_TEST(memory, fragments_are_given_back_m2) {
  tt_vmem_pool_t* pool;
  TT_EXPECT_OK(tt_vmem_pool_create("frag", 8 * MB, &pool));
  enum { N = 128 };
  tt_vmem_t* blocks[N];
  for (int i = 0; i < N; ++i) TT_EXPECT_OK(tt_vmem_allocate(pool, 64 << 10, &blocks[i]));
  for (int i = 0; i < N; ++i) {
    if (i % 16) tt_vmem_release(blocks[i]);
  }
  tt_vmem_t* big;
  TT_EXPECT_OK(tt_vmem_allocate(pool, 6 * MB, &big));
  memset(big->data, 1, big->bytes);
  tt_vmem_stats_t stats;
  tt_vmem_stats(pool, &stats);
  TT_EXPECT(stats.bytes_reserved <= stats.bytes_limit);
  tt_vmem_release(big);
  for (int i = 0; i < N; i += 16) tt_vmem_release(blocks[i]);
  tt_vmem_trim(pool);
  tt_vmem_stats(pool, &stats);
  TT_EXPECT_EQ(stats.bytes_reserved, 0);
  TT_EXPECT_EQ(stats.bytes_in_use, 0);
  tt_vmem_pool_release(pool);
}

TT_TEST(memory, same_size_hits_the_cache_m3_m4) {
  tt_vmem_pool_t* pool;
  TT_EXPECT_OK(tt_vmem_pool_create("cache", 1024 * MB, &pool));
  const size_t sizes[] = {4, 4096, 300 << 10, 3 << 20, 50 << 20};
  for (int s = 0; s < 5; ++s) {
    tt_vmem_t* block;
    TT_EXPECT_OK(tt_vmem_allocate(pool, sizes[s], &block));
    void* data = block->data;
    tt_vmem_release(block);
    tt_vmem_stats_t before, after;
    tt_vmem_stats(pool, &before);
    for (int i = 0; i < 100; ++i) {
      TT_EXPECT_OK(tt_vmem_allocate(pool, sizes[s], &block));
      TT_EXPECT(block->data == data);
      tt_vmem_retain(block);
      tt_vmem_release(block);
      tt_vmem_release(block);
    }
    tt_vmem_stats(pool, &after);
    TT_EXPECT_EQ(before.num_system_allocs, after.num_system_allocs);
  }
  tt_vmem_pool_release(pool);
}

TT_TEST(memory, live_blocks_keep_the_pool) {
  int64_t live = tt_alloc_stats().live_blocks;
  tt_vmem_pool_t* pool;
  TT_EXPECT_OK(tt_vmem_pool_create("kept", 16 * MB, &pool));
  tt_vmem_t* block;
  TT_EXPECT_OK(tt_vmem_allocate(pool, 100, &block));
  tt_vmem_pool_release(pool);
  memset(block->data, 7, 100);
  tt_vmem_release(block);
  TT_EXPECT_EQ(tt_alloc_stats().live_blocks, live);
}

TT_TEST(memory, allocation_faults) {
  int64_t live = tt_alloc_stats().live_blocks;
  for (uint64_t nth = 1; nth < 10; ++nth) {
    tt_alloc_fault_arm(nth);
    tt_vmem_pool_t* pool = NULL;
    tt_status_t status = tt_vmem_pool_create("fault", 64 * MB, &pool);
    tt_vmem_t* blocks[300] = {0};
    for (int i = 0; i < 300 && tt_status_is_ok(status); ++i) status = tt_vmem_allocate(pool, 100, &blocks[i]);
    bool fired = tt_alloc_fault_fired();
    tt_alloc_fault_arm(0);
    for (int i = 0; i < 300; ++i) tt_vmem_release(blocks[i]);
    tt_vmem_pool_release(pool);
    if (!tt_status_is_ok(status)) {
      TT_EXPECT_EQ(tt_status_code(status), TT_RESOURCE_EXHAUSTED);
      tt_status_free(status);
    }
    TT_EXPECT_EQ(tt_alloc_stats().live_blocks, live);
    if (!fired) break;
  }
}

// Random life of many blocks on several threads: contents stay, the sums close at the end.
typedef struct stress_s { tt_vmem_pool_t* pool; uint64_t seed; int failures; } stress_t;
static void* stress_main(void* arg) {
  stress_t* stress = arg;
  enum { N = 64 };
  tt_vmem_t* blocks[N] = {0};
  uint64_t state = stress->seed;
  for (int step = 0; step < 20000; ++step) {
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    int slot = (int)(state >> 33) % N;
    if (blocks[slot]) {
      unsigned char* data = blocks[slot]->data;
      size_t bytes = blocks[slot]->bytes;
      unsigned char tag = (unsigned char)(slot + stress->seed);
      if (bytes && (data[0] != tag || data[bytes - 1] != tag)) ++stress->failures;
      tt_vmem_release(blocks[slot]);
      blocks[slot] = NULL;
    } else {
      size_t bytes = (size_t)1 << ((state >> 40) % 21);
      bytes += (state >> 20) % bytes;
      tt_status_t status = tt_vmem_allocate(stress->pool, bytes, &blocks[slot]);
      if (!tt_status_is_ok(status)) {
        tt_status_free(status);
        continue;
      }
      unsigned char tag = (unsigned char)(slot + stress->seed);
      ((unsigned char*)blocks[slot]->data)[0] = tag;
      ((unsigned char*)blocks[slot]->data)[bytes - 1] = tag;
    }
  }
  for (int i = 0; i < N; ++i) tt_vmem_release(blocks[i]);
  return NULL;
}
TT_TEST(memory, stress_m4) {
  tt_vmem_pool_t* pool;
  TT_EXPECT_OK(tt_vmem_pool_create("stress", 24 * MB, &pool));
  stress_t stress[3];
  pthread_t threads[3];
  for (int i = 0; i < 3; ++i) {
    stress[i] = (stress_t){pool, (uint64_t)(i + 1) * 77, 0};
    pthread_create(&threads[i], NULL, stress_main, &stress[i]);
  }
  for (int i = 0; i < 3; ++i) pthread_join(threads[i], NULL);
  for (int i = 0; i < 3; ++i) TT_EXPECT_EQ(stress[i].failures, 0);
  tt_vmem_stats_t stats;
  tt_vmem_stats(pool, &stats);
  TT_EXPECT_EQ(stats.bytes_in_use, 0);
  TT_EXPECT_EQ(stats.num_allocs, stats.num_frees);
  TT_EXPECT(stats.peak_bytes_reserved <= stats.bytes_limit);
  tt_vmem_trim(pool);
  tt_vmem_stats(pool, &stats);
  TT_EXPECT_EQ(stats.bytes_reserved, 0);
  tt_vmem_pool_release(pool);
}

// Printed, not judged.
TT_TEST(memory, hit_cost) {
  tt_vmem_pool_t* pool;
  TT_EXPECT_OK(tt_vmem_pool_create("speed", 256 * MB, &pool));
  tt_vmem_t* block;
  int64_t best = INT64_MAX;
  for (int round = 0; round < 5; ++round) {
    int64_t start = tt_clock_ns();
    for (int i = 0; i < 10000; ++i) {
      TT_EXPECT_OK(tt_vmem_allocate(pool, 4096, &block));
      tt_vmem_release(block);
    }
    int64_t spent = tt_clock_ns() - start;
    if (spent < best) best = spent;
  }
  printf("allocate + release: %.1f ns\n", (double)best / 10000);
  tt_vmem_pool_release(pool);
}

int main(int argc, char** argv) { return tt_test_main(argc, argv); }
