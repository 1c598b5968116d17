// Warnings of ops that succeed, for the host framework to show.
#ifndef TT_WARN_H_
#define TT_WARN_H_

#include "tt/status.h"

#ifdef __cplusplus
extern "C" {
#endif

// Called after each successful call of an op that warns (a deviation without degrees of freedom), on the caller's
// thread, with no lock held. `message` lives as long as the process. NULL: warnings are dropped.
typedef void (*tt_warn_t)(const char* message);
TT_API void tt_set_warn(tt_warn_t warn);

#ifdef __cplusplus
}
#endif
#endif  // TT_WARN_H_
