// Matrix products as a TPU's matrix unit computes them: float32 operands in one, three or six bfloat16 passes.
#ifndef TT_IR_PRECISION_H_
#define TT_IR_PRECISION_H_

#include "ir/ir.h"

// A copy of `module` in which every float32 dot_general and convolution works on the operands' bfloat16 parts
// x = x1 + x2 + x3: 1 pass x1 y1; 3 passes x1 y1 + x1 y2 + x2 y1; 6 passes also x2 y2 + x1 y3 + x3 y1, sums in
// float32. Other passes: INVALID_ARGUMENT. Source: the precision levels of jax.lax.Precision on TPUs.
tt_status_t tt_module_round_products(const tt_module_t* module, int passes, tt_module_t** out_module) TT_MUST_USE;

#endif  // TT_IR_PRECISION_H_
