// Linear algebra in f64.
#pragma GCC optimize("O3")
#define T double
#define CONJ(x) (x)
#define RE(x) (x)
#define ABS2(x) ((x) * (x))
#define ABS1(x) fabs(x)
#define FN(name) name##_r
#define T_DTYPE TT_DTYPE_F64
#include "kernels/linalg_impl.h"
