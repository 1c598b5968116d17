// Maths lane kernels of the generic ISA: the scalar double function, rounded once for f32.
#include "kernels/math_lanes.h"
#include "kernels/math_scalar.h"

#define TT_MATH_UNARY(OP, function)                                                       \
  void tt_math_f32_##OP##__generic(void* out, const void* x, size_t n) {                  \
    for (size_t i = 0; i < n; ++i) ((float*)out)[i] = (float)tt_math_##function((double)((const float*)x)[i]); \
  }                                                                                       \
  void tt_math_f64_##OP##__generic(void* out, const void* x, size_t n) {                  \
    for (size_t i = 0; i < n; ++i) ((double*)out)[i] = tt_math_##function(((const double*)x)[i]);  \
  }
#define TT_MATH_BINARY(OP, function)                                                      \
  void tt_math_f32_##OP##__generic(void* out, const void* x, const void* y, size_t n) {   \
    for (size_t i = 0; i < n; ++i)                                                        \
      ((float*)out)[i] = (float)tt_math_##function((double)((const float*)x)[i], (double)((const float*)y)[i]); \
  }                                                                                       \
  void tt_math_f64_##OP##__generic(void* out, const void* x, const void* y, size_t n) {   \
    for (size_t i = 0; i < n; ++i)                                                        \
      ((double*)out)[i] = tt_math_##function(((const double*)x)[i], ((const double*)y)[i]); \
  }
#include "kernels/math.def"

#define TT_EXP_SUM(P, T)                                                                                   \
  double tt_math_##P##_top__generic(const void* xs, size_t n) {                                             \
    const T* x = xs; T top = -INFINITY;                                                                     \
    for (size_t i = 0; i < n; ++i) top = x[i] > top ? x[i] : top;                                           \
    return (double)top;                                                                                     \
  }                                                                                                         \
  double tt_math_##P##_exp_sum__generic(void* out, const void* xs, double top, size_t n, const void* next) { \
    const T *x = xs, t = (T)top; T* o = out; double total = 0;                                              \
    (void)next;                                                                                             \
    for (size_t i = 0; i < n; ++i) total += (double)(o[i] = (T)tt_math_exp((double)(T)(x[i] - t)));         \
    return total;                                                                                           \
  }
TT_EXP_SUM(f32, float)
TT_EXP_SUM(f64, double)

#define ERF(v) (float)tt_math_erf((double)(v))
#define EXP(v) (float)tt_math_exp((double)(v))
#define TANH(v) (float)tt_math_tanh((double)(v))
#define TT_COMPOUND(NAME, constants, formula, postfix)                                        \
  void tt_compound_##NAME##__generic(void* out, const void* xs, const void* ks, size_t n) {   \
    const float *k = ks, k0 = k[0], k1 = k[1], k2 = k[2], k3 = k[3];                          \
    (void)k0, (void)k1, (void)k2, (void)k3;                                                   \
    for (size_t i = 0; i < n; ++i) {                                                          \
      float x = ((const float*)xs)[i];                                                        \
      ((float*)out)[i] = formula;                                                             \
    }                                                                                         \
  }
#include "kernels/compound.def"
