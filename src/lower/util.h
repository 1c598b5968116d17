// Helpers that lowerings share. All follow the builder's sticky errors: NULL in, NULL out.
#ifndef TT_LOWER_UTIL_H_
#define TT_LOWER_UTIL_H_

#include "lower/lower.h"

#define TT_LOWERING(symbol)              \
  void tt_lower_##symbol(tt_lower_t* L); \
  void tt_lower_##symbol(tt_lower_t* L)

static inline tt_dtype_t tt_lx_dtype(const tt_value_t* v) { return v ? v->type->dtype : TT_DTYPE_INVALID; }
static inline int64_t tt_lx_rank(const tt_value_t* v) { return v ? (int64_t)v->type->rank : 0; }
static inline tt_dim_t tt_lx_size(const tt_value_t* v, int64_t dim) { return v ? v->type->dims[dim] : 0; }
static inline bool tt_lx_is_int(tt_dtype_t d) { return tt_dtype_is_integer(d); }
static inline bool tt_lx_is_int_or_bool(tt_dtype_t d) { return d == TT_DTYPE_PRED || tt_dtype_is_integer(d); }
// Elements of a static shape; UNIMPLEMENTED for a symbolic one.
int64_t tt_lx_numel(tt_lower_t* L, const tt_value_t* v);
// Static extent; UNIMPLEMENTED for a symbolic one.
int64_t tt_lx_static_size(tt_lower_t* L, const tt_value_t* v, int64_t dim);
// Scalar type name as PyTorch spells it in messages: "Float", "Long", "ComplexDouble".
const char* tt_lx_torch_name(tt_dtype_t dtype);
// "[2, 3]" for messages, with `more` behind the last size; cut off where `size` bytes are too few.
void tt_lx_sizes_text(const tt_value_t* v, const char* more, char* text, size_t size);

// Argument `arg`, tensor or number, as a value of `dtype` (not broadcast).
tt_value_t* tt_lx_operand(tt_lower_t* L, uint32_t arg, tt_dtype_t dtype);
// Converts all to `dtype` (INVALID: leaves them) and broadcasts them to their common shape, in place.
void tt_lx_broadcast(tt_lower_t* L, size_t count, tt_value_t** values, tt_dtype_t dtype);
tt_value_t* tt_lx_broadcast_like(tt_lower_t* L, tt_value_t* v, const tt_value_t* like);   // NumPy rules
// v (0-d or 1-d [n]) along dimension `dim` of like's shape.
tt_value_t* tt_lx_along(tt_lower_t* L, tt_value_t* v, int64_t dim, const tt_value_t* like);

// Splats of like's type.
tt_value_t* tt_lx_splat(tt_lower_t* L, tt_value_t* like, double value);
tt_value_t* tt_lx_splat_i64(tt_lower_t* L, tt_value_t* like, int64_t value);
// Constant of `values` in row-major order, each rounded once: no float64 in the program unless dtype is wide.
tt_value_t* tt_lx_constant(tt_lower_t* L, tt_dtype_t dtype, size_t rank, const tt_dim_t* dims,
                           const double* values);
tt_value_t* tt_lx_full(tt_lower_t* L, tt_dtype_t dtype, size_t rank, const tt_dim_t* dims, double value);
tt_value_t* tt_lx_splat_max(tt_lower_t* L, tt_value_t* like);      // largest value: +inf for floats
tt_value_t* tt_lx_splat_lowest(tt_lower_t* L, tt_value_t* like);   // lowest value: -inf for floats

tt_value_t* tt_lx_to(tt_lower_t* L, tt_value_t* v,
                     tt_dtype_t dtype);   // tt_b_convert with PyTorch's meaning of bool
tt_value_t* tt_lx_is_nan(tt_lower_t* L, tt_value_t* v);                 // false for integers
tt_value_t* tt_lx_unsqueeze(tt_lower_t* L, tt_value_t* v, int64_t dim);
tt_value_t* tt_lx_squeeze(tt_lower_t* L, tt_value_t* v, int64_t dim);
tt_value_t* tt_lx_flatten(tt_lower_t* L, tt_value_t* v);                // 1-d
tt_value_t* tt_lx_move_dim(tt_lower_t* L, tt_value_t* v, int64_t from, int64_t to);
tt_value_t* tt_lx_slice_dim(tt_lower_t* L, tt_value_t* v, int64_t dim, int64_t start, int64_t limit,
                            int64_t step);
tt_value_t* tt_lx_iota(tt_lower_t* L, tt_dtype_t dtype, const tt_value_t* like,
                       int64_t dim);   // like's shape
tt_value_t* tt_lx_reduce_all(tt_lower_t* L, tt_op_kind_t kind, tt_value_t* v);                  // to 0-d

// Dimensions of a reduction: empty means all. Wraps, refuses duplicates; sorted into out[].
void tt_lx_reduce_dims(tt_lower_t* L, tt_i64s_t dims, int64_t rank, size_t* out_count, int64_t* out);
// tt.cumulative along `dim`. op: "sum" "prod" "max" "min" "logsumexp".
tt_value_t* tt_lx_cumulative(tt_lower_t* L, tt_value_t* v, int64_t dim, const char* op, bool reverse);
// Elements at `index` (i64, wrapped and in range) of every `dim` line: torch.gather.
tt_value_t* tt_lx_gather_along(tt_lower_t* L, tt_value_t* v, int64_t dim, tt_value_t* index);
// Places of `dim` named by the constant, rising index (i64 [n]): torch.index_select without checks.
tt_value_t* tt_lx_take(tt_lower_t* L, tt_value_t* v, int64_t dim, tt_value_t* index);
// y[.., o, ..] = sum_i matrix[o, i] v[.., i, ..] along `dim`; transposed: matrix[i, o].
tt_value_t* tt_lx_matrix_along(tt_lower_t* L, tt_value_t* v, int64_t dim, tt_value_t* matrix, bool transposed);
// Negative indices wrapped by `size`. The check fails unless low <= index < high; {0} is a bad index.
tt_value_t* tt_lx_wrap_index(tt_lower_t* L, tt_value_t* index, int64_t size);
void tt_lx_check_index(tt_lower_t* L, tt_value_t* index, int64_t low, int64_t high,
                       const char* message);   // OUT_OF_RANGE
void tt_lx_check_range(tt_lower_t* L, tt_value_t* index, int64_t low, int64_t high, tt_status_code_t code,
                       const char* message);
// Sorts pairs; comparator puts NaN last (descending: first), as torch. values and an i64 index, `count` 2
// or 1.
void tt_lx_sort(tt_lower_t* L, tt_value_t* v, int64_t dim, bool descending, bool with_index,
                tt_value_t** out_values, tt_value_t** out_indices);

// operand [n, rest...], index [m...] of i64 in range: [m..., rest...].
tt_value_t* tt_lx_take_rows(tt_lower_t* L, tt_value_t* operand, tt_value_t* index);
// operand [n, rest...], index [m], updates [m, rest...]; kind INVALID replaces. Out-of-range rows are
// dropped.
tt_value_t* tt_lx_scatter_rows(tt_lower_t* L, tt_op_kind_t kind, tt_value_t* operand, tt_value_t* index,
                               tt_value_t* updates, bool unique);
// Elements of 1-d `flat` at any shape of indices, and the reverse (index and updates of one shape).
tt_value_t* tt_lx_take_flat(tt_lower_t* L, tt_value_t* flat, tt_value_t* index);
tt_value_t* tt_lx_scatter_flat(tt_lower_t* L, tt_op_kind_t kind, tt_value_t* flat, tt_value_t* index,
                               tt_value_t* updates);
// Pads dimension `dim` alone (negative: crops), `interior` elements between neighbours; 0 is the value.
tt_value_t* tt_lx_pad_dim(tt_lower_t* L, tt_value_t* v, int64_t dim, int64_t low, int64_t high,
                          int64_t interior);
// Value and first index of the extreme along `dim`; NaN wins. (reduce.c)
void tt_lx_extreme_index(tt_lower_t* L, bool maximum, tt_value_t* x, int64_t dim, bool keep,
                         tt_value_t** out_value, tt_value_t** out_index);
// tt.rng of the given shape: "bits" "uniform" "normal"; draws from L->random. (random.c)
tt_value_t* tt_lx_random(tt_lower_t* L, const char* distribution, tt_dtype_t dtype, size_t rank,
                         const tt_dim_t* dims);
// Positions of true in a 1-d i1 vector, `count` of them. (index_select.c)
tt_value_t* tt_lx_nonzero_flat(tt_lower_t* L, tt_value_t* mask, int64_t count);
// First position where sorted lines [..., n] of `sequence` are not below (right: above) x; lines and x share
// leading dimensions, or sequence is 1-d. i64. (index_sort.c)
tt_value_t* tt_lx_search_sorted(tt_lower_t* L, tt_value_t* sequence, tt_value_t* x, bool right);
void tt_lx_check(tt_lower_t* L, tt_value_t* ok, tt_status_code_t code,
                 const char* message);   // ok: any shape
void tt_lx_contiguous_strides(size_t rank, const int64_t* sizes, int64_t* strides);

// Shorthands.
#define TT_B1(KIND, x) tt_b_unary(L->b, TT_OP_##KIND, (x))
#define TT_B2(KIND, x, y) tt_b_binary(L->b, TT_OP_##KIND, (x), (y))
#define TT_CMP(DIR, x, y) tt_b_compare(L->b, #DIR, (x), (y))
#define TT_SEL(p, x, y) tt_b_select(L->b, (p), (x), (y))

#endif  // TT_LOWER_UTIL_H_
