#define _GNU_SOURCE
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/sysinfo.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/thread.h"

#ifdef TT_DEBUG
#include <assert.h>
// Ranks of the mutexes this thread holds, in the order taken.
static _Thread_local tt_lock_rank_t held_ranks[4096];
static _Thread_local int held_count;
static void rank_push(tt_lock_rank_t rank) {
  if (rank == TT_RANK_NONE) return;
  if (held_count > 0) {
    tt_lock_rank_t top = held_ranks[held_count - 1];
    assert((rank > top || (rank == top && rank == TT_RANK_CELL)) && "lock rank inversion");
  }
  assert(held_count < 4096);
  held_ranks[held_count++] = rank;
}
static void rank_pop(tt_lock_rank_t rank) {
  if (rank == TT_RANK_NONE) return;
  for (int i = held_count - 1; i >= 0; --i) {
    if (held_ranks[i] == rank) {
      memmove(&held_ranks[i], &held_ranks[i + 1], sizeof(held_ranks[0]) * (size_t)(held_count - i - 1));
      --held_count;
      return;
    }
  }
  assert(!"unlock of a mutex that this thread does not hold");
}
#else
static void rank_push(tt_lock_rank_t rank) { (void)rank; }
static void rank_pop(tt_lock_rank_t rank) { (void)rank; }
#endif

void tt_mutex_initialize(tt_mutex_t* mutex, tt_lock_rank_t rank) {
  pthread_mutex_init(&mutex->handle, NULL);
  mutex->rank = rank;
}
void tt_mutex_deinitialize(tt_mutex_t* mutex) { pthread_mutex_destroy(&mutex->handle); }
void tt_mutex_lock(tt_mutex_t* mutex) {
  rank_push(mutex->rank);
  pthread_mutex_lock(&mutex->handle);
}
bool tt_mutex_try_lock(tt_mutex_t* mutex) {
  if (pthread_mutex_trylock(&mutex->handle) != 0) return false;
  rank_push(mutex->rank);
  return true;
}
void tt_mutex_unlock(tt_mutex_t* mutex) {
  rank_pop(mutex->rank);
  pthread_mutex_unlock(&mutex->handle);
}

void tt_cond_initialize(tt_cond_t* cond) {
  pthread_condattr_t attributes;
  pthread_condattr_init(&attributes);
  pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
  pthread_cond_init(&cond->handle, &attributes);
  pthread_condattr_destroy(&attributes);
}
void tt_cond_deinitialize(tt_cond_t* cond) { pthread_cond_destroy(&cond->handle); }
void tt_cond_wait(tt_cond_t* cond, tt_mutex_t* mutex) { pthread_cond_wait(&cond->handle, &mutex->handle); }
bool tt_cond_wait_for(tt_cond_t* cond, tt_mutex_t* mutex, int64_t timeout_ns) {
  int64_t deadline = tt_clock_ns() + timeout_ns;
  struct timespec until = {.tv_sec = deadline / 1000000000, .tv_nsec = deadline % 1000000000};
  return pthread_cond_timedwait(&cond->handle, &mutex->handle, &until) != ETIMEDOUT;
}
void tt_cond_signal(tt_cond_t* cond) { pthread_cond_signal(&cond->handle); }
void tt_cond_broadcast(tt_cond_t* cond) { pthread_cond_broadcast(&cond->handle); }

typedef struct thread_start_s {
  tt_thread_fn_t fn;
  void* arg;
  char name[16];
} thread_start_t;

static void* thread_main(void* arg) {
  thread_start_t start = *(thread_start_t*)arg;
  tt_free(arg);
  pthread_setname_np(pthread_self(), start.name);
  start.fn(start.arg);
  return NULL;
}

tt_status_t tt_thread_create(tt_thread_t* thread, const char* name, tt_thread_fn_t fn, void* arg) {
  void* block = NULL;
  TT_RETURN_IF_ERROR(tt_alloc(sizeof(thread_start_t), &block));
  thread_start_t* start = block;
  start->fn = fn;
  start->arg = arg;
  snprintf(start->name, sizeof(start->name), "%s", name);
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);  // signals stay with the host program's threads
  int error = pthread_create(&thread->handle, NULL, thread_main, start);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  if (error) {
    tt_free(start);
    return tt_status_create(TT_RESOURCE_EXHAUSTED, "cannot start thread '%s': %s", name, strerror(error));
  }
  return TT_OK_STATUS;
}
void tt_thread_join(tt_thread_t* thread) { pthread_join(thread->handle, NULL); }

int64_t tt_clock_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static bool read_first_line(const char* path, char* line, size_t size) {
  FILE* file = fopen(path, "r");
  if (!file) return false;
  bool ok = fgets(line, (int)size, file) != NULL;
  fclose(file);
  return ok;
}

int tt_cpu_count(void) {
  int count = 1;
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof(set), &set) == 0) count = CPU_COUNT(&set);
  char line[64];
  long long quota, period;
  if (read_first_line("/sys/fs/cgroup/cpu.max", line, sizeof(line)) && sscanf(line, "%lld %lld", &quota, &period) == 2 &&
      quota > 0 && period > 0) {
    int allowed = (int)((quota + period - 1) / period);
    count = TT_MIN(count, TT_MAX(allowed, 1));
  }
  return TT_MAX(count, 1);
}

uint64_t tt_host_memory_limit_bytes(void) {
  struct sysinfo info;
  uint64_t limit = UINT64_MAX;
  if (sysinfo(&info) == 0) limit = (uint64_t)info.totalram * info.mem_unit;
  static const char* const files[] = {"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"};
  for (size_t i = 0; i < TT_ARRAY_LENGTH(files); ++i) {
    char line[64];
    unsigned long long value;
    if (read_first_line(files[i], line, sizeof(line)) && sscanf(line, "%llu", &value) == 1 && value > 0) {
      limit = TT_MIN(limit, (uint64_t)value);
    }
  }
  return limit;
}

static _Atomic bool forked_child;
static void mark_child(void) { atomic_store_explicit(&forked_child, true, memory_order_relaxed); }
static void install_fork_guard(void) { pthread_atfork(NULL, NULL, mark_child); }
void tt_fork_guard_initialize(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, install_fork_guard);
}
bool tt_is_forked_child(void) { return atomic_load_explicit(&forked_child, memory_order_relaxed); }
