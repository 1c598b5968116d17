#include "lower/expand_rotation.h"

#include <math.h>

// ---- shapes --------------------------------------------------------------------------------------
V tt_mat_shaped(tt_lower_t* L, V x, const tt_type_t* type) {
  return tt_b_reshape(L->b, x, type->rank, type->dims);
}
V tt_mat_place(tt_lower_t* L, V like, int64_t dim) { return tt_lx_iota(L, TT_DTYPE_S32, like, dim); }
V tt_mat_diagonal(tt_lower_t* L, V x) {
  if (!x) return NULL;
  return tt_mat_sum(L, SEL(EQ(tt_mat_place(L, x, 1), tt_mat_place(L, x, 2)), x, K(x, 0)), 2);
}
V tt_mat_along(tt_lower_t* L, V v, int64_t dim, V x) {
  if (!v || !x) return NULL;
  const int64_t places[2] = {0, dim};
  return tt_b_broadcast_in_dim(L->b, v, x->type->rank, x->type->dims, places);
}

// ---- numbers -------------------------------------------------------------------------------------
static bool is_complex(V x) { return tt_dtype_is_complex(tt_lx_dtype(x)); }
V tt_mat_real(tt_lower_t* L, V x) { return is_complex(x) ? REAL(x) : x; }
V tt_mat_sum(tt_lower_t* L, V x, int64_t dim) { return tt_b_reduce(L->b, TT_OP_ADD, x, 1, &dim, false); }
V tt_mat_times(tt_lower_t* L, V real, V x) {
  if (!is_complex(x)) return MUL(real, x);
  return tt_b_complex(L->b, MUL(real, REAL(x)), MUL(real, IMAG(x)));
}
V tt_mat_phase(tt_lower_t* L, V x, V size) {
  if (!x) return NULL;
  V zero = EQ(size, K(size, 0));
  return SEL(zero, K(x, 1), tt_lm_over_real(L, x, SEL(zero, K(size, 1), size)));
}

double tt_mat_tiny(tt_dtype_t dtype) {
  return tt_dtype_real_part(dtype) == TT_DTYPE_F64 ? 0x1p-400 : 0x1p-48;
}
double tt_mat_epsilon(tt_dtype_t dtype) {
  return tt_dtype_real_part(dtype) == TT_DTYPE_F64 ? 0x1p-52 : 0x1p-23;
}
V tt_mat_scale(tt_lower_t* L, V x, V* out_scaled, V* out_finite) {
  V size = tt_lm_largest_part(L, x);
  const int64_t both[2] = {1, 2};
  // not by the maximum: plugins drop NaN in it
  V is_finite = LT(size, K(size, INFINITY));
  if (is_complex(x)) is_finite = AND(is_finite, EQ(x, x));
  V finite = tt_b_reduce(L->b, TT_OP_AND, is_finite, 2, both, false);
  V all = tt_mat_along(L, finite, 1, x);
  V top = tt_b_reduce(L->b, TT_OP_MAXIMUM, SEL(all, size, K(size, 0)), 2, both, false);
  bool wide = tt_lx_dtype(size) == TT_DTYPE_F64;
  double most = wide ? 0x1p900 : 0x1p100;
  top = MIN(MAX(top, K(top, 1 / most)), K(top, most));
  V scale = tt_b_reduce_precision(L->b, top, wide ? 11 : 8, 0);
  if (!x || !scale) return NULL;
  *out_scaled = tt_lm_over_real(L, SEL(all, x, K(x, 0)), tt_mat_along(L, scale, 1, x));
  *out_finite = finite;
  return scale;
}
V tt_mat_or_nan(tt_lower_t* L, V x, V ok) {
  if (!x) return NULL;
  V nan = K(x, NAN);
  if (is_complex(x)) nan = tt_b_complex(L->b, REAL(nan), REAL(nan));
  return SEL(tt_mat_along(L, ok, 1, x), x, nan);
}

// ---- order ---------------------------------------------------------------------------------------
V tt_mat_sort(tt_lower_t* L, V keys, bool falling, V* out_order) {
  V sorted = NULL;
  tt_lx_sort(L, keys, 1, falling, true, &sorted, out_order);
  return sorted;
}

// ---- Jacobi rotations ----------------------------------------------------------------------------
tt_rotation_t tt_mat_rotation(tt_lower_t* L, V p, V q, V x, V active) {
  tt_rotation_t r = {NULL, NULL, NULL, NULL};
  if (!p || !q || !x) return r;
  V size = ABS(x), one = K(size, 1), zero = K(size, 0);
  V rotates = GT(size, zero);
  if (active) rotates = AND(rotates, active);
  // The smaller root t of t^2 + 2 tau t = 1: an angle of at most pi / 4, or sweeps need not converge.
  V tau = DIV(SUB(q, p), MUL(K(size, 2), SEL(rotates, size, one)));
  // A square that overflows would leave a pair as it is, and sweeps without end.
  V steep = ABS(tau), large = GT(steep, K(tau, 0x1p30)), mild = SEL(large, zero, tau);
  V root = SQRT(ADD(one, MUL(mild, mild)));
  V t = DIV(one, ADD(steep, SEL(large, steep, root)));
  t = SEL(LT(tau, zero), NEG(t), t);
  t = SEL(rotates, t, zero);
  V c = DIV(one, SQRT(ADD(one, MUL(t, t))));
  V sine = MUL(t, c);
  r.shift = MUL(t, size);
  // Not c itself: its rounding would make all lengths drift alike over hundreds of rounds.
  r.h = CAST(DIV(MUL(sine, sine), ADD(one, c)), tt_lx_dtype(x));
  r.s = tt_mat_times(L, sine, tt_mat_phase(L, x, size));
  r.s_conj = tt_lx_conjugate(L, r.s);
  return r;
}
static V part(tt_lower_t* L, V x, int64_t dim, int64_t from, int64_t to) {
  return tt_lx_slice_dim(L, x, dim, from, to, 1);
}
V tt_mat_rotate(tt_lower_t* L, V x, int64_t dim, const tt_rotation_t* r, bool conjugate) {
  if (!x) return NULL;
  int64_t k = x->type->dims[dim] / 2;
  V p = part(L, x, dim, 0, k), q = part(L, x, dim, k, 2 * k);
  V h = tt_mat_along(L, r->h, dim, p), s = tt_mat_along(L, conjugate ? r->s_conj : r->s, dim, p);
  V s_conj = tt_mat_along(L, conjugate ? r->s : r->s_conj, dim, p);
  V both[2] = {SUB(p, ADD(MUL(h, p), MUL(s, q))), ADD(q, SUB(MUL(s_conj, p), MUL(h, q)))};
  return tt_b_concatenate(L->b, 2, both, dim);
}
V tt_mat_move_on(tt_lower_t* L, V x, int64_t dim) {
  if (!x) return NULL;
  int64_t k = x->type->dims[dim] / 2;
  if (k < 2) return x;
  // The first stays; the others go round: along the first half, back along the second.
  V parts[5];
  size_t count = 0;
  parts[count++] = part(L, x, dim, 0, 1);
  parts[count++] = part(L, x, dim, k, k + 1);
  if (k > 2) parts[count++] = part(L, x, dim, 1, k - 1);
  parts[count++] = part(L, x, dim, k + 1, 2 * k);
  parts[count++] = part(L, x, dim, k - 1, k);
  return tt_b_concatenate(L->b, count, parts, dim);
}

// ---- Householder reflectors ----------------------------------------------------------------------
// I - v v^H with |v|^2 = 2, or v = 0; the rows of y become them.
static V spread(tt_lower_t* L, V v, V like) {   // NumPy rules
  return tt_lx_broadcast_like(L, v, like);
}
static V inner(tt_lower_t* L, V v, V x) {   // v^H x of each row, [B, rows, 1]
  int64_t dim = 2;
  return x ? tt_b_reduce(L->b, TT_OP_ADD, MUL(tt_lx_conjugate(L, spread(L, v, x)), x), 1, &dim, true) : NULL;
}
static V reflect(tt_lower_t* L, V v, V x) {
  return SUB(x, MUL(spread(L, inner(L, v, x), x), spread(L, v, x)));
}
// state: number, y [B, r, m], signs [B, r, 1]
static void reflector_step(tt_lower_t* L, V* state, void* self) {
  (void)self;
  V y = state[1], row = tt_lm_rows(L, y, state[0], 1);
  if (!row) return;
  V place = tt_mat_place(L, row, 2), number = spread(L, state[0], place);
  V x = SEL(GE(place, number), row, K(row, 0)), pivot = SEL(EQ(place, number), row, K(row, 0));
  int64_t dim = 2;
  V norm = SQRT(tt_b_reduce(L->b, TT_OP_ADD, tt_lm_square(L, x), 1, &dim, true));
  V alpha = tt_b_reduce(L->b, TT_OP_ADD, pivot, 1, &dim, true);
  if (!alpha) return;
  V size = ABS(alpha), phase = tt_mat_phase(L, alpha, size);
  V some = GT(norm, K(norm, tt_mat_tiny(tt_lx_dtype(norm))));
  V length = SEL(some, SQRT(MUL(norm, ADD(norm, size))), K(norm, 1));
  V tip = SEL(EQ(place, number), spread(L, tt_mat_times(L, norm, phase), row), K(row, 0));
  V v = tt_mat_times(L, spread(L, DIV(K(length, 1), length), place), ADD(x, tip));
  v = SEL(spread(L, some, row), v, K(v, 0));
  V below = GT(tt_mat_place(L, y, 1), spread(L, state[0], y));
  V zero = tt_b_scalar_i64(L->b, TT_DTYPE_S32, 0), starts[3] = {zero, state[0], zero};
  state[1] = tt_b_dynamic_update_slice(L->b, SEL(below, reflect(L, v, y), y), v, starts);
  state[2] = tt_b_dynamic_update_slice(L->b, state[2], SEL(some, NEG(phase), K(phase, 1)), starts);
}
typedef struct reflectors_s {
  V y;
  int64_t count;
} reflectors_t;
static void product_step(tt_lower_t* L, V* state, void* self) {   // state: number, q
  reflectors_t* all = self;
  V last = tt_b_scalar_i64(L->b, TT_DTYPE_S32, all->count - 1);
  state[1] = reflect(L, tt_lm_rows(L, all->y, SUB(last, state[0]), 1), state[1]);
}
V tt_mat_complete(tt_lower_t* L, V y, int64_t columns) {
  if (!y) return NULL;
  int64_t batch = y->type->dims[0], r = y->type->dims[1], m = y->type->dims[2];
  const tt_dim_t single[3] = {batch, r, 1}, whole[3] = {batch, columns, m};
  V state[3] = {NULL, y, tt_lx_full(L, tt_lx_dtype(y), 3, single, 1)};
  tt_expand_for(L, 0, r, 3, state, reflector_step, NULL);
  V signs = columns > r ? tt_lx_pad_dim(L, SUB(state[2], K(state[2], 1)), 1, 0, columns - r, 0) : NULL;
  signs = signs ? ADD(signs, K(signs, 1)) : state[2];
  V start = tt_lx_full(L, tt_lx_dtype(y), 3, whole, 0);
  start = MUL(tt_lm_identity(L, start), spread(L, signs, start));
  reflectors_t all = {state[1], r};
  V q[2] = {NULL, start};
  tt_expand_for(L, 0, r, 2, q, product_step, &all);
  return q[1];
}
