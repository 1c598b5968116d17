#include "exec/queue.h"

#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/test.h"
#include "base/thread.h"
#include "exec/memory.h"
#include "exec/pool.h"

typedef struct note_s {
  uint64_t* log;
  uint64_t* count;
  uint64_t value;
} note_t;
static void append(void* payload) {
  const note_t* n = payload;
  n->log[(*n->count)++] = n->value;   // no lock: entries follow one another (Q1)
}
static void submit(const void* payload, size_t bytes, tt_queue_fn_t run) {
  memcpy(tt_queue_reserve(), payload, bytes);
  tt_queue_commit(run);
}

TT_TEST(queue, entries_run_in_order_q1) {
  static uint64_t log[5000], count;
  tt_pool_set_threads(tt_pool_get(), 2);
  count = 0;
  for (uint64_t i = 0; i < TT_ARRAY_LENGTH(log); ++i) {   // many times the capacity (Q5)
    submit(&(note_t){log, &count, i}, sizeof(note_t), append);
    if (i % 1000 == 999) usleep(3000);   // the pool's thread goes to sleep in between
  }
  tt_queue_drain();
  TT_EXPECT(tt_queue_is_idle() && tt_queue_is_done(tt_queue_position()));
  TT_EXPECT_EQ(count, TT_ARRAY_LENGTH(log));
  for (uint64_t i = 0; i < TT_ARRAY_LENGTH(log); ++i) TT_EXPECT_EQ(log[i], i);
}

typedef struct gate_s {
  uint32_t* open;    // atomic
  uint32_t* passed;  // atomic
} gate_t;
static void wait_at_gate(void* payload) {
  const gate_t* gate = payload;
  while (!__atomic_load_n(gate->open, __ATOMIC_ACQUIRE)) usleep(100);
  __atomic_fetch_add(gate->passed, 1, __ATOMIC_ACQ_REL);
}
TT_TEST(queue, callers_go_on_while_entries_run) {
  tt_pool_set_threads(tt_pool_get(), 2);
  uint32_t open = 0, passed = 0;
  for (int i = 0; i < 10; ++i) submit(&(gate_t){&open, &passed}, sizeof(gate_t), wait_at_gate);
  const uint64_t last = tt_queue_position();
  TT_EXPECT(!tt_queue_is_done(last) && !tt_queue_is_idle());
  __atomic_store_n(&open, 1, __ATOMIC_RELEASE);
  tt_queue_wait(last);
  TT_EXPECT_EQ(__atomic_load_n(&passed, __ATOMIC_ACQUIRE), 10);
}

// A wait ends with its own entry, however much stands behind it.
static void* open_later(void* arg) {
  usleep(50000);
  __atomic_store_n((uint32_t*)arg, 1, __ATOMIC_RELEASE);
  return NULL;
}
TT_TEST(queue, a_wait_covers_what_came_before) {
  tt_pool_set_threads(tt_pool_get(), 2);
  uint32_t first = 1, second = 0, passed = 0;
  submit(&(gate_t){&first, &passed}, sizeof(gate_t), wait_at_gate);
  const uint64_t position = tt_queue_position();
  submit(&(gate_t){&second, &passed}, sizeof(gate_t), wait_at_gate);
  tt_queue_wait(position);   // would hang if it waited for the second
  TT_EXPECT(tt_queue_is_done(position));
  pthread_t opener;
  pthread_create(&opener, NULL, open_later, &second);
  tt_queue_drain();          // sleeps: the gate opens after more than the polling time
  TT_EXPECT_EQ(passed, 2);
  pthread_join(opener, NULL);
}

// The jobs of an entry: each index once, on the waiting thread too.
typedef struct job_s {
  uint32_t* seen;        // atomic
  uint32_t* by_waiter;   // atomic
  pthread_t waiter;
} job_t;
static void mark(void* self, size_t index) {
  const job_t* job = self;
  __atomic_fetch_add(&job->seen[index], 1, __ATOMIC_RELAXED);
  if (pthread_equal(pthread_self(), job->waiter)) __atomic_fetch_add(job->by_waiter, 1, __ATOMIC_RELAXED);
  usleep(200);
}
static void run_job(void* payload) { tt_pool_run(tt_pool_get(), 64, mark, payload); }
TT_TEST(queue, jobs_of_entries_p8) {
  for (int threads = 2; threads <= 4; ++threads) {
    tt_pool_set_threads(tt_pool_get(), threads);
    uint32_t seen[64] = {0}, by_waiter = 0;
    for (int i = 0; i < 5; ++i) submit(&(job_t){seen, &by_waiter, pthread_self()}, sizeof(job_t), run_job);
    tt_queue_drain();
    for (int i = 0; i < 64; ++i) TT_EXPECT_EQ(seen[i], 5);
    TT_EXPECT(by_waiter > 0);
  }
}

// Threads that leave work behind, do some of their own meanwhile and wait.
static uint64_t shared;   // written by entries only
typedef struct add_s { uint64_t amount; } add_t;
static void add(void* payload) { shared += ((const add_t*)payload)->amount; }
static void count_one(void* self, size_t index) {
  (void)index;
  __atomic_fetch_add((uint32_t*)self, 1, __ATOMIC_RELAXED);
}
static void* producer(void* arg) {
  uint32_t own = 0;
  for (int i = 0; i < 400; ++i) {
    submit(&(add_t){1}, sizeof(add_t), add);
    if (i % 7 == 0) tt_pool_run(tt_pool_get(), 8, count_one, &own);
    if (i % 31 == 0) tt_queue_wait(tt_queue_position());
    if (i % 100 == 0) usleep(2000);
  }
  tt_queue_drain();
  *(uint32_t*)arg = own;
  return NULL;
}
TT_TEST(queue, several_producers_q1) {
  tt_pool_set_threads(tt_pool_get(), 3);
  shared = 0;
  pthread_t threads[4];
  uint32_t own[4];
  for (int i = 0; i < 4; ++i) pthread_create(&threads[i], NULL, producer, &own[i]);
  for (int i = 0; i < 4; ++i) pthread_join(threads[i], NULL);
  tt_queue_drain();
  TT_EXPECT_EQ(shared, 4 * 400);
  for (int i = 0; i < 4; ++i) TT_EXPECT_EQ(own[i], 58 * 8);
}

TT_TEST(queue, one_thread_has_nobody_behind_it) {
  tt_pool_set_threads(tt_pool_get(), 2);
  TT_EXPECT(tt_queue_is_useful());
  tt_pool_limit(1);
  TT_EXPECT(!tt_queue_is_useful());
  tt_pool_limit(0);
  tt_pool_set_threads(tt_pool_get(), 1);
  TT_EXPECT(!tt_queue_is_useful());
  tt_pool_set_threads(tt_pool_get(), 2);
}

// A released block goes back to the system only after the entries that may use it (M5).
typedef struct fill_s {
  uint32_t* open;
  unsigned char* data;
  size_t bytes;
} fill_t;
static void fill_late(void* payload) {
  const fill_t* fill = payload;
  while (!__atomic_load_n(fill->open, __ATOMIC_ACQUIRE)) usleep(100);
  memset(fill->data, 7, fill->bytes);
}
TT_TEST(queue, memory_outlives_its_entries_m5) {
  tt_pool_set_threads(tt_pool_get(), 2);
  tt_vmem_pool_t* memory;
  TT_EXPECT_OK(tt_vmem_pool_create("queue test", 64 << 20, &memory));
  tt_vmem_t* block;
  TT_EXPECT_OK(tt_vmem_allocate(memory, 8 << 20, &block));
  uint32_t open = 0;
  submit(&(fill_t){&open, block->data, 8 << 20}, sizeof(fill_t), fill_late);
  tt_vmem_release(block);
  pthread_t opener;
  pthread_create(&opener, NULL, open_later, &open);
  tt_vmem_trim(memory);      // would unmap what the entry writes
  TT_EXPECT_EQ(__atomic_load_n(&open, __ATOMIC_ACQUIRE), 1);
  pthread_join(opener, NULL);
  tt_vmem_pool_release(memory);
}

TT_TEST(queue, a_forked_child_does_not_wait_q4) {
  tt_pool_set_threads(tt_pool_get(), 2);
  uint32_t open = 0, passed = 0;
  submit(&(gate_t){&open, &passed}, sizeof(gate_t), wait_at_gate);
  pid_t child = fork();
  if (child == 0) {
    tt_queue_drain();
    _exit(tt_queue_is_useful() ? 1 : 0);
  }
  int code = -1;
  waitpid(child, &code, 0);
  TT_EXPECT_EQ(code, 0);
  __atomic_store_n(&open, 1, __ATOMIC_RELEASE);
  tt_queue_drain();
}

TT_TEST(queue, idle_uses_no_cpu_p3) {
  tt_pool_set_threads(tt_pool_get(), 2);
  uint32_t open = 1, passed = 0;
  submit(&(gate_t){&open, &passed}, sizeof(gate_t), wait_at_gate);
  tt_queue_drain();
  usleep(20000);
  struct rusage before, after;
  getrusage(RUSAGE_SELF, &before);
  usleep(200000);
  getrusage(RUSAGE_SELF, &after);
  const long used = (after.ru_utime.tv_sec - before.ru_utime.tv_sec) * 1000000L + after.ru_utime.tv_usec -
                    before.ru_utime.tv_usec + (after.ru_stime.tv_sec - before.ru_stime.tv_sec) * 1000000L +
                    after.ru_stime.tv_usec - before.ru_stime.tv_usec;
  TT_EXPECT(used < 20000);
}

int main(int argc, char** argv) { return tt_test_main(argc, argv); }
