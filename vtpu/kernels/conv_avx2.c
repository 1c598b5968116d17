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

#define SWAP(r, s, w, V, I, M, LANES)                                                                  \
  _Pragma("GCC unroll 16") for (int i = 0; i < w; ++i) {                                               \
    if (i & (s)) continue;                                                                             \
    const V x = (V)(r)[i], y = (V)(r)[i + (s)];                                                        \
    (r)[i] = (M)__builtin_shuffle(x, y, (I){LANES(LO, s, w)});                                         \
    (r)[i + (s)] = (M)__builtin_shuffle(x, y, (I){LANES(HI, s, w)});                                   \
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
static inline __m256i mask64(int64_t n) { return _mm256_cmpgt_epi64(_mm256_set1_epi64x(n), _mm256_setr_epi64x(0, 1, 2, 3)); }

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
#include "kernels/conv_impl.h"
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
#include "kernels/conv_impl.h"

const tt_conv_isa_t tt_conv_isa__avx2 = {
    .f32 = {f32_pack_rows, f32_pack_columns, f32_direct, f32_dots},
    .f64 = {f64_pack_rows, f64_pack_columns, f64_direct, f64_dots},
};
