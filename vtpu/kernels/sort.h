// Sorting by integer keys. A key is the order-preserving unsigned image of an element; with the element's index
// beside it every pair is unique, so any sorting method gives the stable order.
#ifndef TT_VTPU_KERNELS_SORT_H_
#define TT_VTPU_KERNELS_SORT_H_

#include "kernels/loops.h"

typedef struct tt_k_key64_s { uint64_t key, index; } tt_k_key64_t;

typedef enum tt_k_key_width_e { TT_K_KEY_NONE, TT_K_KEY_32, TT_K_KEY_64 } tt_k_key_width_t;
tt_k_key_width_t tt_k_key_width(tt_dtype_t dtype);   // NONE: no key (complex, ...)
static inline size_t tt_k_key_bytes(tt_dtype_t dtype) { return tt_k_key_width(dtype) == TT_K_KEY_64 ? 16 : 8; }
// Writes n packed keys: KEY_32: uint64 key << 32 | index; KEY_64: tt_k_key64_t. canonical: -0 = +0 and every NaN is the
// largest value; otherwise IEEE total order. descending inverts the keys (indices still rise among equals).
void tt_k_keys(tt_dtype_t dtype, bool canonical, bool descending, const void* x, int64_t stride, int64_t n, void* out);
// Sorts n packed keys; `spare` is as large. The result is in `keys`.
void tt_k_keys_sort(tt_dtype_t dtype, void* keys, void* spare, int64_t n);
static inline int64_t tt_k_key_index(tt_k_key_width_t width, const void* keys, int64_t i) {
  return width == TT_K_KEY_32 ? (int64_t)(((const uint64_t*)keys)[i] & 0xffffffffu)
                              : (int64_t)((const tt_k_key64_t*)keys)[i].index;
}

#endif  // TT_VTPU_KERNELS_SORT_H_
