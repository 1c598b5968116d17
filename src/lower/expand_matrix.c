#include "lower/expand_matrix.h"

// Wider panels mean more work in their columns' loop, narrower ones more passes over the matrix.
enum { PANEL = 64 };

int64_t tt_lm_panels(int64_t k, int64_t* out_width) {
  int64_t panels = (k + PANEL - 1) / PANEL;
  *out_width = panels ? (k + panels - 1) / panels : 0;
  return panels;
}

// ---- shapes ------------------------------------------------------------------------------------
V tt_lm_fold(tt_lower_t* L, V x, int64_t kept) {
  if (!x) return NULL;
  int64_t dims[3] = {1}, rank = tt_lx_rank(x);
  for (int64_t i = 0; i < rank - kept; ++i) dims[0] *= tt_lx_size(x, i);
  for (int64_t i = 0; i < kept; ++i) dims[1 + i] = tt_lx_size(x, rank - kept + i);
  return tt_b_reshape(L->b, x, (size_t)kept + 1, dims);
}
V tt_lm_pad(tt_lower_t* L, V x, int64_t rows, int64_t columns) {
  V padded = tt_lx_pad_dim(L, x, 1, 0, TT_MAX(rows - tt_lx_size(x, 1), 0), 0);
  return tt_lx_pad_dim(L, padded, 2, 0, TT_MAX(columns - tt_lx_size(x, 2), 0), 0);
}
V tt_lm_cut(tt_lower_t* L, V x, int64_t rows, int64_t columns) {
  return tt_lx_slice_dim(L, tt_lx_slice_dim(L, x, 1, 0, rows, 1), 2, 0, columns, 1);
}
V tt_lm_unfold(tt_expand_t* e, uint32_t i, V x) {
  const tt_type_t* type = e->op->results[i].type;
  return tt_b_reshape(e->L->b, x, type->rank, type->dims);
}
V tt_lm_zeros(tt_lower_t* L, tt_dtype_t dtype, int64_t batch, int64_t rows, int64_t columns) {
  const int64_t dims[3] = {batch, rows, columns};
  return tt_lx_full(L, dtype, 3, dims, 0);
}

// ---- parts -------------------------------------------------------------------------------------
V tt_lm_number(tt_lower_t* L, int64_t number) { return tt_b_scalar_i64(L->b, TT_DTYPE_S32, number); }

static V part(tt_lower_t* L, V x, int64_t dim, V first, int64_t count) {
  if (!x) return NULL;
  if (count == tt_lx_size(x, dim)) return x;
  int64_t sizes[3] = {tt_lx_size(x, 0), tt_lx_size(x, 1), tt_lx_size(x, 2)};
  V starts[3] = {tt_lm_number(L, 0), tt_lm_number(L, 0), tt_lm_number(L, 0)};
  sizes[dim] = count;
  starts[dim] = first;
  return tt_b_dynamic_slice(L->b, x, starts, sizes);
}
static V set_part(tt_lower_t* L, V x, int64_t dim, V value, V first) {
  if (!x || !value) return NULL;
  if (x->type == value->type) return value;
  V starts[3] = {tt_lm_number(L, 0), tt_lm_number(L, 0), tt_lm_number(L, 0)};
  starts[dim] = first;
  return tt_b_dynamic_update_slice(L->b, x, value, starts);
}
V tt_lm_rows(tt_lower_t* L, V x, V first, int64_t count) { return part(L, x, 1, first, count); }
V tt_lm_columns(tt_lower_t* L, V x, V first, int64_t count) { return part(L, x, 2, first, count); }
V tt_lm_set_rows(tt_lower_t* L, V x, V value, V first) { return set_part(L, x, 1, value, first); }
V tt_lm_set_columns(tt_lower_t* L, V x, V value, V first) { return set_part(L, x, 2, value, first); }
V tt_lm_take_rows(tt_lower_t* L, V x, V order) {
  if (!x || !order) return NULL;
  const tt_dim_t *d = x->type->dims, flat[2] = {d[0] * d[1], d[2]}, index[2] = {d[0], order->type->dims[1]};
  V start = tt_lx_iota(L, tt_lx_dtype(order), order, 0);
  order = ADD(order, MUL(start, tt_lx_splat_i64(L, start, d[1])));
  return tt_lx_take_rows(L, tt_b_reshape(L->b, x, 2, flat), tt_b_reshape(L->b, order, 2, index));
}

V tt_lm_row_is(tt_lower_t* L, const char* direction, V x, V number) {
  V row = tt_lx_iota(L, TT_DTYPE_S32, x, 1);
  return tt_b_compare(L->b, direction, row, tt_lm_fit(L, number, row));
}
V tt_lm_column_is(tt_lower_t* L, const char* direction, V x, V number) {
  V column = tt_lx_iota(L, TT_DTYPE_S32, x, 2);
  return tt_b_compare(L->b, direction, column, tt_lm_fit(L, number, column));
}
V tt_lm_triangle(tt_lower_t* L, const char* direction, V x, V offset) {
  V row = tt_lx_iota(L, TT_DTYPE_S32, x, 1), column = tt_lx_iota(L, TT_DTYPE_S32, x, 2);
  return tt_b_compare(L->b, direction, row, ADD(column, tt_lm_fit(L, offset, column)));
}
V tt_lm_identity(tt_lower_t* L, V like) {
  return SEL(tt_lm_triangle(L, "EQ", like, tt_lm_number(L, 0)), K(like, 1), K(like, 0));
}

// ---- numbers -----------------------------------------------------------------------------------
V tt_lm_fit(tt_lower_t* L, V x, V like) { return tt_lx_broadcast_like(L, x, like); }

V tt_lm_reduce(tt_lower_t* L, tt_op_kind_t kind, V x, int64_t dim) {
  return tt_b_reduce(L->b, kind, x, 1, &dim, true);
}

V tt_lm_largest_part(tt_lower_t* L, V x) {
  return tt_dtype_is_complex(tt_lx_dtype(x)) ? MAX(ABS(REAL(x)), ABS(IMAG(x))) : ABS(x);
}
V tt_lm_pivot_size(tt_lower_t* L, V x) {
  return tt_dtype_is_complex(tt_lx_dtype(x)) ? ADD(ABS(REAL(x)), ABS(IMAG(x))) : ABS(x);
}
V tt_lm_square(tt_lower_t* L, V x) {
  if (!tt_dtype_is_complex(tt_lx_dtype(x))) return MUL(x, x);
  V re = REAL(x), im = IMAG(x);
  return ADD(MUL(re, re), MUL(im, im));
}
V tt_lm_from_real(tt_lower_t* L, V x, tt_dtype_t dtype) {
  return tt_dtype_is_complex(dtype) ? tt_b_complex(L->b, x, K(x, 0)) : x;
}
V tt_lm_over_real(tt_lower_t* L, V x, V divisor) {
  if (!tt_dtype_is_complex(tt_lx_dtype(x))) return DIV(x, divisor);
  return tt_b_complex(L->b, DIV(REAL(x), divisor), DIV(IMAG(x), divisor));
}
// Complex: both scaled by the divisor's larger part, as what a plugin does inside is not known.
V tt_lm_divide(tt_lower_t* L, V x, V divisor) {
  if (!tt_dtype_is_complex(tt_lx_dtype(x))) return DIV(x, divisor);
  V scale = tt_lm_largest_part(L, divisor), square;
  scale = SEL(EQ(scale, K(scale, 0)), K(scale, 1), scale);
  divisor = tt_lm_over_real(L, divisor, scale);
  square = tt_lm_square(L, divisor);
  V inverse = tt_b_complex(L->b, DIV(REAL(divisor), square), NEG(DIV(IMAG(divisor), square)));
  return MUL(tt_lm_over_real(L, x, scale), inverse);
}

typedef struct substitution_s {
  V a;
  bool upper;
} substitution_t;
static void substitute(tt_lower_t* L, V* state, void* self) {
  const substitution_t* job = self;
  V c = state[0], x = state[1];
  if (job->upper) c = SUB(tt_lm_number(L, tt_lx_size(x, 1) - 1), c);
  V column = tt_lm_columns(L, job->a, c, 1), row = tt_lm_rows(L, x, c, 1);
  V changed = SUB(x, MUL(tt_lm_fit(L, column, x), tt_lm_fit(L, row, x)));
  state[1] = SEL(tt_lm_row_is(L, job->upper ? "LT" : "GT", x, c), changed, x);
}
V tt_lm_solve_unit(tt_lower_t* L, V a, V b, bool upper) {
  substitution_t job = {a, upper};
  V state[2] = {NULL, b};
  tt_expand_for(L, 0, tt_lx_size(a, 1), 2, state, substitute, &job);
  return state[1];
}
