// What one vector ISA gives to the matrix products. Inside gemm*, attention* only.
#ifndef TT_VTPU_KERNELS_GEMM_ISA_H_
#define TT_VTPU_KERNELS_GEMM_ISA_H_

#include "kernels/gemm.h"

#define TT_GEMM_MAX_FEW 8
// acc[m * acc_stride + j] (+)= sum over k < depth of few[k * f + m] * L[k, j] for m < f, j < n; the sum is a
// chain from 0, added last (add) or stored. f is 1, 2, 4 or 8. L of the source dtype, few and acc of the
// accumulator's.
//   rows:    L[k, j] = l[k * ls + j]; f * n <= TT_GEMM_STRIP
//   columns: L[k, j] = l[j * ls + k]; a chain for each `part` of k, one added after the other
#define TT_GEMM_STRIP 4096
typedef void (*tt_gemm_few_fn_t)(int64_t f, const void* few, const void* l, int64_t ls, int64_t depth,
                                 int64_t n, void* acc, int64_t acc_stride, bool add);
typedef void (*tt_gemm_few_columns_fn_t)(int64_t f, const void* few, const void* l, int64_t ls, int64_t depth,
                                         int64_t part, int64_t n, void* acc, int64_t acc_stride, bool add);
typedef struct tt_gemm_source_s {  // a source dtype, widened to f32 or f64
  tt_gemm_pack_fn_t pack;
  tt_gemm_few_fn_t few_rows;
  tt_gemm_few_columns_fn_t few_columns;
} tt_gemm_source_t;
typedef struct tt_gemm_isa_s {
  tt_gemm_kernel_t f32, f64;
  tt_gemm_source_t from_f32, from_f64, from_bf16, from_f16, from_s8, from_u8;
} tt_gemm_isa_t;
extern const tt_gemm_isa_t tt_gemm_isa__avx2, tt_gemm_isa__avx512;
const tt_gemm_isa_t* tt_gemm_isa(void);  // NULL on generic

#endif  // TT_VTPU_KERNELS_GEMM_ISA_H_
