// The plain C matrix product behind the reference dot kernels.
#ifndef TT_VTPU_KERNELS_DOT_REF_H_
#define TT_VTPU_KERNELS_DOT_REF_H_

#include "kernels/loops.h"

typedef struct tt_k_gemm_s {   // C[b] = A[b] B[b]; rows are lda, ldb, ldc elements apart, batches *_batch
  tt_dtype_t dtype;            // F32, F64, S32, S64 (wrapping), C64, C128
  int64_t batch, m, n, k;
  const void *a, *b;
  void* c;
  int64_t lda, ldb, ldc, a_batch, b_batch, c_batch;
} tt_k_gemm_t;
void tt_k_gemm(tt_pool_t* pool, const tt_k_gemm_t* gemm);
// What products of these dtypes are accumulated in.
tt_dtype_t tt_k_accumulator(tt_dtype_t lhs, tt_dtype_t rhs, tt_dtype_t result);

#endif  // TT_VTPU_KERNELS_DOT_REF_H_
