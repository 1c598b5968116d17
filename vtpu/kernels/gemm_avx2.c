// AVX2 + FMA: 6 rows by 2 vectors leave 12 of 16 registers to sums.
#include <immintrin.h>
#include <string.h>

#include "kernels/gemm_isa.h"

#define PREFETCH(p) _mm_prefetch((const char*)(p), _MM_HINT_T0)
#define MR 6
#define PREFETCH_STEPS 0

static inline __attribute__((always_inline)) void transpose_f32(__m256* r) {
  __m256 t[8], u[8];
  _Pragma("GCC unroll 4") for (int i = 0; i < 8; i += 2) {
    t[i] = _mm256_unpacklo_ps(r[i], r[i + 1]);
    t[i + 1] = _mm256_unpackhi_ps(r[i], r[i + 1]);
  }
  _Pragma("GCC unroll 2") for (int i = 0; i < 8; i += 4) {
    u[i] = _mm256_shuffle_ps(t[i], t[i + 2], 0x44);
    u[i + 1] = _mm256_shuffle_ps(t[i], t[i + 2], 0xee);
    u[i + 2] = _mm256_shuffle_ps(t[i + 1], t[i + 3], 0x44);
    u[i + 3] = _mm256_shuffle_ps(t[i + 1], t[i + 3], 0xee);
  }
  _Pragma("GCC unroll 4") for (int i = 0; i < 4; ++i) {
    r[i] = _mm256_permute2f128_ps(u[i], u[i + 4], 0x20);
    r[i + 4] = _mm256_permute2f128_ps(u[i], u[i + 4], 0x31);
  }
}
// r[k] = the k-th 32 bits of 8 rows of 32 bytes, `step` bytes apart. The exchange of halves is done by loads, which
// leave the ports for shuffles free.
static inline __attribute__((always_inline)) void load_transposed(__m256* r, const void* at, int64_t step) {
  const char *rows[2] = {at, rows[0] + 4 * step};
  __asm__("" : "+r"(rows[0]), "+r"(rows[1]));  // or GCC keeps 8 addresses
#define QUAD(i, q) _mm_loadu_ps((const float*)(const void*)(rows[(i) / 4] + (i) % 4 * step + 16 * (q)))
  _Pragma("GCC unroll 2") for (int q = 0; q < 2; ++q) {
    __m256 x[4];
    _Pragma("GCC unroll 4") for (int i = 0; i < 4; ++i) x[i] =
        _mm256_insertf128_ps(_mm256_castps128_ps256(QUAD(i, q)), QUAD(i + 4, q), 1);
    const __m256 a = _mm256_unpacklo_ps(x[0], x[1]), b = _mm256_unpackhi_ps(x[0], x[1]);
    const __m256 c = _mm256_unpacklo_ps(x[2], x[3]), d = _mm256_unpackhi_ps(x[2], x[3]);
    r[4 * q] = _mm256_shuffle_ps(a, c, 0x44);
    r[4 * q + 1] = _mm256_shuffle_ps(a, c, 0xee);
    r[4 * q + 2] = _mm256_shuffle_ps(b, d, 0x44);
    r[4 * q + 3] = _mm256_shuffle_ps(b, d, 0xee);
  }
#undef QUAD
}
static inline __attribute__((always_inline)) void transpose_f64(__m256d* r) {
  const __m256d a = _mm256_unpacklo_pd(r[0], r[1]), b = _mm256_unpackhi_pd(r[0], r[1]);
  const __m256d c = _mm256_unpacklo_pd(r[2], r[3]), d = _mm256_unpackhi_pd(r[2], r[3]);
  r[0] = _mm256_permute2f128_pd(a, c, 0x20);
  r[1] = _mm256_permute2f128_pd(b, d, 0x20);
  r[2] = _mm256_permute2f128_pd(a, c, 0x31);
  r[3] = _mm256_permute2f128_pd(b, d, 0x31);
}
static const int32_t mask32[16] = {-1, -1, -1, -1, -1, -1, -1, -1, 0, 0, 0, 0, 0, 0, 0, 0};
static const int64_t mask64[8] = {-1, -1, -1, -1, 0, 0, 0, 0};
static inline __m256i first32(int64_t n) {
  return _mm256_loadu_si256((const __m256i*)(const void*)(mask32 + 8 - n));
}
static inline __m256i first64(int64_t n) {
  return _mm256_loadu_si256((const __m256i*)(const void*)(mask64 + 4 - n));
}
// Plain stores: masked ones are slow on some CPUs.
static inline void store_part_f32(float* p, int64_t n, __m256 v) {
  __m128 x = _mm256_castps256_ps128(v);
  if (n == 8) {
    _mm256_storeu_ps(p, v);
    return;
  }
  if (n >= 4) {
    _mm_storeu_ps(p, x);
    x = _mm256_extractf128_ps(v, 1);
    p += 4;
    n -= 4;
  }
  if (n >= 2) {
    _mm_storel_pi((__m64*)(void*)p, x);
    x = _mm_movehl_ps(x, x);
    p += 2;
    n -= 2;
  }
  if (n) _mm_store_ss(p, x);
}
static inline void store_part_f64(double* p, int64_t n, __m256d v) {
  __m128d x = _mm256_castpd256_pd128(v);
  if (n == 4) {
    _mm256_storeu_pd(p, v);
    return;
  }
  if (n >= 2) {
    _mm_storeu_pd(p, x);
    x = _mm256_extractf128_pd(v, 1);
    p += 2;
    n -= 2;
  }
  if (n) _mm_store_sd(p, x);
}

// ---- f32 -----------------------------------------------------------------------------------------
#define T float
#define V __m256
#define W 8
#define NAME(x) f32_##x
#define V_ZERO() _mm256_setzero_ps()
#define V_LOAD(p) _mm256_loadu_ps(p)
#define V_STORE(p, v) _mm256_storeu_ps(p, v)
#define V_LOAD_PART(p, n) _mm256_maskload_ps(p, first32(n))
#define V_STORE_PART(p, n, v) store_part_f32(p, n, v)
#define V_SET1(x) _mm256_set1_ps(x)
#define V_FMA(x, y, z) _mm256_fmadd_ps(x, y, z)
#define V_ADD(x, y) _mm256_add_ps(x, y)
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

static inline __m128i load16(const uint16_t* p) { return _mm_loadu_si128((const __m128i*)(const void*)p); }
static inline __m128i load16_part(const uint16_t* p, int64_t n) {
  uint16_t x[8] = {0};
  memcpy(x, p, (size_t)n * 2);
  return load16(x);
}
static inline __m256 widen_bf16(__m128i x) {
  return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(x), 16));
}
static inline float bf16_get(const uint16_t* p) {
  const uint32_t bits = (uint32_t)*p << 16;
  float x;
  memcpy(&x, &bits, 4);
  return x;
}
static inline __m256 bf16_even(__m256 x) { return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_castps_si256(x), 16)); }
static inline __m256 bf16_odd(__m256 x) {
  return _mm256_castsi256_ps(_mm256_and_si256(_mm256_castps_si256(x), _mm256_set1_epi32(-65536)));
}
#define S uint16_t
#define SOURCE(x) f32_from_bf16_##x
// Pairs of bf16 are transposed as 32 bits: half the shuffles. Even k are the low halves, odd k the high ones.
#define COLUMN_PLACES 2
#define COLUMN_VECTORS 8
#define COLUMN_LOAD(r, at) load_transposed(r, at, ls * 2);
#define COLUMN_K 2
#define COLUMN_EXTRACT(v, i) ((i) == 0 ? bf16_even(v) : bf16_odd(v))
#define S_LOAD(p) widen_bf16(load16(p))
#define S_LOAD_PART(p, n) widen_bf16(load16_part(p, n))
#define S_GET(p) bf16_get(p)
#include "kernels/gemm_source_impl.h"
#undef SOURCE
#undef S_LOAD
#undef S_LOAD_PART
#undef S_GET

#define SOURCE(x) f32_from_f16_##x
#define S_LOAD(p) _mm256_cvtph_ps(load16(p))
#define S_LOAD_PART(p, n) _mm256_cvtph_ps(load16_part(p, n))
#define S_GET(p) _cvtsh_ss(*(p))
#include "kernels/gemm_source_impl.h"
#undef S
#undef SOURCE
#undef S_LOAD
#undef S_LOAD_PART
#undef S_GET
static inline __m128i load8(const void* p) { return _mm_loadl_epi64((const __m128i*)p); }
static inline __m128i load8_part(const void* p, int64_t n) {
  uint8_t x[8] = {0};
  memcpy(x, p, (size_t)n);
  return load8(x);
}
static inline __m256 widen_s8(__m128i x) { return _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(x)); }
static inline __m256 widen_u8(__m128i x) { return _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(x)); }
#define S int8_t
#define SOURCE(x) f32_from_s8_##x
#define S_LOAD(p) widen_s8(load8(p))
#define S_LOAD_PART(p, n) widen_s8(load8_part(p, n))
#define S_GET(p) ((float)*(p))
#include "kernels/gemm_source_impl.h"
#undef S
#undef SOURCE
#undef S_LOAD
#undef S_LOAD_PART

#define S uint8_t
#define SOURCE(x) f32_from_u8_##x
#define S_LOAD(p) widen_u8(load8(p))
#define S_LOAD_PART(p, n) widen_u8(load8_part(p, n))
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
#define V __m256d
#define W 4
#define NAME(x) f64_##x
#define V_ZERO() _mm256_setzero_pd()
#define V_LOAD(p) _mm256_loadu_pd(p)
#define V_STORE(p, v) _mm256_storeu_pd(p, v)
#define V_LOAD_PART(p, n) _mm256_maskload_pd(p, first64(n))
#define V_STORE_PART(p, n, v) store_part_f64(p, n, v)
#define V_SET1(x) _mm256_set1_pd(x)
#define V_FMA(x, y, z) _mm256_fmadd_pd(x, y, z)
#define V_ADD(x, y) _mm256_add_pd(x, y)
#define V_TRANSPOSE(r) transpose_f64(r)
#include "kernels/gemm_kernel_impl.h"

#define S double
#define SOURCE(x) f64_from_f64_##x
#define S_LOAD(p) V_LOAD(p)
#define S_LOAD_PART(p, n) V_LOAD_PART(p, n)
#define S_GET(p) (*(p))
#include "kernels/gemm_source_impl.h"

const tt_gemm_isa_t tt_gemm_isa__avx2 = {
    .f32 = {MR, 16, f32_run, f32_run_strided},
    .f64 = {MR, 8, f64_run, f64_run_strided},
    .from_f32 = {f32_from_f32_pack, f32_from_f32_few_rows, f32_from_f32_few_columns},
    .from_f64 = {f64_from_f64_pack, f64_from_f64_few_rows, f64_from_f64_few_columns},
    .from_bf16 = {f32_from_bf16_pack, f32_from_bf16_few_rows, f32_from_bf16_few_columns},
    .from_f16 = {f32_from_f16_pack, f32_from_f16_few_rows, f32_from_f16_few_columns},
    .from_s8 = {f32_from_s8_pack, f32_from_s8_few_rows, f32_from_s8_few_columns},
    .from_u8 = {f32_from_u8_pack, f32_from_u8_few_rows, f32_from_u8_few_columns},
};
