// Device memory of one virtual device: a caching allocator on 2 MB pages with a budget (design D15).
//
// Invariants:
//  M1 a block's data is 64-byte aligned, its capacity is >= bytes, and at least 64 bytes past its end are
//     readable (vector kernels may read, never write, up to 63 bytes past the logical end);
//  M2 in_use = sum of capacities of live blocks <= budget; reserved = in_use + cached <= budget; cached blocks
//     are given back to the OS before an allocation is refused;
//  M3 a freed block goes to the cache at once; trim() returns every cached block;
//  M5 a released block may be in use by the queue still: whoever gets it waits or queues (queue.h), and it goes back to
//     the OS only once the queue is drained;
//  M4 no system call on the hit path; safe from any thread.
#ifndef TT_VTPU_EXEC_MEMORY_H_
#define TT_VTPU_EXEC_MEMORY_H_

#include "base/base.h"
#include "base/status.h"

typedef struct tt_vmem_pool_s tt_vmem_pool_t;   // one a device and memory kind
typedef struct tt_vmem_s {                      // one block, reference-counted
  void* data;
  size_t bytes;                                 // asked for
  size_t capacity;
  tt_vmem_pool_t* pool;
  int32_t references;                           // atomic
} tt_vmem_t;

typedef struct tt_vmem_stats_s {
  int64_t bytes_in_use, peak_bytes_in_use, bytes_reserved, peak_bytes_reserved, bytes_limit;
  int64_t num_allocs, num_frees, num_system_allocs, largest_alloc_bytes;
} tt_vmem_stats_t;

tt_status_t tt_vmem_pool_create(const char* name, int64_t budget_bytes,
                                tt_vmem_pool_t** out_pool) TT_MUST_USE;
void tt_vmem_pool_release(tt_vmem_pool_t* pool);   // live blocks keep it alive
// RESOURCE_EXHAUSTED names pool, bytes asked, in use and budget. Contents are not zeroed.
tt_status_t tt_vmem_allocate(tt_vmem_pool_t* pool, size_t bytes, tt_vmem_t** out_block) TT_MUST_USE;
void tt_vmem_retain(tt_vmem_t* block);
void tt_vmem_release(tt_vmem_t* block);
void tt_vmem_trim(tt_vmem_pool_t* pool);
void tt_vmem_stats(tt_vmem_pool_t* pool, tt_vmem_stats_t* out_stats);
void tt_vmem_reset_peak(tt_vmem_pool_t* pool);

#endif  // TT_VTPU_EXEC_MEMORY_H_
