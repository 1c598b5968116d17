// Fourier transforms over any dimensions, one after the other. normalization: 0 none, 1 by sqrt(n), 2 by n.
#include <math.h>

#include "lower/expr.h"

static V fft_last(tt_lower_t* L, V x, const char* kind, int64_t length) {
  if (!x) return NULL;
  tt_dim_t dims[TT_MAX_RANK];
  int64_t last = tt_lx_rank(x) - 1;
  for (int64_t i = 0; i < last; ++i) dims[i] = tt_lx_size(x, i);
  tt_dtype_t dtype = tt_lx_dtype(x);
  bool forward_real = kind[0] == 'R', inverse_real = kind[0] == 'I' && kind[1] == 'R';
  dims[last] = forward_real ? length / 2 + 1 : length;
  if (forward_real) dtype = dtype == TT_DTYPE_F32 ? TT_DTYPE_C64 : TT_DTYPE_C128;
  if (inverse_real) dtype = tt_dtype_real_part(dtype);
  const tt_type_t* type = tt_b_type(L->b, dtype, (size_t)last + 1, dims);
  tt_attr_t attrs[] = {tt_attr_enum(TT_ATTR_FFT_TYPE, kind), tt_attr_i64s(TT_ATTR_FFT_LENGTH, 1, &length)};
  tt_op_t* op = tt_b_op(L->b, TT_OP_FFT, 1, &x, 2, attrs, 1, &type, 0);
  return op ? &op->results[0] : NULL;
}

// Along `dim`; StableHLO's inverses divide by n, PyTorch's do not: multiplied back.
static V fft_dim(tt_lower_t* L, V x, int64_t dim, const char* kind, int64_t length) {
  int64_t last = tt_lx_rank(x) - 1;
  V y = fft_last(L, tt_lx_move_dim(L, x, dim, last), kind, length);
  if (kind[0] == 'I' && y) y = MUL(y, K(y, (double)length));
  return tt_lx_move_dim(L, y, last, dim);
}

static V normalise(tt_lower_t* L, V x, int64_t normalization, double n) {
  if (!x || normalization == 0) return x;
  return MUL(x, K(x, normalization == 1 ? 1 / sqrt(n) : 1 / n));
}

static bool dtype_ok(tt_lower_t* L, V x) {
  tt_dtype_t d = tt_lx_dtype(x);
  if (!x || d == TT_DTYPE_F32 || d == TT_DTYPE_F64 || tt_dtype_is_complex(d)) return x != NULL;
  tt_builder_fail(L->b, TT_UNIMPLEMENTED, "Unsupported dtype %s for a Fourier transform",
                  tt_lx_torch_name(d));
  return false;
}

static V complex_of(tt_lower_t* L, V x) {
  return x && !tt_dtype_is_complex(tt_lx_dtype(x)) ? tt_b_complex(L->b, x, K(x, 0)) : x;
}

// (self, dim, normalization, forward)
TT_LOWERING(fft_c2c) {
  V x = tt_l_tensor(L, 0);
  if (!dtype_ok(L, x)) return;
  tt_i64s_t dims = tt_l_ints(L, 1);
  bool forward = tt_l_bool(L, 3, true);
  double n = 1;
  for (size_t i = 0; i < dims.size && x; ++i) {
    int64_t dim = tt_l_dim(L, dims.data[i], tt_lx_rank(x)), length = tt_lx_static_size(L, x, dim);
    x = fft_dim(L, x, dim, forward ? "FFT" : "IFFT", length);
    n *= (double)length;
  }
  tt_l_return(L, normalise(L, x, tt_l_int(L, 2, 0), n));
}

// (self, dim, normalization, onesided): the last listed dimension is the real one
TT_LOWERING(fft_r2c) {
  V x = tt_l_tensor(L, 0);
  if (!dtype_ok(L, x)) return;
  tt_i64s_t dims = tt_l_ints(L, 1);
  bool onesided = tt_l_bool(L, 3, true);
  double n = 1;
  if (!dims.size) return;
  if (!onesided) x = complex_of(L, x);
  for (size_t k = dims.size; k-- > 0 && x;) {
    int64_t dim = tt_l_dim(L, dims.data[k], tt_lx_rank(x)), length = tt_lx_static_size(L, x, dim);
    n *= (double)length;
    x = fft_dim(L, x, dim, k + 1 == dims.size && onesided ? "RFFT" : "FFT", length);
  }
  tt_l_return(L, normalise(L, x, tt_l_int(L, 2, 0), n));
}

// (self, dim, normalization, last_dim_size)
TT_LOWERING(fft_c2r) {
  V x = tt_l_tensor(L, 0);
  if (!dtype_ok(L, x)) return;
  tt_i64s_t dims = tt_l_ints(L, 1);
  int64_t last_size = tt_l_int(L, 3, 1);
  double n = 1;
  if (!dims.size) return;
  for (size_t k = 0; k < dims.size && x; ++k) {
    int64_t dim = tt_l_dim(L, dims.data[k], tt_lx_rank(x));
    bool real = k + 1 == dims.size;
    int64_t length = real ? last_size : tt_lx_static_size(L, x, dim);
    n *= (double)length;
    x = fft_dim(L, x, dim, real ? "IRFFT" : "IFFT", length);
  }
  tt_l_return(L, normalise(L, x, tt_l_int(L, 2, 0), n));
}
