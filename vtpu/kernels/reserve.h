// Kernels that reserve memory of their own while they run: for regions of any kind, work areas whose size depends on
// the data, and the iterations of linear algebra. The planner treats them as steps that can fail.
#ifndef TT_VTPU_KERNELS_RESERVE_H_
#define TT_VTPU_KERNELS_RESERVE_H_

#include "kernels/kernel.h"

// Whether run() may return an error: RESOURCE_EXHAUSTED of a kernel that reserves memory, INVALID_ARGUMENT of one that
// checks its operands' values. It does so before it has written anything that it takes over
// (`inplace`). cases_test fails a kernel that is not listed and does.
bool tt_k_op_can_fail(const tt_k_op_t* kernel);

#endif  // TT_VTPU_KERNELS_RESERVE_H_
