// Bodies of the Householder factorisations (ir/composites.def). With few pivots the reflectors go one by one
// over the whole matrix: small products would cost compilers more. Else blocked: a panel's reflectors one by
// one, then all of them on the rest in the compact WY form, H_0 .. H_{w-1} = I - V T V^H.
#include "lower/expand_matrix.h"

typedef struct qr_s {
  int64_t m, panels;
  int64_t steps, width;  // pivots and columns of a panel
  V from;   // s32 []: the panel's first column and pivot
  V a, tau; // orgqr: reflectors [B, m, panels * steps], factors [B, panels * steps, 1]
} qr_t;

// I - tau v v^H, whose adjoint takes x to beta e_p: x [B, m, 1] from row p on, p from 0.
typedef struct reflector_s {
  V v, tau, column;  // v 0 before p, 1 at p; column: x with beta and v's tail in it
  V none;            // i1 [B, 1, 1]: H = I
} reflector_t;

static V square_root_of_sum(tt_lower_t* L, V x) {
  return SQRT(tt_lm_reduce(L, TT_OP_ADD, tt_lm_square(L, x), 1));
}

// As LAPACK's larfg; x is scaled by its largest part, so that squares neither overflow nor vanish.
static reflector_t reflector(tt_lower_t* L, V x, V p, int64_t m) {
  reflector_t h = {NULL, NULL, NULL, NULL};
  if (!x) return h;
  tt_dtype_t dtype = tt_lx_dtype(x);
  bool is_complex = tt_dtype_is_complex(dtype);
  V at = tt_lm_row_is(L, "EQ", x, p), below = tt_lm_row_is(L, "GT", x, p), inside = OR(at, below);
  V first = tt_lm_rows(L, x, MIN(p, tt_lm_number(L, m - 1)), 1);
  first = SEL(LT(p, tt_lm_number(L, m)), first, K(first, 0));
  V size = tt_lm_largest_part(L, x), zero = K(size, 0);
  h.none = NOT(tt_lm_reduce(L, TT_OP_OR, AND(below, NE(size, zero)), 1));  // NaN counts
  if (is_complex) h.none = AND(h.none, EQ(IMAG(first), K(IMAG(first), 0)));
  V scale = tt_lm_reduce(L, TT_OP_MAXIMUM, SEL(inside, size, zero), 1);
  scale = SEL(EQ(scale, K(scale, 0)), K(scale, 1), scale);
  V y = SEL(inside, tt_lm_over_real(L, x, tt_lm_fit(L, scale, size)), K(x, 0));
  V alpha = tt_lm_over_real(L, first, scale), norm = square_root_of_sum(L, y);
  V beta = SEL(tt_lx_sign_bit(L, is_complex ? REAL(alpha) : alpha), norm, NEG(norm));
  V off = SUB(tt_lm_from_real(L, beta, dtype), alpha);
  V divisor = NEG(off);
  V v = tt_lm_divide(L, y, tt_lm_fit(L, SEL(h.none, K(divisor, 1), divisor), x));
  V unit = SEL(at, K(x, 1), K(x, 0));
  h.v = SEL(below, SEL(tt_lm_fit(L, h.none, below), K(x, 0), v), unit);
  h.tau = SEL(h.none, K(off, 0), tt_lm_over_real(L, off, beta));
  beta = SEL(h.none, first, tt_lm_from_real(L, MUL(beta, scale), dtype));
  h.column = SEL(at, tt_lm_fit(L, beta, x), SEL(below, h.v, x));
  return h;
}

// (I - factor v v^H) x for v [B, m, 1] and factor [B, 1, 1].
static V apply_reflector(tt_lower_t* L, V v, V factor, V x) {
  V conjugate = tt_lx_conjugate(L, v), scaled = MUL(v, tt_lm_fit(L, factor, v));
  V inner = tt_lm_reduce(L, TT_OP_ADD, MUL(tt_lm_fit(L, conjugate, x), x), 1);
  return SUB(x, MUL(tt_lm_fit(L, scaled, x), tt_lm_fit(L, inner, x)));
}

// Column c of the panel; state: {c, panel [B, m, w], tau [B, panels * steps, 1]}.
static void reflect(tt_lower_t* L, V* state, void* self) {
  const qr_t* qr = self;
  V c = state[0], panel = state[1], p = ADD(qr->from, c);
  reflector_t h = reflector(L, tt_lm_columns(L, panel, c, 1), p, qr->m);
  V changed = apply_reflector(L, h.v, tt_lx_conjugate(L, h.tau), panel);
  // a NaN in x leaves what H does not touch as it is
  V behind = AND(tt_lm_column_is(L, "GT", panel, c), tt_lm_row_is(L, "GE", panel, p));
  behind = AND(behind, tt_lm_fit(L, NOT(h.none), behind));
  state[1] = tt_lm_set_columns(L, SEL(behind, changed, panel), h.column, c);
  state[2] = tt_lm_set_rows(L, state[2], h.tau, p);
}

// V [B, m, w] of a panel whose first pivot is `from`.
static V reflectors(tt_lower_t* L, V panel, V from) {
  V unit = SEL(tt_lm_triangle(L, "EQ", panel, from), K(panel, 1), K(panel, 0));
  return SEL(tt_lm_triangle(L, "GT", panel, from), panel, unit);
}
// x - V T V^H x, or with T's adjoint; tau [B, w, 1]. T = (I + D S)^-1 D with D = diag(tau) and S the part of
// V^H V above the diagonal, which holds for tau = 0 too.
static V apply_block(tt_lower_t* L, V v, V tau, V x, bool adjoint) {
  V conjugate = tt_lx_adjoint(L, v), gram = tt_b_matmul(L->b, conjugate, v);
  V above = tt_lm_triangle(L, "LT", gram, tt_lm_number(L, 0));
  V upper = SEL(above, MUL(tt_lm_fit(L, tau, gram), gram), K(gram, 0));
  V inner = tt_b_matmul(L->b, conjugate, x), scale = tt_lm_fit(L, tau, inner);
  if (adjoint) {
    inner = MUL(tt_lx_conjugate(L, scale), tt_lm_solve_unit(L, tt_lx_adjoint(L, upper), inner, false));
  } else {
    inner = tt_lm_solve_unit(L, upper, MUL(scale, inner), true);
  }
  return SUB(x, tt_b_matmul(L->b, v, inner));
}

// state: {number of the panel, a [B, m, n], tau [B, panels * steps, 1]}.
static void factor_panel(tt_lower_t* L, V* state, void* self) {
  qr_t* qr = self;
  V a = state[1], panel_state[3];
  qr->from = MUL(state[0], tt_lm_number(L, qr->width));
  panel_state[1] = tt_lm_columns(L, a, qr->from, qr->width);
  panel_state[2] = state[2];
  tt_expand_for(L, 0, qr->steps, 3, panel_state, reflect, qr);
  state[2] = panel_state[2];
  if (tt_lx_size(a, 2) > qr->width) {
    V v = reflectors(L, panel_state[1], qr->from);
    V tau = tt_lm_rows(L, state[2], qr->from, qr->width);
    V next = ADD(qr->from, tt_lm_number(L, qr->width));
    V behind = AND(tt_lm_row_is(L, "GE", a, qr->from), tt_lm_column_is(L, "GE", a, next));
    a = SEL(behind, apply_block(L, v, tau, a, true), a);
  }
  state[1] = tt_lm_set_columns(L, a, panel_state[1], qr->from);
}

// a [B, m, n] -> factors in a padded to whole panels, tau [B, panels * steps, 1].
static void geqrf(tt_lower_t* L, V a, V* out_factors, V* out_tau) {
  qr_t qr = {.m = tt_lx_size(a, 1)};
  qr.panels = tt_lm_panels(TT_MIN(qr.m, tt_lx_size(a, 2)), &qr.steps);
  qr.width = qr.panels > 1 ? qr.steps : tt_lx_size(a, 2);
  int64_t pivots = qr.panels * qr.steps;
  V state[3] = {tt_lm_number(L, 0), tt_lm_pad(L, a, 0, pivots),
                tt_lm_zeros(L, tt_lx_dtype(a), tt_lx_size(a, 0), pivots, 1)};
  if (qr.panels > 1) tt_expand_for(L, 0, qr.panels, 3, state, factor_panel, &qr);
  else factor_panel(L, state, &qr);
  *out_factors = state[1];
  *out_tau = state[2];
}

// state: {number of the step, q [B, m, columns]}: the last panel first.
static void multiply_panel(tt_lower_t* L, V* state, void* self) {
  const qr_t* qr = self;
  V from = MUL(SUB(tt_lm_number(L, qr->panels - 1), state[0]), tt_lm_number(L, qr->steps));
  V v = reflectors(L, tt_lm_columns(L, qr->a, from, qr->steps), from);
  state[1] = apply_block(L, v, tt_lm_rows(L, qr->tau, from, qr->steps), state[1], false);
}
// The same with single reflectors.
static void multiply(tt_lower_t* L, V* state, void* self) {
  const qr_t* qr = self;
  V p = SUB(tt_lm_number(L, qr->steps - 1), state[0]);
  V v = reflectors(L, tt_lm_columns(L, qr->a, p, 1), p);
  state[1] = apply_reflector(L, v, tt_lm_rows(L, qr->tau, p, 1), state[1]);
}

// The first columns of H_0 .. H_{k-1}; a [B, m, >= k], tau [B, >= k, 1].
static V orgqr(tt_lower_t* L, V a, V tau, int64_t k, int64_t columns) {
  qr_t qr = {.m = tt_lx_size(a, 1)};
  V q = tt_lm_identity(L, tt_lm_zeros(L, tt_lx_dtype(a), tt_lx_size(a, 0), qr.m, columns));
  qr.panels = tt_lm_panels(k, &qr.steps);
  if (qr.panels == 0) return q;
  qr.a = tt_lm_pad(L, a, 0, qr.panels * qr.steps);
  qr.tau = tt_lm_pad(L, tau, qr.panels * qr.steps, 0);
  V state[2] = {NULL, q};
  if (qr.panels > 1) tt_expand_for(L, 0, qr.panels, 2, state, multiply_panel, &qr);
  else tt_expand_for(L, 0, qr.steps, 2, state, multiply, &qr);
  return state[1];
}

// ---- the bodies --------------------------------------------------------------------------------
void tt_expand_geqrf(tt_expand_t* e) {
  tt_lower_t* L = e->L;
  V a = tt_lm_fold(L, e->in[0], 2), factors, tau;
  int64_t m = tt_lx_size(a, 1), n = tt_lx_size(a, 2), k = TT_MIN(m, n);
  if (!a || tt_type_elems(a->type) == 0) {
    e->out[0] = e->in[0];
    e->out[1] = tt_b_splat_f64(L->b, e->op->results[1].type, 0);
    return;
  }
  geqrf(L, a, &factors, &tau);
  e->out[0] = tt_lm_unfold(e, 0, tt_lm_cut(L, factors, m, n));
  e->out[1] = tt_lm_unfold(e, 1, tt_lm_cut(L, tau, k, 1));
}

void tt_expand_orgqr(tt_expand_t* e) {
  tt_lower_t* L = e->L;
  V a = tt_lm_fold(L, e->in[0], 2);
  V tau = tt_lm_fold(L, tt_lx_unsqueeze(L, e->in[1], tt_lx_rank(e->in[1])), 2);
  if (!a || !tau || tt_type_elems(a->type) == 0) {
    e->out[0] = e->in[0];
    return;
  }
  e->out[0] = tt_lm_unfold(e, 0, orgqr(L, a, tau, tt_lx_size(tau, 1), tt_lx_size(a, 2)));
}

void tt_expand_qr(tt_expand_t* e) {
  tt_lower_t* L = e->L;
  V a = tt_lm_fold(L, e->in[0], 2), factors = NULL, tau = NULL;
  const tt_type_t *q = e->op->results[0].type, *r = e->op->results[1].type;
  int64_t m = tt_lx_size(a, 1), n = tt_lx_size(a, 2), k = TT_MIN(m, n), columns = q->dims[q->rank - 1];
  if (!a || tt_type_elems(a->type) == 0) {  // no columns: Q is the identity if anything
    V like = tt_b_splat_f64(L->b, q, 0);
    e->out[0] = tt_lm_unfold(e, 0, tt_lm_identity(L, tt_lm_fold(L, like, 2)));
    e->out[1] = tt_b_splat_f64(L->b, r, 0);
    return;
  }
  geqrf(L, a, &factors, &tau);
  V upper = tt_lm_cut(L, factors, columns, n);
  upper = SEL(tt_lm_triangle(L, "LE", upper, tt_lm_number(L, 0)), upper, K(upper, 0));
  e->out[0] = tt_lm_unfold(e, 0, orgqr(L, factors, tau, k, columns));
  e->out[1] = tt_lm_unfold(e, 1, upper);
}
