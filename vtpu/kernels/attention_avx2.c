#include "kernels/math_vector_avx2.h"
#define TABLE tt_attention_isa__avx2
#include "kernels/attention_impl.h"
