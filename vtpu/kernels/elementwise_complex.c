// complex<f32> and complex<f64>. Functions of complex<f32> are computed in f64 and rounded once; that also
// keeps squares of large parts finite. complex<f64> uses the C library's complex functions.
#include "kernels/elementwise_isa.h"

#include <complex.h>   // last: it makes `complex` a macro

typedef double complex tt_c128_t;

// CMPLX: glibc gives it to GCC alone
static inline tt_c128_t tt_c(double re, double im) { return __builtin_complex(re, im); }

static tt_c128_t tt_cexpm1(tt_c128_t z) {
  double x = creal(z), y = cimag(z), s = sin(0.5 * y);
  if (y == 0) return tt_c(expm1(x), y);
  return tt_c(expm1(x) * cos(y) - 2 * s * s, exp(x) * sin(y));
}
static tt_c128_t tt_clog1p(tt_c128_t z) {
  double x = creal(z), y = cimag(z);
  double a = fabs(x), b = fabs(y);
  if (a < 0.5 && b < 0.5) return tt_c(0.5 * log1p(fma(x, 2 + x, y * y)), atan2(y, 1 + x));
  return clog(tt_c(1 + x, y));
}
static tt_c128_t tt_csign(tt_c128_t z) {
  if (isnan(creal(z)) || isnan(cimag(z))) return tt_c(NAN, NAN);
  double a = cabs(z);
  return a == 0 ? z : tt_c(creal(z) / a, cimag(z) / a);
}
static tt_c128_t tt_csquare(tt_c128_t z) {
  double x = creal(z), y = cimag(z);
  return tt_c((x - y) * (x + y), 2 * x * y);
}
static tt_c128_t tt_crsqrt(tt_c128_t z) {
  if (creal(z) == 0 && cimag(z) == 0) return tt_c(INFINITY, NAN);
  if ((isinf(creal(z)) || isinf(cimag(z)))) return tt_c(0, copysign(0.0, -cimag(z)));
  return tt_c(1, 0) / csqrt(z);
}
static tt_c128_t tt_clogistic(tt_c128_t z) { return tt_c(1, 0) / (tt_c(1, 0) + cexp(-z)); }
static tt_c128_t tt_ccbrt(tt_c128_t z) {
  double a = cabs(z);
  if (a == 0) return z;
  double r = cbrt(a), t = atan2(cimag(z), creal(z)) / 3;
  return tt_c(r * cos(t), r * sin(t));
}
static tt_c128_t tt_cmultiply(tt_c128_t x, tt_c128_t y) {
  double a = creal(x), b = cimag(x), c = creal(y), d = cimag(y);
  return tt_c(a * c - b * d, a * d + b * c);
}
static tt_c128_t tt_cpower(tt_c128_t x, tt_c128_t y) {
  double n = creal(y);
  if (n == 0 && cimag(y) == 0) return tt_c(1, 0);
  if (creal(x) == 0 && cimag(x) == 0) {
    if (cimag(y) == 0 && n > 0) return tt_c(0, 0);
    return n > 0 ? tt_c(0, 0) : tt_c(INFINITY, NAN);
  }
  if (cimag(y) == 0 && n == rint(n) && fabs(n) <= 64) {   // products keep more digits than exp(y log x)
    tt_c128_t result = tt_c(1, 0), base = x;
    for (unsigned e = (unsigned)fabs(n); e; e >>= 1) {
      if (e & 1) result = tt_cmultiply(result, base);
      base = tt_cmultiply(base, base);
    }
    return n < 0 ? tt_c(1, 0) / result : result;
  }
  return cexp(tt_cmultiply(y, clog(x)));
}
// -i log((x + i y) / sqrt(x^2 + y^2))
static tt_c128_t tt_catan2(tt_c128_t y, tt_c128_t x) {
  tt_c128_t i = tt_c(0, 1);
  tt_c128_t r = clog((x + tt_cmultiply(i, y)) / csqrt(tt_cmultiply(x, x) + tt_cmultiply(y, y)));
  return tt_c(cimag(r), -creal(r));
}
static tt_c128_t tt_cneg(tt_c128_t z) { return tt_c(-creal(z), -cimag(z)); }
static tt_c128_t tt_cdiv(tt_c128_t x, tt_c128_t y) { return x / y; }

// X(OP, function)
#define TT_COMPLEX_UNARY(X) X(NEGATE, tt_cneg) X(EXPONENTIAL, cexp) X(EXPONENTIAL_MINUS_ONE, tt_cexpm1) X(LOG, clog) \
  X(LOG_PLUS_ONE, tt_clog1p) X(LOGISTIC, tt_clogistic) X(COSINE, ccos) X(SINE, csin) X(TAN, ctan) X(CHLO_TAN, ctan) \
  X(TANH, ctanh) X(SQRT, csqrt) X(RSQRT, tt_crsqrt) X(CBRT, tt_ccbrt) X(SIGN, tt_csign) X(CHLO_CONJ, conj) \
  X(CHLO_SQUARE, tt_csquare) X(CHLO_ACOS, cacos) X(CHLO_ACOSH, cacosh) X(CHLO_ASIN, casin) X(CHLO_ASINH, casinh) \
  X(CHLO_ATAN, catan) X(CHLO_ATANH, catanh) X(CHLO_COSH, ccosh) X(CHLO_SINH, csinh)
#define TT_COMPLEX_BINARY(X) X(POWER, tt_cpower) X(ATAN2, tt_catan2) X(DIVIDE, tt_cdiv)
// plain arithmetic stays in the type
#define TT_COMPLEX_ARITHMETIC(X) X(ADD) X(SUBTRACT) X(MULTIPLY)

#define TT_UN_FN(OP, function)                                                            \
  static void un_C64_##OP(void* out, const void* xs, size_t n) {                          \
    float* o = out; const float* x = xs;                                                  \
    for (size_t i = 0; i < n; ++i) {                                                      \
      tt_c128_t r = function(tt_c(x[2 * i], x[2 * i + 1]));                               \
      o[2 * i] = (float)creal(r); o[2 * i + 1] = (float)cimag(r);                         \
    }                                                                                     \
  }                                                                                       \
  static void un_C128_##OP(void* out, const void* xs, size_t n) {                         \
    double* o = out; const double* x = xs;                                                \
    for (size_t i = 0; i < n; ++i) {                                                      \
      tt_c128_t r = function(tt_c(x[2 * i], x[2 * i + 1]));                               \
      o[2 * i] = creal(r); o[2 * i + 1] = cimag(r);                                       \
    }                                                                                     \
  }
TT_COMPLEX_UNARY(TT_UN_FN)

#define TT_BIN_FN_OF(D, T, OP, function)                                                  \
  static void bin_##D##_##OP(void* out, const void* xs, const void* ys, size_t n) {       \
    T* o = out; const T *x = xs, *y = ys;                                                 \
    for (size_t i = 0; i < n; ++i) {                                                      \
      tt_c128_t r = function(tt_c(x[2 * i], x[2 * i + 1]), tt_c(y[2 * i], y[2 * i + 1])); \
      o[2 * i] = (T)creal(r); o[2 * i + 1] = (T)cimag(r);                                 \
    }                                                                                     \
  }
#define TT_BIN_FN(OP, function) TT_BIN_FN_OF(C64, float, OP, function) TT_BIN_FN_OF(C128, double, OP, function)
TT_COMPLEX_BINARY(TT_BIN_FN)

#define TT_ARITHMETIC_OF(D, T)                                                            \
  static void bin_##D##_ADD(void* out, const void* xs, const void* ys, size_t n) {        \
    T* o = out; const T *x = xs, *y = ys;                                                 \
    _Pragma("GCC ivdep") for (size_t i = 0; i < 2 * n; ++i) o[i] = x[i] + y[i];           \
  }                                                                                       \
  static void bin_##D##_SUBTRACT(void* out, const void* xs, const void* ys, size_t n) {   \
    T* o = out; const T *x = xs, *y = ys;                                                 \
    _Pragma("GCC ivdep") for (size_t i = 0; i < 2 * n; ++i) o[i] = x[i] - y[i];           \
  }                                                                                       \
  static void bin_##D##_MULTIPLY(void* out, const void* xs, const void* ys, size_t n) {   \
    T* o = out; const T *x = xs, *y = ys;                                                 \
    _Pragma("GCC ivdep") for (size_t i = 0; i < n; ++i) {                                 \
      T a = x[2 * i], b = x[2 * i + 1], c = y[2 * i], d = y[2 * i + 1];                   \
      o[2 * i] = a * c - b * d;                                                           \
      o[2 * i + 1] = a * d + b * c;                                                       \
    }                                                                                     \
  }                                                                                       \
  static void un_##D##_REAL(void* out, const void* xs, size_t n) {                        \
    T* o = out; const T* x = xs;                                                          \
    for (size_t i = 0; i < n; ++i) o[i] = x[2 * i];                                       \
  }                                                                                       \
  static void un_##D##_IMAG(void* out, const void* xs, size_t n) {                        \
    T* o = out; const T* x = xs;                                                          \
    for (size_t i = 0; i < n; ++i) o[i] = x[2 * i + 1];                                   \
  }                                                                                       \
  static void un_##D##_ABS(void* out, const void* xs, size_t n) {                         \
    T* o = out; const T* x = xs;                                                          \
    for (size_t i = 0; i < n; ++i) o[i] = (T)hypot((double)x[2 * i], (double)x[2 * i + 1]); \
  }                                                                                       \
  static void un_##D##_IS_FINITE(void* out, const void* xs, size_t n) {                   \
    uint8_t* o = out; const T* x = xs;                                                    \
    for (size_t i = 0; i < n; ++i) o[i] = isfinite(x[2 * i]) && isfinite(x[2 * i + 1]);   \
  }                                                                                       \
  static void bin_##D##_COMPLEX(void* out, const void* xs, const void* ys, size_t n) {    \
    T* o = out; const T *x = xs, *y = ys;                                                 \
    for (size_t i = 0; i < n; ++i) { T re = x[i], im = y[i]; o[2 * i] = re; o[2 * i + 1] = im; } \
  }                                                                                       \
  static void cmp_##D##_EQ(void* out, const void* xs, const void* ys, size_t n) {         \
    uint8_t* o = out; const T *x = xs, *y = ys;                                           \
    for (size_t i = 0; i < n; ++i) o[i] = x[2 * i] == y[2 * i] && x[2 * i + 1] == y[2 * i + 1]; \
  }                                                                                       \
  static void cmp_##D##_NE(void* out, const void* xs, const void* ys, size_t n) {         \
    uint8_t* o = out; const T *x = xs, *y = ys;                                           \
    for (size_t i = 0; i < n; ++i) o[i] = x[2 * i] != y[2 * i] || x[2 * i + 1] != y[2 * i + 1]; \
  }
TT_ARITHMETIC_OF(C64, float)
TT_ARITHMETIC_OF(C128, double)

#define TT_PICK(name, OP) (dtype == TT_DTYPE_C64 ? name##_C64_##OP : name##_C128_##OP)
tt_k_unary_fn_t tt_k_unary_complex(tt_op_kind_t kind, tt_dtype_t dtype) {
  if (!tt_dtype_is_complex(dtype)) return NULL;
  switch (kind) {
#define TT_UN_CASE(OP, function) case TT_OP_##OP: return TT_PICK(un, OP);
    TT_COMPLEX_UNARY(TT_UN_CASE)
    case TT_OP_ABS: return TT_PICK(un, ABS);
    case TT_OP_REAL: return TT_PICK(un, REAL);
    case TT_OP_IMAG: return TT_PICK(un, IMAG);
    case TT_OP_IS_FINITE: return TT_PICK(un, IS_FINITE);
    default: return NULL;
  }
}
tt_k_binary_fn_t tt_k_binary_complex(tt_op_kind_t kind, tt_dtype_t dtype) {
  if (kind == TT_OP_COMPLEX) {
    return dtype == TT_DTYPE_F32 ? bin_C64_COMPLEX : dtype == TT_DTYPE_F64 ? bin_C128_COMPLEX : NULL;
  }
  if (!tt_dtype_is_complex(dtype)) return NULL;
  switch (kind) {
#define TT_BIN_CASE(OP, function) case TT_OP_##OP: return TT_PICK(bin, OP);
    TT_COMPLEX_BINARY(TT_BIN_CASE)
#define TT_ARITHMETIC_CASE(OP) case TT_OP_##OP: return TT_PICK(bin, OP);
    TT_COMPLEX_ARITHMETIC(TT_ARITHMETIC_CASE)
    default: return NULL;
  }
}
tt_k_binary_fn_t tt_k_compare_complex(tt_k_compare_t direction, tt_dtype_t dtype) {
  if (!tt_dtype_is_complex(dtype)) return NULL;
  if (direction == TT_CMP_EQ) return TT_PICK(cmp, EQ);
  if (direction == TT_CMP_NE) return TT_PICK(cmp, NE);
  return NULL;
}
