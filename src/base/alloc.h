// Host allocation with counters and fault injection. Device memory is the plugin's business.
//
// Invariants: every block from here is freed here; live counts return to their start when everything
// is released (the leak check of the tests); with a fault armed, the nth allocation fails once.
#ifndef TT_BASE_ALLOC_H_
#define TT_BASE_ALLOC_H_

#include "base/base.h"
#include "base/status.h"

typedef struct tt_alloc_stats_s {
  uint64_t allocations;       // since start
  uint64_t frees;             // since start
  int64_t live_blocks;        // allocations - frees
} tt_alloc_stats_t;

// Zeroed memory. Zero bytes give a valid unique block. *out is NULL on failure (RESOURCE_EXHAUSTED).
tt_status_t tt_alloc(size_t bytes, void** out) TT_MUST_USE;
tt_status_t tt_alloc_aligned(size_t bytes, size_t alignment, void** out) TT_MUST_USE;  // free with tt_free
// Grows or shrinks *block (NULL allowed); on failure *block is unchanged. New bytes are not zeroed.
tt_status_t tt_realloc(size_t bytes, void** block) TT_MUST_USE;
void tt_free(void* block);
tt_status_t tt_strdup(const char* text, char** out) TT_MUST_USE;
tt_status_t tt_strndup(const char* text, size_t size, char** out) TT_MUST_USE;

// count * size with an overflow check.
tt_status_t tt_alloc_array(size_t count, size_t size, void** out) TT_MUST_USE;
// Ensures room for `needed` elements of `size` bytes, growing by half; *capacity in elements.
tt_status_t tt_grow(void** block, size_t* capacity, size_t needed, size_t size) TT_MUST_USE;

tt_alloc_stats_t tt_alloc_stats(void);
// Fault injection: the nth allocation from now (1-based) fails; 0 disarms. Returns through
// tt_alloc_fault_fired() whether it has. Process-wide, for tests.
void tt_alloc_fault_arm(uint64_t nth);
bool tt_alloc_fault_fired(void);

#endif  // TT_BASE_ALLOC_H_
