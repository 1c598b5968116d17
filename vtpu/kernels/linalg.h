// Dense linear algebra on one matrix at a time, in f64 or complex f64, row-major. linalg_impl.h is compiled once for
// each (suffix _r and _c); linalg.c wraps it into batched kernels.
#ifndef TT_VTPU_KERNELS_LINALG_H_
#define TT_VTPU_KERNELS_LINALG_H_

#include "kernels/loops.h"

typedef struct tt_k_linalg_job_s tt_k_linalg_job_t;
// Matrix `index` of the batch; `work` is the task's own memory.
typedef void (*tt_k_linalg_fn_t)(const tt_k_linalg_job_t* job, int64_t index, void* work);
struct tt_k_linalg_job_s {
  const void* blob;
  const tt_k_tensor_t *x, *y;
  size_t x_count, y_count;
  int64_t m, n;              // of operand 0
  tt_k_linalg_fn_t fn;
  char* memory;
  size_t memory_stride;
};

typedef struct tt_k_linalg_blob_s {
  int64_t lower, left_side, unit_diagonal, transpose, full_matrices;   // transpose: 0 no, 1 transposed, 2 adjoint
  int64_t hermitian;
  int64_t vectors_first;     // eigh gives (v, w)
} tt_k_linalg_blob_t;

// Numbers of work (f64 or complex f64) for an m x n matrix: bounds every function below.
static inline size_t tt_k_linalg_work(int64_t m, int64_t n, int64_t other) {
  int64_t k = TT_MAX(m, n);
  return (size_t)(6 * k * k + 24 * k + 2 * TT_MAX(other, 1) * k + 64);
}

// One entry an algorithm; both suffixes exist.
#define TT_K_LINALG_EACH(F) \
  F(cholesky) F(triangular_solve) F(lu) F(qr) F(geqrf) F(orgqr) F(eigh) F(svd) F(eig) F(lapack_getrf) \
  F(ldl) F(ldl_solve)
#define F(name)                                                                          \
  void tt_k_##name##_r(const tt_k_linalg_job_t* job, int64_t index, void* work);         \
  void tt_k_##name##_c(const tt_k_linalg_job_t* job, int64_t index, void* work);
TT_K_LINALG_EACH(F)
#undef F

#endif  // TT_VTPU_KERNELS_LINALG_H_
