// One ISA's streams; included by stream_<isa>.c, which defines TT_ISA and TT_STREAM_LINE(to, from): 64 aligned bytes.
#include <immintrin.h>
#include <string.h>

#include "kernels/stream.h"

#define TT_K2_(name, isa) name##__##isa
#define TT_K1_(name, isa) TT_K2_(name, isa)
#define TT_K(name) TT_K1_(name, TT_ISA)

static void TT_K(copy)(void* out, const void* x, size_t bytes, const char* const* next, size_t count) {
  char* to = out;
  const char* from = x;
  size_t head = TT_MIN((size_t)(-(uintptr_t)to & 63), bytes);
  if (head) memcpy(to, from, head);
  size_t i = head;
  for (; i + 64 <= bytes; i += 64) {
    for (size_t k = 0; k < count; ++k) _mm_prefetch(next[k] + i, _MM_HINT_T0);
    TT_STREAM_LINE(to + i, from + i);
  }
  if (i < bytes) memcpy(to + i, from + i, bytes - i);
}
static void TT_K(end)(void) { _mm_sfence(); }

const tt_k_stream_t TT_K(tt_k_stream) = {TT_K(copy), TT_K(end)};
