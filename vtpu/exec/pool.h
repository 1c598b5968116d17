// The thread pool: one per process for all virtual devices; the caller takes part (design D14).
//
// Invariants:
//  P1 tt_pool_run returns when every index has been run exactly once; its writes are visible to the caller;
//  P2 nested calls run inline on the thread that makes them; workers never take locks of other modules;
//  P3 threads poll at most 1 ms, after 20 us yielding their CPU between looks, and only while no more workers
//     than CPUs exist, then sleep; an idle pool uses no CPU;
//  P4 results never depend on the thread count: callers split work by shape alone;
//  P5 after fork the child runs everything inline;
//  P6 a job runs on at most as many threads as the limit of the thread that calls it;
//  P7 a thread begins with the same part of the indices in every job of as many threads: a pool thread with its
//     own, all others with the first;
//  P8 background work is run by one pool thread, between jobs; its jobs leave one seat to a thread that waits for
//     it (tt_pool_help), so that with that thread they run on as many threads as others.
#ifndef TT_VTPU_EXEC_POOL_H_
#define TT_VTPU_EXEC_POOL_H_

#include "base/base.h"
#include "base/status.h"

#define TT_POOL_MAX_THREADS 64

typedef struct tt_pool_s tt_pool_t;
typedef void (*tt_pool_fn_t)(void* self, size_t index);

tt_pool_t* tt_pool_get(void);                 // the process's pool; threads start on first parallel run
int tt_pool_size(const tt_pool_t* pool);      // threads of the pool, including the caller
void tt_pool_set_threads(tt_pool_t* pool, int threads);  // its size, 1..64
// At most `threads` threads, itself included, take part in this thread's later jobs; below 1: no limit.
void tt_pool_limit(int threads);
int tt_pool_limit_get(void);                  // as set, 0: none
int tt_pool_threads(const tt_pool_t* pool);   // of a job of this thread: the size, or less by its limit
// Runs fn(self, 0..count-1). `count` should be a few times the thread count at most for big work: each thread
// starts with an equal part of adjacent indices and helps the others when it is done. Order indices so that
// neighbours share memory, and alike in jobs that follow one another. count 1 runs inline with no overhead.
void tt_pool_run(tt_pool_t* pool, size_t count, tt_pool_fn_t fn, void* self);

// One look's pause of a thread that polls since `begin` (tt_clock_ns); false: it has polled long enough (P3).
bool tt_pool_keep_polling(int64_t begin);

// ---- background work (queue.c) -----------------------------------------------------------------
// One source a process: while `has_work` is true an idle pool thread calls `work`, which may call tt_pool_run.
void tt_pool_set_background(tt_pool_t* pool, bool (*has_work)(void), void (*work)(void));
// Whether work that this thread leaves to the pool may run beside it.
bool tt_pool_can_run_behind(const tt_pool_t* pool);
void tt_pool_notify(tt_pool_t* pool);   // there is work: starts or wakes the pool's thread
// Takes part in the background's open job; false: it has none with a seat left.
bool tt_pool_help(tt_pool_t* pool);

#endif  // TT_VTPU_EXEC_POOL_H_
