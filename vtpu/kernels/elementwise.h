// Lane kernels: n contiguous elements, any n (calls of 64..4096 are typical; pointers are element-aligned only).
// `out` may equal an input exactly, never overlap it partially. PRED is one byte, 0 or 1.
//
// One scalar-maths source (math.def and *_math.h) drives every ISA variant; on one ISA results never depend
// on n or position. f16/bf16/f8 are computed in f32 and rounded to nearest even once an op; integers wrap;
// x/0 = -1 (all ones), x%0 = x, INT_MIN/-1 = INT_MIN, INT_MIN%-1 = 0; shifts past the width give 0 (or the sign).
#ifndef TT_VTPU_KERNELS_ELEMENTWISE_H_
#define TT_VTPU_KERNELS_ELEMENTWISE_H_

#include "kernels/kernel.h"

typedef void (*tt_k_unary_fn_t)(void* out, const void* x, size_t n);
typedef void (*tt_k_binary_fn_t)(void* out, const void* x, const void* y, size_t n);
typedef void (*tt_k_ternary_fn_t)(void* out, const void* x, const void* y, const void* z, size_t n);

typedef enum tt_k_compare_e { TT_CMP_EQ, TT_CMP_NE, TT_CMP_LT, TT_CMP_LE, TT_CMP_GT, TT_CMP_GE } tt_k_compare_t;

// A chain of f32 ops of compound.def; constants: float[4]. Never NULL for compound < tt_k_compound_count().
typedef void (*tt_k_compound_fn_t)(void* out, const void* x, const void* constants, size_t n);
tt_k_compound_fn_t tt_k_compound(uint32_t compound);
uint32_t tt_k_compound_count(void);
const char* tt_k_compound_postfix(uint32_t compound);   // compound.def says how to read it

// NULL where the op has no meaning for the dtype. `dtype` is the operands'; the result's follows from the op
// (ABS/REAL/IMAG of complex: the real dtype; IS_FINITE, CHLO_IS_*: PRED).
tt_k_unary_fn_t tt_k_unary(tt_op_kind_t kind, tt_dtype_t dtype);
tt_k_binary_fn_t tt_k_binary(tt_op_kind_t kind, tt_dtype_t dtype);       // also COMPLEX
tt_k_binary_fn_t tt_k_compare(tt_k_compare_t direction, tt_dtype_t dtype, bool total_order);   // out PRED
tt_k_unary_fn_t tt_k_convert(tt_dtype_t from, tt_dtype_t to);
// out = pred ? y : z by element size (1, 2, 4, 8, 16).
tt_k_ternary_fn_t tt_k_select(size_t element_bytes);
tt_k_ternary_fn_t tt_k_clamp(tt_dtype_t dtype);                          // (lo, x, hi)
tt_k_ternary_fn_t tt_k_fma(tt_dtype_t dtype);                            // x*y+z with one rounding; f32, f64
void tt_k_reduce_precision(tt_dtype_t dtype, int exponent_bits, int mantissa_bits, void* out, const void* x, size_t n);
void tt_k_fill(void* out, const void* element, size_t element_bytes, size_t n);
void tt_k_iota(tt_dtype_t dtype, void* out, int64_t start, int64_t step, size_t n);
// out[i] = x[i * stride] (elements), and the reverse.
void tt_k_gather_strided(void* out, const void* x, int64_t stride_elems, size_t element_bytes, size_t n);
void tt_k_scatter_strided(void* out, int64_t stride_elems, const void* x, size_t element_bytes, size_t n);
// out[r*cols + c] = x[r*row_stride + c*col_stride] (elements) for a small block: cache-blocked transpose.
void tt_k_transpose_block(void* out, int64_t out_row_stride, const void* x, int64_t row_stride, int64_t col_stride,
                          size_t rows, size_t cols, size_t element_bytes);

// Reductions of `kind` ADD MULTIPLY MAXIMUM MINIMUM AND OR. f32/f64 sums use a fixed tree by shape (blocks of
// lanes, then pairwise), f16/bf16 accumulate in f32 and round at the end.
// Folds n contiguous elements into *acc (acc = acc op x...); acc has the dtype.
typedef void (*tt_k_fold_fn_t)(void* acc, const void* x, size_t n);
tt_k_fold_fn_t tt_k_fold(tt_op_kind_t kind, tt_dtype_t dtype);
// acc[i] = acc[i] op x[i]: tt_k_binary(kind, dtype).
// Index of the first maximum / minimum (NaN wins, first NaN) of n contiguous elements.
typedef int64_t (*tt_k_argfold_fn_t)(const void* x, size_t n);
tt_k_argfold_fn_t tt_k_argmax(tt_dtype_t dtype);
tt_k_argfold_fn_t tt_k_argmin(tt_dtype_t dtype);

#endif  // TT_VTPU_KERNELS_ELEMENTWISE_H_
