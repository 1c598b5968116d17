// Convolution's packing and direct kernels, AVX2.
#include <immintrin.h>

#include "kernels/conv_isa.h"

// Exchanges the off-diagonal blocks of s lanes of rows that are s apart; LO and HI: where lane i of both comes from.
#define LO(i, s, w) ((i) & (s) ? (i) - (s) + (w) : (i))
#define HI(i, s, w) ((i) & (s) ? (i) + (w) : (i) + (s))
#define LANES4(f, s, w) f(0, s, w), f(1, s, w), f(2, s, w), f(3, s, w)
#define LANES8(f, s, w) LANES4(f, s, w), f(4, s, w), f(5, s, w), f(6, s, w), f(7, s, w)
typedef float f32x8_t __attribute__((vector_size(32)));
typedef int32_t s32x8_t __attribute__((vector_size(32)));
typedef double f64x4_t __attribute__((vector_size(32)));
typedef int64_t s64x4_t __attribute__((vector_size(32)));

#define SWAP(r, s, w, V, I, M, LANES)                                \
  _Pragma("GCC unroll 16") for (int i = 0; i < w; ++i) {             \
    if (i & (s)) continue;                                           \
    const V x = (V)(r)[i], y = (V)(r)[i + (s)];                      \
    (r)[i] = (M)__builtin_shuffle(x, y, (I){LANES(LO, s, w)});       \
    (r)[i + (s)] = (M)__builtin_shuffle(x, y, (I){LANES(HI, s, w)}); \
  }
static inline __attribute__((always_inline)) void transpose_f32(__m256* r) {
  SWAP(r, 4, 8, f32x8_t, s32x8_t, __m256, LANES8)
  SWAP(r, 2, 8, f32x8_t, s32x8_t, __m256, LANES8)
  SWAP(r, 1, 8, f32x8_t, s32x8_t, __m256, LANES8)
}
static inline __attribute__((always_inline)) void transpose_f64(__m256d* r) {
  SWAP(r, 2, 4, f64x4_t, s64x4_t, __m256d, LANES4)
  SWAP(r, 1, 4, f64x4_t, s64x4_t, __m256d, LANES4)
}
// n <= lanes leading ones
static inline __m256i mask32(int64_t n) {
  return _mm256_cmpgt_epi32(_mm256_set1_epi32((int)n), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}
static inline __m256i mask64(int64_t n) {
  return _mm256_cmpgt_epi64(_mm256_set1_epi64x(n), _mm256_setr_epi64x(0, 1, 2, 3));
}

static inline float sum_f32(__m256 v) {
  __m128 x = _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
  x = _mm_add_ps(x, _mm_movehl_ps(x, x));
  return _mm_cvtss_f32(_mm_add_ss(x, _mm_movehdup_ps(x)));
}
static inline double sum_f64(__m256d v) {
  const __m128d x = _mm_add_pd(_mm256_castpd256_pd128(v), _mm256_extractf128_pd(v, 1));
  return _mm_cvtsd_f64(_mm_add_sd(x, _mm_unpackhi_pd(x, x)));
}

static inline __m256 widen_bf16(__m128i x) {
  return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(x), 16));
}
static inline __m128i load_halves(const uint16_t* p, int64_t n) {
  uint16_t lanes[8] = {0};
  for (int64_t i = 0; i < n; ++i) lanes[i] = p[i];
  return _mm_loadu_si128((const __m128i*)(const void*)lanes);
}

#define DIRECT_1 7
#define DIRECT_2 6
#define DIRECT_3 3
#define DIRECT_4 2

#define T float
#define V __m256
#define W 8
#define NAME(x) f32_##x
#define V_ZERO() _mm256_setzero_ps()
#define V_LOAD(p) _mm256_loadu_ps(p)
#define V_STORE(p, v) _mm256_storeu_ps(p, v)
#define V_LOAD_PART(p, n) _mm256_maskload_ps(p, mask32(n))
#define V_STORE_PART(p, n, v) _mm256_maskstore_ps(p, mask32(n), v)
#define V_SET1(x) _mm256_set1_ps(x)
#define V_FMA(x, y, z) _mm256_fmadd_ps(x, y, z)
#define V_ADD(x, y) _mm256_add_ps(x, y)
#define V_TRANSPOSE(r) transpose_f32(r)
#define V_SUM(v) sum_f32(v)
#define V_INDEX __m256i
#define V_INDICES(step) \
  _mm256_mullo_epi32(_mm256_set1_epi32((int)(step)), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7))
#define V_GATHER(p, index, n) \
  _mm256_mask_i32gather_ps(_mm256_setzero_ps(), p, index, _mm256_castsi256_ps(mask32(n)), 4)
#include "kernels/conv_impl.h"
#define S float
#define SOURCE(x) f32_##x
#define S_LOAD(p) V_LOAD(p)
#define S_LOAD_PART(p, n) V_LOAD_PART(p, n)
#include "kernels/conv_pad_impl.h"
#define S uint16_t
#define SOURCE(x) bf16_##x
#define S_LOAD(p) widen_bf16(_mm_loadu_si128((const __m128i*)(const void*)(p)))
#define S_LOAD_PART(p, n) widen_bf16(load_halves(p, n))
#include "kernels/conv_pad_impl.h"
#define S uint16_t
#define SOURCE(x) f16_##x
#define S_LOAD(p) _mm256_cvtph_ps(_mm_loadu_si128((const __m128i*)(const void*)(p)))
#define S_LOAD_PART(p, n) _mm256_cvtph_ps(load_halves(p, n))
#include "kernels/conv_pad_impl.h"
#undef T
#undef V
#undef W
#undef NAME
#undef V_ZERO
#undef V_LOAD
#undef V_STORE
#undef V_LOAD_PART
#undef V_STORE_PART
#undef V_SET1
#undef V_FMA
#undef V_ADD
#undef V_TRANSPOSE
#undef V_SUM
#undef V_INDEX
#undef V_INDICES
#undef V_GATHER

#define T double
#define V __m256d
#define W 4
#define NAME(x) f64_##x
#define V_ZERO() _mm256_setzero_pd()
#define V_LOAD(p) _mm256_loadu_pd(p)
#define V_STORE(p, v) _mm256_storeu_pd(p, v)
#define V_LOAD_PART(p, n) _mm256_maskload_pd(p, mask64(n))
#define V_STORE_PART(p, n, v) _mm256_maskstore_pd(p, mask64(n), v)
#define V_SET1(x) _mm256_set1_pd(x)
#define V_FMA(x, y, z) _mm256_fmadd_pd(x, y, z)
#define V_ADD(x, y) _mm256_add_pd(x, y)
#define V_TRANSPOSE(r) transpose_f64(r)
#define V_SUM(v) sum_f64(v)
#define V_INDEX __m128i
#define V_INDICES(step) _mm_mullo_epi32(_mm_set1_epi32((int)(step)), _mm_setr_epi32(0, 1, 2, 3))
#define V_GATHER(p, index, n) \
  _mm256_mask_i32gather_pd(_mm256_setzero_pd(), p, index, _mm256_castsi256_pd(mask64(n)), 8)
#include "kernels/conv_impl.h"
#define S double
#define SOURCE(x) f64_##x
#define S_LOAD(p) V_LOAD(p)
#define S_LOAD_PART(p, n) V_LOAD_PART(p, n)
#include "kernels/conv_pad_impl.h"

const tt_conv_isa_t tt_conv_isa__avx2 = {
    .f32 = {f32_pack_rows, f32_pack_columns, f32_direct, f32_dots, f32_pack_any, f32_pad_rows, bf16_pad_rows,
            f16_pad_rows, NULL, f32_add},
    .f64 = {f64_pack_rows, f64_pack_columns, f64_direct, f64_dots, f64_pack_any, f64_pad_rows, NULL, NULL,
            NULL, f64_add},
};
