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
//  P7 a thread begins with the same part of the indices in every job of as many threads, the caller with the
//     first.
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

#endif  // TT_VTPU_EXEC_POOL_H_
