// Body of the Hermitian eigenproblem (ir/composites.def): two-sided Jacobi, n/2 rotations at once. Each sweep
// of n - 1 rounds meets all pairs; the off-diagonal part falls quadratically in the end.
#include "lower/expand_rotation.h"

enum { MOST_SWEEPS = 40 };   // a bound only: no input is known that needs half of them

typedef struct eigen_s {
  int64_t size;   // 2k
  double tolerance;
} eigen_t;

// ---- sweeps --------------------------------------------------------------------------------------
// Whether the off-diagonal part is within `factor` of the whole: i1 [B].
static V is_diagonal(tt_lower_t* L, V w, double factor) {
  if (!w) return NULL;
  const int64_t both[2] = {1, 2};
  V square = tt_lm_square(L, w);
  V off = SEL(EQ(tt_mat_place(L, w, 1), tt_mat_place(L, w, 2)), K(square, 0), square);
  V rest = tt_b_reduce(L->b, TT_OP_ADD, off, 2, both, false);
  V whole = tt_b_reduce(L->b, TT_OP_ADD, square, 2, both, false);
  return whole ? LE(rest, MUL(whole, K(whole, factor * factor))) : NULL;
}

// The pairs' blocks as they are in exact arithmetic: rounding there would keep w from ever getting diagonal.
static V with_blocks(tt_lower_t* L, V w, V diagonal, int64_t k) {
  if (!w || !diagonal) return NULL;
  V row = tt_mat_place(L, w, 1), column = tt_mat_place(L, w, 2), apart = ABS(SUB(row, column));
  w = SEL(EQ(apart, tt_lx_splat_i64(L, apart, k)), K(w, 0), w);
  return SEL(EQ(row, column), tt_mat_along(L, CAST(diagonal, tt_lx_dtype(w)), 1, w), w);
}
// state: number, w, v^H (which a call for the eigenvalues alone has not)
static void round_of_rotations(tt_lower_t* L, V* state, void* self) {
  eigen_t* eigen = self;
  int64_t k = eigen->size / 2;
  V w = state[1];
  V diagonal = tt_mat_real(L, tt_mat_diagonal(L, w));
  V p = tt_lx_slice_dim(L, diagonal, 1, 0, k, 1), q = tt_lx_slice_dim(L, diagonal, 1, k, 2 * k, 1);
  V right = tt_lx_slice_dim(L, w, 2, k, 2 * k, 1);
  V x = tt_mat_diagonal(L, tt_lx_slice_dim(L, right, 1, 0, k, 1));
  tt_rotation_t r = tt_mat_rotation(L, p, q, x, NULL);
  w = tt_mat_rotate(L, tt_mat_rotate(L, w, 1, &r, false), 2, &r, true);
  V parts[2] = {SUB(p, r.shift), ADD(q, r.shift)};
  w = with_blocks(L, w, tt_b_concatenate(L->b, 2, parts, 1), k);
  state[1] = tt_mat_move_on(L, tt_mat_move_on(L, w, 1), 2);
  if (state[2]) state[2] = tt_mat_move_on(L, tt_mat_rotate(L, state[2], 1, &r, false), 1);
}
static V is_unfinished(tt_lower_t* L, V* state, void* self) {
  eigen_t* eigen = self;
  V unfinished = NOT(tt_lx_reduce_all(L, TT_OP_AND, is_diagonal(L, state[1], eigen->tolerance)));
  return AND(unfinished, LT(state[0], tt_b_scalar_i64(L->b, TT_DTYPE_S32, MOST_SWEEPS)));
}
static void sweep(tt_lower_t* L, V* state, void* self) {
  eigen_t* eigen = self;
  V inner[3] = {NULL, state[1], state[2]};
  tt_expand_for(L, 0, eigen->size - 1, state[2] ? 3 : 2, inner, round_of_rotations, self);
  state[0] = ADD(state[0], tt_b_scalar_i64(L->b, TT_DTYPE_S32, 1));
  for (int i = 1; i < 3; ++i) state[i] = inner[i];
}

// ---- the body ------------------------------------------------------------------------------------
// The whole matrix from one triangle.
static V hermitian(tt_lower_t* L, V a, bool lower) {
  if (!a) return NULL;
  V row = tt_mat_place(L, a, 1), column = tt_mat_place(L, a, 2);
  V mirrored = tt_lx_adjoint(L, a);
  V whole = SEL(lower ? GE(row, column) : LE(row, column), a, mirrored);
  return SEL(EQ(row, column), CAST(tt_mat_real(L, a), tt_lx_dtype(a)), whole);
}
// A decoupled row and column more where n is odd.
static V even(tt_lower_t* L, V a, int64_t n) {
  if (n % 2 == 0) return a;
  return tt_lx_pad_dim(L, tt_lx_pad_dim(L, a, 1, 0, 1, 0), 2, 0, 1, 0);
}
void tt_expand_eigh(tt_expand_t* e) {
  tt_lower_t* L = e->L;
  const tt_type_t* type = e->in[0]->type;
  bool vectors = e->op->result_count > 1;
  int64_t n = type->dims[type->rank - 1];
  if (tt_type_elems(type) == 0) {
    for (uint32_t i = 0; i < e->op->result_count; ++i) {
      const tt_type_t* t = e->op->results[i].type;
      e->out[i] = tt_lx_full(L, t->dtype, t->rank, t->dims, 0);
    }
    return;
  }
  V scaled = NULL, ok = NULL;
  V whole = hermitian(L, tt_lm_fold(L, e->in[0], 2), tt_expand_bool(e, TT_ATTR_LOWER));
  V scale = tt_mat_scale(L, whole, &scaled, &ok), w = even(L, scaled, n);
  eigen_t eigen = {n + n % 2, tt_mat_epsilon(type->dtype)};
  V state[3] = {tt_b_scalar_i64(L->b, TT_DTYPE_S32, 0), w, vectors ? tt_lm_identity(L, w) : NULL};
  tt_expand_while(L, vectors ? 3 : 2, state, is_unfinished, sweep, &eigen);
  ok = AND(ok, is_diagonal(L, state[1], eigen.tolerance * 64));
  V values = tt_lx_slice_dim(L, tt_mat_real(L, tt_mat_diagonal(L, state[1])), 1, 0, n, 1), order = NULL;
  values = tt_mat_sort(L, values, false, &order);
  values = MUL(values, tt_mat_along(L, scale, 1, values));
  e->out[0] = tt_mat_shaped(L, tt_mat_or_nan(L, values, ok), e->op->results[0].type);
  if (!vectors) return;
  V rows = tt_lx_slice_dim(L, tt_lm_take_rows(L, state[2], order), 2, 0, n, 1);
  V columns = tt_lx_adjoint(L, rows);
  e->out[1] = tt_mat_shaped(L, tt_mat_or_nan(L, columns, ok), e->op->results[1].type);
}
