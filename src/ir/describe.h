// Short texts of types and ops for messages; inside ir only (text.h prints whole modules).
#ifndef TT_IR_DESCRIBE_H_
#define TT_IR_DESCRIBE_H_

#include "ir/ir.h"

typedef struct tt_describe_s { char text[160]; } tt_describe_t;

// "tensor<2x?xf32>"; too long a text is cut. `module` (NULL allowed) names symbolic dimensions.
const char* tt_describe_type(const tt_module_t* module, const tt_type_t* type, tt_describe_t* buffer);
const char* tt_describe_dim(const tt_module_t* module, tt_dim_t dim, tt_describe_t* buffer);
// "%3 = stablehlo.add(%0, %1)".
const char* tt_describe_op(const tt_op_t* op, tt_describe_t* buffer);

// Text of a type in an expression: lives as long as the enclosing block.
#define TT_TYPE_TEXT(module, type) tt_describe_type(module, type, &(tt_describe_t){{0}})
#define TT_DIM_TEXT(module, dim) tt_describe_dim(module, dim, &(tt_describe_t){{0}})
#define TT_OP_TEXT(op) tt_describe_op(op, &(tt_describe_t){{0}})

#endif  // TT_IR_DESCRIBE_H_
