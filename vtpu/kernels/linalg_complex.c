// Linear algebra in complex f64. Products without the NaN recovery of Annex G: four multiplications.
#pragma GCC optimize("O3", "cx-limited-range")
#include "kernels/linalg.h"   // before complex.h, whose macro `complex` is a name elsewhere

#include <complex.h>

#define T double complex
#define CONJ(x) conj(x)
#define RE(x) creal(x)
#define ABS2(x) (creal(x) * creal(x) + cimag(x) * cimag(x))
#define ABS1(x) (fabs(creal(x)) + fabs(cimag(x)))
#define FN(name) name##_c
#define T_DTYPE TT_DTYPE_C128
#include "kernels/linalg_impl.h"
