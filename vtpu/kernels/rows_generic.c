#define TT_ISA generic
#include "kernels/rows_impl.h"
