// What graph/ shares with the eager call path.
#ifndef TT_EAGER_CALL_H_
#define TT_EAGER_CALL_H_

#include "lower/lower.h"
#include "tt/op.h"

// A scalar argument as lowerings see it; values that are known only at run time are marked.
void tt_call_lower_scalar(const tt_arg_t* arg, bool is_value_arg, tt_larg_t* out);
// Through tt_set_warn's callback, if there is one. Not with a lock held.
void tt_warn(const char* message);
// Counts a look-up of a graph's executable in tt_compile_stats.
void tt_call_count(bool is_hit, int64_t built_ns);

#endif  // TT_EAGER_CALL_H_
