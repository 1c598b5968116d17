#define TT_ISA avx2
#define TT_VECTOR_BYTES 32
#pragma GCC optimize("no-trapping-math")
#include "kernels/fold_impl.h"
