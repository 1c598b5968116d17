#include <string.h>

#include "runtime/internal.h"

tt_rt_counters_t tt_rt_counts;

void tt_rt_counters(tt_rt_counters_t* out) {
#define READ(field) out->field = __atomic_load_n(&tt_rt_counts.field, __ATOMIC_RELAXED)
  READ(bytes_to_device);
  READ(bytes_to_host);
  READ(copies_to_device);
  READ(copies_to_host);
  READ(executions);
  READ(compiles);
  READ(compile_ns);
#undef READ
}
