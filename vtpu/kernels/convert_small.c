// Conversions to and from f8*, f4, i4, i2, ui4, ui2 and complex: through blocks of f64 (or i64 between
// integers), which hold every value of those types; one rounding at the store.
#include "kernels/convert_scalar.h"
#include "kernels/elementwise_isa.h"

enum { kBlock = 256 };

#define TT_SMALL_FLOATS(X) X(F8E5M2) X(F8E4M3FN) X(F8E4M3B11FNUZ) X(F8E5M2FNUZ) X(F8E4M3FNUZ) X(F8E4M3) X(F8E3M4) \
  X(F8E8M0FNU) X(F4E2M1FN)

static int64_t tt_wrap_sub(tt_dtype_t dtype, int64_t v) {
  switch (dtype) {
    case TT_DTYPE_S4: return (int64_t)((uint64_t)v << 60) >> 60;
    case TT_DTYPE_S2: return (int64_t)((uint64_t)v << 62) >> 62;
    case TT_DTYPE_U4: return v & 15;
    default: return v & 3;
  }
}
static bool tt_is_sub(tt_dtype_t d) {
  return d == TT_DTYPE_S4 || d == TT_DTYPE_U4 || d == TT_DTYPE_S2 || d == TT_DTYPE_U2;
}
static bool tt_is_integral(tt_dtype_t d) { return d == TT_DTYPE_PRED || tt_dtype_is_integer(d); }
// i4 and i2 are held sign-extended in a byte; bytes from outside may have any upper bits, so loads wrap.
static tt_dtype_t tt_holder(tt_dtype_t d) {
  if (d == TT_DTYPE_S4 || d == TT_DTYPE_S2) return TT_DTYPE_S8;
  if (d == TT_DTYPE_U4 || d == TT_DTYPE_U2) return TT_DTYPE_U8;
  return d;
}

static void tt_block_load(tt_dtype_t from, const void* x, size_t n, double* re, double* im) {
  switch (from) {
#define TT_LOAD(D) case TT_DTYPE_##D: for (size_t i = 0; i < n; ++i) re[i] = tt_f64_from_small(TT_DTYPE_##D, ((const uint8_t*)x)[i]); break;
    TT_SMALL_FLOATS(TT_LOAD)
    case TT_DTYPE_C64:
      for (size_t i = 0; i < n; ++i) re[i] = ((const float*)x)[2 * i], im[i] = ((const float*)x)[2 * i + 1];
      return;
    case TT_DTYPE_C128:
      for (size_t i = 0; i < n; ++i) re[i] = ((const double*)x)[2 * i], im[i] = ((const double*)x)[2 * i + 1];
      return;
    case TT_DTYPE_S4: case TT_DTYPE_S2: case TT_DTYPE_U4: case TT_DTYPE_U2:
      for (size_t i = 0; i < n; ++i) re[i] = (double)tt_wrap_sub(from, ((const int8_t*)x)[i]);
      break;
    default: tt_k_convert__generic(from, TT_DTYPE_F64)(re, x, n); break;
  }
  for (size_t i = 0; i < n; ++i) im[i] = 0;
}

static void tt_block_store(tt_dtype_t to, void* out, size_t n, double* re, const double* im) {
  uint8_t* o = out;
  switch (to) {
#define TT_STORE(D) case TT_DTYPE_##D: for (size_t i = 0; i < n; ++i) o[i] = tt_small_from_f64(TT_DTYPE_##D, re[i]); return;
    TT_SMALL_FLOATS(TT_STORE)
    case TT_DTYPE_C64:
      for (size_t i = 0; i < n; ++i) ((float*)out)[2 * i] = (float)re[i], ((float*)out)[2 * i + 1] = (float)im[i];
      return;
    case TT_DTYPE_C128:
      for (size_t i = 0; i < n; ++i) ((double*)out)[2 * i] = re[i], ((double*)out)[2 * i + 1] = im[i];
      return;
    case TT_DTYPE_PRED:
      for (size_t i = 0; i < n; ++i) o[i] = re[i] != 0 || im[i] != 0;
      return;
    case TT_DTYPE_S4: case TT_DTYPE_S2: case TT_DTYPE_U4: case TT_DTYPE_U2: {
      double low = to == TT_DTYPE_S4 ? -8 : to == TT_DTYPE_S2 ? -2 : 0;
      double high = to == TT_DTYPE_S4 ? 7 : to == TT_DTYPE_S2 ? 1 : to == TT_DTYPE_U4 ? 15 : 3;
      for (size_t i = 0; i < n; ++i) {
        double v = re[i] < low ? low : re[i] > high ? high : re[i] == re[i] ? re[i] : 0;
        o[i] = (uint8_t)(int8_t)v;
      }
      return;
    }
    default: tt_k_convert__generic(TT_DTYPE_F64, to)(out, re, n); return;
  }
}

// Wide enough for every dtype pair here; loads finish before the stores of the same block, and blocks of a
// wider result are taken from the end, so out == x stays right.
static void tt_convert_run(tt_dtype_t from, tt_dtype_t to, void* out, const void* x, size_t n) {
  size_t from_bytes = tt_dtype_bytes(from), to_bytes = tt_dtype_bytes(to);
  bool integral = tt_is_integral(from) && tt_is_integral(to);
  size_t blocks = (n + kBlock - 1) / kBlock;
  for (size_t k = 0; k < blocks; ++k) {
    size_t b = to_bytes > from_bytes ? blocks - 1 - k : k;
    size_t i = b * kBlock, m = TT_MIN(n - i, (size_t)kBlock);
    const uint8_t* px = (const uint8_t*)x + i * from_bytes;
    uint8_t* po = (uint8_t*)out + i * to_bytes;
    if (integral) {
      int64_t values[kBlock];
      tt_k_convert__generic(tt_holder(from), TT_DTYPE_S64)(values, px, m);
      if (tt_is_sub(from)) {
        for (size_t j = 0; j < m; ++j) values[j] = tt_wrap_sub(from, values[j]);
      }
      if (tt_is_sub(to)) {
        for (size_t j = 0; j < m; ++j) values[j] = tt_wrap_sub(to, values[j]);
      }
      tt_k_convert__generic(TT_DTYPE_S64, tt_holder(to))(po, values, m);
    } else {
      double re[kBlock], im[kBlock];
      tt_block_load(from, px, m, re, im);
      tt_block_store(to, po, m, re, im);
    }
  }
}

// The function type has no room for the dtypes: one thin function a pair.
#define TT_PAIR(F, T) static void cv_##F##_##T(void* out, const void* x, size_t n) { tt_convert_run(TT_DTYPE_##F, TT_DTYPE_##T, out, x, n); }
#define TT_SMALL_TYPES(X, A) X(A, F8E5M2) X(A, F8E4M3FN) X(A, F8E4M3B11FNUZ) X(A, F8E5M2FNUZ) X(A, F8E4M3FNUZ) X(A, F8E4M3) \
  X(A, F8E3M4) X(A, F8E8M0FNU) X(A, F4E2M1FN) X(A, S4) X(A, U4) X(A, S2) X(A, U2) X(A, C64) X(A, C128)
#define TT_PLAIN_TYPES(X, A) X(A, PRED) X(A, S8) X(A, S16) X(A, S32) X(A, S64) X(A, U8) X(A, U16) X(A, U32) X(A, U64) \
  X(A, F16) X(A, BF16) X(A, F32) X(A, F64)
#define TT_ROWS_SMALL(X) X(F8E5M2) X(F8E4M3FN) X(F8E4M3B11FNUZ) X(F8E5M2FNUZ) X(F8E4M3FNUZ) X(F8E4M3) X(F8E3M4) \
  X(F8E8M0FNU) X(F4E2M1FN) X(S4) X(U4) X(S2) X(U2) X(C64) X(C128)
#define TT_ROWS_PLAIN(X) X(PRED) X(S8) X(S16) X(S32) X(S64) X(U8) X(U16) X(U32) X(U64) X(F16) X(BF16) X(F32) X(F64)
#define TT_ROW_SMALL(A) TT_SMALL_TYPES(TT_PAIR, A) TT_PLAIN_TYPES(TT_PAIR, A)
#define TT_ROW_PLAIN(A) TT_SMALL_TYPES(TT_PAIR, A)
TT_ROWS_SMALL(TT_ROW_SMALL)
TT_ROWS_PLAIN(TT_ROW_PLAIN)

#define TT_PAIR_CASE(F, T) case TT_DTYPE_##T: return cv_##F##_##T;
#define TT_CASES_SMALL(A) case TT_DTYPE_##A: switch (to) { TT_SMALL_TYPES(TT_PAIR_CASE, A) TT_PLAIN_TYPES(TT_PAIR_CASE, A) default: return NULL; }
#define TT_CASES_PLAIN(A) case TT_DTYPE_##A: switch (to) { TT_SMALL_TYPES(TT_PAIR_CASE, A) default: return NULL; }
tt_k_unary_fn_t tt_k_convert_small(tt_dtype_t from, tt_dtype_t to) {
  switch (from) {
    TT_ROWS_SMALL(TT_CASES_SMALL)
    TT_ROWS_PLAIN(TT_CASES_PLAIN)
    default: return NULL;
  }
}
