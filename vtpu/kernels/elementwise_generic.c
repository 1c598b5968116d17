#define TT_ISA generic
// whether an operation raises a flag is nobody's business here; branches become masks
#pragma GCC optimize("no-trapping-math")
#include "kernels/elementwise_isa.h"
#define widen_BF16__generic tt_k_widen_bf16__generic
#define narrow_BF16__generic tt_k_narrow_bf16__generic
#define widen_F16__generic tt_k_widen_f16__generic
#define narrow_F16__generic tt_k_narrow_f16__generic
#include "kernels/elementwise_impl.h"
