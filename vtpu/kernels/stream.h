// Writing past the caches: a large result whose lines will be gone from every cache before they are read is not
// worth fetching them first, which plain stores do. Zen 4, one thread, float32 4096^2: x + y takes 4.5 ms instead of
// 6.8, a copy 2.7 ms instead of 4.1.
#ifndef TT_VTPU_KERNELS_STREAM_H_
#define TT_VTPU_KERNELS_STREAM_H_

#include "kernels/kernel.h"

enum {
  TT_K_STREAM_BYTES = 32 << 20,   // of a result: what the last cache level may keep stays there
  TT_K_STREAM_PIECE = 2048,       // of one copy: its loads and the computing of the next then overlap
};
typedef struct tt_k_stream_s {
  // out and x do not overlap. While it copies, as many bytes behind each of next[0..count) are fetched: what is
  // read next (any addresses).
  void (*copy)(void* out, const void* x, size_t bytes, const char* const* next, size_t count);
  // Once a task, after its last copy: the stores are seen by whoever sees what the thread writes later.
  void (*end)(void);
} tt_k_stream_t;
// NULL: results of that many bytes are stored as usual.
const tt_k_stream_t* tt_k_stream(int64_t result_bytes);

extern const tt_k_stream_t tt_k_stream__avx2, tt_k_stream__avx512;

#endif  // TT_VTPU_KERNELS_STREAM_H_
