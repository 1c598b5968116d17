// One job at a time; a second caller meanwhile runs its work inline (all CPUs are busy then anyway).
//
//   caller: write job -> open = generation -> wake -> take indices -> open = 0 -> wait until active == 0
//   worker: sleep on generation -> ++active -> if open: take indices -> --active
//
// Invariants:
//  W1 job fields are written only by whoever has set `busy`, while open == 0 and active == 0;
//  W2 a worker reads them only between ++active and --active, and only after it has seen open != 0 in
//     between. Both sides use sequentially consistent order: either the worker sees `open` cleared or the
//     caller sees `active` raised (Dekker);
//  W3 a job's indices lie in one range a thread, handed out by fetch_add on the range's `next`. A thread
//     empties its own range first, then the others. The last --active releases the workers' writes;
//  W4 a worker takes indices only after it got one of the job's `seats`, a guest one of `guest_seats` (P6, P8);
//  W5 the thread that runs background work is in no job meanwhile, and calls tt_pool_run as any caller does.
#include "exec/pool.h"

#include <sched.h>
#include <stdlib.h>

#include "base/thread.h"
#include "exec/pool_os.h"

#define MAX_THREADS TT_POOL_MAX_THREADS
// How long a thread polls before it sleeps. An eager model calls the pool every 50 to 500 us, and to wake a
// sleeping thread of a virtual machine takes 50 us or more: with 20 us of polling a SmolLM2-135M float32 token
// took 54 ms, with 1 ms 41. After POLITE_NS it yields between looks, so that whatever else is to run on its CPU does.
#define SPIN_NS 1000000
#define POLITE_NS 20000

typedef struct range_s {
  TT_ALIGNED(64) size_t next;  // atomic: next index
  size_t end;
} range_t;

struct tt_pool_s {
  uint32_t busy;  // atomic: set by the caller whose job runs (no lock rank: jobs may not block on it)
  // the job (W1)
  tt_pool_fn_t fn;
  void* self;
  size_t range_count;
  range_t ranges[MAX_THREADS];
  TT_ALIGNED(64) uint32_t open;   // atomic: generation of the open job, 0 none
  uint32_t active;                // atomic: workers inside a job
  int32_t seats;                  // atomic: workers that may still join
  int32_t guest_seats;            // atomic: waiting threads that may still join (P8)
  uint32_t caller_waits;          // atomic: the caller sleeps on `active`
  TT_ALIGNED(64) uint32_t generation;  // atomic: bumped per job; workers sleep on it
  uint32_t sleepers;              // atomic
  uint32_t stop;                  // atomic: workers leave
  int threads;                    // wanted, including the caller; atomic (read without the lock)
  int started;                    // workers running; guarded by `busy`
  int cpus;
  bool (*has_work)(void);         // set once; atomic (release: with `work`)
  void (*work)(void);
  struct worker_s {
    tt_thread_t thread;
    tt_pool_t* pool;
  } workers[MAX_THREADS];
};

static tt_pool_t pool_storage;
static pthread_once_t pool_once = PTHREAD_ONCE_INIT;
static _Thread_local struct {
  bool inside;   // running indices: nested calls stay inline
  int limit;     // tt_pool_limit, 0 none
  size_t range;  // P7: of a pool thread its own, else 0
} this_thread;

static int clamp_threads(int threads) {
  return threads < 1 ? 1 : threads > MAX_THREADS ? MAX_THREADS : threads;
}

static void pool_initialize(void) {
  tt_fork_guard_initialize();
  pool_storage.cpus = tt_cpu_count();
  int threads = pool_storage.cpus;
  const char* text = getenv("TORCH_TPU_THREADS");
  if (text && *text) threads = atoi(text);
  pool_storage.threads = clamp_threads(threads);
}

tt_pool_t* tt_pool_get(void) {
  pthread_once(&pool_once, pool_initialize);
  return &pool_storage;
}

int tt_pool_size(const tt_pool_t* pool) { return __atomic_load_n(&pool->threads, __ATOMIC_RELAXED); }
void tt_pool_limit(int threads) { this_thread.limit = TT_MAX(threads, 0); }
int tt_pool_limit_get(void) { return this_thread.limit; }
int tt_pool_threads(const tt_pool_t* pool) {
  int size = tt_pool_size(pool), limit = this_thread.limit;
  return limit && limit < size ? limit : size;
}

// Begins with the thread's own range (P7). What the last job of an equal split left in a core's
// caches is then used there: fetching it from a core without a common cache took up to half of a convolution.
static void take_indices(tt_pool_t* pool) {
  tt_pool_fn_t fn = pool->fn;
  void* self = pool->self;
  size_t range_count = pool->range_count;
  for (size_t i = 0; i < range_count; ++i) {
    range_t* range = &pool->ranges[(this_thread.range + i) % range_count];
    for (;;) {
      size_t index = __atomic_fetch_add(&range->next, 1, __ATOMIC_RELAXED);
      if (index >= range->end) break;
      fn(self, index);
    }
  }
}

bool tt_pool_keep_polling(int64_t begin) {
  for (int i = 0; i < 16; ++i) tt_pool_os_relax();
  const int64_t polled = tt_clock_ns() - begin;
  if (polled > POLITE_NS) sched_yield();
  return polled < SPIN_NS;
}

// Takes part in the open job, if there is one and `seats` has one left.
static bool join_job(tt_pool_t* pool, int32_t* seats) {
  bool joined = false;
  __atomic_fetch_add(&pool->active, 1, __ATOMIC_SEQ_CST);
  if (__atomic_load_n(&pool->open, __ATOMIC_SEQ_CST) && __atomic_fetch_sub(seats, 1, __ATOMIC_RELAXED) > 0) {
    take_indices(pool);
    joined = true;
  }
  // release: what the indices wrote is visible to the caller that reads 0 (W3)
  if (__atomic_sub_fetch(&pool->active, 1, __ATOMIC_SEQ_CST) == 0 &&
      __atomic_load_n(&pool->caller_waits, __ATOMIC_SEQ_CST)) {
    tt_pool_os_wake(&pool->active, 1);
  }
  return joined;
}

static bool has_background(const tt_pool_t* pool) {
  bool (*has_work)(void) = __atomic_load_n(&pool->has_work, __ATOMIC_ACQUIRE);
  return has_work && has_work();
}

static void worker_main(void* arg) {
  struct worker_s* worker = arg;
  tt_pool_t* pool = worker->pool;
  this_thread.range = (size_t)(worker - pool->workers) + 1;
  this_thread.inside = true;
  const bool runs_background = worker == pool->workers;
  uint32_t seen = 0;
  for (;;) {
    uint32_t generation = __atomic_load_n(&pool->generation, __ATOMIC_SEQ_CST);
    bool background = runs_background && has_background(pool);
    if (generation == seen && !background) {
      if (tt_pool_size(pool) <= pool->cpus) {
        const int64_t begin = tt_clock_ns();
        do {
          generation = __atomic_load_n(&pool->generation, __ATOMIC_SEQ_CST);
          background = runs_background && has_background(pool);
        } while (generation == seen && !background && tt_pool_keep_polling(begin));
      }
      if (generation == seen && !background) {
        // seq_cst: the caller bumps the generation, then reads sleepers; we raise sleepers, then the
        // kernel re-reads the generation: one of the two sees the other. Likewise with background work.
        __atomic_fetch_add(&pool->sleepers, 1, __ATOMIC_SEQ_CST);
        if (!runs_background || !has_background(pool)) tt_pool_os_wait(&pool->generation, seen);
        __atomic_fetch_sub(&pool->sleepers, 1, __ATOMIC_SEQ_CST);
        if (__atomic_load_n(&pool->stop, __ATOMIC_ACQUIRE)) return;
        continue;
      }
    }
    if (__atomic_load_n(&pool->stop, __ATOMIC_ACQUIRE)) return;
    if (generation != seen) {
      seen = generation;
      join_job(pool, &pool->seats);
    } else {
      this_thread.inside = false;
      pool->work();
      this_thread.inside = true;
    }
  }
}

static void start_workers(tt_pool_t* pool, int wanted) {
  while (pool->started < wanted) {
    struct worker_s* worker = &pool->workers[pool->started];
    worker->pool = pool;
    tt_status_t status = tt_thread_create(&worker->thread, "tt-pool", worker_main, worker);
    if (!tt_status_is_ok(status)) {
      tt_status_ignore(status);  // fewer threads: slower, not wrong
      __atomic_store_n(&pool->threads, pool->started + 1, __ATOMIC_RELAXED);
      return;
    }
    __atomic_store_n(&pool->started, pool->started + 1, __ATOMIC_RELAXED);   // tt_pool_notify reads it
  }
}

static void stop_workers(tt_pool_t* pool) {
  __atomic_store_n(&pool->stop, 1, __ATOMIC_RELEASE);
  __atomic_fetch_add(&pool->generation, 1, __ATOMIC_SEQ_CST);
  tt_pool_os_wake(&pool->generation, MAX_THREADS);
  for (int i = 0; i < pool->started; ++i) tt_thread_join(&pool->workers[i].thread);
  __atomic_store_n(&pool->started, 0, __ATOMIC_RELAXED);
  __atomic_store_n(&pool->stop, 0, __ATOMIC_RELEASE);
}

void tt_pool_set_threads(tt_pool_t* pool, int threads) {
  threads = clamp_threads(threads);
  if (this_thread.inside || tt_is_forked_child()) return;
  // acquire pairs with the release of the last job's end
  while (__atomic_exchange_n(&pool->busy, 1, __ATOMIC_ACQUIRE)) sched_yield();
  if (threads != pool->threads) {
    stop_workers(pool);
    __atomic_store_n(&pool->threads, threads, __ATOMIC_RELAXED);
  }
  __atomic_store_n(&pool->busy, 0, __ATOMIC_RELEASE);
}

static void wait_for_workers(tt_pool_t* pool) {
  int64_t begin = 0;
  for (int spins = 0;; ++spins) {
    uint32_t active = __atomic_load_n(&pool->active, __ATOMIC_SEQ_CST);
    if (active == 0) return;
    if (tt_pool_size(pool) <= pool->cpus && spins < 64) {
      for (int i = 0; i < 16; ++i) tt_pool_os_relax();
      continue;
    }
    if (!begin) begin = tt_clock_ns();
    if (tt_pool_size(pool) <= pool->cpus && tt_pool_keep_polling(begin)) continue;
    __atomic_store_n(&pool->caller_waits, 1, __ATOMIC_SEQ_CST);
    active = __atomic_load_n(&pool->active, __ATOMIC_SEQ_CST);
    if (active) tt_pool_os_wait(&pool->active, active);
    __atomic_store_n(&pool->caller_waits, 0, __ATOMIC_SEQ_CST);
  }
}

void tt_pool_run(tt_pool_t* pool, size_t count, tt_pool_fn_t fn, void* self) {
  if (count <= 1 || this_thread.inside || tt_pool_threads(pool) == 1 || tt_is_forked_child() ||
      __atomic_exchange_n(&pool->busy, 1, __ATOMIC_ACQUIRE)) {
    for (size_t i = 0; i < count; ++i) fn(self, i);
    return;
  }
  const size_t range_count = TT_MIN(count, (size_t)tt_pool_threads(pool));
  if (TT_UNLIKELY(pool->started < pool->threads - 1)) start_workers(pool, pool->threads - 1);
  // A worker that woke late for the last job may still be leaving (it found `open` 0): W1.
  if (__atomic_load_n(&pool->active, __ATOMIC_SEQ_CST)) wait_for_workers(pool);
  pool->fn = fn;
  pool->self = self;
  pool->range_count = range_count;
  for (size_t i = 0, next = 0; i < range_count; ++i) {
    __atomic_store_n(&pool->ranges[i].next, next, __ATOMIC_RELAXED);
    next += (count - next) / (range_count - i);
    pool->ranges[i].end = next;
  }
  const int32_t guests = this_thread.range != 0;   // the background's jobs are those that a pool thread calls (P8)
  __atomic_store_n(&pool->seats, (int32_t)range_count - 1 - guests, __ATOMIC_RELAXED);
  __atomic_store_n(&pool->guest_seats, guests, __ATOMIC_RELAXED);
  __atomic_store_n(&pool->open, 1, __ATOMIC_SEQ_CST);  // publishes the job
  __atomic_fetch_add(&pool->generation, 1, __ATOMIC_SEQ_CST);
  if (range_count - 1 > (size_t)guests && __atomic_load_n(&pool->sleepers, __ATOMIC_SEQ_CST))
    tt_pool_os_wake(&pool->generation, (int)range_count - 1 - guests);
  this_thread.inside = true;
  take_indices(pool);
  this_thread.inside = false;
  __atomic_store_n(&pool->open, 0, __ATOMIC_SEQ_CST);
  wait_for_workers(pool);
  __atomic_store_n(&pool->busy, 0, __ATOMIC_RELEASE);
}

// ---- background work ---------------------------------------------------------------------------
void tt_pool_set_background(tt_pool_t* pool, bool (*has_work)(void), void (*work)(void)) {
  pool->work = work;
  // release: whoever sees the question sees the answer's function
  __atomic_store_n(&pool->has_work, has_work, __ATOMIC_RELEASE);
}

bool tt_pool_can_run_behind(const tt_pool_t* pool) {
  return !this_thread.inside && tt_pool_threads(pool) > 1 && !tt_is_forked_child();
}

void tt_pool_notify(tt_pool_t* pool) {
  if (TT_UNLIKELY(__atomic_load_n(&pool->started, __ATOMIC_RELAXED) == 0)) {
    // whoever has `busy` starts them, or finds them started
    if (!__atomic_exchange_n(&pool->busy, 1, __ATOMIC_ACQUIRE)) {
      start_workers(pool, pool->threads - 1);
      __atomic_store_n(&pool->busy, 0, __ATOMIC_RELEASE);
    }
    return;
  }
  if (TT_UNLIKELY(__atomic_load_n(&pool->sleepers, __ATOMIC_SEQ_CST))) {
    __atomic_fetch_add(&pool->generation, 1, __ATOMIC_SEQ_CST);
    tt_pool_os_wake(&pool->generation, MAX_THREADS);
  }
}

bool tt_pool_help(tt_pool_t* pool) {
  if (!__atomic_load_n(&pool->open, __ATOMIC_RELAXED) ||
      __atomic_load_n(&pool->guest_seats, __ATOMIC_RELAXED) <= 0)
    return false;
  this_thread.inside = true;
  const bool joined = join_job(pool, &pool->guest_seats);
  this_thread.inside = false;
  return joined;
}
