#include "kernels/stream.h"

const tt_k_stream_t* tt_k_stream(int64_t result_bytes) {
  if (result_bytes < TT_K_STREAM_BYTES) return NULL;
#if defined(__x86_64__)
  if (tt_k_isa() >= TT_ISA_AVX512) return &tt_k_stream__avx512;
  if (tt_k_isa() == TT_ISA_AVX2) return &tt_k_stream__avx2;
#endif
  return NULL;
}
