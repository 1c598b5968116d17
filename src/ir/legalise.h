// What a program must be before another compiler sees it.
#ifndef TT_IR_LEGALISE_H_
#define TT_IR_LEGALISE_H_

#include "ir/builder.h"
#include "ir/target.h"

typedef struct tt_legalise_options_s {
  int matmul_passes;  // of float32 products: 0 and 6 the highest precision, 3 the middle one, 1 bfloat16
  bool emulate_float64;  // float64 and complex128 are let through where the device only emulates them
} tt_legalise_options_t;

// A copy of `module` that `target` takes; composites of ours must be expanded already. Rewritten:
//  - products and convolutions of 64-bit integers, where the target has none (target->int64_dot);
//  - float32 products say their precision, where the target would round the operands (target->rounds_f32).
// Refused, by the name of the op and the type: dtypes that the target refuses, unbounded dimensions,
// quantised types, double-precision transforms (target->fft64), custom calls that it does not know.
tt_status_t tt_module_legalise(const tt_module_t* module, const tt_target_t* target,
                               const tt_legalise_options_t* options, tt_module_t** out_module) TT_MUST_USE;

// x y as products and sums, of any dtype, for a DOT_GENERAL or CONVOLUTION `op` whose operands lie in the
// builder's module (legalise_product.c).
tt_value_t* tt_legalise_product(tt_builder_t* b, const tt_op_t* op);

#endif  // TT_IR_LEGALISE_H_
