// Threads, mutexes and condition variables. The only module that names pthreads.
// Atomics are C11 <stdatomic.h> with the memory order written out and its edge in a comment.
//
// Lock ranks: a thread may take a mutex only if its rank is greater than that of every ranked mutex it
// holds; debug builds (TT_DEBUG) check it. Equal ranks are allowed only for cells, in address order.
#ifndef TT_BASE_THREAD_H_
#define TT_BASE_THREAD_H_

#include <pthread.h>

#include "base/base.h"
#include "base/status.h"

typedef enum tt_lock_rank_e {
  TT_RANK_NONE = 0,        // unranked: never held while taking another
  TT_RANK_ENGINE = 10,     // eager/: registry of devices and modes
  TT_RANK_CELL = 20,       // eager/: one storage; several in address order
  TT_RANK_CACHE = 30,      // cache/
  TT_RANK_PROGRAM = 40,    // program/
  TT_RANK_RUNTIME = 50,    // runtime/
  TT_RANK_PLUGIN = 60,     // vtpu/api
  TT_RANK_EXECUTOR = 70,   // vtpu/exec
  TT_RANK_ALLOCATOR = 80,  // vtpu/ memory
  TT_RANK_POOL = 90,       // vtpu/ thread pool
  TT_RANK_LEAF = 100,      // trace ring, log
} tt_lock_rank_t;

typedef struct tt_mutex_s {
  pthread_mutex_t handle;
  tt_lock_rank_t rank;
} tt_mutex_t;
typedef struct tt_cond_s {
  pthread_cond_t handle;  // on the monotonic clock
} tt_cond_t;
typedef struct tt_thread_s {
  pthread_t handle;
} tt_thread_t;
typedef void (*tt_thread_fn_t)(void* arg);

void tt_mutex_initialize(tt_mutex_t* mutex, tt_lock_rank_t rank);
void tt_mutex_deinitialize(tt_mutex_t* mutex);
void tt_mutex_lock(tt_mutex_t* mutex);
bool tt_mutex_try_lock(tt_mutex_t* mutex);
void tt_mutex_unlock(tt_mutex_t* mutex);

void tt_cond_initialize(tt_cond_t* cond);
void tt_cond_deinitialize(tt_cond_t* cond);
void tt_cond_wait(tt_cond_t* cond, tt_mutex_t* mutex);
// False when `timeout_ns` passed first. Spurious wake-ups are possible.
bool tt_cond_wait_for(tt_cond_t* cond, tt_mutex_t* mutex, int64_t timeout_ns);
void tt_cond_signal(tt_cond_t* cond);
void tt_cond_broadcast(tt_cond_t* cond);

// Signals are blocked in the new thread. `name` shows in debuggers (15 characters).
tt_status_t tt_thread_create(tt_thread_t* thread, const char* name, tt_thread_fn_t fn, void* arg) TT_MUST_USE;
void tt_thread_join(tt_thread_t* thread);

int64_t tt_clock_ns(void);  // monotonic, ns
// CPUs this process may use: affinity and cgroup quota, at least 1.
int tt_cpu_count(void);
// Memory limit of the process's cgroup or the machine, bytes.
uint64_t tt_host_memory_limit_bytes(void);
// True in a child forked after tt_fork_guard_initialize(): threads of the parent are gone.
void tt_fork_guard_initialize(void);
bool tt_is_forked_child(void);

#endif  // TT_BASE_THREAD_H_
