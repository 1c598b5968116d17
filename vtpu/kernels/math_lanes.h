// The maths lane kernels of each ISA: tt_math_<f32|f64>_<OP>__<isa>(out, x, [y,] n).
#ifndef TT_VTPU_KERNELS_MATH_LANES_H_
#define TT_VTPU_KERNELS_MATH_LANES_H_

#include <stddef.h>

#define TT_MATH_DECLARE_UNARY(OP, isa)                                     \
  void tt_math_f32_##OP##__##isa(void* out, const void* x, size_t n);      \
  void tt_math_f64_##OP##__##isa(void* out, const void* x, size_t n);
#define TT_MATH_DECLARE_BINARY(OP, isa)                                                   \
  void tt_math_f32_##OP##__##isa(void* out, const void* x, const void* y, size_t n);      \
  void tt_math_f64_##OP##__##isa(void* out, const void* x, const void* y, size_t n);

#define TT_MATH_UNARY(OP, function) \
  TT_MATH_DECLARE_UNARY(OP, generic) TT_MATH_DECLARE_UNARY(OP, avx2) TT_MATH_DECLARE_UNARY(OP, avx512)
#define TT_MATH_BINARY(OP, function) \
  TT_MATH_DECLARE_BINARY(OP, generic) TT_MATH_DECLARE_BINARY(OP, avx2) TT_MATH_DECLARE_BINARY(OP, avx512)
#include "kernels/math.def"

#endif  // TT_VTPU_KERNELS_MATH_LANES_H_
