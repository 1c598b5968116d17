// Maths lane kernels of the avx2 ISA (until its vector source is in): the scalar double function, rounded once for f32.
#include "kernels/math_lanes.h"
#include "kernels/math_scalar.h"

#define TT_MATH_UNARY(OP, function)                                                       \
  void tt_math_f32_##OP##__avx2(void* out, const void* x, size_t n) {                  \
    for (size_t i = 0; i < n; ++i) ((float*)out)[i] = (float)tt_math_##function((double)((const float*)x)[i]); \
  }                                                                                       \
  void tt_math_f64_##OP##__avx2(void* out, const void* x, size_t n) {                  \
    for (size_t i = 0; i < n; ++i) ((double*)out)[i] = tt_math_##function(((const double*)x)[i]);  \
  }
#define TT_MATH_BINARY(OP, function)                                                      \
  void tt_math_f32_##OP##__avx2(void* out, const void* x, const void* y, size_t n) {   \
    for (size_t i = 0; i < n; ++i)                                                        \
      ((float*)out)[i] = (float)tt_math_##function((double)((const float*)x)[i], (double)((const float*)y)[i]); \
  }                                                                                       \
  void tt_math_f64_##OP##__avx2(void* out, const void* x, const void* y, size_t n) {   \
    for (size_t i = 0; i < n; ++i)                                                        \
      ((double*)out)[i] = tt_math_##function(((const double*)x)[i], ((const double*)y)[i]); \
  }
#include "kernels/math.def"
