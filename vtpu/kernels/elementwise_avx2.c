#define TT_ISA avx2
// whether an operation raises a flag is nobody's business here; branches become masks
#pragma GCC optimize("no-trapping-math")
#include "kernels/elementwise_isa.h"
#define widen_BF16__avx2 tt_k_widen_bf16__avx2
#define narrow_BF16__avx2 tt_k_narrow_bf16__avx2
#define widen_F16__avx2 tt_k_widen_f16__avx2
#define narrow_F16__avx2 tt_k_narrow_f16__avx2
#include "kernels/elementwise_impl.h"
