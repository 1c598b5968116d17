// f64 and f32 maths of this ISA; see math_impl.h.
#define TT_ISA avx2
#pragma GCC optimize("no-trapping-math")
#include "kernels/math_vector_avx2.h"

#include "kernels/math_impl.h"
#include "kernels/math_impl_f32.h"
#include "kernels/math_run.h"
