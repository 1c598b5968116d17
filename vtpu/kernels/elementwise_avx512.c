#define TT_ISA avx512
// whether an operation raises a flag is nobody's business here; branches become masks
#pragma GCC optimize("no-trapping-math")
#include "kernels/elementwise_isa.h"
#define widen_BF16__avx512 tt_k_widen_bf16__avx512
#define narrow_BF16__avx512 tt_k_narrow_bf16__avx512
#define widen_F16__avx512 tt_k_widen_f16__avx512
#define narrow_F16__avx512 tt_k_narrow_f16__avx512
#include "kernels/elementwise_impl.h"
