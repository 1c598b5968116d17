// The look-ups of each ISA behind elementwise.h; elementwise.c chooses. NULL: not in this ISA's set.
#ifndef TT_VTPU_KERNELS_ELEMENTWISE_ISA_H_
#define TT_VTPU_KERNELS_ELEMENTWISE_ISA_H_

#include <math.h>
#include <string.h>

#include "kernels/elementwise.h"

#define TT_K_ISA_DECLARE(isa)                                                                     \
  tt_k_unary_fn_t tt_k_unary__##isa(tt_op_kind_t kind, tt_dtype_t dtype);                         \
  tt_k_binary_fn_t tt_k_binary__##isa(tt_op_kind_t kind, tt_dtype_t dtype);                       \
  tt_k_binary_fn_t tt_k_compare__##isa(tt_k_compare_t direction, tt_dtype_t dtype, bool total_order); \
  tt_k_ternary_fn_t tt_k_select__##isa(size_t element_bytes);                                     \
  tt_k_ternary_fn_t tt_k_clamp__##isa(tt_dtype_t dtype);                                          \
  tt_k_ternary_fn_t tt_k_fma__##isa(tt_dtype_t dtype);                                            \
  tt_k_unary_fn_t tt_k_convert__##isa(tt_dtype_t from, tt_dtype_t to);                            \
  void tt_k_widen_f16__##isa(float* out, const uint16_t* x, size_t n);                            \
  void tt_k_narrow_f16__##isa(uint16_t* out, const float* x, size_t n);                           \
  void tt_k_widen_bf16__##isa(float* out, const uint16_t* x, size_t n);                           \
  void tt_k_narrow_bf16__##isa(uint16_t* out, const float* x, size_t n);                          \
  tt_k_fold_fn_t tt_k_fold__##isa(tt_op_kind_t kind, tt_dtype_t dtype);                           \
  tt_k_argfold_fn_t tt_k_argfold__##isa(bool maximum, tt_dtype_t dtype);
TT_K_ISA_DECLARE(generic)
TT_K_ISA_DECLARE(avx2)
TT_K_ISA_DECLARE(avx512)

// Types of one byte (f8*, f4, i4, i2) and complex: one implementation for all ISAs.
tt_k_unary_fn_t tt_k_unary_small(tt_op_kind_t kind, tt_dtype_t dtype);
tt_k_binary_fn_t tt_k_binary_small(tt_op_kind_t kind, tt_dtype_t dtype);
tt_k_binary_fn_t tt_k_compare_small(tt_k_compare_t direction, tt_dtype_t dtype);
tt_k_ternary_fn_t tt_k_clamp_small(tt_dtype_t dtype);
tt_k_unary_fn_t tt_k_convert_small(tt_dtype_t from, tt_dtype_t to);
tt_k_unary_fn_t tt_k_unary_complex(tt_op_kind_t kind, tt_dtype_t dtype);
tt_k_binary_fn_t tt_k_binary_complex(tt_op_kind_t kind, tt_dtype_t dtype);
tt_k_binary_fn_t tt_k_compare_complex(tt_k_compare_t direction, tt_dtype_t dtype);

#endif  // TT_VTPU_KERNELS_ELEMENTWISE_ISA_H_
