// Bodies of Cholesky's and Gauss's factorisations (ir/composites.def): right-looking and blocked, a panel's
// columns one by one, then the rest of the matrix by one product.
#include <math.h>

#include "lower/expand_matrix.h"

// ---- Cholesky ----------------------------------------------------------------------------------
typedef struct cholesky_s {
  int64_t width;
  V from;  // s32 []: the strip's first column
} cholesky_t;

// One column; only the lower triangle is read. state: {c, strip [B, n, w], info [B, 1, 1]}.
static void cholesky_column(tt_lower_t* L, V* state, void* self) {
  const cholesky_t* job = self;
  V c = state[0], strip = state[1], info = state[2], p = ADD(job->from, c);
  if (!strip || !info) return;
  tt_dtype_t dtype = tt_lx_dtype(strip);
  V x = tt_lm_columns(L, strip, c, 1), pivot = tt_lm_rows(L, x, p, 1);
  if (tt_dtype_is_complex(dtype)) pivot = REAL(pivot);
  V failed = AND(NOT(GT(pivot, K(pivot, 0))), EQ(info, tt_lx_splat_i64(L, info, 0)));
  state[2] = SEL(failed, tt_lm_fit(L, ADD(p, tt_lm_number(L, 1)), info), info);
  V root = SQRT(pivot), real = tt_dtype_is_complex(dtype) ? REAL(x) : x;
  V scaled = tt_lm_over_real(L, x, tt_lm_fit(L, root, real));
  V column = SEL(tt_lm_row_is(L, "GT", x, p), scaled, K(x, 0));
  V row = tt_lx_adjoint(L, tt_lm_rows(L, column, job->from, job->width));
  V changed = SUB(strip, MUL(tt_lm_fit(L, column, strip), tt_lm_fit(L, row, strip)));
  strip = SEL(tt_lm_column_is(L, "GT", strip, c), changed, strip);
  V diagonal = tt_lm_fit(L, tt_lm_from_real(L, root, dtype), x);
  state[1] = tt_lm_set_columns(L, strip, SEL(tt_lm_row_is(L, "EQ", x, p), diagonal, column), c);
}

// state: {number of the strip, a [B, n, n], info [B, 1, 1]}; n a multiple of the width.
static void cholesky_strip(tt_lower_t* L, V* state, void* self) {
  cholesky_t* job = self;
  V a = state[1], inner[3];
  job->from = MUL(state[0], tt_lm_number(L, job->width));
  inner[1] = tt_lm_columns(L, a, job->from, job->width);
  inner[2] = state[2];
  tt_expand_for(L, 0, job->width, 3, inner, cholesky_column, job);
  state[2] = inner[2];
  if (tt_lx_size(a, 1) > job->width) {
    V next = ADD(job->from, tt_lm_number(L, job->width));
    V below = SEL(tt_lm_row_is(L, "GE", inner[1], next), inner[1], K(inner[1], 0));
    V changed = SUB(a, tt_b_matmul(L->b, below, tt_lx_adjoint(L, below)));
    a = SEL(AND(tt_lm_row_is(L, "GE", a, next), tt_lm_column_is(L, "GE", a, next)), changed, a);
  }
  state[1] = tt_lm_set_columns(L, a, inner[1], job->from);
}

void tt_expand_cholesky(tt_expand_t* e) {
  tt_lower_t* L = e->L;
  bool lower = tt_expand_bool(e, TT_ATTR_LOWER);
  V a = tt_lm_fold(L, e->in[0], 2);
  int64_t n = tt_lx_size(a, 2);
  e->out[0] = e->in[0];
  e->out[1] = tt_b_splat_f64(L->b, e->op->results[1].type, 0);
  if (!a || tt_type_elems(a->type) == 0) return;
  cholesky_t job = {0, NULL};
  int64_t blocks = tt_lm_panels(n, &job.width), padded = blocks * job.width;
  V source = tt_lm_pad(L, lower ? a : tt_lx_adjoint(L, a), padded, padded);
  if (padded > n) {  // ones on the diagonal: no failures there
    V tail = tt_lm_row_is(L, "GE", source, tt_lm_number(L, n));
    source = SEL(tail, tt_lm_identity(L, source), source);
  }
  V state[3] = {tt_lm_number(L, 0), source, tt_lm_zeros(L, TT_DTYPE_S32, tt_lx_size(a, 0), 1, 1)};
  if (blocks > 1) tt_expand_for(L, 0, blocks, 3, state, cholesky_strip, &job);
  else cholesky_strip(L, state, &job);
  V l = tt_lm_cut(L, state[1], n, n), failed = NE(state[2], tt_lx_splat_i64(L, state[2], 0));
  l = SEL(tt_lm_fit(L, failed, l), K(l, NAN), l);
  l = SEL(tt_lm_triangle(L, "GE", l, tt_lm_number(L, 0)), l, K(l, 0));
  e->out[0] = tt_lm_unfold(e, 0, lower ? l : tt_lx_adjoint(L, l));
  e->out[1] = tt_lm_unfold(e, 1, state[2]);
}

// ---- LU ----------------------------------------------------------------------------------------
typedef struct lu_s {
  int64_t m, k;          // rows and pivots that are not padding
  int64_t steps, width;  // pivots and columns of a panel
  V from;                // s32 []: the panel's first column
} lu_t;

// Rows p and q (s32 [] and [B, 1, 1]) of x exchanged.
static V exchange(tt_lower_t* L, V x, V p, V q) {
  V at = tt_lm_row_is(L, "EQ", x, q), first = tt_lm_rows(L, x, p, 1);
  V second = tt_lm_reduce(L, TT_OP_ADD, SEL(at, x, K(x, 0)), 1);
  return tt_lm_set_rows(L, SEL(at, tt_lm_fit(L, first, x), x), second, p);
}

// The row of the pivot of x [B, m, 1] among those marked: LAPACK's measure, the first of equals, NaN before
// numbers. None marked: p.
static V pivot_row(tt_lower_t* L, V x, V marked, V p) {
  if (!x) return NULL;
  V size = tt_lm_pivot_size(L, x);
  V top = tt_lm_reduce(L, TT_OP_MAXIMUM, SEL(marked, size, K(size, -1)), 1);
  V missing = NE(size, size);
  V some = tt_lm_reduce(L, TT_OP_OR, AND(marked, missing), 1);
  V best = SEL(tt_lm_fit(L, some, missing), missing, EQ(size, tt_lm_fit(L, top, size)));
  V row = tt_lx_iota(L, TT_DTYPE_S32, x, 1), none = tt_lx_splat_i64(L, row, INT32_MAX);
  V q = tt_lm_reduce(L, TT_OP_MINIMUM, SEL(AND(marked, best), row, none), 1);
  return q ? SEL(EQ(q, tt_lx_splat_i64(L, q, INT32_MAX)), tt_lm_fit(L, p, q), q) : NULL;
}

// One column; state: {c, panel [B, m, w], orders of rows [B, m, 1 or 2], pivots [B, panels * w, 1]}.
static void eliminate(tt_lower_t* L, V* state, void* self) {
  const lu_t* lu = self;
  V c = state[0], p = ADD(lu->from, c), x = tt_lm_columns(L, state[1], c, 1);
  V real_row = tt_lm_row_is(L, "LT", x, tt_lm_number(L, lu->m));
  V active = AND(real_row, tt_lm_fit(L, LT(p, tt_lm_number(L, lu->k)), real_row));
  V q = pivot_row(L, x, AND(active, tt_lm_row_is(L, "GE", x, p)), p);
  for (int i = 1; i <= 2; ++i) state[i] = exchange(L, state[i], p, q);
  state[3] = tt_lm_set_rows(L, state[3], q, p);
  V panel = state[1], row = tt_lm_rows(L, panel, p, 1), pivot = tt_lm_columns(L, row, c, 1);
  x = tt_lm_columns(L, panel, c, 1);
  V below = AND(active, tt_lm_row_is(L, "GT", x, p));
  pivot = SEL(EQ(pivot, K(pivot, 0)), K(pivot, 1), pivot);  // then all below are zero
  V factor = SEL(below, tt_lm_divide(L, x, tt_lm_fit(L, pivot, x)), x);
  V changed = SUB(panel, MUL(tt_lm_fit(L, factor, panel), tt_lm_fit(L, row, panel)));
  V behind = AND(tt_lm_fit(L, below, panel), tt_lm_column_is(L, "GT", panel, c));
  state[1] = tt_lm_set_columns(L, SEL(behind, changed, panel), factor, c);
}

// The rows of U beside the panel, then what is behind both.
static V eliminate_rest(tt_lower_t* L, V a, V panel, const lu_t* lu) {
  V next = ADD(lu->from, tt_lm_number(L, lu->width));
  V corner = tt_lm_rows(L, panel, lu->from, lu->width), strip = tt_lm_rows(L, a, lu->from, lu->width);
  V solved = tt_lm_solve_unit(L, corner, strip, false);
  strip = SEL(tt_lm_column_is(L, "GE", strip, next), solved, strip);
  V changed = SUB(a, tt_b_matmul(L->b, panel, strip));
  V behind = AND(tt_lm_row_is(L, "GE", a, next), tt_lm_column_is(L, "GE", a, next));
  return tt_lm_set_rows(L, SEL(behind, changed, a), strip, lu->from);
}

// state: {number of the panel, a [B, m, n], its rows' order [B, m, 1], pivots [B, panels * w, 1]}.
static void lu_panel(tt_lower_t* L, V* state, void* self) {
  lu_t* lu = self;
  V a = state[1], inner[4];
  bool whole = tt_lx_size(a, 2) == lu->width;
  V orders[2] = {state[2], tt_lx_iota(L, TT_DTYPE_S32, state[2], 1)};
  lu->from = MUL(state[0], tt_lm_number(L, lu->width));
  inner[1] = tt_lm_columns(L, a, lu->from, lu->width);
  inner[2] = whole ? state[2] : tt_b_concatenate(L->b, 2, orders, 2);
  inner[3] = state[3];
  tt_expand_for(L, 0, lu->steps, 4, inner, eliminate, lu);
  state[2] = tt_lx_slice_dim(L, inner[2], 2, 0, 1, 1);
  state[3] = inner[3];
  if (!whole) a = eliminate_rest(L, tt_lm_take_rows(L, a, tt_lx_slice_dim(L, inner[2], 2, 1, 2, 1)), inner[1], lu);
  state[1] = tt_lm_set_columns(L, a, inner[1], lu->from);
}

static void nothing_to_eliminate(tt_expand_t* e) {
  tt_lower_t* L = e->L;
  for (int i = 0; i < 2; ++i) e->out[i] = tt_b_splat_f64(L->b, e->op->results[i].type, 0);
  const tt_type_t* order = e->op->results[2].type;
  e->out[2] = tt_b_iota(L->b, order, (int64_t)order->rank - 1);
}

void tt_expand_lu(tt_expand_t* e) {
  tt_lower_t* L = e->L;
  V a = tt_lm_fold(L, e->in[0], 2);
  if (!a || tt_type_elems(a->type) == 0) {
    nothing_to_eliminate(e);
    return;
  }
  int64_t batch = tt_lx_size(a, 0), m = tt_lx_size(a, 1), n = tt_lx_size(a, 2);
  lu_t lu = {.m = m, .k = TT_MIN(m, n)};
  int64_t panels = tt_lm_panels(lu.k, &lu.steps), pivots = panels * lu.steps;
  V padded = tt_lm_pad(L, a, pivots, pivots);
  lu.width = panels > 1 ? lu.steps : n;  // few pivots: the whole matrix is the panel
  V order = tt_lx_iota(L, TT_DTYPE_S32, tt_lm_zeros(L, TT_DTYPE_S32, batch, tt_lx_size(padded, 1), 1), 1);
  V state[4] = {tt_lm_number(L, 0), padded, order, tt_lm_zeros(L, TT_DTYPE_S32, batch, pivots, 1)};
  if (panels > 1) tt_expand_for(L, 0, panels, 4, state, lu_panel, &lu);
  else lu_panel(L, state, &lu);
  e->out[0] = tt_lm_unfold(e, 0, tt_lm_cut(L, state[1], m, n));
  e->out[1] = tt_lm_unfold(e, 1, tt_lm_cut(L, state[3], lu.k, 1));
  e->out[2] = tt_lm_unfold(e, 2, tt_lm_cut(L, state[2], m, 1));
}
