// Builds ops at an insertion point with shape inference. Errors are sticky: after the first one every call
// returns NULL and does nothing, NULL operands are accepted then, and tt_builder_status() tells it. So a
// lowering writes straight-line code and checks once.
//
// Broadcasting is always explicit: elementwise ops want equal shapes and dtypes.
#ifndef TT_IR_BUILDER_H_
#define TT_IR_BUILDER_H_

#include "ir/ir.h"

typedef struct tt_builder_s {
  tt_module_t* module;
  tt_block_t* block;       // insertion at its end
  tt_status_t status;      // owned until taken
  const tt_loc_t* loc;     // given to new ops; may be NULL
  // A jmp_buf of the caller, or NULL. With one, the first error jumps there instead of returning: what is built
  // lies in arenas, so nothing leaks, and straight-line code need not look at NULL values. tt_lower_run sets it.
  void* escape;
} tt_builder_t;

void tt_builder_initialize(tt_builder_t* b, tt_module_t* module);
void tt_builder_deinitialize(tt_builder_t* b);             // frees an untaken status
tt_status_t tt_builder_take_status(tt_builder_t* b) TT_MUST_USE;
bool tt_builder_ok(const tt_builder_t* b);
// Sets the sticky error if none is set; always returns NULL.
tt_value_t* tt_builder_fail(tt_builder_t* b, tt_status_code_t code, const char* format, ...) TT_PRINTF(3, 4);

// ---- functions, regions ------------------------------------------------------------------------
// Appends a function with the given argument types and puts the insertion point into it; tt_b_func_end leaves
// none. To build a function in the middle of another, save b->block before and restore it after.
tt_func_t* tt_b_func_begin(tt_builder_t* b, const char* name, bool is_public, size_t arg_count,
                           const tt_type_t* const* arg_types);
tt_value_t* tt_b_func_arg(tt_func_t* func, size_t index);
// Adds one more argument to a function under construction (others' pointers stay valid).
tt_value_t* tt_b_func_add_arg(tt_builder_t* b, tt_func_t* func, const tt_type_t* type);
void tt_b_func_arg_attr(tt_builder_t* b, tt_func_t* func, size_t arg, tt_attr_t attr);
// FUNC_RETURN; fixes the result types.
void tt_b_func_end(tt_builder_t* b, tt_func_t* func, size_t count, tt_value_t* const* results);

// General form. `result_types` NULL: inferred where the kind allows (else an error). Regions start empty.
tt_op_t* tt_b_op(tt_builder_t* b, tt_op_kind_t kind, size_t operand_count, tt_value_t* const* operands,
                 size_t attr_count, const tt_attr_t* attrs, size_t result_count,
                 const tt_type_t* const* result_types, size_t region_count);
// Fills region `index` of op: adds block arguments and moves the insertion point in. The state returned
// goes to tt_b_region_end, which adds RETURN with the results and moves back.
tt_block_t* tt_b_region_begin(tt_builder_t* b, tt_op_t* op, size_t index, size_t arg_count,
                              const tt_type_t* const* arg_types);
void tt_b_region_end(tt_builder_t* b, tt_block_t* saved, size_t count, tt_value_t* const* results);
tt_value_t* tt_b_region_arg(tt_op_t* op, size_t region, size_t index);

// ---- types and constants -----------------------------------------------------------------------
const tt_type_t* tt_b_type(tt_builder_t* b, tt_dtype_t dtype, size_t rank, const tt_dim_t* dims);
tt_value_t* tt_b_constant(tt_builder_t* b, const tt_type_t* type, const void* data, bool is_splat);
tt_value_t* tt_b_scalar_f64(tt_builder_t* b, tt_dtype_t dtype, double value);   // 0-d; integers are rounded toward zero
tt_value_t* tt_b_scalar_i64(tt_builder_t* b, tt_dtype_t dtype, int64_t value);  // 0-d
tt_value_t* tt_b_splat_f64(tt_builder_t* b, const tt_type_t* type, double value);
tt_value_t* tt_b_splat_i64(tt_builder_t* b, const tt_type_t* type, int64_t value);
tt_value_t* tt_b_splat_like(tt_builder_t* b, tt_value_t* like, double value);
tt_value_t* tt_b_i64s(tt_builder_t* b, size_t count, const int64_t* values);    // 1-d tensor<count x i64>
tt_value_t* tt_b_iota(tt_builder_t* b, const tt_type_t* type, int64_t dimension);

// ---- elementwise -------------------------------------------------------------------------------
tt_value_t* tt_b_unary(tt_builder_t* b, tt_op_kind_t kind, tt_value_t* x);
tt_value_t* tt_b_binary(tt_builder_t* b, tt_op_kind_t kind, tt_value_t* x, tt_value_t* y);
// direction: "EQ" "NE" "LT" "LE" "GT" "GE"; compare_type chosen from the dtype.
tt_value_t* tt_b_compare(tt_builder_t* b, const char* direction, tt_value_t* x, tt_value_t* y);
tt_value_t* tt_b_select(tt_builder_t* b, tt_value_t* pred, tt_value_t* on_true, tt_value_t* on_false);  // pred: same shape or 0-d
tt_value_t* tt_b_clamp(tt_builder_t* b, tt_value_t* lo, tt_value_t* x, tt_value_t* hi);                 // lo, hi: same shape or 0-d
// No op when the dtype is right already. Float -> PRED is `!= 0`. Complex -> real takes the real part.
tt_value_t* tt_b_convert(tt_builder_t* b, tt_value_t* x, tt_dtype_t dtype);
tt_value_t* tt_b_bitcast(tt_builder_t* b, tt_value_t* x, tt_dtype_t dtype);
tt_value_t* tt_b_complex(tt_builder_t* b, tt_value_t* re, tt_value_t* im);
tt_value_t* tt_b_reduce_precision(tt_builder_t* b, tt_value_t* x, int exponent_bits, int mantissa_bits);

// ---- shape -------------------------------------------------------------------------------------
tt_value_t* tt_b_reshape(tt_builder_t* b, tt_value_t* x, size_t rank, const tt_dim_t* dims);   // no op if equal
tt_value_t* tt_b_broadcast_in_dim(tt_builder_t* b, tt_value_t* x, size_t rank, const tt_dim_t* dims,
                                  const int64_t* broadcast_dimensions);
// NumPy rules: aligns trailing dimensions; no op if equal.
tt_value_t* tt_b_broadcast_to(tt_builder_t* b, tt_value_t* x, size_t rank, const tt_dim_t* dims);
tt_value_t* tt_b_transpose(tt_builder_t* b, tt_value_t* x, const int64_t* permutation);        // no op if identity
tt_value_t* tt_b_slice(tt_builder_t* b, tt_value_t* x, const int64_t* start, const int64_t* limit, const int64_t* strides);
tt_value_t* tt_b_pad(tt_builder_t* b, tt_value_t* x, tt_value_t* value, const int64_t* low, const int64_t* high,
                     const int64_t* interior);                                                  // NULL: 0
tt_value_t* tt_b_concatenate(tt_builder_t* b, size_t count, tt_value_t* const* xs, int64_t dimension);
tt_value_t* tt_b_reverse(tt_builder_t* b, tt_value_t* x, size_t count, const int64_t* dimensions);
tt_value_t* tt_b_dynamic_slice(tt_builder_t* b, tt_value_t* x, tt_value_t* const* starts, const int64_t* sizes);
tt_value_t* tt_b_dynamic_update_slice(tt_builder_t* b, tt_value_t* x, tt_value_t* update, tt_value_t* const* starts);

// ---- reductions --------------------------------------------------------------------------------
// kind: ADD, MULTIPLY, MAXIMUM, MINIMUM, AND, OR. The initial value is the operation's identity.
// keep_dims reshapes reduced dimensions back to 1.
tt_value_t* tt_b_reduce(tt_builder_t* b, tt_op_kind_t kind, tt_value_t* x, size_t count, const int64_t* dimensions,
                        bool keep_dims);
// General: `inputs` and 0-d `inits`, `count` each; the op has one empty region with 2*count arguments of
// 0-d types already added; fill it by tt_b_region_begin(b, op, 0, 0, NULL) .. end.
tt_op_t* tt_b_reduce_general(tt_builder_t* b, size_t count, tt_value_t* const* inputs, tt_value_t* const* inits,
                             size_t dim_count, const int64_t* dimensions);
tt_value_t* tt_b_identity(tt_builder_t* b, tt_op_kind_t reducer, tt_dtype_t dtype);   // 0-d
typedef struct tt_window_s {       // [rank] each; NULL strides/dilations: 1; NULL padding: 0
  const int64_t *dimensions, *strides, *base_dilations, *window_dilations, *pad_low, *pad_high;
} tt_window_t;
tt_value_t* tt_b_reduce_window(tt_builder_t* b, tt_op_kind_t kind, tt_value_t* x, tt_value_t* init, const tt_window_t* window);
tt_op_t* tt_b_reduce_window_general(tt_builder_t* b, size_t count, tt_value_t* const* inputs,
                                    tt_value_t* const* inits, const tt_window_t* window);
tt_value_t* tt_b_select_and_scatter(tt_builder_t* b, const char* select_direction, tt_value_t* x, tt_value_t* source,
                                    tt_value_t* init, const tt_window_t* window);  // scatter adds
// One input: values; comparator from a key transform is the caller's region (2*count 0-d arguments added).
tt_op_t* tt_b_sort(tt_builder_t* b, size_t count, tt_value_t* const* inputs, int64_t dimension, bool is_stable);

// ---- products ----------------------------------------------------------------------------------
// Result dtype may be wider than the operands' (pass TT_DTYPE_INVALID for the same).
tt_value_t* tt_b_dot_general(tt_builder_t* b, tt_value_t* x, tt_value_t* y, const tt_dot_dims_t* dims, tt_dtype_t result);
// [..., M, K] x [..., K, N] with equal batch dimensions.
tt_value_t* tt_b_matmul(tt_builder_t* b, tt_value_t* x, tt_value_t* y);
typedef struct tt_conv_s {         // [spatial rank] each; NULL strides/dilations: 1, reversal: false, padding: 0
  const int64_t *strides, *pad_low, *pad_high, *lhs_dilation, *rhs_dilation;
  const bool* window_reversal;
  int64_t feature_group_count, batch_group_count;   // 0 means 1
  tt_conv_dims_t dims;
} tt_conv_t;
tt_value_t* tt_b_convolution(tt_builder_t* b, tt_value_t* input, tt_value_t* kernel, const tt_conv_t* conv);
// The attributes of a product and one more, [attr_count + 1]: precision_config with `word` (of static storage) for both
// operands.
tt_attr_t* tt_b_with_precision(tt_builder_t* b, const tt_op_t* op, const char* word);

// ---- indexing ----------------------------------------------------------------------------------
tt_value_t* tt_b_gather(tt_builder_t* b, tt_value_t* operand, tt_value_t* indices, const tt_gather_dims_t* dims,
                        const int64_t* slice_sizes, bool sorted);
// kind: TT_OP_INVALID replaces (last in update order wins), else combines old (arg 0) and update (arg 1).
tt_value_t* tt_b_scatter(tt_builder_t* b, tt_op_kind_t kind, tt_value_t* operand, tt_value_t* indices,
                         tt_value_t* updates, const tt_scatter_dims_t* dims, bool sorted, bool unique);

// ---- calls -------------------------------------------------------------------------------------
tt_op_t* tt_b_call(tt_builder_t* b, tt_func_t* callee, size_t count, tt_value_t* const* operands);
tt_op_t* tt_b_custom_call(tt_builder_t* b, const char* target, size_t count, tt_value_t* const* operands,
                          size_t result_count, const tt_type_t* const* result_types, bool has_side_effect,
                          size_t attr_count, const tt_attr_t* attrs);
// attrs: the composite_attributes. decomposition: NULL for the names of composites.def.
tt_op_t* tt_b_composite(tt_builder_t* b, const char* name, size_t count, tt_value_t* const* operands,
                        size_t result_count, const tt_type_t* const* result_types, size_t attr_count,
                        const tt_attr_t* attrs, tt_func_t* decomposition);
void tt_b_check(tt_builder_t* b, tt_value_t* ok, tt_status_code_t code, const char* message, size_t value_count,
                tt_value_t* const* values);
tt_value_t* tt_b_strided_read(tt_builder_t* b, tt_value_t* base, tt_dtype_t dtype, size_t rank, const int64_t* sizes,
                              const int64_t* strides, int64_t offset);
tt_value_t* tt_b_strided_write(tt_builder_t* b, tt_value_t* base, tt_value_t* value, const int64_t* strides, int64_t offset);
tt_op_t* tt_b_while(tt_builder_t* b, size_t count, tt_value_t* const* operands);  // regions 0 cond, 1 body with `count` arguments added

// ---- attributes (data is copied into the module's arena by tt_b_op) -----------------------------
tt_attr_t tt_attr_bool(tt_attr_name_t name, bool value);
tt_attr_t tt_attr_int(tt_attr_name_t name, int64_t value);
tt_attr_t tt_attr_float(tt_attr_name_t name, double value);
tt_attr_t tt_attr_string(tt_attr_name_t name, const char* text);
tt_attr_t tt_attr_enum(tt_attr_name_t name, const char* text);
tt_attr_t tt_attr_i64s(tt_attr_name_t name, size_t count, const int64_t* values);

#endif  // TT_IR_BUILDER_H_
