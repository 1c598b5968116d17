// The vector vocabulary of math_impl.h on AVX2 + FMA: 4 doubles (vd, vl), 8 floats (vf, vi).
// Masks are vectors of all-ones lanes.
#include <immintrin.h>
#include <stdint.h>

typedef double vd __attribute__((vector_size(32)));
typedef int64_t vl __attribute__((vector_size(32)));
typedef uint64_t vu __attribute__((vector_size(32)));
typedef float vf __attribute__((vector_size(32)));
typedef int32_t vi __attribute__((vector_size(32)));
typedef vd md;
typedef vf mf;
enum { kD = 4, kF = 8 };
#define TT_VI static inline __attribute__((always_inline))

TT_VI vd d_set(double v) { return (vd)_mm256_set1_pd(v); }
TT_VI vd d_load(const double* p) { return (vd)_mm256_loadu_pd(p); }
TT_VI void d_store(double* p, vd v) { _mm256_storeu_pd(p, (__m256d)v); }
TT_VI vd d_fma(vd a, vd b, vd c) { return (vd)_mm256_fmadd_pd((__m256d)a, (__m256d)b, (__m256d)c); }
TT_VI vd d_fnma(vd a, vd b, vd c) { return (vd)_mm256_fnmadd_pd((__m256d)a, (__m256d)b, (__m256d)c); }
TT_VI vd d_sqrt(vd a) { return (vd)_mm256_sqrt_pd((__m256d)a); }
TT_VI vd d_rint(vd a) { return (vd)_mm256_round_pd((__m256d)a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC); }
TT_VI vd d_trunc(vd a) { return (vd)_mm256_round_pd((__m256d)a, _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC); }
TT_VI vd d_max(vd a, vd b) { return (vd)_mm256_max_pd((__m256d)b, (__m256d)a); }   // NaN of a stays
TT_VI vd d_min(vd a, vd b) { return (vd)_mm256_min_pd((__m256d)b, (__m256d)a); }
TT_VI md d_lt(vd a, vd b) { return (md)_mm256_cmp_pd((__m256d)a, (__m256d)b, _CMP_LT_OQ); }
TT_VI md d_le(vd a, vd b) { return (md)_mm256_cmp_pd((__m256d)a, (__m256d)b, _CMP_LE_OQ); }
TT_VI md d_eq(vd a, vd b) { return (md)_mm256_cmp_pd((__m256d)a, (__m256d)b, _CMP_EQ_OQ); }
TT_VI md d_nan(vd a, vd b) { return (md)_mm256_cmp_pd((__m256d)a, (__m256d)b, _CMP_UNORD_Q); }
// As assembly: of the intrinsic GCC 12 makes a comparison of the mask with 0 and a blend by that.
TT_VI vd d_sel(md m, vd a, vd b) {
  vd r;
  __asm__("vblendvpd %3, %2, %1, %0" : "=x"(r) : "x"(b), "xm"(a), "x"(m));
  return r;
}
TT_VI md dm_and(md a, md b) { return (md)((vl)a & (vl)b); }
TT_VI md dm_or(md a, md b) { return (md)((vl)a | (vl)b); }
TT_VI md dm_not(md a) { return (md)(~(vl)a); }
TT_VI md dm_xor(md a, md b) { return (md)((vl)a ^ (vl)b); }
TT_VI int dm_bits(md m) { return _mm256_movemask_pd((__m256d)m); }
TT_VI md l_bit(vl a, int64_t bit) { return (md)((a & bit) != 0); }
// a * 2^n for integral |n| < 2100, in two steps so that a denormal result is rounded once
TT_VI vd d_scale(vd a, vd n) {
  vd half = d_rint(n * 0.5);
  vl magic = (vl)(half + 0x1.8p52), rest = (vl)((n - half) + 0x1.8p52);
  vd s1 = (vd)((magic + 1023) << 52), s2 = (vd)((rest + 1023) << 52);
  return a * s1 * s2;
}
// a * 2^n where a and the result are normal; not for NaN
TT_VI vd d_scale_normal(vd a, vd n) { return (vd)((vl)a + ((vl)(n + 0x1.8p52) << 52)); }
// products of the low halves
TT_VI vl l_product(vl a, vl b) { return (vl)_mm256_mul_epu32((__m256i)a, (__m256i)b); }
// table[i mod 16]
TT_VI vd d_table(const double* table, vl i) { return (vd)_mm256_i64gather_pd(table, (__m256i)(i & 15), 8); }
TT_VI vf f_set(float v) { return (vf)_mm256_set1_ps(v); }
TT_VI vf f_load(const float* p) { return (vf)_mm256_loadu_ps(p); }
TT_VI void f_store(float* p, vf v) { _mm256_storeu_ps(p, (__m256)v); }
TT_VI vf f_fma(vf a, vf b, vf c) { return (vf)_mm256_fmadd_ps((__m256)a, (__m256)b, (__m256)c); }
TT_VI vf f_fnma(vf a, vf b, vf c) { return (vf)_mm256_fnmadd_ps((__m256)a, (__m256)b, (__m256)c); }
TT_VI vf f_sqrt(vf a) { return (vf)_mm256_sqrt_ps((__m256)a); }
TT_VI vf f_rint(vf a) { return (vf)_mm256_round_ps((__m256)a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC); }
TT_VI vf f_trunc(vf a) { return (vf)_mm256_round_ps((__m256)a, _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC); }
TT_VI mf f_lt(vf a, vf b) { return (mf)_mm256_cmp_ps((__m256)a, (__m256)b, _CMP_LT_OQ); }
TT_VI mf f_le(vf a, vf b) { return (mf)_mm256_cmp_ps((__m256)a, (__m256)b, _CMP_LE_OQ); }
TT_VI mf f_eq(vf a, vf b) { return (mf)_mm256_cmp_ps((__m256)a, (__m256)b, _CMP_EQ_OQ); }
TT_VI mf f_nan(vf a, vf b) { return (mf)_mm256_cmp_ps((__m256)a, (__m256)b, _CMP_UNORD_Q); }
TT_VI vf f_sel(mf m, vf a, vf b) {
  vf r;
  __asm__("vblendvps %3, %2, %1, %0" : "=x"(r) : "x"(b), "xm"(a), "x"(m));
  return r;
}
TT_VI mf fm_and(mf a, mf b) { return (mf)((vi)a & (vi)b); }
TT_VI mf fm_or(mf a, mf b) { return (mf)((vi)a | (vi)b); }
TT_VI mf fm_not(mf a) { return (mf)(~(vi)a); }
TT_VI mf fm_xor(mf a, mf b) { return (mf)((vi)a ^ (vi)b); }
TT_VI int fm_bits(mf m) { return _mm256_movemask_ps((__m256)m); }
TT_VI vf f_max(vf a, vf b) { return (vf)_mm256_max_ps((__m256)a, (__m256)b); }
TT_VI vf f_min(vf a, vf b) { return (vf)_mm256_min_ps((__m256)a, (__m256)b); }
TT_VI mf i_bit(vi a, int32_t bit) { return (mf)((a & bit) != 0); }
TT_VI vf f_from_i(vi a) { return (vf)_mm256_cvtepi32_ps((__m256i)a); }
TT_VI vi i_from_f(vf a) { return (vi)_mm256_cvtps_epi32((__m256)a); }
TT_VI vf f_scale(vf a, vf n) {
  vi k = i_from_f(n), half = k >> 1;
  return a * (vf)((half + 127) << 23) * (vf)((k - half + 127) << 23);
}
// a * 2^floor(n)
TT_VI vf f_scale_floor(vf a, vf n) { return f_scale(a, (vf)_mm256_floor_ps((__m256)n)); }
// a * 2^n where a and the result are normal; not for NaN
TT_VI vf f_scale_normal(vf a, vf n) { return (vf)((vi)a + (i_from_f(n) << 23)); }
// table[i mod 16]
TT_VI vf f_table(const float* table, vi i) {
  vf low = (vf)_mm256_permutevar8x32_ps(_mm256_loadu_ps(table), (__m256i)i);
  vf high = (vf)_mm256_permutevar8x32_ps(_mm256_loadu_ps(table + 8), (__m256i)i);
  return f_sel((mf)(i << 28), high, low);
}
TT_VI void f_widen(vf x, vd* low, vd* high) {
  *low = (vd)_mm256_cvtps_pd(_mm256_castps256_ps128((__m256)x));
  *high = (vd)_mm256_cvtps_pd(_mm256_extractf128_ps((__m256)x, 1));
}
TT_VI vf f_narrow(vd low, vd high) {
  return (vf)_mm256_set_m128(_mm256_cvtpd_ps((__m256d)high), _mm256_cvtpd_ps((__m256d)low));
}
