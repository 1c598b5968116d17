#define TT_ISA avx512
#define TT_VECTOR_BYTES 64
#pragma GCC optimize("no-trapping-math")
#include "kernels/fold_impl.h"
