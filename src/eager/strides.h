// Strides of the result of a pointwise op, as PyTorch's TensorIterator chooses them.
#ifndef TT_EAGER_STRIDES_H_
#define TT_EAGER_STRIDES_H_

#include "base/base.h"

typedef struct tt_stride_input_s {
  size_t rank;
  const int64_t *sizes, *strides;
} tt_stride_input_t;

// `sizes` is the broadcast shape; every input broadcasts to it (else the result is contiguous).
// Inputs in operand order; 0-d CPU scalars and wrapped numbers count as inputs of rank 0.
void tt_strides_pointwise(size_t rank, const int64_t* sizes, size_t count, const tt_stride_input_t* inputs,
                          int64_t* out_strides);

#endif  // TT_EAGER_STRIDES_H_
