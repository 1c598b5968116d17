#define TT_ISA avx512
#include "kernels/rows_impl.h"
