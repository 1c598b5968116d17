#define _GNU_SOURCE
#include "exec/pool.h"

#include <pthread.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/test.h"
#include "base/thread.h"

typedef struct work_s { int* seen; tt_pool_t* pool; int64_t total; } work_t;
static void mark(void* self, size_t index) { ++((work_t*)self)->seen[index]; }

TT_TEST(pool, each_index_once_p1) {
  tt_pool_t* pool = tt_pool_get();
  for (int threads = 1; threads <= 4; ++threads) {
    tt_pool_set_threads(pool, threads);
    TT_EXPECT_EQ(tt_pool_threads(pool), threads);
    for (size_t count = 0; count < 200; count = count * 2 + 1) {
      for (int repeat = 0; repeat < 20; ++repeat) {
        int seen[256] = {0};
        work_t work = {seen, pool, 0};
        tt_pool_run(pool, count, mark, &work);
        for (size_t i = 0; i < 256; ++i) TT_EXPECT_EQ(seen[i], i < count ? 1 : 0);
      }
    }
  }
}

typedef struct halves_s {
  pthread_t caller;
  int other_started, first_of_other;  // atomic
} halves_t;
static void note_halves(void* self, size_t index) {
  halves_t* h = self;
  if (pthread_equal(pthread_self(), h->caller)) {  // waits in its first index until the other thread has come
    for (int i = 0; i < 20000 && !__atomic_load_n(&h->other_started, __ATOMIC_ACQUIRE); ++i) usleep(500);
    return;
  }
  if (__atomic_load_n(&h->other_started, __ATOMIC_RELAXED)) return;
  h->first_of_other = (int)index;
  __atomic_store_n(&h->other_started, 1, __ATOMIC_RELEASE);
}
TT_TEST(pool, threads_begin_with_their_part_p7) {
  tt_pool_t* pool = tt_pool_get();
  tt_pool_set_threads(pool, 2);
  for (int repeat = 0; repeat < 10; ++repeat) {
    halves_t h = {.caller = pthread_self(), .first_of_other = -1};
    tt_pool_run(pool, 8, note_halves, &h);
    TT_EXPECT_EQ(h.first_of_other, 4);
  }
}

static void nested(void* self, size_t index) {
  work_t* work = self;
  int seen[16] = {0};
  work_t inner = {seen, work->pool, 0};
  tt_pool_run(work->pool, 16, mark, &inner);
  for (int i = 0; i < 16; ++i) work->seen[index] += seen[i];
}
TT_TEST(pool, nested_runs_inline_p2) {
  tt_pool_t* pool = tt_pool_get();
  tt_pool_set_threads(pool, 3);
  int seen[40] = {0};
  work_t work = {seen, pool, 0};
  tt_pool_run(pool, 40, nested, &work);
  for (int i = 0; i < 40; ++i) TT_EXPECT_EQ(seen[i], 16);
}

static void* caller_main(void* arg) {
  work_t* work = arg;
  for (int i = 0; i < 500; ++i) {
    int seen[8] = {0};
    work_t mine = {seen, work->pool, 0};
    tt_pool_run(work->pool, 8, mark, &mine);
    for (int k = 0; k < 8; ++k) work->total += seen[k];
    if (i % 100 == 0) usleep(200);  // workers go to sleep in between
  }
  return NULL;
}
TT_TEST(pool, several_callers_p1) {
  tt_pool_t* pool = tt_pool_get();
  tt_pool_set_threads(pool, 3);
  pthread_t threads[3];
  work_t works[3];
  for (int i = 0; i < 3; ++i) {
    works[i] = (work_t){NULL, pool, 0};
    pthread_create(&threads[i], NULL, caller_main, &works[i]);
  }
  for (int i = 0; i < 3; ++i) pthread_join(threads[i], NULL);
  for (int i = 0; i < 3; ++i) TT_EXPECT_EQ(works[i].total, 500 * 8);
}

TT_TEST(pool, idle_uses_no_cpu_p3) {
  tt_pool_t* pool = tt_pool_get();
  tt_pool_set_threads(pool, 2);
  int seen[8] = {0};
  work_t work = {seen, pool, 0};
  tt_pool_run(pool, 8, mark, &work);
  usleep(20000);
  struct rusage before, after;
  getrusage(RUSAGE_SELF, &before);
  usleep(200000);
  getrusage(RUSAGE_SELF, &after);
  long used = (after.ru_utime.tv_sec - before.ru_utime.tv_sec) * 1000000L + after.ru_utime.tv_usec -
              before.ru_utime.tv_usec + (after.ru_stime.tv_sec - before.ru_stime.tv_sec) * 1000000L +
              after.ru_stime.tv_usec - before.ru_stime.tv_usec;
  TT_EXPECT(used < 20000);
}

TT_TEST(pool, fork_runs_inline_p5) {
  tt_pool_t* pool = tt_pool_get();
  tt_pool_set_threads(pool, 2);
  int seen[8] = {0};
  work_t work = {seen, pool, 0};
  tt_pool_run(pool, 8, mark, &work);
  pid_t child = fork();
  if (child == 0) {
    int mine[8] = {0};
    work_t inner = {mine, pool, 0};
    tt_pool_run(pool, 8, mark, &inner);
    int sum = 0;
    for (int i = 0; i < 8; ++i) sum += mine[i];
    _exit(sum == 8 ? 0 : 1);
  }
  int status = -1;
  waitpid(child, &status, 0);
  TT_EXPECT(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

typedef struct who_s { pthread_t threads[64]; } who_t;
static void note_thread(void* self, size_t index) {
  ((who_t*)self)->threads[index] = pthread_self();
  usleep(1000);   // time for others to join
}
static int distinct(const who_t* who, size_t count) {
  int found = 0;
  for (size_t i = 0; i < count; ++i) {
    size_t k = 0;
    while (k < i && !pthread_equal(who->threads[k], who->threads[i])) ++k;
    found += k == i;
  }
  return found;
}
static void* unlimited_main(void* pool) {
  return (void*)(intptr_t)tt_pool_threads(pool);
}
TT_TEST(pool, limit_holds_for_its_thread_p6) {
  tt_pool_t* pool = tt_pool_get();
  tt_pool_set_threads(pool, 4);
  who_t who;
  for (int limit = 1; limit <= 3; ++limit) {
    tt_pool_limit(limit);
    TT_EXPECT_EQ(tt_pool_threads(pool), limit);
    TT_EXPECT_EQ(tt_pool_limit_get(), limit);
    TT_EXPECT_EQ(tt_pool_size(pool), 4);
    for (int repeat = 0; repeat < 3; ++repeat) {
      tt_pool_run(pool, 64, note_thread, &who);
      TT_EXPECT(distinct(&who, 64) <= limit);
    }
  }
  pthread_t other;
  void* threads = NULL;
  pthread_create(&other, NULL, unlimited_main, pool);
  pthread_join(other, &threads);
  TT_EXPECT_EQ((int)(intptr_t)threads, 4);
  tt_pool_limit(9);
  TT_EXPECT_EQ(tt_pool_threads(pool), 4);
  TT_EXPECT_EQ(tt_pool_limit_get(), 9);   // more than the pool has today
  tt_pool_limit(0);
  TT_EXPECT_EQ(tt_pool_limit_get(), 0);
  TT_EXPECT_EQ(tt_pool_threads(pool), 4);
  tt_pool_run(pool, 64, note_thread, &who);
  TT_EXPECT(distinct(&who, 64) > 1);
}

static void nothing(void* self, size_t index) { (void)self; (void)index; }
// Printed, not judged.
TT_TEST(pool, run_cost) {
  tt_pool_t* pool = tt_pool_get();
  for (int threads = 1; threads <= 2; ++threads) {
    tt_pool_set_threads(pool, threads);
    tt_pool_run(pool, 8, nothing, NULL);
    int64_t start = tt_clock_ns();
    for (int i = 0; i < 2000; ++i) tt_pool_run(pool, 8, nothing, NULL);
    printf("run of 8 empty indices on %d threads: %.0f ns\n", threads,
           (double)(tt_clock_ns() - start) / 2000);
  }
}

int main(int argc, char** argv) { return tt_test_main(argc, argv); }
