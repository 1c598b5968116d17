// Bodies of the symmetric indefinite factorisation and its solver (ir/composites.def): Bunch-Kaufman as in
// LAPACK's sytf2 and hetf2. A step a column for all matrices at once; a matrix whose last step took two
// columns rests for one.
#include <math.h>

#include "lower/expand_rotation.h"

typedef struct ldl_s {
  int64_t n;
  bool hermitian;
  V ld, pivots;   // of the solver: [B, n, n], s32 [B, n]
} ldl_t;

static V mirrored(tt_lower_t* L, const ldl_t* ldl, V x) {
  return ldl->hermitian ? tt_lx_conjugate(L, x) : x;
}
// v [B] over x.
static V over(tt_lower_t* L, V v, V x) { return tt_mat_along(L, v, 1, x); }
static V is_at(tt_lower_t* L, V x, int64_t dim, V index) {
  return EQ(tt_mat_place(L, x, dim), over(L, index, x));
}
// x at `index` [B] along dim, which goes.
static V at(tt_lower_t* L, V x, int64_t dim, V index) {
  if (!x || !index) return NULL;
  return tt_mat_sum(L, SEL(is_at(L, x, dim, index), x, K(x, 0)), dim);
}
static V column_at(tt_lower_t* L, V x, V column) {   // [B, n]
  V line = tt_lm_columns(L, x, column, 1);
  return line ? tt_b_reshape(L->b, line, 2, line->type->dims) : NULL;
}
static V next(tt_lower_t* L, V number, int64_t by) {
  return ADD(number, tt_b_scalar_i64(L->b, tt_lx_dtype(number), by));
}
static V plus(tt_lower_t* L, V x, int64_t by) { return x ? ADD(x, tt_lx_splat_i64(L, x, by)) : NULL; }

// Exchanges lines p and q (s32 [B]) along dim of x, where `where` is set (NULL: everywhere).
static V exchanged(tt_lower_t* L, V x, int64_t dim, V p, V q, V where) {
  if (!x) return NULL;
  V to_p = tt_mat_along(L, at(L, x, dim, q), 3 - dim, x);
  V to_q = tt_mat_along(L, at(L, x, dim, p), 3 - dim, x);
  V at_p = is_at(L, x, dim, p), at_q = is_at(L, x, dim, q);
  if (where) at_p = AND(at_p, where), at_q = AND(at_q, where);
  return SEL(at_q, to_q, SEL(at_p, to_p, x));
}

// ---- factors -------------------------------------------------------------------------------------
typedef struct pivot_s {
  V k, row;      // s32 [B]: the step, the line to bring to its pivot
  V two, zero;   // i1 [B]
} pivot_t;
static V largest(tt_lower_t* L, V sizes, V where) {
  int64_t dim = 1;
  return sizes ? tt_b_reduce(L->b, TT_OP_MAXIMUM, SEL(where, sizes, K(sizes, 0)), 1, &dim, false) : NULL;
}
static pivot_t choose(tt_lower_t* L, V a, V number, V k) {
  pivot_t pivot = {.k = k};
  int64_t dim = 1;
  V sizes = tt_lm_pivot_size(L, column_at(L, a, number));
  if (!sizes) return pivot;
  V place = tt_mat_place(L, sizes, 1), wide_k = over(L, k, sizes), below = GT(place, wide_k);
  V diagonal = at(L, sizes, 1, k), column = largest(L, sizes, below);
  if (!diagonal || !column) return pivot;
  V is_nan = AND(GE(place, wide_k), NE(sizes, sizes));
  pivot.zero = OR(NOT(GT(MAX(diagonal, column), K(column, 0))),
                  tt_b_reduce(L->b, TT_OP_OR, is_nan, 1, &dim, false));
  V first = SEL(AND(below, EQ(sizes, over(L, column, sizes))), place,
                tt_lx_splat_i64(L, place, sizes->type->dims[1] - 1));
  V row = tt_b_reduce(L->b, TT_OP_MINIMUM, first, 1, &dim, false);
  V across = tt_lm_pivot_size(L, at(L, a, 1, row));
  V others = AND(GE(place, wide_k), NE(place, over(L, row, place)));
  V widest = largest(L, across, others), other = at(L, across, 1, row);
  V alpha = K(column, (1 + sqrt(17.0)) / 8);   // bounds the growth of a step of two as that of two steps
  V limit = MUL(column, alpha), wide_limit = MUL(widest, alpha);
  V stays = OR(GE(diagonal, limit), GE(diagonal, MUL(limit, DIV(column, widest))));
  stays = OR(stays, pivot.zero);
  pivot.two = NOT(OR(stays, GE(other, wide_limit)));
  pivot.row = SEL(stays, k, row);
  return pivot;
}

// Columns w1, w2 [B, n] of L from the columns c1, c2 of a (w2: of a block of two).
static void divide(tt_lower_t* L, const ldl_t* ldl, const pivot_t* p, V c1, V c2, V* w1, V* w2) {
  V d1 = at(L, c1, 1, p->k), below = at(L, c1, 1, plus(L, p->k, 1)), d2 = at(L, c2, 1, plus(L, p->k, 1));
  V above = mirrored(L, ldl, below);
  if (!d1 || !below || !above) return;
  V one = K(d1, 1), two = p->two;
  V ratio1 = tt_lm_divide(L, d1, SEL(two, above, one)), ratio2 = tt_lm_divide(L, d2, SEL(two, below, one));
  V det = SUB(MUL(ratio1, ratio2), one);
  V by1 = over(L, SEL(two, MUL(above, det), d1), c1), by2 = over(L, SEL(two, MUL(below, det), one), c1);
  V wide_two = over(L, two, c1);
  *w1 = tt_lm_divide(L, SEL(wide_two, SUB(MUL(over(L, ratio2, c1), c1), c2), c1), by1);
  *w2 = SEL(wide_two, tt_lm_divide(L, SUB(MUL(over(L, ratio1, c1), c2), c1), by2), K(c1, 0));
}
// The pivot's columns become L's, what is right of them and below goes on.
static V eliminated(tt_lower_t* L, const ldl_t* ldl, const pivot_t* p, V a, V number, V active) {
  V c1 = column_at(L, a, number), c2 = column_at(L, a, next(L, number, 1)), w1 = NULL, w2 = NULL;
  divide(L, ldl, p, c1, c2, &w1, &w2);
  if (!w1 || !w2) return NULL;
  V last = SEL(p->two, plus(L, p->k, 1), p->k);
  V row = tt_mat_place(L, a, 1), column = tt_mat_place(L, a, 2), wide_last = over(L, last, a);
  V works = AND(GT(row, wide_last), over(L, AND(active, NOT(p->zero)), a));
  V tall1 = tt_mat_along(L, w1, 1, a), tall2 = tt_mat_along(L, w2, 1, a);
  V product = ADD(MUL(tall1, tt_mat_along(L, mirrored(L, ldl, c1), 2, a)),
                  MUL(tall2, tt_mat_along(L, mirrored(L, ldl, c2), 2, a)));
  V wide_k = over(L, p->k, a), is_first = EQ(column, wide_k);
  V is_second = AND(EQ(column, plus(L, wide_k, 1)), over(L, p->two, a));
  V rest = SEL(GT(column, wide_last), SUB(a, product), SEL(is_first, tall1, SEL(is_second, tall2, a)));
  if (ldl->hermitian) rest = SEL(EQ(row, column), CAST(tt_mat_real(L, rest), tt_lx_dtype(rest)), rest);
  return SEL(works, rest, a);
}
// state: number, a (both triangles right of and below the number), i1 [B] rests, pivots, info
static void factor_step(tt_lower_t* L, V* state, void* self) {
  const ldl_t* ldl = self;
  V a = state[1], info = state[4];
  if (!info) return;
  V active = NOT(state[2]), k = tt_lx_broadcast_like(L, state[0], info);
  pivot_t p = choose(L, a, state[0], k);
  if (!p.two) return;
  p.row = SEL(active, p.row, k);
  p.two = AND(p.two, active);
  V target = SEL(p.two, plus(L, k, 1), k);
  target = SEL(active, target, k);
  V wide_k = over(L, k, a);
  a = exchanged(L, a, 1, p.row, target, GE(tt_mat_place(L, a, 2), wide_k));
  a = exchanged(L, a, 2, p.row, target, GE(tt_mat_place(L, a, 1), wide_k));
  state[1] = eliminated(L, ldl, &p, a, state[0], active);
  V name = plus(L, p.row, 1), pivots = state[3];
  V is_second = AND(is_at(L, pivots, 1, plus(L, k, 1)), over(L, p.two, pivots));
  V named = AND(over(L, active, pivots), OR(is_at(L, pivots, 1, k), is_second));
  state[3] = SEL(named, over(L, SEL(p.two, NEG(name), name), pivots), pivots);
  V failed = AND(AND(active, p.zero), EQ(info, K(info, 0)));
  state[4] = SEL(failed, plus(L, k, 1), info);
  state[2] = p.two;
}
void tt_expand_ldl(tt_expand_t* e) {
  tt_lower_t* L = e->L;
  const tt_type_t* type = e->in[0]->type;
  int64_t n = type->dims[type->rank - 1];
  if (tt_type_elems(type) == 0) {
    for (int i = 0; i < 3; ++i) {
      const tt_type_t* t = e->op->results[i].type;
      e->out[i] = tt_lx_full(L, t->dtype, t->rank, t->dims, 0);
    }
    return;
  }
  ldl_t ldl = {.n = n, .hermitian = tt_expand_bool(e, TT_ATTR_HERMITIAN)};
  V a = tt_lm_fold(L, e->in[0], 2);
  if (!a) return;
  V row = tt_mat_place(L, a, 1), column = tt_mat_place(L, a, 2);
  V whole = SEL(GE(row, column), a, mirrored(L, &ldl, tt_lx_swap_last(L, a)));
  if (ldl.hermitian) whole = SEL(EQ(row, column), CAST(tt_mat_real(L, a), type->dtype), whole);
  const tt_dim_t dims[2] = {a->type->dims[0], n};
  V rests = tt_lx_full(L, TT_DTYPE_PRED, 1, dims, 0), pivots = tt_lx_full(L, TT_DTYPE_S32, 2, dims, 0);
  V state[5] = {NULL, whole, rests, pivots, tt_lx_full(L, TT_DTYPE_S32, 1, dims, 0)};
  tt_expand_for(L, 0, n, 5, state, factor_step, &ldl);
  e->out[0] = tt_mat_shaped(L, SEL(GE(row, column), state[1], K(a, 0)), type);
  e->out[1] = tt_mat_shaped(L, state[3], e->op->results[1].type);
  e->out[2] = tt_mat_shaped(L, state[4], e->op->results[2].type);
}

// ---- solutions -----------------------------------------------------------------------------------
// b with `row` [B, c] at `index` [B] of the matrices where `where` [B] is set.
static V with_row(tt_lower_t* L, V b, V index, V row, V where) {
  if (!b || !row) return NULL;
  V here = AND(is_at(L, b, 1, index), over(L, where, b));
  return SEL(here, tt_mat_along(L, row, 2, b), b);
}
static V below(tt_lower_t* L, V column, V last) {   // what of L's column [B, n] is below `last` [B]
  if (!column) return NULL;
  return SEL(GT(tt_mat_place(L, column, 1), over(L, last, column)), column, K(column, 0));
}
static V is_valid(tt_lower_t* L, const ldl_t* ldl, V pivot) {
  return AND(NE(pivot, K(pivot, 0)), LE(ABS(pivot), tt_lx_splat_i64(L, pivot, ldl->n)));
}
// Block k of D, of one row or two: the solution's rows there.
static V block_solved(tt_lower_t* L, const ldl_t* ldl, V b, V number, V k, V active, V two) {
  V second = plus(L, k, 1);
  V c1 = column_at(L, ldl->ld, number), c2 = column_at(L, ldl->ld, next(L, number, 1));
  V d1 = at(L, c1, 1, k), under = at(L, c1, 1, second), d2 = at(L, c2, 1, second);
  V x1 = at(L, b, 1, k), x2 = at(L, b, 1, second);
  if (!d1 || !d2 || !under || !x1) return NULL;
  if (ldl->hermitian) {
    d1 = CAST(tt_mat_real(L, d1), tt_lx_dtype(d1));
    d2 = CAST(tt_mat_real(L, d2), tt_lx_dtype(d2));
  }
  V one = K(d1, 1);
  under = SEL(two, under, one);
  V above = mirrored(L, ldl, under);
  V ratio1 = tt_lm_divide(L, d1, above), ratio2 = tt_lm_divide(L, d2, under);
  V det = over(L, SEL(two, SUB(MUL(ratio1, ratio2), one), one), x1);
  V part1 = tt_lm_divide(L, x1, over(L, SEL(two, above, d1), x1));
  V part2 = tt_lm_divide(L, x2, over(L, under, x2));
  V first = tt_lm_divide(L, SUB(MUL(over(L, ratio2, x1), part1), part2), det);
  V other = tt_lm_divide(L, SUB(MUL(over(L, ratio1, x1), part2), part1), det);
  b = with_row(L, b, k, SEL(over(L, two, x1), first, part1), active);
  return with_row(L, b, second, other, two);
}
// L and D. state: number, b [B, n, c], i1 [B] rests, i1 [B] valid
static void forward_step(tt_lower_t* L, V* state, void* self) {
  const ldl_t* ldl = self;
  V active = NOT(state[2]), pivots = ldl->pivots;
  if (!active) return;
  V first = at(L, pivots, 1, tt_lx_broadcast_like(L, state[0], tt_lx_iota(L, TT_DTYPE_S32, active, 0)));
  if (!first) return;
  V k = tt_lx_broadcast_like(L, state[0], first), second = at(L, pivots, 1, plus(L, k, 1));
  V two = AND(active, LT(first, K(first, 0))), last = SEL(two, plus(L, k, 1), k);
  V good = AND(is_valid(L, ldl, first),
               OR(NOT(two), AND(is_valid(L, ldl, second), LT(second, K(second, 0)))));
  state[3] = AND(state[3], OR(state[2], good));
  V row = SEL(active, plus(L, SEL(two, NEG(second), first), -1), k);
  V b = exchanged(L, state[1], 1, row, last, NULL);
  V l1 = below(L, column_at(L, ldl->ld, state[0]), last);
  V l2 = below(L, column_at(L, ldl->ld, next(L, state[0], 1)), last);
  V x1 = at(L, b, 1, k), x2 = at(L, b, 1, plus(L, k, 1));
  if (!x1 || !x2) return;
  V step1 = MUL(tt_mat_along(L, l1, 1, b), tt_mat_along(L, x1, 2, b));
  V step2 = MUL(tt_mat_along(L, l2, 1, b), tt_mat_along(L, x2, 2, b));
  V step = SEL(over(L, two, b), ADD(step1, step2), step1);
  b = SEL(over(L, active, b), SUB(b, step), b);
  state[1] = block_solved(L, ldl, b, state[0], k, active, two);
  state[2] = two;
}
// L's transpose or adjoint, from the last row up.
static void backward_step(tt_lower_t* L, V* state, void* self) {
  const ldl_t* ldl = self;
  V active = NOT(state[2]), b = state[1];
  V number = SUB(tt_b_scalar_i64(L->b, TT_DTYPE_S32, ldl->n - 1), state[0]);
  if (!active || !b || !number) return;
  V k = tt_lx_broadcast_like(L, number, tt_lx_iota(L, TT_DTYPE_S32, active, 0));
  V pivot = at(L, ldl->pivots, 1, k);
  if (!pivot) return;
  V two = AND(active, LT(pivot, K(pivot, 0))), before = plus(L, k, -1);
  state[3] = AND(state[3], NOT(AND(two, LT(before, K(before, 0)))));
  V l1 = mirrored(L, ldl, below(L, column_at(L, ldl->ld, number), k));
  V l2 = mirrored(L, ldl, below(L, column_at(L, ldl->ld, next(L, number, -1)), k));
  V x1 = at(L, b, 1, k), x2 = at(L, b, 1, before);
  x1 = SUB(x1, tt_mat_sum(L, MUL(tt_mat_along(L, l1, 1, b), b), 1));
  x2 = SUB(x2, tt_mat_sum(L, MUL(tt_mat_along(L, l2, 1, b), b), 1));
  b = with_row(L, with_row(L, b, k, x1, active), before, x2, two);
  V row = SEL(active, plus(L, ABS(pivot), -1), k);
  state[1] = exchanged(L, b, 1, row, k, NULL);
  state[2] = two;
}
void tt_expand_ldl_solve(tt_expand_t* e) {
  tt_lower_t* L = e->L;
  const tt_type_t* type = e->op->results[0].type;
  if (tt_type_elems(type) == 0) {
    e->out[0] = tt_lx_full(L, type->dtype, type->rank, type->dims, 0);
    return;
  }
  ldl_t ldl = {.n = type->dims[type->rank - 2],
               .hermitian = tt_expand_bool(e, TT_ATTR_HERMITIAN),
               .ld = tt_lm_fold(L, e->in[0], 2),
               .pivots = CAST(tt_lm_fold(L, e->in[2], 1), TT_DTYPE_S32)};
  if (!ldl.ld) return;
  const tt_dim_t* batch = ldl.ld->type->dims;
  V rests = tt_lx_full(L, TT_DTYPE_PRED, 1, batch, 0);
  V state[4] = {NULL, tt_lm_fold(L, e->in[1], 2), rests, tt_lx_full(L, TT_DTYPE_PRED, 1, batch, 1)};
  tt_expand_for(L, 0, ldl.n, 4, state, forward_step, &ldl);
  state[3] = AND(state[3], NOT(state[2]));   // a block of two in the last row
  state[2] = rests;
  tt_expand_for(L, 0, ldl.n, 4, state, backward_step, &ldl);
  e->out[0] = tt_mat_shaped(L, tt_mat_or_nan(L, state[1], state[3]), type);
}
