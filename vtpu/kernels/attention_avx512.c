#include "kernels/math_vector_avx512.h"
#define TABLE tt_attention_isa__avx512
#include "kernels/attention_impl.h"
