// The trace ring: one record an executed op while tracing is on.
#ifndef TT_EAGER_TRACE_H_
#define TT_EAGER_TRACE_H_

#include <stdatomic.h>

#include "base/base.h"

extern _Atomic bool tt_trace_on_;
static inline bool tt_trace_is_on(void) {
  return TT_UNLIKELY(atomic_load_explicit(&tt_trace_on_, memory_order_relaxed));
}
void tt_trace_record(const char* name, int device, int64_t begin_ns,
                     int64_t end_ns);   // name: static or interned

#endif  // TT_EAGER_TRACE_H_
