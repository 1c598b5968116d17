#define TT_ISA generic
#include "kernels/rng_impl.h"
