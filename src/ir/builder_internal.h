// Shared by the builder_*.c files only.
#ifndef TT_IR_BUILDER_INTERNAL_H_
#define TT_IR_BUILDER_INTERNAL_H_

#include <string.h>

#include "ir/builder.h"
#include "ir/describe.h"
#include "ir/dim.h"
#include "ir/infer.h"
#include "ir/type_table.h"

// False after an error; a NULL value while all is well is our own caller's bug: INTERNAL.
bool tt_b_ready(tt_builder_t* b, const tt_value_t* x, const char* what);
bool tt_b_ready_list(tt_builder_t* b, size_t count, tt_value_t* const* xs, const char* what);
void* tt_b_out_of_memory(tt_builder_t* b);   // sets the sticky error, returns NULL
// Applies the op's own rules to a fresh op whose result type was given; its first result, or NULL.
tt_value_t* tt_b_checked(tt_builder_t* b, tt_op_t* op);
static inline tt_value_t* tt_b_result(tt_op_t* op) { return op ? &op->results[0] : NULL; }
// One op with one result; result_type NULL: inferred.
static inline tt_value_t* tt_b_one(tt_builder_t* b, tt_op_kind_t kind, size_t operand_count,
                                   tt_value_t* const* operands, size_t attr_count, const tt_attr_t* attrs,
                                   const tt_type_t* result_type) {
  return tt_b_result(tt_b_op(b, kind, operand_count, operands, attr_count, attrs, 1,
                             result_type ? &result_type : NULL, 0));
}
// An op of the kind, attributes and region count of `like` (of another module) with given operands and
// results; types inside attributes go through `map`. Regions are empty.
tt_op_t* tt_b_op_mapped(tt_builder_t* b, const tt_op_t* like, tt_value_t* const* operands,
                        const tt_type_t* const* result_types, tt_type_map_t map, void* self);
// Fills the region with {return kind(arg0, arg1)}; arguments of 0-d `type` are added.
void tt_b_binary_region(tt_builder_t* b, tt_op_t* op, size_t region, tt_op_kind_t kind,
                        const tt_type_t* type);
// Adds arguments to an op's empty region without moving the insertion point.
bool tt_b_region_add_args(tt_builder_t* b, tt_op_t* op, size_t region, size_t count,
                          const tt_type_t* const* types);
// dense<...> : tensor<rank x 2 x i64> named `padding`; `pairs` holds 2 * rank values and must outlive the
// call.
tt_attr_t tt_b_padding_attr(tt_builder_t* b, size_t rank, const int64_t* low, const int64_t* high,
                            int64_t* pairs);

#endif  // TT_IR_BUILDER_INTERNAL_H_
