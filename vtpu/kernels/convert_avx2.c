#define TT_ISA avx2
#pragma GCC optimize("no-trapping-math")
#include <immintrin.h>

#include "kernels/convert_impl.h"

void tt_k_widen_f16__avx2(float* out, const uint16_t* x, size_t n) {
  size_t i = 0;
  for (; i + 8 <= n; i += 8) _mm256_storeu_ps(out + i, _mm256_cvtph_ps(_mm_loadu_si128((const __m128i*)(const void*)(x + i))));
  for (; i < n; ++i) out[i] = _cvtsh_ss(x[i]);
}
void tt_k_narrow_f16__avx2(uint16_t* out, const float* x, size_t n) {
  size_t i = 0;
  for (; i + 8 <= n; i += 8) {
    _mm_storeu_si128((__m128i*)(void*)(out + i), _mm256_cvtps_ph(_mm256_loadu_ps(x + i), _MM_FROUND_TO_NEAREST_INT));
  }
  for (; i < n; ++i) out[i] = (uint16_t)_cvtss_sh(x[i], _MM_FROUND_TO_NEAREST_INT);
}
