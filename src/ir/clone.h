// Copies a module while translating types and, where asked, ops; inside ir only.
#ifndef TT_IR_CLONE_H_
#define TT_IR_CLONE_H_

#include "ir/builder.h"
#include "ir/type_table.h"

typedef struct tt_clone_s tt_clone_t;
struct tt_clone_s {
  const tt_module_t* from;
  tt_builder_t builder;        // of the copy
  // Translates a type of `from`; NULL: an error is set in `builder` (else memory is short).
  const tt_type_t* (*map_type)(tt_clone_t* clone, const tt_type_t* type);
  // NULL, or called after an op was copied (its regions still empty): may change attributes, or append
  // further ops and return the value that stands for result 0 from then on.
  tt_value_t* (*after_op)(tt_clone_t* clone, const tt_op_t* from, tt_op_t* copy);
  // NULL, or the result types of one op instead of the mapped ones; [result_count].
  bool (*result_types)(tt_clone_t* clone, const tt_op_t* from, const tt_type_t** types);
  void* self;
  tt_value_t** values;         // by id of `from`
  const tt_func_t* from_func;  // being copied
  tt_func_t* func;
};

// Copies one op, its regions too, with these operands and result types; values[] gets its results. NULL: an error
// is set. For walks of their own (pad.c), which fill `values` themselves.
tt_op_t* tt_clone_op(tt_clone_t* clone, const tt_op_t* from, tt_value_t* const* operands,
                     const tt_type_t* const* types);
// Copies the ops of a block behind the insertion point; its arguments stand in `values` already.
void tt_clone_block(tt_clone_t* clone, const tt_block_t* from);

// Fills map_type .. self before; on success *out_module is the copy.
tt_status_t tt_clone_run(tt_clone_t* clone, tt_module_t** out_module) TT_MUST_USE;

#endif  // TT_IR_CLONE_H_
