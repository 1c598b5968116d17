#define TT_ISA generic
#define TT_VECTOR_BYTES 16
#pragma GCC optimize("no-trapping-math")
#include "kernels/fold_impl.h"
