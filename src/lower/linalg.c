// Decompositions and solvers over vtpu's linear algebra calls (ir/composites.def) and StableHLO's cholesky and
// triangular_solve.
//
// PyTorch's gradient formulas of det and slogdet expect the LU factors of A^T when A is a contiguous real matrix (they
// read them back that way), so the lowering needs to know: tt_ltensor_t.is_strided says that it is not.
#include <math.h>
#include <string.h>

#include "lower/expr.h"

static bool square(tt_lower_t* L, V a, const char* name) {
  if (!a) return false;
  int64_t rank = tt_lx_rank(a);
  if (rank < 2) {
    tt_builder_fail(L->b, TT_INVALID_ARGUMENT, "%s: The input tensor A must have at least 2 dimensions.",
                    name);
    return false;
  }
  if (tt_lx_size(a, rank - 1) != tt_lx_size(a, rank - 2)) {
    tt_builder_fail(L->b, TT_INVALID_ARGUMENT,
                    "%s: A must be batches of square matrices, but they are %lld by %lld matrices", name,
                    (long long)tt_lx_size(a, rank - 2), (long long)tt_lx_size(a, rank - 1));
    return false;
  }
  return true;
}
static bool is_float_or_complex(tt_dtype_t d) {
  return d == TT_DTYPE_F32 || d == TT_DTYPE_F64 || tt_dtype_is_complex(d);
}
static bool float_or_complex(tt_lower_t* L, V a, const char* name) {
  tt_dtype_t d = tt_lx_dtype(a);
  if (!a || is_float_or_complex(d)) return a != NULL;
  tt_builder_fail(L->b, TT_INVALID_ARGUMENT,
                  "%s: Expected a floating point or complex tensor as input. Got %s", name,
                  tt_lx_torch_name(d));
  return false;
}

V tt_lx_swap_last(tt_lower_t* L, V a) {
  if (!a) return NULL;
  int64_t permutation[TT_MAX_RANK], rank = tt_lx_rank(a);
  for (int64_t i = 0; i < rank; ++i) permutation[i] = i;
  permutation[rank - 1] = rank - 2;
  permutation[rank - 2] = rank - 1;
  return tt_b_transpose(L->b, a, permutation);
}
V tt_lx_conjugate(tt_lower_t* L, V a) {
  return a && tt_dtype_is_complex(tt_lx_dtype(a)) ? tt_b_unary(L->b, TT_OP_CHLO_CONJ, a) : a;
}
V tt_lx_adjoint(tt_lower_t* L, V a) { return tt_lx_conjugate(L, tt_lx_swap_last(L, a)); }

// row index - column index compared with 0: keeps one triangle.
static V triangle(tt_lower_t* L, V a, bool upper, bool unit) {
  if (!a) return NULL;
  int64_t rank = tt_lx_rank(a);
  V row = tt_lx_iota(L, TT_DTYPE_S64, a, rank - 2), column = tt_lx_iota(L, TT_DTYPE_S64, a, rank - 1);
  V kept = SEL(upper ? LE(row, column) : GE(row, column), a, K(a, 0));
  return unit ? SEL(EQ(row, column), K(a, 1), kept) : kept;
}
static V identity_like(tt_lower_t* L, V a) {
  int64_t rank = tt_lx_rank(a);
  V row = tt_lx_iota(L, TT_DTYPE_S64, a, rank - 2), column = tt_lx_iota(L, TT_DTYPE_S64, a, rank - 1);
  return SEL(EQ(row, column), K(a, 1), K(a, 0));
}
static V diagonal(tt_lower_t* L, V a) {  // of square matrices: [.., n]
  if (!a) return NULL;
  int64_t rank = tt_lx_rank(a), last = rank - 1;
  V row = tt_lx_iota(L, TT_DTYPE_S64, a, rank - 2), column = tt_lx_iota(L, TT_DTYPE_S64, a, rank - 1);
  return tt_b_reduce(L->b, TT_OP_ADD, SEL(EQ(row, column), a, K(a, 0)), 1, &last, false);
}

// A custom call with `count` results of the given shapes.
typedef struct result_s {
  tt_dtype_t dtype;
  size_t rank;
  tt_dim_t dims[TT_MAX_RANK];
} result_t;
static tt_op_t* call(tt_lower_t* L, const char* target, size_t inputs, V* operands, size_t count,
                     const result_t* results, size_t attr_count, const tt_attr_t* attrs) {
  const tt_type_t* types[4];
  for (size_t i = 0; i < count; ++i)
    types[i] = tt_b_type(L->b, results[i].dtype, results[i].rank, results[i].dims);
  return tt_b_custom_call(L->b, target, inputs, operands, count, types, false, attr_count, attrs);
}
// a's batch dimensions followed by `extra` ones.
static result_t shaped(V a, tt_dtype_t dtype, size_t extra, const int64_t* sizes) {
  result_t r = {.dtype = dtype};
  for (int64_t i = 0; i < tt_lx_rank(a) - 2; ++i) r.dims[r.rank++] = tt_lx_size(a, i);
  for (size_t i = 0; i < extra; ++i) r.dims[r.rank++] = sizes[i];
  return r;
}
static V no_values(tt_lower_t* L, tt_dtype_t dtype) {
  tt_dim_t zero = 0;
  return tt_lx_full(L, dtype, 1, &zero, 0);
}

// First failure in a batch of infos as a check: 0 everywhere is fine. ABORTED: see TT_ATEN_LINALG.
static void check_info(tt_lower_t* L, V info, const char* message) {
  if (!info || tt_type_elems(info->type) == 0) return;
  V worst = tt_lx_reduce_all(L, TT_OP_MAXIMUM, info);
  if (worst) tt_b_check(L->b, EQ(worst, K(worst, 0)), TT_ABORTED, message, 1, &worst);
}

V tt_lx_solve_triangular(tt_lower_t* L, V a, V b, bool left, bool upper, bool unit, const char* transpose) {
  if (!a || !b) return NULL;
  tt_attr_t attrs[] = {tt_attr_bool(TT_ATTR_LEFT_SIDE, left), tt_attr_bool(TT_ATTR_LOWER, !upper),
                       tt_attr_bool(TT_ATTR_UNIT_DIAGONAL, unit),
                       tt_attr_enum(TT_ATTR_TRANSPOSE_A, transpose)};
  V operands[2] = {a, b};
  tt_op_t* op =
      tt_b_op(L->b, TT_OP_TRIANGULAR_SOLVE, 2, operands, TT_ARRAY_LENGTH(attrs), attrs, 1, &b->type, 0);
  return op ? &op->results[0] : NULL;
}

// Whether matrices b have the rows (left false: columns) of the square matrices a.
static bool same_rows(tt_lower_t* L, V a, V b, bool left, const char* name) {
  if (!a || !b) return false;
  int64_t n = tt_lx_size(a, tt_lx_rank(a) - 1), rank = tt_lx_rank(b);
  if (rank < 2) {
    tt_builder_fail(L->b, TT_INVALID_ARGUMENT, "%s: The input tensor B must have at least 2 dimensions.",
                    name);
    return false;
  }
  if (tt_lx_size(b, rank - (left ? 2 : 1)) == n) return true;
  tt_builder_fail(L->b, TT_INVALID_ARGUMENT,
                  "%s: Incompatible shapes of A and B for the equation %s (%lldx%lld and %lldx%lld)", name,
                  left ? "AX = B" : "XA = B", (long long)n, (long long)n, (long long)tt_lx_size(b, rank - 2),
                  (long long)tt_lx_size(b, rank - 1));
  return false;
}
// Broadcasts the batch dimensions of both to their common shape.
static void broadcast_batches(tt_lower_t* L, V* a, V* b) {
  if (!*a || !*b) return;
  if (tt_lx_rank(*a) < 2 || tt_lx_rank(*b) < 2) {
    tt_builder_fail(L->b, TT_INVALID_ARGUMENT, "expected batches of matrices, got %lld and %lld dimensions",
                    (long long)tt_lx_rank(*a), (long long)tt_lx_rank(*b));
    return;
  }
  V values[2] = {*a, *b};
  tt_dim_t batch[TT_MAX_RANK];
  size_t rank = 0, rank_a = (*a)->type->rank - 2, rank_b = (*b)->type->rank - 2;
  rank = TT_MAX(rank_a, rank_b);
  for (size_t i = 0; i < rank; ++i) {
    tt_dim_t x = i + rank_a >= rank ? (*a)->type->dims[i + rank_a - rank] : 1,
             y = i + rank_b >= rank ? (*b)->type->dims[i + rank_b - rank] : 1;
    if (x != y && x != 1 && y != 1) {
      tt_builder_fail(
          L->b, TT_INVALID_ARGUMENT,
          "The batch dimensions of the arguments are not broadcastable: %lld and %lld at dimension %zu",
          (long long)x, (long long)y, i);
      return;
    }
    batch[i] = x == 1 ? y : x;
  }
  for (int k = 0; k < 2; ++k) {
    tt_dim_t dims[TT_MAX_RANK];
    memcpy(dims, batch, sizeof(dims));
    dims[rank] = values[k]->type->dims[values[k]->type->rank - 2];
    dims[rank + 1] = values[k]->type->dims[values[k]->type->rank - 1];
    values[k] = tt_b_broadcast_to(L->b, values[k], rank + 2, dims);
  }
  *a = values[0];
  *b = values[1];
}

// ---- Cholesky ----------------------------------------------------------------------------------

static V cholesky(tt_lower_t* L, V a, bool upper, const char* name, V* info) {
  if (!square(L, a, name) || !float_or_complex(L, a, name)) return NULL;
  int64_t n = tt_lx_size(a, tt_lx_rank(a) - 1);
  V source = upper ? tt_lx_adjoint(L, a) : a;
  const int64_t square_dims[2] = {n, n};
  result_t results[2] = {shaped(a, tt_lx_dtype(a), 2, square_dims), shaped(a, TT_DTYPE_S32, 0, NULL)};
  tt_attr_t lower = tt_attr_bool(TT_ATTR_LOWER, true);
  tt_op_t* op = call(L, "tt.cholesky", 1, &source, 2, results, 1, &lower);
  if (!op) return NULL;
  *info = &op->results[1];
  return upper ? tt_lx_adjoint(L, &op->results[0]) : &op->results[0];
}
#define NOT_POSITIVE                                                                              \
  "cholesky: The factorization could not be completed because the input is not positive-definite " \
  "(the leading minor of order {0} is not positive-definite)."
TT_LOWERING(linalg_cholesky_ex) {
  V info = NULL, l = cholesky(L, tt_l_tensor(L, 0), tt_l_bool(L, 1, false), "linalg.cholesky", &info);
  if (tt_l_bool(L, 2, false)) check_info(L, info, "linalg." NOT_POSITIVE);
  tt_l_return(L, l);
  tt_l_return(L, info);
}
TT_LOWERING(cholesky) {
  V a = tt_l_tensor(L, 0), info = NULL;
  if (a && tt_lx_is_int_or_bool(tt_lx_dtype(a))) {
    tt_builder_fail(L->b, TT_UNIMPLEMENTED, "\"cholesky_cpu\" not implemented for '%s'",
                    tt_lx_torch_name(tt_lx_dtype(a)));
  }
  V l = cholesky(L, a, tt_l_bool(L, 1, false), "cholesky", &info);
  check_info(L, info, NOT_POSITIVE);
  tt_l_return(L, l);
}
// B with A = L L^H (U^H U): two triangular solves.
static V cholesky_solve(tt_lower_t* L, V b, V factor, bool upper) {
  V first = tt_lx_solve_triangular(L, factor, b, true, upper, false, upper ? "ADJOINT" : "NO_TRANSPOSE");
  return tt_lx_solve_triangular(L, factor, first, true, upper, false, upper ? "NO_TRANSPOSE" : "ADJOINT");
}
TT_LOWERING(cholesky_solve_helper) {
  V b = tt_l_tensor(L, 0), factor = tt_l_tensor(L, 1);
  if (!square(L, factor, "cholesky_solve") || !same_rows(L, factor, b, true, "cholesky_solve")) return;
  broadcast_batches(L, &factor, &b);
  tt_l_return(L, cholesky_solve(L, b, factor, tt_l_bool(L, 2, false)));
}
TT_LOWERING(cholesky_inverse) {
  V factor = tt_l_tensor(L, 0);
  if (!square(L, factor, "cholesky_inverse")) return;
  V zero = EQ(factor, K(factor, 0)), unit = CAST(identity_like(L, factor), TT_DTYPE_PRED);
  tt_lx_check(L, NOT(AND(zero, unit)), TT_ABORTED,
              "cholesky_inverse: A diagonal element is zero, the inversion could not be completed because "
              "the input matrix is singular.");
  tt_l_return(L, cholesky_solve(L, identity_like(L, factor), factor, tt_l_bool(L, 1, false)));
}

// ---- LU ----------------------------------------------------------------------------------------

typedef struct lu_s {
  V factors, pivots, permutation;  // pivots from 0; permutation: a[permutation] = L U
  V info;  // i32: 0 or the number (from 1) of the first zero pivot
} lu_t;

static bool lu(tt_lower_t* L, V a, const char* name, lu_t* out) {
  memset(out, 0, sizeof(*out));
  if (a && tt_lx_rank(a) < 2) {
    tt_builder_fail(L->b, TT_INVALID_ARGUMENT, "%s: The input tensor A must have at least 2 dimensions.",
                    name);
    return false;
  }
  if (!a || !float_or_complex(L, a, name)) return false;
  int64_t rank = tt_lx_rank(a);
  if (rank < 2) {
    tt_builder_fail(L->b, TT_INVALID_ARGUMENT, "%s: The input tensor A must have at least 2 dimensions.",
                    name);
    return false;
  }
  int64_t m = tt_lx_static_size(L, a, rank - 2), n = tt_lx_static_size(L, a, rank - 1), k = TT_MIN(m, n);
  const int64_t matrix[2] = {m, n};
  result_t results[3] = {shaped(a, tt_lx_dtype(a), 2, matrix), shaped(a, TT_DTYPE_S32, 1, &k),
                         shaped(a, TT_DTYPE_S32, 1, &m)};
  tt_op_t* op = call(L, "tt.lu", 1, &a, 3, results, 0, NULL);
  if (!op) return false;
  out->factors = &op->results[0];
  out->pivots = &op->results[1];
  out->permutation = &op->results[2];
  V top = tt_lx_slice_dim(L, tt_lx_slice_dim(L, out->factors, rank - 2, 0, k, 1), rank - 1, 0, k, 1);
  V d = diagonal(L, top);
  V place = d ? ADD(tt_lx_iota(L, TT_DTYPE_S32, d, rank - 2),
                    tt_lx_splat_i64(L, tt_lx_iota(L, TT_DTYPE_S32, d, rank - 2), 1))
              : NULL;
  V first = place ? SEL(EQ(d, K(d, 0)), place, tt_lx_splat_i64(L, place, INT32_MAX)) : NULL;
  int64_t last = rank - 2;
  if (first && k > 0) {
    V least = tt_b_reduce(L->b, TT_OP_MINIMUM, first, 1, &last, false);
    out->info = SEL(EQ(least, tt_lx_splat_i64(L, least, INT32_MAX)), tt_lx_splat_i64(L, least, 0), least);
  } else {
    result_t info = shaped(a, TT_DTYPE_S32, 0, NULL);
    out->info = tt_lx_full(L, TT_DTYPE_S32, info.rank, info.dims, 0);
  }
  return tt_builder_ok(L->b);
}
static V pivots_from_one(tt_lower_t* L, V pivots) {
  return pivots ? ADD(pivots, tt_lx_splat_i64(L, pivots, 1)) : NULL;
}
static const char singular[] =
    "The diagonal element {0} is zero, the computation could not be completed because the input matrix is "
    "singular.";

// Rows of b in the order of `index` [.., m].
static V take_rows(tt_lower_t* L, V b, V index) {
  if (!b || !index) return NULL;
  int64_t rank = tt_lx_rank(b);
  V wide = tt_lx_unsqueeze(L, CAST(index, TT_DTYPE_S64), rank - 1);
  tt_dim_t dims[TT_MAX_RANK];
  for (int64_t i = 0; i < rank; ++i) dims[i] = i == rank - 2 ? tt_lx_size(index, rank - 2) : tt_lx_size(b, i);
  return tt_lx_gather_along(L, b, rank - 2, tt_b_broadcast_to(L->b, wide, (size_t)rank, dims));
}
// The permutation that undoes `index`: position of each row number.
static V inverse_permutation(tt_lower_t* L, V index) {
  if (!index) return NULL;
  int64_t rank = tt_lx_rank(index), n = tt_lx_static_size(L, index, rank - 1), last = rank - 1;
  tt_dim_t dims[TT_MAX_RANK];
  for (int64_t i = 0; i < rank; ++i) dims[i] = tt_lx_size(index, i);
  dims[rank] = n;
  V row = tt_b_broadcast_to(L->b, tt_lx_unsqueeze(L, CAST(index, TT_DTYPE_S64), rank - 1), (size_t)rank + 1,
                            dims);  // [.., 1, m]
  V number = tt_lx_iota(L, TT_DTYPE_S64, row, rank - 1), position = tt_lx_iota(L, TT_DTYPE_S64, row, rank);
  last = rank;
  return tt_b_reduce(L->b, TT_OP_ADD, SEL(EQ(row, number), position, K(position, 0)), 1, &last, false);
}

static V lu_solve(tt_lower_t* L, V factors, V permutation, V b, bool adjoint_a) {
  if (!adjoint_a) {
    V y = tt_lx_solve_triangular(L, factors, take_rows(L, b, permutation), true, false, true, "NO_TRANSPOSE");
    return tt_lx_solve_triangular(L, factors, y, true, true, false, "NO_TRANSPOSE");
  }
  V y = tt_lx_solve_triangular(L, factors, b, true, true, false, "ADJOINT");
  V z = tt_lx_solve_triangular(L, factors, y, true, false, true, "ADJOINT");
  return take_rows(L, z, inverse_permutation(L, permutation));
}
// X A = B (left false) through A^H X^H = B^H.
static V lu_solve_side(tt_lower_t* L, V factors, V permutation, V b, bool left, bool adjoint_a) {
  if (left) return lu_solve(L, factors, permutation, b, adjoint_a);
  return tt_lx_adjoint(L, lu_solve(L, factors, permutation, tt_lx_adjoint(L, b), !adjoint_a));
}

static bool with_pivoting(tt_lower_t* L, uint32_t arg, const char* name) {
  if (tt_l_bool(L, arg, true)) return true;
  tt_builder_fail(L->b, TT_INVALID_ARGUMENT, "%s: LU without pivoting is not implemented on the CPU", name);
  return false;
}
TT_LOWERING(linalg_lu_factor_ex) {
  lu_t f;
  if (!with_pivoting(L, 1, "linalg.lu_factor") || !lu(L, tt_l_tensor(L, 0), "torch.linalg.lu_factor", &f))
    return;
  if (tt_l_bool(L, 2, false)) check_info(L, f.info, singular);
  tt_l_return(L, f.factors);
  tt_l_return(L, pivots_from_one(L, f.pivots));
  tt_l_return(L, f.info);
}

// P [m, m] with P[permutation[i], i] = 1.
static V permutation_matrix(tt_lower_t* L, V permutation, tt_dtype_t dtype) {
  if (!permutation) return NULL;
  int64_t rank = tt_lx_rank(permutation), m = tt_lx_static_size(L, permutation, rank - 1);
  tt_dim_t dims[TT_MAX_RANK];
  for (int64_t i = 0; i < rank - 1; ++i) dims[i] = tt_lx_size(permutation, i);
  dims[rank - 1] = dims[rank] = m;
  V row = tt_b_broadcast_to(L->b, tt_lx_unsqueeze(L, CAST(permutation, TT_DTYPE_S64), rank - 1),
                            (size_t)rank + 1, dims);
  return CAST(EQ(row, tt_lx_iota(L, TT_DTYPE_S64, row, rank - 1)), dtype);
}
static V lower_factor(tt_lower_t* L, V f) {
  int64_t rank = tt_lx_rank(f), k = TT_MIN(tt_lx_size(f, rank - 2), tt_lx_size(f, rank - 1));
  return triangle(L, tt_lx_slice_dim(L, f, rank - 1, 0, k, 1), false, true);
}
static V upper_factor(tt_lower_t* L, V f) {
  int64_t rank = tt_lx_rank(f), k = TT_MIN(tt_lx_size(f, rank - 2), tt_lx_size(f, rank - 1));
  return triangle(L, tt_lx_slice_dim(L, f, rank - 2, 0, k, 1), true, false);
}
TT_LOWERING(linalg_lu) {
  lu_t f;
  V a = tt_l_tensor(L, 0);
  if (!with_pivoting(L, 1, "linalg.lu") || !lu(L, a, "torch.linalg.lu", &f)) return;
  tt_l_return(L, permutation_matrix(L, f.permutation, tt_lx_dtype(a)));
  tt_l_return(L, lower_factor(L, f.factors));
  tt_l_return(L, upper_factor(L, f.factors));
}

// Pivots (from 1) [.., k] as the permutation of m rows: a loop over the exchanges.
static V permutation_of(tt_lower_t* L, V pivots, int64_t m) {
  if (!pivots) return NULL;
  int64_t rank = tt_lx_rank(pivots), k = tt_lx_static_size(L, pivots, rank - 1);
  tt_dim_t dims[TT_MAX_RANK];
  for (int64_t i = 0; i < rank - 1; ++i) dims[i] = tt_lx_size(pivots, i);
  dims[rank - 1] = m;
  V start = tt_b_iota(L->b, tt_b_type(L->b, TT_DTYPE_S32, (size_t)rank, dims), rank - 1);
  if (k == 0) return start;
  if (k == 0 || m == 0) return start;
  V operands[3] = {tt_b_scalar_i64(L->b, TT_DTYPE_S32, 0), start, CAST(pivots, TT_DTYPE_S32)};
  tt_op_t* op = tt_b_while(L->b, 3, operands);
  if (!op) return NULL;
  tt_block_t* saved = tt_b_region_begin(L->b, op, 0, 0, NULL);
  V more = LT(tt_b_region_arg(op, 0, 0), tt_b_scalar_i64(L->b, TT_DTYPE_S32, k));
  tt_b_region_end(L->b, saved, 1, &more);
  saved = tt_b_region_begin(L->b, op, 1, 0, NULL);
  V i = tt_b_region_arg(op, 1, 0), rows = tt_b_region_arg(op, 1, 1), all = tt_b_region_arg(op, 1, 2),
    starts[TT_MAX_RANK];
  int64_t sizes[TT_MAX_RANK], last = rank - 1;
  for (int64_t d = 0; d < rank; ++d) {
    starts[d] = d == last ? i : tt_b_scalar_i64(L->b, TT_DTYPE_S32, 0);
    sizes[d] = d == last ? 1 : tt_lx_size(pivots, d);
  }
  V target = tt_b_dynamic_slice(L->b, all, starts, sizes);
  V number = tt_lx_iota(L, TT_DTYPE_S32, rows, last);
  V other = target ? tt_lx_broadcast_like(L, SUB(target, tt_lx_splat_i64(L, target, 1)), rows) : NULL;
  V here = tt_lx_broadcast_like(L, i, rows);
  V at_here = EQ(number, here), at_other = EQ(number, other), zero = tt_lx_splat_i64(L, rows, 0);
  V value_here = tt_b_reduce(L->b, TT_OP_ADD, SEL(at_here, rows, zero), 1, &last, true);
  V value_other = tt_b_reduce(L->b, TT_OP_ADD, SEL(at_other, rows, zero), 1, &last, true);
  V swapped = SEL(at_other, tt_lx_broadcast_like(L, value_here, rows), rows);
  swapped = SEL(at_here, tt_lx_broadcast_like(L, value_other, rows), swapped);
  V next[3] = {ADD(i, tt_b_scalar_i64(L->b, TT_DTYPE_S32, 1)), swapped, all};
  tt_b_region_end(L->b, saved, 3, next);
  return &op->results[1];
}

static bool lu_pivots(tt_lower_t* L, V factors, V pivots, const char* name) {
  int64_t rank = tt_lx_rank(factors);
  if (tt_lx_dtype(pivots) != TT_DTYPE_S32) {
    tt_builder_fail(
        L->b, TT_INVALID_ARGUMENT,
        "%s: LU_pivots is expected to be a contiguous tensor of torch.int32 dtype. "
        "Note: this function is intended to be used with the output produced by torch.linalg.lu_factor",
        name);
    return false;
  }
  int64_t k = TT_MIN(tt_lx_size(factors, rank - 2), tt_lx_size(factors, rank - 1));
  bool fits = tt_lx_rank(pivots) == rank - 1 && tt_lx_size(pivots, rank - 2) == k;
  for (int64_t i = 0; fits && i < rank - 2; ++i) fits = tt_lx_size(pivots, i) == tt_lx_size(factors, i);
  if (!fits) {
    tt_builder_fail(L->b, TT_INVALID_ARGUMENT,
                    "%s: Number of pivots per batch should be same as the dimension of the matrix", name);
    return false;
  }
  tt_lx_check_range(L, pivots, 1, tt_lx_size(factors, rank - 2) + 1, TT_INVALID_ARGUMENT,
                    "pivots passed to lu_unpack must be between 1 and LU.size(-2) inclusive, but one is {0}. "
                    "Did you properly pass the result of lu_factor?");
  return true;
}

TT_LOWERING(lu_unpack) {
  V f = tt_l_tensor(L, 0), pivots = tt_l_tensor(L, 1);
  if (!f || !pivots) return;
  if (tt_lx_rank(f) < 2) {
    tt_builder_fail(L->b, TT_INVALID_ARGUMENT,
                    "torch.lu_unpack: Expected tensor with 2 or more dimensions. Got a tensor of %lld",
                    (long long)tt_lx_rank(f));
    return;
  }
  if (tt_l_bool(L, 3, true) && !lu_pivots(L, f, pivots, "torch.lu_unpack")) return;
  tt_dtype_t dtype = tt_lx_dtype(f);
  if (tt_l_bool(L, 3, true))
    tt_l_return(L, permutation_matrix(L, permutation_of(L, pivots, tt_lx_size(f, tt_lx_rank(f) - 2)), dtype));
  else tt_l_return(L, no_values(L, dtype));
  bool data = tt_l_bool(L, 2, true);
  tt_l_return(L, data ? lower_factor(L, f) : no_values(L, dtype));
  tt_l_return(L, data ? upper_factor(L, f) : no_values(L, dtype));
}

// (LU, pivots, B, left, adjoint)
TT_LOWERING(linalg_lu_solve) {
  V f = tt_l_tensor(L, 0), pivots = tt_l_tensor(L, 1), b = tt_l_tensor(L, 2);
  if (!square(L, f, "linalg.lu_solve") || !pivots ||
      !same_rows(L, f, b, tt_l_bool(L, 3, true), "linalg.lu_solve"))
    return;
  if (!lu_pivots(L, f, pivots, "linalg.lu_solve")) return;
  V permutation = tt_lx_unsqueeze(L, permutation_of(L, pivots, tt_lx_size(f, tt_lx_rank(f) - 2)),
                                  tt_lx_rank(pivots));  // as a matrix, to broadcast along
  broadcast_batches(L, &f, &b);
  broadcast_batches(L, &f, &permutation);
  if (!permutation) return;
  permutation = tt_lx_squeeze(L, permutation, tt_lx_rank(permutation) - 1);
  tt_l_return(L, lu_solve_side(L, f, permutation, b, tt_l_bool(L, 3, true), tt_l_bool(L, 4, false)));
}

static bool factors_transposed(const tt_lower_t* L, V a) {
  return !L->args[0].tensor.is_strided && !tt_dtype_is_complex(tt_lx_dtype(a));
}

// (A, B, left, check_errors) -> (result, LU, pivots, info)
TT_LOWERING(linalg_solve_ex) {
  V a = tt_l_tensor(L, 0), b = tt_l_tensor(L, 1);
  lu_t f;
  if (!square(L, a, "linalg.solve") || !b) return;
  bool left = tt_l_bool(L, 2, true), vector = tt_lx_rank(b) == 1;
  if (!vector && tt_lx_rank(b) == tt_lx_rank(a) - 1) {  // a batch of vectors
    vector = true;
    for (int64_t i = 0; i < tt_lx_rank(b); ++i) vector &= tt_lx_size(b, i) == tt_lx_size(a, i);
  }
  if (!lu(L, a, "linalg.solve", &f)) return;
  if (tt_l_bool(L, 3, false))
    check_info(L, f.info, "torch.linalg.solve: The solver failed because the input matrix is singular.");
  V right = vector ? tt_lx_unsqueeze(L, b, tt_lx_rank(b)) : b;
  if (!same_rows(L, a, right, left, "linalg.solve")) return;
  V factors = f.factors, permutation = tt_lx_unsqueeze(L, f.permutation, tt_lx_rank(f.permutation));
  broadcast_batches(L, &factors, &right);
  broadcast_batches(L, &factors, &permutation);
  if (!permutation) return;
  permutation = tt_lx_squeeze(L, permutation, tt_lx_rank(permutation) - 1);
  V x = lu_solve_side(L, factors, permutation, right, left, false);
  if (vector) x = tt_lx_squeeze(L, x, tt_lx_rank(x) - 1);
  tt_l_return(L, x);
  tt_l_return(L, f.factors);
  tt_l_return(L, pivots_from_one(L, f.pivots));
  tt_l_return(L, f.info);
}

TT_LOWERING(linalg_inv_ex) {
  V a = tt_l_tensor(L, 0);
  lu_t f;
  if (!square(L, a, "linalg.inv") || !lu(L, a, "linalg.inv", &f)) return;
  if (tt_l_bool(L, 1, false)) {
    check_info(L, f.info,
               "linalg.inv: The diagonal element {0} is zero, the inversion could not be completed because "
               "the input matrix is singular.");
  }
  tt_l_return(L, lu_solve(L, f.factors, f.permutation, identity_like(L, a), false));
  tt_l_return(L, f.info);
}

// +1 or -1 by the number of row exchanges, in `dtype`.
static V permutation_sign(tt_lower_t* L, V pivots, tt_dtype_t dtype) {
  if (!pivots) return NULL;
  int64_t last = tt_lx_rank(pivots) - 1;
  V moved = CAST(NE(pivots, tt_lx_iota(L, TT_DTYPE_S32, pivots, last)), TT_DTYPE_S32);
  V count = tt_b_reduce(L->b, TT_OP_ADD, moved, 1, &last, false);
  if (!count) return NULL;
  V odd = AND(count, tt_lx_splat_i64(L, count, 1));
  return CAST(SUB(tt_lx_splat_i64(L, odd, 1), ADD(odd, odd)), dtype);
}
static V last_product(tt_lower_t* L, V d) {
  int64_t last = tt_lx_rank(d) - 1;
  return d ? tt_b_reduce(L->b, TT_OP_MULTIPLY, d, 1, &last, false) : NULL;
}
TT_LOWERING(linalg_det) {
  V a = tt_l_tensor(L, 0);
  lu_t f;
  if (!square(L, a, "linalg.det") || !lu(L, factors_transposed(L, a) ? tt_lx_swap_last(L, a) : a, "linalg.det", &f))
    return;
  V d = diagonal(L, f.factors);
  tt_l_return(L, MUL(permutation_sign(L, f.pivots, tt_lx_dtype(a)), last_product(L, d)));
  tt_l_return(L, f.factors);
  tt_l_return(L, pivots_from_one(L, f.pivots));
}
TT_LOWERING(linalg_slogdet) {
  V a = tt_l_tensor(L, 0);
  lu_t f;
  if (!square(L, a, "linalg.slogdet") ||
      !lu(L, factors_transposed(L, a) ? tt_lx_swap_last(L, a) : a, "linalg.slogdet", &f))
    return;
  V d = diagonal(L, f.factors);
  int64_t last = tt_lx_rank(d) - 1;
  tt_l_return(L, MUL(permutation_sign(L, f.pivots, tt_lx_dtype(a)),
                     last_product(L, tt_b_unary(L->b, TT_OP_SIGN, d))));
  tt_l_return(L, tt_b_reduce(L->b, TT_OP_ADD, LOG(ABS(d)), 1, &last, false));
  tt_l_return(L, f.factors);
  tt_l_return(L, pivots_from_one(L, f.pivots));
}

// ---- triangular, QR ----------------------------------------------------------------------------

// (self, B, upper, left, unitriangular)
TT_LOWERING(linalg_solve_triangular) {
  V a = tt_l_tensor(L, 0), b = tt_l_tensor(L, 1);
  if (!square(L, a, "linalg.solve_triangular") ||
      !same_rows(L, a, b, tt_l_bool(L, 3, true), "linalg.solve_triangular"))
    return;
  broadcast_batches(L, &a, &b);
  tt_l_return(L, tt_lx_solve_triangular(L, a, b, tt_l_bool(L, 3, true), tt_l_bool(L, 2, false),
                                  tt_l_bool(L, 4, false), "NO_TRANSPOSE"));
}
// (B, A, upper, transpose, unitriangular) -> (solution, A)
TT_LOWERING(triangular_solve) {
  V b = tt_l_tensor(L, 0), a = tt_l_tensor(L, 1);
  if (!square(L, a, "triangular_solve") || !same_rows(L, a, b, true, "triangular_solve")) return;
  broadcast_batches(L, &a, &b);
  tt_l_return(L, tt_lx_solve_triangular(L, a, b, true, tt_l_bool(L, 2, true), tt_l_bool(L, 4, false),
                                  tt_l_bool(L, 3, false) ? "TRANSPOSE" : "NO_TRANSPOSE"));
  tt_l_return(L, a);
}

TT_LOWERING(linalg_qr) {
  V a = tt_l_tensor(L, 0);
  const char* mode = tt_l_text(L, 1, "reduced");
  if (!a || !float_or_complex(L, a, "linalg.qr")) return;
  bool full = !strcmp(mode, "complete"), r_only = !strcmp(mode, "r");
  if (!full && !r_only && strcmp(mode, "reduced")) {
    tt_builder_fail(
        L->b, TT_INVALID_ARGUMENT,
        "qr received unrecognized mode '%s' but expected one of 'reduced' (default), 'r', or 'complete'",
        mode);
    return;
  }
  int64_t rank = tt_lx_rank(a);
  if (rank < 2) {
    tt_builder_fail(L->b, TT_INVALID_ARGUMENT,
                    "linalg.qr: The input tensor A must have at least 2 dimensions.");
    return;
  }
  int64_t m = tt_lx_static_size(L, a, rank - 2), n = tt_lx_static_size(L, a, rank - 1),
          c = full ? m : TT_MIN(m, n);
  const int64_t q_dims[2] = {m, c}, r_dims[2] = {c, n};
  result_t results[2] = {shaped(a, tt_lx_dtype(a), 2, q_dims), shaped(a, tt_lx_dtype(a), 2, r_dims)};
  tt_attr_t attr = tt_attr_bool(TT_ATTR_FULL_MATRICES, full);
  tt_op_t* op = call(L, "tt.qr", 1, &a, 2, results, 1, &attr);
  if (!op) return;
  tt_l_return(L, r_only ? no_values(L, tt_lx_dtype(a)) : &op->results[0]);
  tt_l_return(L, &op->results[1]);
}
TT_LOWERING(geqrf) {
  V a = tt_l_tensor(L, 0);
  if (!a) return;
  if (tt_lx_rank(a) < 2) {
    tt_builder_fail(L->b, TT_INVALID_ARGUMENT, "torch.geqrf: input must have at least 2 dimensions.");
    return;
  }
  if (!float_or_complex(L, a, "geqrf")) return;
  int64_t rank = tt_lx_rank(a), m = tt_lx_size(a, rank - 2), n = tt_lx_size(a, rank - 1), k = TT_MIN(m, n);
  const int64_t matrix[2] = {m, n};
  result_t results[2] = {shaped(a, tt_lx_dtype(a), 2, matrix), shaped(a, tt_lx_dtype(a), 1, &k)};
  tt_op_t* op = call(L, "tt.geqrf", 1, &a, 2, results, 0, NULL);
  if (!op) return;
  tt_l_return(L, &op->results[0]);
  tt_l_return(L, &op->results[1]);
}
TT_LOWERING(linalg_householder_product) {
  V operands[2] = {tt_l_tensor(L, 0), tt_l_tensor(L, 1)};
  if (!operands[0] || !operands[1]) return;
  int64_t rank = tt_lx_rank(operands[0]), m = 0, n = 0, k = 0;
  bool fits = rank >= 2 && tt_lx_rank(operands[1]) == rank - 1;
  if (fits) {
    m = tt_lx_size(operands[0], rank - 2);
    n = tt_lx_size(operands[0], rank - 1);
    k = tt_lx_size(operands[1], rank - 2);
  }
  for (int64_t i = 0; fits && i < rank - 2; ++i)
    fits = tt_lx_size(operands[0], i) == tt_lx_size(operands[1], i);
  if (!fits || m < n || n < k || tt_lx_dtype(operands[0]) != tt_lx_dtype(operands[1])) {
    tt_builder_fail(
        L->b, TT_INVALID_ARGUMENT,
        "torch.linalg.householder_product: input [.., m, n] with m >= n and tau [.., k] of its dtype with "
        "n >= k are needed, got m %lld, n %lld, k %lld",
        (long long)m, (long long)n, (long long)k);
    return;
  }
  const int64_t matrix[2] = {tt_lx_size(operands[0], rank - 2), tt_lx_size(operands[0], rank - 1)};
  result_t result = shaped(operands[0], tt_lx_dtype(operands[0]), 2, matrix);
  tt_op_t* op = call(L, "tt.orgqr", 2, operands, 1, &result, 0, NULL);
  if (op) tt_l_return(L, &op->results[0]);
}

// (self: reflectors [.., m, k], tau [.., k], other, left, transpose): Q other, other Q, or with Q's adjoint. Q is formed
// whole, from the reflectors in the first columns of a square matrix.
TT_LOWERING(ormqr) {
  V a = tt_l_tensor(L, 0), tau = tt_l_tensor(L, 1), c = tt_l_tensor(L, 2);
  if (!a || !tau || !c) return;
  bool left = tt_l_bool(L, 3, true), transpose = tt_l_bool(L, 4, false);
  int64_t rank = tt_lx_rank(a), side = tt_lx_rank(c) - (left ? 2 : 1);
  if (rank < 2 || tt_lx_rank(c) < 2) {
    tt_builder_fail(L->b, TT_INVALID_ARGUMENT, "torch.ormqr: %s must have at least 2 dimensions.",
                    rank < 2 ? "input" : "other");
    return;
  }
  int64_t m = tt_lx_static_size(L, a, rank - 2), n = tt_lx_static_size(L, a, rank - 1);
  int64_t used = TT_MIN(tt_lx_size(c, side), n);
  if (tt_lx_size(c, side) != m) {
    tt_builder_fail(L->b, TT_INVALID_ARGUMENT,
                    "torch.ormqr: other.shape[%d] must be equal to input.shape[-2]", left ? -2 : -1);
    return;
  }
  const char* apart = tt_lx_rank(tau) != rank - 1 ? "tau to have one dimension less than input"
                      : tt_lx_rank(c) != rank     ? "other to have the same number of dimensions as input"
                                                  : NULL;
  if (apart) {
    V odd = tt_lx_rank(tau) != rank - 1 ? tau : c;
    tt_builder_fail(L->b, TT_INVALID_ARGUMENT,
                    "torch.ormqr: Expected %s, but got %s.ndim equal to %lld and input.ndim is equal to %lld",
                    apart, odd == tau ? "tau" : "other", (long long)tt_lx_rank(odd), (long long)rank);
    return;
  }
  if (tt_lx_size(tau, rank - 2) != used) {
    tt_builder_fail(L->b, TT_INVALID_ARGUMENT,
                    "torch.ormqr: tau.shape[-1] must be equal to min(other.shape[%d], input.shape[-1])",
                    left ? -2 : -1);
    return;
  }
  for (int64_t i = 0; i < rank - 2; ++i) {
    if (tt_lx_size(tau, i) == tt_lx_size(a, i) && tt_lx_size(c, i) == tt_lx_size(a, i)) continue;
    tt_builder_fail(
        L->b, TT_INVALID_ARGUMENT,
        "torch.ormqr: Expected batch dimensions of tau and other to be equal to input.shape[:-2], but "
        "dimension %lld has %lld and %lld for %lld",
        (long long)i, (long long)tt_lx_size(tau, i), (long long)tt_lx_size(c, i),
        (long long)tt_lx_size(a, i));
    return;
  }
  V others[2] = {tau, c};
  for (int i = 0; i < 2; ++i) {
    if (tt_lx_dtype(others[i]) == tt_lx_dtype(a)) continue;
    tt_builder_fail(
        L->b, TT_INVALID_ARGUMENT,
        "torch.ormqr: Expected input and %s to have the same dtype, but input has dtype%s and %s has "
        "dtype %s",
        i ? "other" : "tau", tt_lx_torch_name(tt_lx_dtype(a)), i ? "other" : "tau",
        tt_lx_torch_name(tt_lx_dtype(others[i])));
    return;
  }
  if (!is_float_or_complex(tt_lx_dtype(a))) {
    tt_builder_fail(L->b, TT_UNIMPLEMENTED, "\"ormqr_cpu\" not implemented for '%s'",
                    tt_lx_torch_name(tt_lx_dtype(a)));
    return;
  }
  V operands[2] = {tt_lx_pad_dim(L, tt_lx_slice_dim(L, a, rank - 1, 0, used, 1), rank - 1, 0, m - used, 0),
                   tau};
  const int64_t matrix[2] = {m, m};
  result_t result = shaped(a, tt_lx_dtype(a), 2, matrix);
  tt_op_t* op = call(L, "tt.orgqr", 2, operands, 1, &result, 0, NULL);
  if (!op) return;
  V q = transpose ? tt_lx_adjoint(L, &op->results[0]) : &op->results[0];
  tt_l_return(L, left ? tt_b_matmul(L->b, q, c) : tt_b_matmul(L->b, c, q));
}

// ---- LDL ---------------------------------------------------------------------------------------

// (self, hermitian, check_errors) -> (LD, pivots, info)
TT_LOWERING(linalg_ldl_factor_ex) {
  V a = tt_l_tensor(L, 0);
  if (!square(L, a, "torch.linalg.ldl_factor_ex") || !float_or_complex(L, a, "torch.linalg.ldl_factor_ex"))
    return;
  int64_t n = tt_lx_static_size(L, a, tt_lx_rank(a) - 1);
  const int64_t matrix[2] = {n, n};
  tt_dtype_t dtype = tt_lx_dtype(a);
  result_t results[3] = {shaped(a, dtype, 2, matrix), shaped(a, TT_DTYPE_S32, 1, &n),
                         shaped(a, TT_DTYPE_S32, 0, NULL)};
  tt_attr_t attr = tt_attr_bool(TT_ATTR_HERMITIAN, tt_l_bool(L, 1, false) && tt_dtype_is_complex(dtype));
  tt_op_t* op = call(L, "tt.ldl", 1, &a, 3, results, 1, &attr);
  if (!op) return;
  if (tt_l_bool(L, 2, false)) {
    check_info(L, &op->results[2],
               "torch.linalg.ldl_factor: The factorization could not be completed because the pivot {0} of D "
               "is zero.");
  }
  for (int i = 0; i < 3; ++i) tt_l_return(L, &op->results[i]);
}
// (LD, pivots, B, hermitian)
TT_LOWERING(linalg_ldl_solve) {
  V ld = tt_l_tensor(L, 0), pivots = tt_l_tensor(L, 1), b = tt_l_tensor(L, 2);
  if (!square(L, ld, "torch.linalg.ldl_solve") || !pivots ||
      !same_rows(L, ld, b, true, "torch.linalg.ldl_solve"))
    return;
  int64_t n = tt_lx_static_size(L, ld, tt_lx_rank(ld) - 1);
  tt_lx_check_range(L, pivots, -n, n + 1, TT_INVALID_ARGUMENT,
                    "torch.linalg.ldl_solve: the pivot {0} is out of range for LD");
  V column = tt_lx_unsqueeze(L, pivots, tt_lx_rank(pivots));
  broadcast_batches(L, &ld, &b);
  V factors = ld;
  broadcast_batches(L, &factors, &column);
  if (!column) return;
  V operands[3] = {ld, b, tt_lx_squeeze(L, column, tt_lx_rank(column) - 1)};
  int64_t rank = tt_lx_rank(b);
  const int64_t matrix[2] = {tt_lx_size(b, rank - 2), tt_lx_size(b, rank - 1)};
  result_t result = shaped(b, tt_lx_dtype(b), 2, matrix);
  tt_attr_t attr =
      tt_attr_bool(TT_ATTR_HERMITIAN, tt_l_bool(L, 3, false) && tt_dtype_is_complex(tt_lx_dtype(ld)));
  tt_op_t* op = call(L, "tt.ldl_solve", 3, operands, 1, &result, 1, &attr);
  if (op) tt_l_return(L, &op->results[0]);
}

// ---- eigenvalues, singular values --------------------------------------------------------------

TT_LOWERING(linalg_svd) {
  V a = tt_l_tensor(L, 0);
  if (!a || !float_or_complex(L, a, "linalg.svd")) return;
  int64_t rank = tt_lx_rank(a);
  if (rank < 2) {
    tt_builder_fail(L->b, TT_INVALID_ARGUMENT,
                    "linalg.svd: The input tensor A must have at least 2 dimensions.");
    return;
  }
  tt_lx_check(L, EQ(a, a), TT_ABORTED,
              "linalg.svd: The algorithm failed to converge because the input matrix contained non-finite "
              "values.");
  bool full = tt_l_bool(L, 1, false), vectors = tt_l_bool(L, 2, true);
  int64_t m = tt_lx_static_size(L, a, rank - 2), n = tt_lx_static_size(L, a, rank - 1), k = TT_MIN(m, n);
  const int64_t u[2] = {m, full ? m : k}, v[2] = {full ? n : k, n};
  tt_dtype_t dtype = tt_lx_dtype(a);
  result_t results[3] = {shaped(a, dtype, 2, u), shaped(a, tt_dtype_real_part(dtype), 1, &k),
                         shaped(a, dtype, 2, v)};
  tt_attr_t attr = tt_attr_bool(TT_ATTR_FULL_MATRICES, full);
  tt_op_t* op = call(L, "tt.svd", 1, &a, 3, results, 1, &attr);
  if (!op) return;
  tt_l_return(L, vectors ? &op->results[0] : no_values(L, dtype));
  tt_l_return(L, &op->results[1]);
  tt_l_return(L, vectors ? &op->results[2] : no_values(L, dtype));
}
TT_LOWERING(linalg_eigh) {
  V a = tt_l_tensor(L, 0);
  if (!square(L, a, "linalg.eigh") || !float_or_complex(L, a, "linalg.eigh")) return;
  int64_t n = tt_lx_static_size(L, a, tt_lx_rank(a) - 1);
  const int64_t matrix[2] = {n, n};
  tt_dtype_t dtype = tt_lx_dtype(a);
  const char* side = tt_l_text(L, 1, "L");
  bool vectors = tt_l_bool(L, 2, true);
  result_t results[2] = {shaped(a, tt_dtype_real_part(dtype), 1, &n), shaped(a, dtype, 2, matrix)};
  tt_attr_t attr = tt_attr_bool(TT_ATTR_LOWER, side[0] == 'L' || side[0] == 'l');
  tt_op_t* op = call(L, "tt.eigh", 1, &a, vectors ? 2 : 1, results, 1, &attr);
  if (!op) return;
  tt_l_return(L, &op->results[0]);
  tt_l_return(L, vectors ? &op->results[1] : no_values(L, dtype));
}
static tt_op_t* eig(tt_lower_t* L, V a, size_t results_wanted) {
  if (!square(L, a, "linalg.eig") || !float_or_complex(L, a, "linalg.eig")) return NULL;
  V size = ABS(a);
  tt_lx_check(L, LT(size, K(size, INFINITY)), TT_INVALID_ARGUMENT,
              "torch.linalg.eig: input tensor should not contain infs or NaNs.");
  int64_t n = tt_lx_static_size(L, a, tt_lx_rank(a) - 1);
  const int64_t matrix[2] = {n, n};
  tt_dtype_t dtype = tt_lx_dtype(a);
  if (dtype == TT_DTYPE_F32) dtype = TT_DTYPE_C64;
  if (dtype == TT_DTYPE_F64) dtype = TT_DTYPE_C128;
  result_t results[2] = {shaped(a, dtype, 1, &n), shaped(a, dtype, 2, matrix)};
  return call(L, "tt.eig", 1, &a, results_wanted, results, 0, NULL);
}
TT_LOWERING(linalg_eig) {
  tt_op_t* op = eig(L, tt_l_tensor(L, 0), 2);
  if (!op) return;
  tt_l_return(L, &op->results[0]);
  tt_l_return(L, &op->results[1]);
}
TT_LOWERING(linalg_eigvals) {
  tt_op_t* op = eig(L, tt_l_tensor(L, 0), 1);
  if (op) tt_l_return(L, &op->results[0]);
}

// ---- least squares ----------------------------------------------------------------------------

// (self, b, rcond?, driver?) -> (solution, residuals, rank, singular_values), all drivers by the singular values: the
// solution of least norm. Residuals are given for every tall system, LAPACK's drivers give none of deficient rank.
TT_LOWERING(linalg_lstsq) {
  V a = tt_l_tensor(L, 0), b = tt_l_tensor(L, 1);
  if (!a || !b || !float_or_complex(L, a, "linalg.lstsq")) return;
  const char* driver = tt_l_text(L, 3, "gelsy");
  int64_t rank = tt_lx_rank(a);
  if (rank < 2) {
    tt_builder_fail(L->b, TT_INVALID_ARGUMENT, "torch.linalg.lstsq: input must have at least 2 dimensions.");
    return;
  }
  if (tt_lx_dtype(a) != tt_lx_dtype(b)) {
    tt_builder_fail(L->b, TT_INVALID_ARGUMENT, "torch.linalg.lstsq: input and other must have the same dtype");
    return;
  }
  bool vector = tt_lx_rank(b) == 1 || tt_lx_rank(b) == rank - 1;
  for (int64_t i = 0; vector && tt_lx_rank(b) > 1 && i < rank - 1; ++i) vector = tt_lx_size(a, i) == tt_lx_size(b, i);
  if (vector) b = tt_lx_unsqueeze(L, b, tt_lx_rank(b));
  int64_t m = tt_lx_static_size(L, a, rank - 2), n = tt_lx_static_size(L, a, rank - 1), k = TT_MIN(m, n);
  if (tt_lx_size(b, tt_lx_rank(b) - 2) != m) {
    tt_builder_fail(L->b, TT_INVALID_ARGUMENT, "torch.linalg.lstsq: input.size(-2) should match other.size(-2)");
    return;
  }
  broadcast_batches(L, &a, &b);
  rank = tt_lx_rank(a);
  tt_dtype_t dtype = tt_lx_dtype(a), real = tt_dtype_real_part(dtype);
  const int64_t left[2] = {m, k}, right[2] = {k, n}, last = rank - 2, row = rank - 2;
  result_t parts[3] = {shaped(a, dtype, 2, left), shaped(a, real, 1, &k), shaped(a, dtype, 2, right)};
  tt_attr_t attr = tt_attr_bool(TT_ATTR_FULL_MATRICES, false);
  tt_op_t* svd = call(L, "tt.svd", 1, &a, 3, parts, 1, &attr);
  if (!svd) return;
  V u = &svd->results[0], s = &svd->results[1], vh = &svd->results[2];
  double epsilon = real == TT_DTYPE_F64 ? 2.220446049250313e-16 : 1.1920928955078125e-07;
  double cut = tt_l_float(L, 2, -1);
  if (cut < 0 || tt_l_is_none(L, 2)) cut = epsilon * (double)TT_MAX(m, n);
  V top = k ? tt_b_reduce(L->b, TT_OP_MAXIMUM, s, 1, &last, true) : s;
  V kept = GT(s, tt_lx_broadcast_like(L, MUL(top, K(top, cut)), s));
  V inverse = SEL(kept, DIV(K(s, 1), SEL(kept, s, K(s, 1))), K(s, 0));
  V inner = tt_b_matmul(L->b, tt_lx_adjoint(L, u), b);
  V scale = CAST(tt_lx_unsqueeze(L, inverse, rank - 1), dtype);
  V x = tt_b_matmul(L->b, tt_lx_adjoint(L, vh), MUL(inner, tt_lx_broadcast_like(L, scale, inner)));
  bool basic = strcmp(driver, "gelsy") == 0, full = strcmp(driver, "gels") == 0;
  V residuals = no_values(L, real);
  if (m > n && !basic) {
    V off = SUB(tt_b_matmul(L->b, a, x), b);
    V square_of = tt_dtype_is_complex(dtype) ? ADD(MUL(REAL(off), REAL(off)), MUL(IMAG(off), IMAG(off))) : MUL(off, off);
    residuals = tt_b_reduce(L->b, TT_OP_ADD, square_of, 1, &row, false);
  }
  tt_l_return(L, vector ? tt_lx_squeeze(L, x, rank - 1) : x);
  tt_l_return(L, residuals);
  tt_l_return(L, full ? no_values(L, TT_DTYPE_S64)
                      : tt_b_reduce(L->b, TT_OP_ADD, CAST(kept, TT_DTYPE_S64), 1, &last, false));
  tt_l_return(L, basic || full ? no_values(L, real) : s);
}
