// Conversions between PRED, the 8..64-bit integers, f16, bf16, f32 and f64, for one ISA: included by
// convert_<isa>.c, which defines TT_ISA and the f16 block conversions.
#include "kernels/convert_scalar.h"
#include "kernels/elementwise_isa.h"

// false alarms: only the m lanes that were loaded are read, but vector loops are judged by whole vectors
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"

#define TT_K2_(name, isa) name##__##isa
#define TT_K1_(name, isa) TT_K2_(name, isa)
#define TT_K(name) TT_K1_(name, TT_ISA)
#define TT_LANES(i, n) _Pragma("GCC ivdep") for (size_t i = 0; i < (n); ++i)

enum { kBlock = 256 };

void TT_K(tt_k_widen_bf16)(float* out, const uint16_t* x, size_t n) {
  uint32_t* o = (uint32_t*)(void*)out;
  TT_LANES(i, n) o[i] = (uint32_t)x[i] << 16;
}
void TT_K(tt_k_narrow_bf16)(uint16_t* out, const float* x, size_t n) {
  TT_LANES(i, n) out[i] = tt_bf16_from_f32(x[i]);
}

// Lists of the plain C types: FROM types as rows, TO types as columns (a macro cannot expand itself).
#define TT_TO_INT(X, D, F) X(D, F, S8, int8_t, INT8_MIN, INT8_MAX) X(D, F, S16, int16_t, INT16_MIN, INT16_MAX) \
  X(D, F, S32, int32_t, INT32_MIN, INT32_MAX) X(D, F, S64, int64_t, INT64_MIN, INT64_MAX)                    \
  X(D, F, U8, uint8_t, 0, UINT8_MAX) X(D, F, U16, uint16_t, 0, UINT16_MAX)                                   \
  X(D, F, U32, uint32_t, 0, UINT32_MAX) X(D, F, U64, uint64_t, 0, UINT64_MAX)
#define TT_TO_FLOAT(X, D, F) X(D, F, F32, float, 0, 0) X(D, F, F64, double, 0, 0)
#define TT_FROM_INT(X) X(PRED, uint8_t) X(S8, int8_t) X(S16, int16_t) X(S32, int32_t) X(S64, int64_t) \
  X(U8, uint8_t) X(U16, uint16_t) X(U32, uint32_t) X(U64, uint64_t)
#define TT_FROM_FLOAT(X) X(F32, float) X(F64, double)

#define TT_CAST_FN(D, F, D2, T, LO, HI)                                         \
  static void TT_K(cv_##D##_##D2)(void* out, const void* xs, size_t n) {        \
    T* o = out; const F* x = xs;                                                \
    TT_LANES(i, n) o[i] = (T)x[i];                                              \
  }
// NaN -> 0. HI + 1 is a power of two, so both limits are exact in F.
#define TT_SATURATE_FN(D, F, D2, T, LO, HI)                                     \
  static void TT_K(cv_##D##_##D2)(void* out, const void* xs, size_t n) {        \
    T* o = out; const F* px = xs;                                               \
    const F low = (F)(LO), end = (F)2 * (F)((HI) / 2 + 1);                      \
    TT_LANES(i, n) {                                                            \
      const F x = px[i];                                                        \
      o[i] = x >= end ? (T)(HI) : x >= low ? (T)x : x < low ? (T)(LO) : (T)0;   \
    }                                                                           \
  }
#define TT_PRED_FN(D, F)                                                        \
  static void TT_K(cv_##D##_PRED)(void* out, const void* xs, size_t n) {        \
    uint8_t* o = out; const F* x = xs;                                          \
    TT_LANES(i, n) o[i] = (uint8_t)(x[i] != 0);                                 \
  }
#define TT_INT_ROW(D, F) TT_TO_INT(TT_CAST_FN, D, F) TT_TO_FLOAT(TT_CAST_FN, D, F) TT_PRED_FN(D, F)
#define TT_FLOAT_ROW(D, F) TT_TO_INT(TT_SATURATE_FN, D, F) TT_TO_FLOAT(TT_CAST_FN, D, F) TT_PRED_FN(D, F)
TT_FROM_INT(TT_INT_ROW)
TT_FROM_FLOAT(TT_FLOAT_ROW)

static void TT_K(odd_F64_F32)(void* out, const void* xs, size_t n) {
  float* o = out;
  const double* x = xs;
  TT_LANES(i, n) o[i] = tt_f32_odd_from_f64(x[i]);
}

// Half types: through a block of f32. f64 goes there rounded to odd, so it is rounded once in effect.
#define TT_HALF_FROM_FN(H, h, D2, T)                                            \
  static void TT_K(cv_##H##_##D2)(void* out, const void* xs, size_t n) {        \
    T* o = out; const uint16_t* x = xs; float block[kBlock];                    \
    for (size_t i = 0; i < n; i += kBlock) {                                    \
      size_t m = TT_MIN(n - i, (size_t)kBlock);                                 \
      TT_K(tt_k_widen_##h)(block, x + i, m);                                    \
      TT_K(cv_F32_##D2)(o + i, block, m);                                       \
    }                                                                           \
  }
#define TT_HALF_TO_FN(H, h, D, F, MIDDLE)                                       \
  static void TT_K(cv_##D##_##H)(void* out, const void* xs, size_t n) {         \
    uint16_t* o = out; const F* x = xs; float block[kBlock];                    \
    for (size_t i = 0; i < n; i += kBlock) {                                    \
      size_t m = TT_MIN(n - i, (size_t)kBlock);                                 \
      TT_K(MIDDLE)(block, x + i, m);                                            \
      TT_K(tt_k_narrow_##h)(o + i, block, m);                                   \
    }                                                                           \
  }
#define TT_HALF_FNS(H, h)                                                                     \
  TT_HALF_FROM_FN(H, h, PRED, uint8_t) TT_HALF_FROM_FN(H, h, S8, int8_t) TT_HALF_FROM_FN(H, h, S16, int16_t)   \
  TT_HALF_FROM_FN(H, h, S32, int32_t) TT_HALF_FROM_FN(H, h, S64, int64_t) TT_HALF_FROM_FN(H, h, U8, uint8_t)   \
  TT_HALF_FROM_FN(H, h, U16, uint16_t) TT_HALF_FROM_FN(H, h, U32, uint32_t) TT_HALF_FROM_FN(H, h, U64, uint64_t) \
  TT_HALF_FROM_FN(H, h, F64, double)                                                          \
  TT_HALF_TO_FN(H, h, PRED, uint8_t, cv_PRED_F32) TT_HALF_TO_FN(H, h, S8, int8_t, cv_S8_F32)  \
  TT_HALF_TO_FN(H, h, S16, int16_t, cv_S16_F32) TT_HALF_TO_FN(H, h, S32, int32_t, cv_S32_F32) \
  TT_HALF_TO_FN(H, h, S64, int64_t, cv_S64_F32) TT_HALF_TO_FN(H, h, U8, uint8_t, cv_U8_F32)   \
  TT_HALF_TO_FN(H, h, U16, uint16_t, cv_U16_F32) TT_HALF_TO_FN(H, h, U32, uint32_t, cv_U32_F32) \
  TT_HALF_TO_FN(H, h, U64, uint64_t, cv_U64_F32) TT_HALF_TO_FN(H, h, F64, double, odd_F64_F32) \
  static void TT_K(cv_##H##_F32)(void* out, const void* x, size_t n) { TT_K(tt_k_widen_##h)(out, x, n); } \
  static void TT_K(cv_F32_##H)(void* out, const void* x, size_t n) { TT_K(tt_k_narrow_##h)(out, x, n); }
TT_HALF_FNS(BF16, bf16)
TT_HALF_FNS(F16, f16)
TT_HALF_FROM_FN(BF16, bf16, F16, uint16_t)
TT_HALF_FROM_FN(F16, f16, BF16, uint16_t)
static void TT_K(cv_BF16_BF16)(void* out, const void* x, size_t n) { memmove(out, x, 2 * n); }
static void TT_K(cv_F16_F16)(void* out, const void* x, size_t n) { memmove(out, x, 2 * n); }

#define TT_CV_CASE(D, D2) case TT_DTYPE_##D2: return TT_K(cv_##D##_##D2);
#define TT_CV_ROW(D) case TT_DTYPE_##D: switch (to) {                           \
    TT_CV_CASE(D, PRED) TT_CV_CASE(D, S8) TT_CV_CASE(D, S16) TT_CV_CASE(D, S32) TT_CV_CASE(D, S64) \
    TT_CV_CASE(D, U8) TT_CV_CASE(D, U16) TT_CV_CASE(D, U32) TT_CV_CASE(D, U64)  \
    TT_CV_CASE(D, F16) TT_CV_CASE(D, BF16) TT_CV_CASE(D, F32) TT_CV_CASE(D, F64) \
    default: return NULL; }
tt_k_unary_fn_t TT_K(tt_k_convert)(tt_dtype_t from, tt_dtype_t to) {
  switch (from) {
    TT_CV_ROW(PRED) TT_CV_ROW(S8) TT_CV_ROW(S16) TT_CV_ROW(S32) TT_CV_ROW(S64)
    TT_CV_ROW(U8) TT_CV_ROW(U16) TT_CV_ROW(U32) TT_CV_ROW(U64)
    TT_CV_ROW(F16) TT_CV_ROW(BF16) TT_CV_ROW(F32) TT_CV_ROW(F64)
    default: return NULL;
  }
}
