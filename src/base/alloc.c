#include "base/alloc.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

static _Atomic uint64_t alloc_count;
static _Atomic uint64_t free_count;
static _Atomic uint64_t fault_countdown;  // 0 = disarmed
static _Atomic bool fault_fired;

// True if this allocation is the one to fail.
static bool take_fault(void) {
  // relaxed: counters order nothing
  if (TT_LIKELY(atomic_load_explicit(&fault_countdown, memory_order_relaxed) == 0)) return false;
  uint64_t before = atomic_fetch_sub_explicit(&fault_countdown, 1, memory_order_relaxed);
  if (before == 1) {
    atomic_store_explicit(&fault_fired, true, memory_order_relaxed);
    return true;
  }
  if (before == 0) atomic_store_explicit(&fault_countdown, 0, memory_order_relaxed);
  return false;
}

static tt_status_t allocation_failed(size_t bytes) {
  return tt_status_create(TT_RESOURCE_EXHAUSTED, "out of host memory allocating %zu bytes", bytes);
}

tt_status_t tt_alloc(size_t bytes, void** out) {
  *out = NULL;
  if (take_fault()) return allocation_failed(bytes);
  void* block = calloc(1, bytes ? bytes : 1);
  if (!block) return allocation_failed(bytes);
  atomic_fetch_add_explicit(&alloc_count, 1, memory_order_relaxed);
  *out = block;
  return TT_OK_STATUS;
}

tt_status_t tt_alloc_aligned(size_t bytes, size_t alignment, void** out) {
  *out = NULL;
  if (take_fault()) return allocation_failed(bytes);
  void* block = NULL;
  if (posix_memalign(&block, alignment, bytes ? bytes : 1) != 0) return allocation_failed(bytes);
  memset(block, 0, bytes);
  atomic_fetch_add_explicit(&alloc_count, 1, memory_order_relaxed);
  *out = block;
  return TT_OK_STATUS;
}

tt_status_t tt_realloc(size_t bytes, void** block) {
  if (take_fault()) return allocation_failed(bytes);
  void* grown = realloc(*block, bytes ? bytes : 1);
  if (!grown) return allocation_failed(bytes);
  if (!*block) atomic_fetch_add_explicit(&alloc_count, 1, memory_order_relaxed);
  *block = grown;
  return TT_OK_STATUS;
}

void tt_free(void* block) {
  if (!block) return;
  atomic_fetch_add_explicit(&free_count, 1, memory_order_relaxed);
  free(block);
}

tt_status_t tt_strndup(const char* text, size_t size, char** out) {
  void* block = NULL;
  *out = NULL;
  TT_RETURN_IF_ERROR(tt_alloc(size + 1, &block));
  memcpy(block, text, size);
  *out = block;
  return TT_OK_STATUS;
}

tt_status_t tt_strdup(const char* text, char** out) { return tt_strndup(text, strlen(text), out); }

tt_status_t tt_alloc_array(size_t count, size_t size, void** out) {
  size_t bytes;
  *out = NULL;
  if (!tt_checked_mul(count, size, &bytes)) {
    return tt_status_create(TT_RESOURCE_EXHAUSTED, "array of %zu elements of %zu bytes overflows size_t", count, size);
  }
  return tt_alloc(bytes, out);
}

tt_status_t tt_grow(void** block, size_t* capacity, size_t needed, size_t size) {
  if (needed <= *capacity) return TT_OK_STATUS;
  size_t wanted = TT_MAX(needed, *capacity + *capacity / 2);
  wanted = TT_MAX(wanted, (size_t)8);
  size_t bytes;
  if (!tt_checked_mul(wanted, size, &bytes)) {
    return tt_status_create(TT_RESOURCE_EXHAUSTED, "array of %zu elements of %zu bytes overflows size_t", wanted, size);
  }
  TT_RETURN_IF_ERROR(tt_realloc(bytes, block));
  *capacity = wanted;
  return TT_OK_STATUS;
}

tt_alloc_stats_t tt_alloc_stats(void) {
  tt_alloc_stats_t stats;
  stats.allocations = atomic_load_explicit(&alloc_count, memory_order_relaxed);
  stats.frees = atomic_load_explicit(&free_count, memory_order_relaxed);
  stats.live_blocks = (int64_t)(stats.allocations - stats.frees);
  return stats;
}

void tt_alloc_fault_arm(uint64_t nth) {
  atomic_store_explicit(&fault_fired, false, memory_order_relaxed);
  atomic_store_explicit(&fault_countdown, nth, memory_order_relaxed);
}

bool tt_alloc_fault_fired(void) { return atomic_load_explicit(&fault_fired, memory_order_relaxed); }
