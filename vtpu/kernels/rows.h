// Parts of the row kernels shared between rows*.c.
#ifndef TT_VTPU_KERNELS_ROWS_H_
#define TT_VTPU_KERNELS_ROWS_H_

#include "kernels/loops.h"

// A tensor seen as [outer, n, inner] about one axis.
typedef struct tt_rows_shape_s { int64_t outer, n, inner; } tt_rows_shape_t;
static inline tt_rows_shape_t tt_rows_shape(const tt_k_tensor_t* t, int64_t axis) {
  if (t->rank == 0) return (tt_rows_shape_t){1, 1, 1};
  return (tt_rows_shape_t){tt_k_product(t->dims, 0, (uint32_t)axis), t->dims[axis],
                           tt_k_product(t->dims, (uint32_t)axis + 1, t->rank)};
}
// The attribute "axis" brought into [0, rank).
static inline int64_t tt_rows_axis(const tt_op_t* op) {
  const tt_attr_t* a = tt_k_own_attr(op, TT_ATTR_AXIS);
  int64_t rank = (int64_t)op->operands[0]->type->rank, axis = a && a->kind == TT_AK_INT ? a->i : 0;
  return axis < 0 ? axis + rank : axis;
}
static inline bool tt_rows_flag(const tt_op_t* op, tt_attr_name_t name) {
  const tt_attr_t* a = tt_k_own_attr(op, name);
  return a && ((a->kind == TT_AK_BOOL && a->b) || (a->kind == TT_AK_INT && a->i));
}
static inline bool tt_rows_axis_valid(const tt_op_t* op) {
  int64_t axis = tt_rows_axis(op), rank = (int64_t)op->operands[0]->type->rank;
  return axis >= 0 && axis < (rank ? rank : 1);
}

// Softmax (1 input) or its backward (grad, output) of [outer, n, inner] with a wide inner (rows_columns.c).
void tt_rows_softmax_columns(tt_pool_t* pool, tt_dtype_t dtype, tt_rows_shape_t s, bool log, const void* const* in,
                             size_t inputs, void* out);

// tt.cumulative (rows_cumulative.c)
bool tt_k_cumulative_supports(const tt_op_t* op, const char** why);
tt_status_t tt_k_cumulative_encode(const tt_op_t* op, tt_arena_t* arena, tt_k_blob_t* out) TT_MUST_USE;
tt_status_t tt_k_cumulative_run(const tt_k_env_t* env, const void* blob, const tt_k_tensor_t* x, size_t nx,
                                const tt_k_tensor_t* y, size_t ny) TT_MUST_USE;

#endif  // TT_VTPU_KERNELS_ROWS_H_
