// The ring behind queue.h.
//
//   slots[position % capacity]:   done < position <= newest: committed, not run yet
//
// Invariants (beside Q1..Q5):
//  R1 `newest` and the slots behind it are written under `mutex`, in the order slot, newest (release);
//  R2 `done` is written by whoever holds the role `consuming`, in the order run, done (release);
//  R3 nobody sleeps while entries stand in the queue and nobody consumes: the pool's thread raises its sleeper
//     count before it looks at the queue, a producer commits before it reads that count, and who gives the role
//     back looks again (tt_pool_notify).
#include "exec/queue.h"

#include <stdint.h>

#include "base/thread.h"
#include "exec/pool.h"
#include "exec/pool_os.h"

typedef struct slot_s {
  TT_ALIGNED(64) unsigned char payload[TT_QUEUE_PAYLOAD];
  tt_queue_fn_t run;
  int limit;                        // threads, as of the producer
} slot_t;

static struct {
  tt_mutex_t mutex;                 // of the producers
  TT_ALIGNED(64) uint64_t newest;   // atomic: position of the last commit
  TT_ALIGNED(64) uint64_t done;     // atomic: position of the last entry that was run
  uint32_t changes;                 // atomic: bumped by every entry run and every return of the role; waiters sleep on it
  uint32_t sleepers;                // atomic
  TT_ALIGNED(64) uint32_t consuming;  // atomic: the role
  slot_t slots[TT_QUEUE_CAPACITY];
} queue;

static pthread_once_t queue_once = PTHREAD_ONCE_INIT;

// ---- consuming ---------------------------------------------------------------------------------
static void tell_sleepers(void) {
  // seq_cst: either the waiter sees the new word or we see the waiter
  __atomic_fetch_add(&queue.changes, 1, __ATOMIC_SEQ_CST);
  if (TT_UNLIKELY(__atomic_load_n(&queue.sleepers, __ATOMIC_SEQ_CST)))
    tt_pool_os_wake(&queue.changes, INT32_MAX);
}

// Runs entries up to `position`; false: another thread has the role.
static bool consume(uint64_t position) {
  // acquire: pairs with the release of the last holder
  if (__atomic_exchange_n(&queue.consuming, 1, __ATOMIC_ACQUIRE)) return false;
  const int limit = tt_pool_limit_get();
  uint64_t next = __atomic_load_n(&queue.done, __ATOMIC_RELAXED) + 1;
  for (; next <= position; ++next) {   // all committed: a position comes from `newest`
    slot_t* slot = &queue.slots[next % TT_QUEUE_CAPACITY];
    tt_pool_limit(slot->limit);
    slot->run(slot->payload);
    __atomic_store_n(&queue.done, next, __ATOMIC_RELEASE);   // R2
    tell_sleepers();
  }
  tt_pool_limit(limit);
  __atomic_store_n(&queue.consuming, 0, __ATOMIC_SEQ_CST);   // releases too
  tell_sleepers();
  return true;
}

// What the pool's idle thread asks for and does.
static bool has_work(void) {
  return !tt_queue_is_idle() && !__atomic_load_n(&queue.consuming, __ATOMIC_SEQ_CST);
}
static void work(void) { consume(tt_queue_position()); }

static void queue_initialize(void) {
  tt_mutex_initialize(&queue.mutex, TT_RANK_POOL);
  tt_pool_set_background(tt_pool_get(), has_work, work);
}

// ---- producing ---------------------------------------------------------------------------------
bool tt_queue_is_useful(void) { return tt_pool_can_run_behind(tt_pool_get()); }

void* tt_queue_reserve(void) {
  pthread_once(&queue_once, queue_initialize);
  tt_mutex_lock(&queue.mutex);
  for (;;) {
    const uint64_t next = queue.newest + 1;
    if (next <= __atomic_load_n(&queue.done, __ATOMIC_ACQUIRE) + TT_QUEUE_CAPACITY)
      return queue.slots[next % TT_QUEUE_CAPACITY].payload;
    tt_mutex_unlock(&queue.mutex);
    tt_queue_wait(next - TT_QUEUE_CAPACITY);
    tt_mutex_lock(&queue.mutex);
  }
}

void tt_queue_commit(tt_queue_fn_t run) {
  slot_t* slot = &queue.slots[(queue.newest + 1) % TT_QUEUE_CAPACITY];
  slot->run = run;
  slot->limit = tt_pool_limit_get();
  __atomic_store_n(&queue.newest, queue.newest + 1, __ATOMIC_SEQ_CST);   // R1, R3
  tt_mutex_unlock(&queue.mutex);
  tt_pool_notify(tt_pool_get());
}

// ---- waiting -----------------------------------------------------------------------------------
uint64_t tt_queue_position(void) { return __atomic_load_n(&queue.newest, __ATOMIC_ACQUIRE); }
bool tt_queue_is_done(uint64_t position) {
  // acquire: what the entry wrote (Q1)
  return __atomic_load_n(&queue.done, __ATOMIC_ACQUIRE) >= position;
}
bool tt_queue_is_idle(void) {
  // `done` last: it never passes what `newest` was when read before
  const uint64_t newest = __atomic_load_n(&queue.newest, __ATOMIC_SEQ_CST);
  return __atomic_load_n(&queue.done, __ATOMIC_ACQUIRE) >= newest;
}

void tt_queue_wait(uint64_t position) {
  int64_t begin = 0;
  while (!tt_queue_is_done(position)) {
    if (TT_UNLIKELY(tt_is_forked_child())) return;   // Q4
    if (consume(position)) {
      if (!tt_queue_is_idle()) tt_pool_notify(tt_pool_get());   // R3: others' entries
      continue;
    }
    if (tt_pool_help(tt_pool_get())) {
      begin = 0;
      continue;
    }
    if (!begin) begin = tt_clock_ns();
    if (tt_pool_keep_polling(begin)) continue;
    __atomic_fetch_add(&queue.sleepers, 1, __ATOMIC_SEQ_CST);
    const uint32_t changes = __atomic_load_n(&queue.changes, __ATOMIC_SEQ_CST);
    if (!tt_queue_is_done(position) && __atomic_load_n(&queue.consuming, __ATOMIC_SEQ_CST))
      tt_pool_os_wait(&queue.changes, changes);
    __atomic_fetch_sub(&queue.sleepers, 1, __ATOMIC_SEQ_CST);
    begin = 0;
  }
}
