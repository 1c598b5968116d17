// AVX-512: 14 rows by 2 vectors leave 28 of 32 registers to sums; 16 loads serve 28 FMAs a step.
#include <immintrin.h>
#include <string.h>

#include "kernels/gemm_isa.h"
#include "kernels/gemm_transpose_avx512.h"

#define PREFETCH(p) _mm_prefetch((const char*)(p), _MM_HINT_T0)
#define MR 14
// B streams from L2, A stays in L1: on an Ice Lake 1024^3 takes 16.6 ms without, 15.9 with (2048^3: 142, 135).
#define PREFETCH_STEPS 16

// ---- f32 -----------------------------------------------------------------------------------------
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
#include "kernels/gemm_kernel_impl.h"

#define S float
#define SOURCE(x) f32_from_f32_##x
#define COLUMN_PLACES 2
#define COLUMN_VECTORS 8
#define COLUMN_LOAD(r, at) load_transposed(r, at, ls * 4);
#define S_LOAD(p) V_LOAD(p)
#define S_LOAD_PART(p, n) V_LOAD_PART(p, n)
#define S_GET(p) (*(p))
#include "kernels/gemm_source_impl.h"
#undef S
#undef SOURCE
#undef S_LOAD
#undef S_LOAD_PART
#undef S_GET

static inline __m512 widen_bf16(__m256i x) {
  return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(x), 16));
}
static inline float bf16_get(const uint16_t* p) {
  const uint32_t bits = (uint32_t)*p << 16;
  float x;
  memcpy(&x, &bits, 4);
  return x;
}
static inline __m512 bf16_even(__m512 x) { return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_castps_si512(x), 16)); }
static inline __m512 bf16_odd(__m512 x) {
  return _mm512_castsi512_ps(_mm512_and_si512(_mm512_castps_si512(x), _mm512_set1_epi32(-65536)));
}
#define S uint16_t
#define SOURCE(x) f32_from_bf16_##x
// Pairs of bf16 are transposed as 32 bits: half the shuffles. Even k are the low halves, odd k the high ones.
#define COLUMN_PLACES 2
#define COLUMN_VECTORS 8
#define COLUMN_LOAD(r, at) load_transposed(r, at, ls * 2);
#define COLUMN_K 2
#define COLUMN_EXTRACT(v, i) ((i) == 0 ? bf16_even(v) : bf16_odd(v))
#define S_LOAD(p) widen_bf16(_mm256_loadu_si256((const __m256i*)(const void*)(p)))
#define S_LOAD_PART(p, n) widen_bf16(_mm256_maskz_loadu_epi16((__mmask16)((1u << (n)) - 1), p))
#define S_GET(p) bf16_get(p)
#include "kernels/gemm_source_impl.h"
#undef SOURCE
#undef S_LOAD
#undef S_LOAD_PART
#undef S_GET

#define SOURCE(x) f32_from_f16_##x
#define S_LOAD(p) _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i*)(const void*)(p)))
#define S_LOAD_PART(p, n) _mm512_cvtph_ps(_mm256_maskz_loadu_epi16((__mmask16)((1u << (n)) - 1), p))
#define S_GET(p) _cvtsh_ss(*(p))
#include "kernels/gemm_source_impl.h"
#undef S
#undef SOURCE
#undef S_LOAD
#undef S_LOAD_PART
#undef S_GET
static inline __m512 widen_s8(__m128i x) { return _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(x)); }
static inline __m512 widen_u8(__m128i x) { return _mm512_cvtepi32_ps(_mm512_cvtepu8_epi32(x)); }
#define S int8_t
#define SOURCE(x) f32_from_s8_##x
#define S_LOAD(p) widen_s8(_mm_loadu_si128((const __m128i*)(const void*)(p)))
#define S_LOAD_PART(p, n) widen_s8(_mm_maskz_loadu_epi8((__mmask16)((1u << (n)) - 1), p))
#define S_GET(p) ((float)*(p))
#include "kernels/gemm_source_impl.h"
#undef S
#undef SOURCE
#undef S_LOAD
#undef S_LOAD_PART

#define S uint8_t
#define SOURCE(x) f32_from_u8_##x
#define S_LOAD(p) widen_u8(_mm_loadu_si128((const __m128i*)(const void*)(p)))
#define S_LOAD_PART(p, n) widen_u8(_mm_maskz_loadu_epi8((__mmask16)((1u << (n)) - 1), p))
#include "kernels/gemm_source_impl.h"
#undef S
#undef SOURCE
#undef S_LOAD
#undef S_LOAD_PART
#undef S_GET
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

// ---- f64 -----------------------------------------------------------------------------------------
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
#include "kernels/gemm_kernel_impl.h"

#define S double
#define SOURCE(x) f64_from_f64_##x
#define S_LOAD(p) V_LOAD(p)
#define S_LOAD_PART(p, n) V_LOAD_PART(p, n)
#define S_GET(p) (*(p))
#include "kernels/gemm_source_impl.h"

const tt_gemm_isa_t tt_gemm_isa__avx512 = {
    .f32 = {MR, 32, f32_run, f32_run_strided},
    .f64 = {MR, 16, f64_run, f64_run_strided},
    .from_f32 = {f32_from_f32_pack, f32_from_f32_few_rows, f32_from_f32_few_columns},
    .from_f64 = {f64_from_f64_pack, f64_from_f64_few_rows, f64_from_f64_few_columns},
    .from_bf16 = {f32_from_bf16_pack, f32_from_bf16_few_rows, f32_from_bf16_few_columns},
    .from_f16 = {f32_from_f16_pack, f32_from_f16_few_rows, f32_from_f16_few_columns},
    .from_s8 = {f32_from_s8_pack, f32_from_s8_few_rows, f32_from_s8_few_columns},
    .from_u8 = {f32_from_u8_pack, f32_from_u8_few_rows, f32_from_u8_few_columns},
};
