// Result types from operands and attributes; inside ir only.
//
// One body of rules serves both ends. Building (module set): types are interned and collected in `out`.
// Verifying (module NULL): nothing is created; each inferred shape is compared with the op's own result,
// symbolic arithmetic is left open (TT_DIM_UNKNOWN fits everything).
// A symbolic dimension that might or might not equal another is accepted here; specialise settles it.
#ifndef TT_IR_INFER_H_
#define TT_IR_INFER_H_

#include "ir/describe.h"
#include "ir/dim.h"
#include "ir/ir.h"

typedef struct tt_infer_s {
  tt_module_t* module;         // NULL: verify
  const tt_module_t* names;    // for messages and the prover
  const tt_op_t* op;           // building: kind, operands, attributes are set
  const tt_type_t** out;       // [capacity]
  uint32_t capacity, count;
  bool open;                   // results depend on more than operands and attributes
} tt_infer_t;

tt_status_t tt_infer_op(tt_infer_t* in) TT_MUST_USE;
// Rules that relate operands, attributes, regions and given results (verify_ops.c).
tt_status_t tt_op_check(const tt_module_t* module, const tt_op_t* op) TT_MUST_USE;
// Bits of one element as bitcast_convert counts them (i4 has 4, i1 has 1).
int64_t tt_dtype_element_bits(tt_dtype_t dtype);

// ---- for the rule files --------------------------------------------------------------------------
tt_status_t tt_infer_fail(const tt_infer_t* in, const char* format, ...) TT_PRINTF(2, 3) TT_MUST_USE;
tt_status_t tt_infer_emit(tt_infer_t* in, const tt_type_t* type) TT_MUST_USE;
// dtype INVALID: taken from the given result (building: the result is open). bounds NULL: none.
tt_status_t tt_infer_emit_shape(tt_infer_t* in, tt_dtype_t dtype, size_t rank, const tt_dim_t* dims,
                                const int64_t* bounds) TT_MUST_USE;
static inline const tt_type_t* tt_infer_type(const tt_infer_t* in, uint32_t operand) {
  return in->op->operands[operand]->type;
}
bool tt_infer_dims_fit(const tt_infer_t* in, tt_dim_t a, tt_dim_t b);
bool tt_infer_shapes_fit(const tt_infer_t* in, const tt_type_t* a, const tt_type_t* b);
tt_dim_t tt_infer_add(const tt_infer_t* in, tt_dim_t a, tt_dim_t b);
tt_dim_t tt_infer_sub(const tt_infer_t* in, tt_dim_t a, tt_dim_t b);
tt_dim_t tt_infer_mul(const tt_infer_t* in, tt_dim_t a, tt_dim_t b);
tt_dim_t tt_infer_floordiv(const tt_infer_t* in, tt_dim_t a, tt_dim_t b);
// [low, high] of a padding attribute; zeros when absent. False: wrong size or kind.
bool tt_infer_padding(const tt_op_t* op, size_t rank, int64_t* low, int64_t* high);
// A list attribute of `rank` elements; absent: all `fallback`.
tt_status_t tt_infer_list(const tt_infer_t* in, tt_attr_name_t name, size_t rank, int64_t fallback,
                          int64_t* out) TT_MUST_USE;
// Checks that `list` holds distinct dimensions of [0, rank).
tt_status_t tt_infer_unique(const tt_infer_t* in, const char* what, tt_i64s_t list, size_t rank) TT_MUST_USE;

tt_status_t tt_infer_elementwise(tt_infer_t* in) TT_MUST_USE;
tt_status_t tt_infer_movement(tt_infer_t* in) TT_MUST_USE;     // infer_shape.c
tt_status_t tt_infer_window_op(tt_infer_t* in) TT_MUST_USE;    // infer_window.c: reduce, windows, conv, dot
tt_status_t tt_infer_index_op(tt_infer_t* in) TT_MUST_USE;     // infer_index.c: gather, scatter, sort, rest

#endif  // TT_IR_INFER_H_
