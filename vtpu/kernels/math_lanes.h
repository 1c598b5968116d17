// The maths lane kernels of each ISA: tt_math_<f32|f64>_<OP>__<isa>(out, x, [y,] n).
#ifndef TT_VTPU_KERNELS_MATH_LANES_H_
#define TT_VTPU_KERNELS_MATH_LANES_H_

#include <stddef.h>

#include "kernels/kernel.h"

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

// The largest of n, NaN passed over; -inf of none. f32, f64.
typedef double (*tt_k_top_fn_t)(const void* x, size_t n);
tt_k_top_fn_t tt_k_top(tt_dtype_t dtype);
// out = exp(x - top); returns the sum, blocks of kExpBlock in the type and between them in f64. Meanwhile as much behind
// `next` is fetched into the second cache level: softmax of 4096^2, Zen 4, one thread, 6 ms in place of 11.
typedef double (*tt_k_exp_sum_fn_t)(void* out, const void* x, double top, size_t n, const void* next);
enum { kExpBlock = 1024 };
#define TT_MATH_DECLARE_EXP_SUM(isa)                                                                              \
  double tt_math_f32_top__##isa(const void* x, size_t n);                                                         \
  double tt_math_f64_top__##isa(const void* x, size_t n);                                                         \
  double tt_math_f32_exp_sum__##isa(void* out, const void* x, double top, size_t n, const void* next);            \
  double tt_math_f64_exp_sum__##isa(void* out, const void* x, double top, size_t n, const void* next);
TT_MATH_DECLARE_EXP_SUM(generic) TT_MATH_DECLARE_EXP_SUM(avx2) TT_MATH_DECLARE_EXP_SUM(avx512)
tt_k_exp_sum_fn_t tt_k_exp_sum(tt_dtype_t dtype);   // f32, f64

// compound.def; constants: float[4].
typedef enum tt_k_compound_e {
#define TT_COMPOUND(NAME, constants, formula, postfix) TT_K_##NAME,
#include "kernels/compound.def"
  TT_K_COMPOUNDS,
} tt_k_compound_t;
#define TT_COMPOUND(NAME, constants, formula, postfix)                                       \
  void tt_compound_##NAME##__generic(void* out, const void* x, const void* ks, size_t n);    \
  void tt_compound_##NAME##__avx2(void* out, const void* x, const void* ks, size_t n);       \
  void tt_compound_##NAME##__avx512(void* out, const void* x, const void* ks, size_t n);
#include "kernels/compound.def"

#endif  // TT_VTPU_KERNELS_MATH_LANES_H_
