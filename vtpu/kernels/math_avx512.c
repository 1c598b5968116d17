// f64 and f32 maths of this ISA; see math_impl.h.
#define TT_ISA avx512
#pragma GCC optimize("no-trapping-math")
#include "kernels/math_vector_avx512.h"

#include "kernels/math_impl.h"
#include "kernels/math_impl_f32.h"
#include "kernels/math_run.h"
