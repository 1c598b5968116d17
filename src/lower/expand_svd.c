// Body of the singular value decomposition (ir/composites.def): one-sided Jacobi. Rotations from the right
// make the columns of a (m >= n, else of a^H) orthogonal: a V = U S. The columns lie as rows here.
#include <math.h>

#include "lower/expand_rotation.h"

// 6 to 10 sweeps are usual, 25 were seen for rows graded over 30 decades.
enum { MOST_SWEEPS = 40 };

typedef struct svd_s {
  int64_t size;       // 2k rows: the n columns, and an empty one where n is odd
  double tolerance;   // of the cosine of two columns
} svd_t;

// state: number, x [B, 2k, m], v^T [B, 2k, n], i1 []: a pair was not orthogonal
static void round_of_rotations(tt_lower_t* L, V* state, void* self) {
  svd_t* svd = self;
  int64_t k = svd->size / 2;
  V top = tt_lx_slice_dim(L, state[1], 1, 0, k, 1), bottom = tt_lx_slice_dim(L, state[1], 1, k, 2 * k, 1);
  V p = tt_mat_sum(L, tt_lm_square(L, top), 2), q = tt_mat_sum(L, tt_lm_square(L, bottom), 2);
  V x = tt_mat_sum(L, MUL(tt_lx_conjugate(L, top), bottom), 2);
  if (!x) return;
  double tiny = tt_mat_tiny(tt_lx_dtype(p));
  V bound = MUL(MUL(SQRT(p), SQRT(q)), K(p, svd->tolerance));
  V active = AND(GT(ABS(x), bound), GT(MIN(p, q), K(p, tiny * tiny)));
  tt_rotation_t r = tt_mat_rotation(L, p, q, x, active);
  for (int i = 1; i < 3; ++i)
    state[i] = tt_mat_move_on(L, tt_mat_rotate(L, state[i], 1, &r, true), 1);
  state[3] = OR(state[3], tt_lx_reduce_all(L, TT_OP_OR, active));
}
static V is_unfinished(tt_lower_t* L, V* state, void* self) {
  (void)self;
  return AND(state[3], LT(state[0], tt_b_scalar_i64(L->b, TT_DTYPE_S32, MOST_SWEEPS)));
}
static void sweep(tt_lower_t* L, V* state, void* self) {
  svd_t* svd = self;
  V inner[4] = {NULL, state[1], state[2], tt_b_scalar_i64(L->b, TT_DTYPE_PRED, 0)};
  tt_expand_for(L, 0, svd->size - 1, 4, inner, round_of_rotations, self);
  state[0] = ADD(state[0], tt_b_scalar_i64(L->b, TT_DTYPE_S32, 1));
  for (int i = 1; i < 4; ++i) state[i] = inner[i];
}

// Of columns x as rows [B, n, m], m >= n: left vectors as rows [B, count, m], values falling, right
// vectors as rows [B, n, n].
typedef struct factors_s {
  V left, values, right;
} factors_t;
static factors_t decompose(tt_lower_t* L, V x, int64_t count) {
  factors_t f = {NULL, NULL, NULL};
  if (!x) return f;
  int64_t n = x->type->dims[1], odd = n % 2;
  svd_t svd = {n + odd, tt_mat_epsilon(x->type->dtype) * sqrt((double)x->type->dims[2])};
  const tt_dim_t square[3] = {x->type->dims[0], n, n};
  V v = tt_lm_identity(L, tt_lx_full(L, x->type->dtype, 3, square, 0));
  V state[4] = {tt_b_scalar_i64(L->b, TT_DTYPE_S32, 0), odd ? tt_lx_pad_dim(L, x, 1, 0, 1, 0) : x,
                odd ? tt_lx_pad_dim(L, v, 1, 0, 1, 0) : v, tt_b_scalar_i64(L->b, TT_DTYPE_PRED, 1)};
  tt_expand_while(L, 4, state, is_unfinished, sweep, &svd);
  V columns = tt_lx_slice_dim(L, state[1], 1, 0, n, 1), order = NULL;
  V norms = SQRT(tt_mat_sum(L, tt_lm_square(L, columns), 2));
  f.values = tt_mat_sort(L, norms, true, &order);
  f.right = tt_lm_take_rows(L, tt_lx_slice_dim(L, state[2], 1, 0, n, 1), order);
  columns = tt_lm_take_rows(L, columns, order);
  if (!columns || !f.values) return f;
  V some = GT(f.values, K(f.values, tt_mat_tiny(x->type->dtype)));
  V inverse = SEL(some, DIV(K(f.values, 1), SEL(some, f.values, K(f.values, 1))), K(f.values, 0));
  V wide = tt_mat_along(L, inverse, 1, columns);
  f.left = tt_mat_complete(L, tt_mat_times(L, wide, columns), count);
  return f;
}

// Results of a matrix without elements.
static void without_elements(tt_expand_t* e) {
  tt_lower_t* L = e->L;
  for (uint32_t i = 0; i < e->op->result_count; ++i) {
    const tt_type_t* type = e->op->results[i].type;
    V zeros = tt_lx_full(L, type->dtype, type->rank, type->dims, 0);
    if (i == 1 || tt_type_elems(type) == 0) e->out[i] = zeros;
    else e->out[i] = tt_mat_shaped(L, tt_lm_identity(L, tt_lm_fold(L, zeros, 2)), type);
  }
}
void tt_expand_svd(tt_expand_t* e) {
  tt_lower_t* L = e->L;
  const tt_type_t* type = e->in[0]->type;
  if (tt_type_elems(type) == 0) {
    without_elements(e);
    return;
  }
  int64_t m = type->dims[type->rank - 2], n = type->dims[type->rank - 1];
  bool tall = m >= n, full = tt_expand_bool(e, TT_ATTR_FULL_MATRICES);
  V scaled = NULL, ok = NULL;
  V scale = tt_mat_scale(L, tt_lm_fold(L, e->in[0], 2), &scaled, &ok);
  // of a wide matrix the columns of a^H
  factors_t f = decompose(L, tall ? tt_lx_swap_last(L, scaled) : tt_lx_conjugate(L, scaled),
                          full ? TT_MAX(m, n) : TT_MIN(m, n));
  V values = MUL(f.values, tt_mat_along(L, scale, 1, f.values));
  V u = tt_lx_swap_last(L, tall ? f.left : f.right), vh = tt_lx_conjugate(L, tall ? f.right : f.left);
  V out[3] = {u, values, vh};
  for (int i = 0; i < 3; ++i)
    e->out[i] = tt_mat_shaped(L, tt_mat_or_nan(L, out[i], ok), e->op->results[i].type);
}
