// Batched linear algebra kernels: cholesky, triangular_solve, our custom calls (ir/composites.def lists their
// signatures) and the LAPACK calls that jax emits for LU and QR. Everything is computed in f64.
#include "base/alloc.h"
#include "kernels/linalg.h"
#include "kernels/work.h"

static tt_status_t linalg_encode(const tt_op_t* op, tt_arena_t* arena, tt_k_blob_t* out) {
  tt_k_linalg_blob_t* p = tt_k_blob_new(arena, out, sizeof *p);
  if (!p) return tt_k_no_memory();
  const tt_attr_t* attr;
  p->lower = !(attr = tt_k_own_attr(op, TT_ATTR_LOWER)) ? op->kind != TT_OP_CHOLESKY && op->kind != TT_OP_TRIANGULAR_SOLVE : attr->b;
  p->left_side = !(attr = tt_k_own_attr(op, TT_ATTR_LEFT_SIDE)) || attr->b;
  p->unit_diagonal = (attr = tt_k_own_attr(op, TT_ATTR_UNIT_DIAGONAL)) && attr->b;
  p->full_matrices = (attr = tt_k_own_attr(op, TT_ATTR_FULL_MATRICES)) && attr->b;
  p->hermitian = (attr = tt_k_own_attr(op, TT_ATTR_HERMITIAN)) && attr->b;
  if (strcmp(tt_op_attr_text(op, TT_ATTR_CALL_TARGET_NAME), "Eigh") == 0) {   // "lower,sort,iterations,tolerance"
    p->vectors_first = 1;
    p->lower = tt_op_attr_text(op, TT_ATTR_BACKEND_CONFIG)[0] != '0';
  }
  const char* transpose = tt_op_attr_text(op, TT_ATTR_TRANSPOSE_A);
  p->transpose = strcmp(transpose, "TRANSPOSE") == 0 ? 1 : strcmp(transpose, "ADJOINT") == 0 ? 2 : 0;
  return TT_OK_STATUS;
}

static bool linalg_supports(const tt_op_t* op, const char** why) {
  *why = "only for float and complex matrices";
  if (op->operand_count == 0) return false;
  const tt_type_t* x = op->operands[0]->type;
  return x->kind == TT_TYPE_TENSOR && x->rank >= 2 && (tt_dtype_is_float(x->dtype) || tt_dtype_is_complex(x->dtype)) &&
         op->result_count >= 1;
}
static bool square_supports(const tt_op_t* op, const char** why) {
  if (!linalg_supports(op, why)) return false;
  *why = "only for square matrices";
  const tt_type_t* x = op->operands[0]->type;
  return x->dims[x->rank - 1] == x->dims[x->rank - 2];
}
static bool two_results(const tt_op_t* op, const char** why) {
  if (!linalg_supports(op, why)) return false;
  *why = "two results are expected";
  return op->result_count >= 2;
}
static bool eigh_vectors_supports(const tt_op_t* op, const char** why) {
  return square_supports(op, why) && two_results(op, why);
}
static bool svd_supports(const tt_op_t* op, const char** why) {
  if (!linalg_supports(op, why)) return false;
  *why = "three results are expected";
  return op->result_count == 3;
}
static bool orgqr_supports(const tt_op_t* op, const char** why) {
  if (!linalg_supports(op, why)) return false;
  *why = "operands are (a, tau)";
  return op->operand_count == 2;
}
static bool ldl_supports(const tt_op_t* op, const char** why) {
  if (!square_supports(op, why)) return false;
  *why = "three results are expected";
  return op->result_count == 3;
}
static bool ldl_solve_supports(const tt_op_t* op, const char** why) {
  if (!square_supports(op, why)) return false;
  *why = "operands are (ld, b, pivots), with as many rows in b and entries in pivots as ld has rows";
  if (op->operand_count != 3) return false;
  const tt_type_t *ld = op->operands[0]->type, *b = op->operands[1]->type, *pivots = op->operands[2]->type;
  int64_t n = ld->dims[ld->rank - 1];
  return b->rank == ld->rank && pivots->rank == ld->rank - 1 && b->dims[b->rank - 2] == n &&
         pivots->dims[pivots->rank - 1] == n && tt_dtype_is_integer(pivots->dtype);
}

typedef struct batch_job_s {
  const tt_k_linalg_job_t* job;
  int64_t count, tasks;
} batch_job_t;
static void batch_task(void* self, size_t task) {
  const batch_job_t* b = self;
  int64_t begin = b->count * (int64_t)task / b->tasks, end = b->count * (int64_t)(task + 1) / b->tasks;
  for (int64_t i = begin; i < end; ++i) b->job->fn(b->job, i, b->job->memory + task * b->job->memory_stride);
}

static tt_status_t batched(const tt_k_env_t* env, const void* blob, const tt_k_tensor_t* x, size_t nx,
                           const tt_k_tensor_t* y, size_t ny, tt_k_linalg_fn_t real, tt_k_linalg_fn_t complex_) {
  bool is_complex = tt_dtype_is_complex(x->dtype);
  tt_k_linalg_job_t job = {.blob = blob, .x = x, .y = y, .x_count = nx, .y_count = ny, .fn = is_complex ? complex_ : real};
  job.m = x->dims[x->rank - 2];
  job.n = x->dims[x->rank - 1];
  int64_t batch = tt_k_product(x->dims, 0, x->rank - 2), other = 1;
  if (nx > 1 && x[1].rank >= 2) other = TT_MAX(x[1].dims[x[1].rank - 1], x[1].dims[x[1].rank - 2]);
  int64_t work = TT_MAX(1, job.m * job.n * TT_MIN(job.m, job.n));
  batch_job_t b = {&job, batch, (int64_t)tt_k_tasks(env->pool, batch, TT_MAX(1, 16384 / work))};
  if (batch == 0) return TT_OK_STATUS;
  // eig works in complex numbers whatever the dtype
  bool wide = is_complex || real == tt_k_eig_r;
  job.memory_stride = tt_align_up(tt_k_linalg_work(job.m, job.n, other) * (wide ? 16 : 8), 64);
  void* memory;
  TT_RETURN_IF_ERROR(tt_k_work_take(job.memory_stride * (size_t)b.tasks, &memory));
  job.memory = memory;
  tt_pool_run(env->pool, (size_t)b.tasks, batch_task, &b);
  tt_k_work_give(memory);
  return TT_OK_STATUS;
}

#define F(name)                                                                                               \
  static tt_status_t name##_run(const tt_k_env_t* env, const void* blob, const tt_k_tensor_t* x, size_t nx,   \
                                const tt_k_tensor_t* y, size_t ny) {                                          \
    return batched(env, blob, x, nx, y, ny, tt_k_##name##_r, tt_k_##name##_c);                                \
  }
TT_K_LINALG_EACH(F)
#undef F

#define CALL(text, check, alg) NAMED_CALL(text, text, check, alg)
#define NAMED_CALL(id, text, check, alg)                                                                                 \
  {.name = "tt_k_any_" id "__generic", .kind = TT_OP_CUSTOM_CALL, .target = text, .supports = check,            \
   .encode = linalg_encode, .run = alg##_run}
#define LAPACK(letter, un)                                                \
  CALL("lapack_" letter "geqrf_ffi", two_results, geqrf),                 \
  CALL("lapack_" letter un "gqr_ffi", orgqr_supports, orgqr),             \
  CALL("lapack_" letter "getrf_ffi", two_results, lapack_getrf)
const tt_k_op_t tt_k_linalg_table[] = {
    {.name = "tt_k_any_cholesky__generic",
     .kind = TT_OP_CHOLESKY,
     .supports = square_supports,
     .encode = linalg_encode,
     .run = cholesky_run},
    {.name = "tt_k_any_triangular_solve__generic",
     .kind = TT_OP_TRIANGULAR_SOLVE,
     .supports = square_supports,
     .encode = linalg_encode,
     .run = triangular_solve_run},
    CALL("tt.cholesky", square_supports, cholesky),
    CALL("tt.lu", two_results, lu),
    CALL("tt.qr", two_results, qr),
    CALL("tt.geqrf", two_results, geqrf),
    CALL("tt.orgqr", orgqr_supports, orgqr),
    CALL("tt.eigh", square_supports, eigh),
    CALL("tt.svd", svd_supports, svd),
    CALL("tt.eig", square_supports, eig),
    CALL("tt.ldl", ldl_supports, ldl),
    CALL("tt.ldl_solve", ldl_solve_supports, ldl_solve),
    // the TPU compiler's own, which jax emits for TPUs
    NAMED_CALL("tpu_qr", "Qr", two_results, geqrf),
    NAMED_CALL("tpu_householder", "ProductOfElementaryHouseholderReflectors", orgqr_supports, orgqr),
    NAMED_CALL("tpu_lu", "LuDecomposition", two_results, lu),
    NAMED_CALL("tpu_eigh", "Eigh", eigh_vectors_supports, eigh),
    LAPACK("s", "or"),
    LAPACK("d", "or"),
    LAPACK("c", "un"),
    LAPACK("z", "un"),
    {0},
};
