// Convolution's packing and direct kernels, AVX-512.
#include <immintrin.h>

#include "kernels/conv_isa.h"

// Exchanges the off-diagonal blocks of s lanes of rows that are s apart; LO and HI: where lane i of both comes from.
#define LO(i, s, w) ((i) & (s) ? (i) - (s) + (w) : (i))
#define HI(i, s, w) ((i) & (s) ? (i) + (w) : (i) + (s))
#define LANES8(f, s, w) \
  f(0, s, w), f(1, s, w), f(2, s, w), f(3, s, w), f(4, s, w), f(5, s, w), f(6, s, w), f(7, s, w)
#define LANES16(f, s, w)                                                                                    \
  LANES8(f, s, w), f(8, s, w), f(9, s, w), f(10, s, w), f(11, s, w), f(12, s, w), f(13, s, w), f(14, s, w), \
      f(15, s, w)
typedef float f32x16_t __attribute__((vector_size(64)));
typedef int32_t s32x16_t __attribute__((vector_size(64)));
typedef double f64x8_t __attribute__((vector_size(64)));
typedef int64_t s64x8_t __attribute__((vector_size(64)));

#define SWAP(r, s, w, V, I, M, LANES)                                \
  _Pragma("GCC unroll 16") for (int i = 0; i < w; ++i) {             \
    if (i & (s)) continue;                                           \
    const V x = (V)(r)[i], y = (V)(r)[i + (s)];                      \
    (r)[i] = (M)__builtin_shuffle(x, y, (I){LANES(LO, s, w)});       \
    (r)[i + (s)] = (M)__builtin_shuffle(x, y, (I){LANES(HI, s, w)}); \
  }
static inline __attribute__((always_inline)) void transpose_f32(__m512* r) {
  SWAP(r, 8, 16, f32x16_t, s32x16_t, __m512, LANES16)
  SWAP(r, 4, 16, f32x16_t, s32x16_t, __m512, LANES16)
  SWAP(r, 2, 16, f32x16_t, s32x16_t, __m512, LANES16)
  SWAP(r, 1, 16, f32x16_t, s32x16_t, __m512, LANES16)
}
static inline __attribute__((always_inline)) void transpose_f64(__m512d* r) {
  SWAP(r, 4, 8, f64x8_t, s64x8_t, __m512d, LANES8)
  SWAP(r, 2, 8, f64x8_t, s64x8_t, __m512d, LANES8)
  SWAP(r, 1, 8, f64x8_t, s64x8_t, __m512d, LANES8)
}

static inline __m512 widen_bf16(__m256i x) {
  return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(x), 16));
}

static inline __m256i narrow(__m512i x) {
  const __m512i odd = _mm512_and_si512(_mm512_srli_epi32(x, 16), _mm512_set1_epi32(1));
  const __m512i rounded = _mm512_add_epi32(_mm512_add_epi32(x, _mm512_set1_epi32(0x7fff)), odd);
  const __mmask16 nan = _mm512_cmp_ps_mask(_mm512_castsi512_ps(x), _mm512_castsi512_ps(x), _CMP_UNORD_Q);
  const __m512i quiet = _mm512_or_si512(x, _mm512_set1_epi32(0x400000));
  return _mm512_cvtepi32_epi16(_mm512_srli_epi32(_mm512_mask_mov_epi32(rounded, nan, quiet), 16));
}
static void narrow_bf16(void* y, const void* x, size_t n) {
  uint16_t* to = y;
  const float* from = x;
  for (; n >= 16; n -= 16, to += 16, from += 16) {
    _mm256_storeu_si256((__m256i*)(void*)to, narrow(_mm512_castps_si512(_mm512_loadu_ps(from))));
  }
  if (n) {
    const __mmask16 mask = (__mmask16)((1u << n) - 1);
    _mm256_mask_storeu_epi16(to, mask, narrow(_mm512_castps_si512(_mm512_maskz_loadu_ps(mask, from))));
  }
}

#define DIRECT_1 7
#define DIRECT_2 7
#define DIRECT_3 7
#define DIRECT_4 6

#define T float
#define V __m512
#define W 16
#define NAME(x) f32_##x
#define V_ZERO() _mm512_setzero_ps()
#define V_LOAD(p) _mm512_loadu_ps(p)
#define V_STORE(p, v) _mm512_storeu_ps(p, v)
#define V_LOAD_PART(p, n) _mm512_maskz_loadu_ps((__mmask16)((1u << (n)) - 1), p)
#define V_STORE_PART(p, n, v) _mm512_mask_storeu_ps(p, (__mmask16)((1u << (n)) - 1), v)
#define V_SET1(x) _mm512_set1_ps(x)
#define V_FMA(x, y, z) _mm512_fmadd_ps(x, y, z)
#define V_ADD(x, y) _mm512_add_ps(x, y)
#define V_TRANSPOSE(r) transpose_f32(r)
#define V_SUM(v) _mm512_reduce_add_ps(v)
#define V_INDEX __m512i
#define V_INDICES(step)                              \
  _mm512_mullo_epi32(_mm512_set1_epi32((int)(step)), \
                     _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15))
#define V_GATHER(p, index, n) \
  _mm512_mask_i32gather_ps(_mm512_setzero_ps(), (__mmask16)((1u << (n)) - 1), index, p, 4)
#include "kernels/conv_impl.h"
#define S float
#define SOURCE(x) f32_##x
#define S_LOAD(p) V_LOAD(p)
#define S_LOAD_PART(p, n) V_LOAD_PART(p, n)
#include "kernels/conv_pad_impl.h"
#define S uint16_t
#define SOURCE(x) bf16_##x
#define S_LOAD(p) widen_bf16(_mm256_loadu_si256((const __m256i*)(const void*)(p)))
#define S_LOAD_PART(p, n) widen_bf16(_mm256_maskz_loadu_epi16((__mmask16)((1u << (n)) - 1), p))
#include "kernels/conv_pad_impl.h"
#define S uint16_t
#define SOURCE(x) f16_##x
#define S_LOAD(p) _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i*)(const void*)(p)))
#define S_LOAD_PART(p, n) _mm512_cvtph_ps(_mm256_maskz_loadu_epi16((__mmask16)((1u << (n)) - 1), p))
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
#define V __m512d
#define W 8
#define NAME(x) f64_##x
#define V_ZERO() _mm512_setzero_pd()
#define V_LOAD(p) _mm512_loadu_pd(p)
#define V_STORE(p, v) _mm512_storeu_pd(p, v)
#define V_LOAD_PART(p, n) _mm512_maskz_loadu_pd((__mmask8)((1u << (n)) - 1), p)
#define V_STORE_PART(p, n, v) _mm512_mask_storeu_pd(p, (__mmask8)((1u << (n)) - 1), v)
#define V_SET1(x) _mm512_set1_pd(x)
#define V_FMA(x, y, z) _mm512_fmadd_pd(x, y, z)
#define V_ADD(x, y) _mm512_add_pd(x, y)
#define V_TRANSPOSE(r) transpose_f64(r)
#define V_SUM(v) _mm512_reduce_add_pd(v)
#define V_INDEX __m256i
#define V_INDICES(step) \
  _mm256_mullo_epi32(_mm256_set1_epi32((int)(step)), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7))
#define V_GATHER(p, index, n) \
  _mm512_mask_i32gather_pd(_mm512_setzero_pd(), (__mmask8)((1u << (n)) - 1), index, p, 8)
#include "kernels/conv_impl.h"
#define S double
#define SOURCE(x) f64_##x
#define S_LOAD(p) V_LOAD(p)
#define S_LOAD_PART(p, n) V_LOAD_PART(p, n)
#include "kernels/conv_pad_impl.h"

const tt_conv_isa_t tt_conv_isa__avx512 = {
    .f32 = {f32_pack_rows, f32_pack_columns, f32_direct, f32_dots, f32_pack_any, f32_pad_rows, bf16_pad_rows,
            f16_pad_rows, narrow_bf16, f32_add},
    .f64 = {f64_pack_rows, f64_pack_columns, f64_direct, f64_dots, f64_pack_any, f64_pad_rows, NULL, NULL,
            NULL, f64_add},
};
