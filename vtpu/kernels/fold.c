// Choice of the reductions by ISA; complex, f8*, f4 and sub-byte integers stand here once.
#include "kernels/convert_scalar.h"
#include "kernels/elementwise_isa.h"

// Real and imaginary parts are independent sums, folded over a block of 256 pairs at a time.
#define TT_COMPLEX_FOLD(D, T, SCALAR)                                                     \
  static void fold_##D##_ADD(void* acc, const void* xs, size_t n) {                       \
    const T* x = xs; T* a = acc; T re[256], im[256];                                      \
    tt_k_fold_fn_t sum = tt_k_fold(TT_OP_ADD, TT_DTYPE_##SCALAR);                         \
    for (size_t i = 0; i < n; i += 256) {                                                 \
      size_t m = TT_MIN(n - i, (size_t)256);                                              \
      for (size_t j = 0; j < m; ++j) re[j] = x[2 * (i + j)], im[j] = x[2 * (i + j) + 1];  \
      sum(&a[0], re, m);                                                                  \
      sum(&a[1], im, m);                                                                  \
    }                                                                                     \
  }                                                                                       \
  static void fold_##D##_MULTIPLY(void* acc, const void* xs, size_t n) {                  \
    const T* x = xs; T* a = acc;                                                          \
    for (size_t i = 0; i < n; ++i) {                                                      \
      T re = a[0] * x[2 * i] - a[1] * x[2 * i + 1], im = a[0] * x[2 * i + 1] + a[1] * x[2 * i]; \
      a[0] = re; a[1] = im;                                                               \
    }                                                                                     \
  }
TT_COMPLEX_FOLD(C64, float, F32)
TT_COMPLEX_FOLD(C128, double, F64)

// f8*, f4: f32 between blocks, one rounding at the end of the call.
static void tt_small_fold(tt_dtype_t dtype, tt_op_kind_t kind, void* acc, const void* x, size_t n) {
  tt_k_fold_fn_t fold = tt_k_fold(kind, TT_DTYPE_F32);
  tt_k_unary_fn_t widen = tt_k_convert_small(dtype, TT_DTYPE_F32);
  float start, block[256];
  widen(&start, acc, 1);
  for (size_t i = 0; i < n; i += 256) {
    size_t m = TT_MIN(n - i, (size_t)256);
    widen(block, (const uint8_t*)x + i, m);
    fold(&start, block, m);
  }
  tt_k_convert_small(TT_DTYPE_F32, dtype)(acc, &start, 1);
}
static void tt_sub_fold(tt_dtype_t dtype, tt_op_kind_t kind, void* acc, const void* x, size_t n) {
  bool is_signed = tt_dtype_is_signed_int(dtype);
  tt_k_fold(kind, is_signed ? TT_DTYPE_S8 : TT_DTYPE_U8)(acc, x, n);
  int drop = dtype == TT_DTYPE_S4 || dtype == TT_DTYPE_U4 ? 4 : 6;
  uint8_t v = (uint8_t)(*(uint8_t*)acc << drop);
  *(uint8_t*)acc = is_signed ? (uint8_t)((int8_t)v >> drop) : (uint8_t)(v >> drop);
}

#define TT_SMALL_FOLDS(X) X(F8E5M2) X(F8E4M3FN) X(F8E4M3B11FNUZ) X(F8E5M2FNUZ) X(F8E4M3FNUZ) X(F8E4M3) X(F8E3M4) \
  X(F8E8M0FNU) X(F4E2M1FN)
#define TT_FN(D, OP, IMPL) static void fold_##D##_##OP(void* acc, const void* x, size_t n) { IMPL(TT_DTYPE_##D, TT_OP_##OP, acc, x, n); }
#define TT_SMALL_FNS(D) TT_FN(D, ADD, tt_small_fold) TT_FN(D, MULTIPLY, tt_small_fold) TT_FN(D, MAXIMUM, tt_small_fold) \
  TT_FN(D, MINIMUM, tt_small_fold)
TT_SMALL_FOLDS(TT_SMALL_FNS)
#define TT_SUB_FNS(D) TT_FN(D, ADD, tt_sub_fold) TT_FN(D, MULTIPLY, tt_sub_fold) TT_FN(D, MAXIMUM, tt_sub_fold) \
  TT_FN(D, MINIMUM, tt_sub_fold) TT_FN(D, AND, tt_sub_fold) TT_FN(D, OR, tt_sub_fold) TT_FN(D, XOR, tt_sub_fold)
TT_SUB_FNS(S4) TT_SUB_FNS(U4) TT_SUB_FNS(S2) TT_SUB_FNS(U2)

static tt_k_fold_fn_t tt_k_fold_other(tt_op_kind_t kind, tt_dtype_t dtype) {
#define TT_CASE(D, OP) case TT_OP_##OP: return fold_##D##_##OP;
#define TT_SMALL_CASES(D) case TT_DTYPE_##D: switch (kind) { TT_CASE(D, ADD) TT_CASE(D, MULTIPLY) TT_CASE(D, MAXIMUM) \
  TT_CASE(D, MINIMUM) default: return NULL; }
#define TT_SUB_CASES(D) case TT_DTYPE_##D: switch (kind) { TT_CASE(D, ADD) TT_CASE(D, MULTIPLY) TT_CASE(D, MAXIMUM) \
  TT_CASE(D, MINIMUM) TT_CASE(D, AND) TT_CASE(D, OR) TT_CASE(D, XOR) default: return NULL; }
  switch (dtype) {
    TT_SMALL_FOLDS(TT_SMALL_CASES)
    TT_SUB_CASES(S4) TT_SUB_CASES(U4) TT_SUB_CASES(S2) TT_SUB_CASES(U2)
    case TT_DTYPE_C64: switch (kind) { TT_CASE(C64, ADD) TT_CASE(C64, MULTIPLY) default: return NULL; }
    case TT_DTYPE_C128: switch (kind) { TT_CASE(C128, ADD) TT_CASE(C128, MULTIPLY) default: return NULL; }
    default: return NULL;
  }
}

tt_k_fold_fn_t tt_k_fold(tt_op_kind_t kind, tt_dtype_t dtype) {
  tt_k_fold_fn_t fn = NULL;
#if defined(__x86_64__)
  if (tt_k_isa() >= TT_ISA_AVX512) fn = tt_k_fold__avx512(kind, dtype);
  else if (tt_k_isa() == TT_ISA_AVX2) fn = tt_k_fold__avx2(kind, dtype);
  else
#endif
    fn = tt_k_fold__generic(kind, dtype);
  return fn ? fn : tt_k_fold_other(kind, dtype);
}
