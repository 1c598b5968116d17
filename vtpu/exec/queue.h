// Runs programs behind their callers: one in-order queue of the process, on the pool's threads.
//
//   producer:  take blocks -> reserve -> fill -> commit -> (a thread of the pool is told) -> return
//   consumer:  one at a time, whoever takes the role: an idle pool thread, or a producer that waits
//   waiter:    takes the role and runs entries itself, or takes part in the running entry's job
//
// Memory is ordered by the queue, as a stream's: a block may be released as soon as the entry that uses it stands in
// the queue, since whoever gets it next writes it through the queue too, or waits first.
//
// Invariants:
//  Q1 entries run one after another in the order of their commits; an entry's writes are visible to the next
//     one and to whoever has seen its position done;
//  Q2 who touches device memory outside an entry loads the position after it has its blocks and waits for it: a
//     block that an entry uses was released after that entry's commit, so the wait covers it;
//  Q3 an entry cannot fail, takes no device memory and no lock of the allocator, the plugin or the client (a
//     wait may hold them);
//  Q4 after fork the child never waits: the entries' thread is gone, and its calls are refused anyway;
//  Q5 at most TT_QUEUE_CAPACITY entries stand in the queue; a producer that finds it full works until there is room.
#ifndef TT_VTPU_EXEC_QUEUE_H_
#define TT_VTPU_EXEC_QUEUE_H_

#include "base/base.h"

enum { TT_QUEUE_CAPACITY = 256, TT_QUEUE_PAYLOAD = 576 };

typedef void (*tt_queue_fn_t)(void* payload);

// False where there is nobody to run behind the caller: one thread, a thread of the pool, a forked child.
bool tt_queue_is_useful(void);
// A payload of TT_QUEUE_PAYLOAD bytes, 64-byte aligned, to be filled and committed at once by the same thread. Other
// producers wait in between.
void* tt_queue_reserve(void);
void tt_queue_commit(tt_queue_fn_t run);

uint64_t tt_queue_position(void);           // of the newest entry
bool tt_queue_is_done(uint64_t position);
void tt_queue_wait(uint64_t position);      // until it and all before it are done
// Whether there is nothing to wait for.
bool tt_queue_is_idle(void);
static inline void tt_queue_drain(void) {
  if (TT_UNLIKELY(!tt_queue_is_idle())) tt_queue_wait(tt_queue_position());
}

#endif  // TT_VTPU_EXEC_QUEUE_H_
