// Work areas of kernels that reserve memory while they run (reserve.h): kept for the next run, so that a repeated call
// takes no host memory.
//
// Invariants:
//  W1 a block belongs to one taker at a time, or lies in the slot of its size class, alone;
//  W2 at most four blocks of a class are kept, none above TT_K_WORK_KEPT_BYTES: 8 MiB in all;
//  W3 tt_k_work_trim leaves nothing kept (memory pressure, the leak checks of tests).
#ifndef TT_VTPU_KERNELS_WORK_H_
#define TT_VTPU_KERNELS_WORK_H_

#include <stddef.h>

#include "base/status.h"

enum { TT_K_WORK_KEPT_BYTES = 1 << 20 };

// At least `bytes`, 64-byte aligned, zeroed. RESOURCE_EXHAUSTED: *out is NULL. Thread-safe.
tt_status_t tt_k_work_take(size_t bytes, void** out) TT_MUST_USE;
void tt_k_work_give(void* block);      // NULL is fine
void tt_k_work_trim(void);

#endif  // TT_VTPU_KERNELS_WORK_H_
