#define TT_ISA avx512
#pragma GCC optimize("no-trapping-math")
#include <immintrin.h>

#include "kernels/convert_impl.h"

void tt_k_widen_f16__avx512(float* out, const uint16_t* x, size_t n) {
  size_t i = 0;
  for (; i + 16 <= n; i += 16) {
    _mm512_storeu_ps(out + i, _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i*)(const void*)(x + i))));
  }
  for (; i < n; ++i) out[i] = _cvtsh_ss(x[i]);
}
void tt_k_narrow_f16__avx512(uint16_t* out, const float* x, size_t n) {
  size_t i = 0;
  for (; i + 16 <= n; i += 16) {
    _mm256_storeu_si256((__m256i*)(void*)(out + i), _mm512_cvtps_ph(_mm512_loadu_ps(x + i), _MM_FROUND_TO_NEAREST_INT));
  }
  for (; i < n; ++i) out[i] = (uint16_t)_cvtss_sh(x[i], _MM_FROUND_TO_NEAREST_INT);
}
