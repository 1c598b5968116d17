// The vector vocabulary of math_impl.h on AVX-512 (F, DQ): 8 doubles (vd, vl), 16 floats (vf, vi).
// Masks are mask registers.
#include <immintrin.h>
#include <stdint.h>

typedef double vd __attribute__((vector_size(64)));
typedef int64_t vl __attribute__((vector_size(64)));
typedef uint64_t vu __attribute__((vector_size(64)));
typedef float vf __attribute__((vector_size(64)));
typedef int32_t vi __attribute__((vector_size(64)));
typedef __mmask8 md;
typedef __mmask16 mf;
enum { kD = 8, kF = 16 };
#define TT_VI static inline __attribute__((always_inline))

TT_VI vd d_set(double v) { return (vd)_mm512_set1_pd(v); }
TT_VI vd d_load(const double* p) { return (vd)_mm512_loadu_pd(p); }
TT_VI void d_store(double* p, vd v) { _mm512_storeu_pd(p, (__m512d)v); }
TT_VI vd d_fma(vd a, vd b, vd c) { return (vd)_mm512_fmadd_pd((__m512d)a, (__m512d)b, (__m512d)c); }
TT_VI vd d_fnma(vd a, vd b, vd c) { return (vd)_mm512_fnmadd_pd((__m512d)a, (__m512d)b, (__m512d)c); }
TT_VI vd d_sqrt(vd a) { return (vd)_mm512_sqrt_pd((__m512d)a); }
TT_VI vd d_rint(vd a) { return (vd)_mm512_roundscale_pd((__m512d)a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC); }
TT_VI vd d_trunc(vd a) { return (vd)_mm512_roundscale_pd((__m512d)a, _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC); }
TT_VI vd d_max(vd a, vd b) { return (vd)_mm512_max_pd((__m512d)b, (__m512d)a); }   // NaN of a stays
TT_VI vd d_min(vd a, vd b) { return (vd)_mm512_min_pd((__m512d)b, (__m512d)a); }
TT_VI md d_lt(vd a, vd b) { return _mm512_cmp_pd_mask((__m512d)a, (__m512d)b, _CMP_LT_OQ); }
TT_VI md d_le(vd a, vd b) { return _mm512_cmp_pd_mask((__m512d)a, (__m512d)b, _CMP_LE_OQ); }
TT_VI md d_eq(vd a, vd b) { return _mm512_cmp_pd_mask((__m512d)a, (__m512d)b, _CMP_EQ_OQ); }
TT_VI md d_nan(vd a, vd b) { return _mm512_cmp_pd_mask((__m512d)a, (__m512d)b, _CMP_UNORD_Q); }
TT_VI vd d_sel(md m, vd a, vd b) { return (vd)_mm512_mask_blend_pd(m, (__m512d)b, (__m512d)a); }
TT_VI md dm_and(md a, md b) { return (md)(a & b); }
TT_VI md dm_or(md a, md b) { return (md)(a | b); }
TT_VI md dm_not(md a) { return (md)~a; }
TT_VI md dm_xor(md a, md b) { return (md)(a ^ b); }
TT_VI int dm_bits(md m) { return m; }
TT_VI md l_bit(vl a, int64_t bit) { return _mm512_test_epi64_mask((__m512i)a, _mm512_set1_epi64(bit)); }
TT_VI vd d_scale(vd a, vd n) { return (vd)_mm512_scalef_pd((__m512d)a, (__m512d)n); }
TT_VI vd d_scale_normal(vd a, vd n) { return d_scale(a, n); }
TT_VI vl l_product(vl a, vl b) { return (vl)_mm512_mul_epu32((__m512i)a, (__m512i)b); }
// table[i mod 16]
TT_VI vd d_table(const double* table, vl i) {
  return (vd)_mm512_permutex2var_pd(_mm512_loadu_pd(table), (__m512i)i, _mm512_loadu_pd(table + 8));
}
TT_VI vf f_set(float v) { return (vf)_mm512_set1_ps(v); }
TT_VI vf f_load(const float* p) { return (vf)_mm512_loadu_ps(p); }
TT_VI void f_store(float* p, vf v) { _mm512_storeu_ps(p, (__m512)v); }
TT_VI vf f_fma(vf a, vf b, vf c) { return (vf)_mm512_fmadd_ps((__m512)a, (__m512)b, (__m512)c); }
TT_VI vf f_fnma(vf a, vf b, vf c) { return (vf)_mm512_fnmadd_ps((__m512)a, (__m512)b, (__m512)c); }
TT_VI vf f_sqrt(vf a) { return (vf)_mm512_sqrt_ps((__m512)a); }
TT_VI vf f_rint(vf a) { return (vf)_mm512_roundscale_ps((__m512)a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC); }
TT_VI vf f_trunc(vf a) { return (vf)_mm512_roundscale_ps((__m512)a, _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC); }
TT_VI mf f_lt(vf a, vf b) { return _mm512_cmp_ps_mask((__m512)a, (__m512)b, _CMP_LT_OQ); }
TT_VI mf f_le(vf a, vf b) { return _mm512_cmp_ps_mask((__m512)a, (__m512)b, _CMP_LE_OQ); }
TT_VI mf f_eq(vf a, vf b) { return _mm512_cmp_ps_mask((__m512)a, (__m512)b, _CMP_EQ_OQ); }
TT_VI mf f_nan(vf a, vf b) { return _mm512_cmp_ps_mask((__m512)a, (__m512)b, _CMP_UNORD_Q); }
TT_VI vf f_sel(mf m, vf a, vf b) { return (vf)_mm512_mask_blend_ps(m, (__m512)b, (__m512)a); }
TT_VI mf fm_and(mf a, mf b) { return (mf)(a & b); }
TT_VI mf fm_or(mf a, mf b) { return (mf)(a | b); }
TT_VI mf fm_not(mf a) { return (mf)~a; }
TT_VI mf fm_xor(mf a, mf b) { return (mf)(a ^ b); }
TT_VI int fm_bits(mf m) { return m; }
TT_VI vf f_max(vf a, vf b) { return (vf)_mm512_max_ps((__m512)a, (__m512)b); }
TT_VI vf f_min(vf a, vf b) { return (vf)_mm512_min_ps((__m512)a, (__m512)b); }
TT_VI mf i_bit(vi a, int32_t bit) { return _mm512_test_epi32_mask((__m512i)a, _mm512_set1_epi32(bit)); }
TT_VI vf f_from_i(vi a) { return (vf)_mm512_cvtepi32_ps((__m512i)a); }
TT_VI vi i_from_f(vf a) { return (vi)_mm512_cvtps_epi32((__m512)a); }
TT_VI vf f_scale(vf a, vf n) { return (vf)_mm512_scalef_ps((__m512)a, (__m512)n); }
TT_VI vf f_scale_floor(vf a, vf n) { return f_scale(a, n); }   // a * 2^floor(n)
TT_VI vf f_scale_normal(vf a, vf n) { return f_scale(a, n); }
// table[i mod 16]
TT_VI vf f_table(const float* table, vi i) {
  return (vf)_mm512_permutexvar_ps((__m512i)i, _mm512_loadu_ps(table));
}
TT_VI void f_widen(vf x, vd* low, vd* high) {
  *low = (vd)_mm512_cvtps_pd(_mm512_castps512_ps256((__m512)x));
  *high = (vd)_mm512_cvtps_pd(_mm512_extractf32x8_ps((__m512)x, 1));
}
TT_VI vf f_narrow(vd low, vd high) {
  return (vf)_mm512_insertf32x8(_mm512_castps256_ps512(_mm512_cvtpd_ps((__m512d)low)), _mm512_cvtpd_ps((__m512d)high), 1);
}
