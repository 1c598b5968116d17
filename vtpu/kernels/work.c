#include "kernels/work.h"

#include <stdatomic.h>
#include <stdint.h>
#include <string.h>

#include "base/alloc.h"

enum { HEADER = 64, LEAST_LOG = 8, CLASSES = 13, EACH = 4 };   // 256 bytes ... 1 MiB
static _Atomic(void*) kept[CLASSES][EACH];

// The class of a block of so many bytes, header included; CLASSES: not kept.
static uint32_t class_of(size_t bytes) {
  uint32_t c = 0;
  while (c < CLASSES && ((size_t)1 << (LEAST_LOG + c)) < bytes) ++c;
  return c;
}

tt_status_t tt_k_work_take(size_t bytes, void** out) {
  *out = NULL;
  if (bytes > SIZE_MAX - HEADER) return tt_status_create(TT_RESOURCE_EXHAUSTED, "a work area of %zu bytes", bytes);
  uint32_t c = class_of(bytes + HEADER);
  void* block = NULL;
  // acquire: what the last owner did to the block comes before
  for (int k = 0; c < CLASSES && k < EACH && !block; ++k) block = atomic_exchange_explicit(&kept[c][k], NULL, memory_order_acquire);
  if (!block) {
    size_t whole = c < CLASSES ? (size_t)1 << (LEAST_LOG + c) : bytes + HEADER;
    TT_RETURN_IF_ERROR(tt_alloc_aligned(whole, HEADER, &block));
    *(uint32_t*)block = c;
  } else {
    memset((char*)block + HEADER, 0, bytes);
  }
  *out = (char*)block + HEADER;
  return TT_OK_STATUS;
}

void tt_k_work_give(void* area) {
  if (!area) return;
  void* block = (char*)area - HEADER;
  uint32_t c = *(const uint32_t*)block;
  for (int k = 0; c < CLASSES && k < EACH; ++k) {
    void* none = NULL;
    // release: pairs with the take
    if (atomic_compare_exchange_strong_explicit(&kept[c][k], &none, block, memory_order_release, memory_order_relaxed)) return;
  }
  tt_free(block);
}

void tt_k_work_trim(void) {
  for (uint32_t c = 0; c < CLASSES; ++c) {
    for (int k = 0; k < EACH; ++k) tt_free(atomic_exchange_explicit(&kept[c][k], NULL, memory_order_acquire));
  }
}
