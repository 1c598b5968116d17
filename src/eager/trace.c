#define _GNU_SOURCE
#include "eager/trace.h"

#include <unistd.h>

#include "base/alloc.h"
#include "base/thread.h"
#include "tt/device.h"

enum { RING_EVENTS = 65536 };

_Atomic bool tt_trace_on_;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static tt_mutex_t lock;                // guards the ring
static tt_trace_event_t* ring;         // allocated by the first enable
static uint64_t written, taken, dropped;
static _Thread_local uint64_t correlation;
static _Thread_local int32_t thread_id;

static void initialize(void) { tt_mutex_initialize(&lock, TT_RANK_LEAF); }

void tt_trace_enable(bool enabled) {
  pthread_once(&once, initialize);
  tt_mutex_lock(&lock);
  if (enabled && !ring) {
    void* block = NULL;
    tt_status_t status = tt_alloc_array(RING_EVENTS, sizeof(tt_trace_event_t), &block);
    ring = block;
    tt_status_ignore(status);   // without memory there is no trace, and no error path in this call
  }
  atomic_store_explicit(&tt_trace_on_, enabled && ring, memory_order_relaxed);
  tt_mutex_unlock(&lock);
}

void tt_trace_correlation(uint64_t id) { correlation = id; }
int64_t tt_trace_clock_ns(void) { return tt_clock_ns(); }

void tt_trace_record(const char* name, int device, int64_t begin_ns, int64_t end_ns) {
  if (!thread_id) thread_id = (int32_t)gettid();
  tt_mutex_lock(&lock);
  if (ring) {
    ring[written % RING_EVENTS] = (tt_trace_event_t){name, begin_ns, end_ns, device, thread_id, correlation};
    if (++written - taken > RING_EVENTS) {
      ++taken;
      ++dropped;
    }
  }
  tt_mutex_unlock(&lock);
}

size_t tt_trace_take(tt_trace_event_t* events, size_t capacity, uint64_t* out_dropped) {
  pthread_once(&once, initialize);
  tt_mutex_lock(&lock);
  size_t count = 0;
  while (count < capacity && taken < written) events[count++] = ring[taken++ % RING_EVENTS];
  if (out_dropped) *out_dropped = dropped;
  dropped = 0;
  tt_mutex_unlock(&lock);
  return count;
}
