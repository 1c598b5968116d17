// Up- and downsampling: nearest, linear and cubic, over the last 1 to 3 dimensions.
//
// Every mode is separable: one dimension after the other. Forward nearest and linear gather neighbours; cubic,
// antialiased and the gradients multiply by the constant interpolation matrix.
#include <math.h>

#include "lower/expr.h"

// NEAREST_WHOLE: nearest, equal and doubled sizes taken as such whatever scale was given, as PyTorch's gradient and its
// channels-last kernels do.
typedef enum resize_mode_e { NEAREST, NEAREST_WHOLE, NEAREST_EXACT, LINEAR, CUBIC, LINEAR_AA, CUBIC_AA } resize_mode_t;

// Source step of one output step; scale <= 0: from the sizes.
static double source_scale(int64_t in, int64_t out, bool align, double scale) {
  if (align) return out > 1 ? (double)(in - 1) / (double)(out - 1) : 0;
  return scale > 0 ? 1 / scale : (double)in / (double)out;
}

// Neighbours and weights of output o: up to 4. Nearest positions are computed in float as PyTorch does.
static int neighbours(resize_mode_t mode, int64_t o, int64_t in, int64_t out, bool align, double scale,
                      int64_t* index, double* weight) {
  if ((mode == NEAREST_WHOLE || mode == LINEAR) && in == out) {
    index[0] = index[1] = o;
    weight[0] = 1;
    weight[1] = 0;
    return mode == LINEAR ? 2 : 1;
  }
  if (mode == NEAREST_WHOLE && out == 2 * in) {
    index[0] = o / 2;
    weight[0] = 1;
    return 1;
  }
  if (mode == NEAREST_WHOLE) mode = NEAREST;
  double step = source_scale(in, out, align, scale);
  if (mode == NEAREST || mode == NEAREST_EXACT) {
    float position = mode == NEAREST ? (float)o * (float)step : ((float)o + 0.5f) * (float)step;
    index[0] = TT_MIN((int64_t)floorf(position), in - 1);
    weight[0] = 1;
    return 1;
  }
  double position = align ? step * (double)o : step * ((double)o + 0.5) - 0.5;
  if (mode == LINEAR) {
    if (position < 0) position = 0;
    index[0] = TT_MIN((int64_t)position, in - 1);
    index[1] = TT_MIN(index[0] + 1, in - 1);
    weight[1] = TT_MIN(TT_MAX(position - (double)index[0], 0.0), 1.0);
    weight[0] = 1 - weight[1];
    return 2;
  }
  const double a = -0.75;  // Keys' cubic convolution (1981), PyTorch's coefficient
  int64_t base = (int64_t)floor(position);
  double t = position - (double)base;
  double distance[4] = {t + 1, t, 1 - t, 2 - t};
  for (int k = 0; k < 4; ++k) {
    double d = distance[k];
    index[k] = TT_MIN(TT_MAX(base - 1 + k, (int64_t)0), in - 1);
    weight[k] =
        k == 1 || k == 2 ? ((a + 2) * d - (a + 3)) * d * d + 1 : ((a * d - 5 * a) * d + 8 * a) * d - 4 * a;
  }
  return 4;
}

// Antialiased: row `o` of the matrix, a filter as wide as the step; cubic with a = -0.5 as PIL has it.
static double filter_aa(resize_mode_t mode, double x) {
  const double a = -0.5;
  x = fabs(x);
  if (mode == LINEAR_AA) return x < 1 ? 1 - x : 0;
  if (x < 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  return x < 2 ? (((x - 5) * x + 8) * x - 4) * a : 0;
}
static void row_aa(resize_mode_t mode, int64_t o, int64_t in, int64_t out, bool align, double scale, double* row) {
  double step = source_scale(in, out, align, scale), half = mode == LINEAR_AA ? 1 : 2, center = step * ((double)o + 0.5);
  double support = step >= 1 ? half * step : half, inverse = step >= 1 ? 1 / step : 1, total = 0;
  int64_t low = TT_MAX((int64_t)(center - support + 0.5), (int64_t)0), high = TT_MIN((int64_t)(center + support + 0.5), in);
  for (int64_t i = low; i < high; ++i) total += row[i] = filter_aa(mode, ((double)i - center + 0.5) * inverse);
  for (int64_t i = low; i < high && total != 0; ++i) row[i] /= total;
}

static V no_memory(tt_lower_t* L) {
  return tt_builder_fail(L->b, TT_RESOURCE_EXHAUSTED, "out of host memory");
}

static V pick(tt_lower_t* L, V x, int64_t dim, const int64_t* index, int64_t count) {
  return tt_lx_take(L, x, dim, tt_b_i64s(L->b, (size_t)count, index));
}

static V line_of(tt_lower_t* L, const double* values, int64_t count, int64_t dim, V like) {
  tt_dim_t extent = count;
  return like ? tt_lx_along(L, tt_lx_constant(L, tt_lx_dtype(like), 1, &extent, values), dim, like) : NULL;
}

static V resize_gather(tt_lower_t* L, V x, int64_t dim, resize_mode_t mode, int64_t out, bool align,
                       double scale) {
  int64_t in = tt_lx_static_size(L, x, dim);
  int64_t* index = tt_arena_alloc_array(L->scratch, (size_t)out * 2, sizeof(*index));
  double* weight = tt_arena_alloc_array(L->scratch, (size_t)out * 2, sizeof(*weight));
  if (!index || !weight) return no_memory(L);
  for (int64_t o = 0; o < out; ++o) {
    int64_t at[4];
    double w[4];
    int count = neighbours(mode, o, in, out, align, scale, at, w);
    for (int k = 0; k < count; ++k) {
      index[k * out + o] = at[k];
      weight[k * out + o] = w[k];
    }
  }
  V first = pick(L, x, dim, index, out);
  if (mode != LINEAR) return first;
  V second = pick(L, x, dim, index + out, out);
  return ADD(MUL(first, line_of(L, weight, out, dim, first)),
             MUL(second, line_of(L, weight + out, out, dim, second)));
}

// The [out, in] matrix of the weights; *most is the largest that a sum of weights of one place reaches.
static double* weight_matrix(tt_lower_t* L, resize_mode_t mode, int64_t in, int64_t out, bool align,
                             double scale, double* most) {
  double* matrix = tt_arena_alloc_array(L->scratch, (size_t)(in * out), sizeof(*matrix));
  if (!matrix) return (void*)no_memory(L);
  *most = 0;
  for (int64_t o = 0; o < out; ++o) {
    int64_t at[4];
    double w[4], *row = matrix + o * in;
    if (mode == LINEAR_AA || mode == CUBIC_AA) {
      row_aa(mode, o, in, out, align, scale, row);
      for (int64_t i = 0; i < in; ++i) *most = TT_MAX(*most, row[i]);
      continue;
    }
    int count = neighbours(mode, o, in, out, align, scale, at, w);
    for (int k = 0; k < count; ++k) {
      row[at[k]] += w[k];
      *most = TT_MAX(*most, row[at[k]]);
    }
  }
  return matrix;
}

// Along `dim` by the [out, in] matrix, or its transpose for gradients.
static V resize_matrix(tt_lower_t* L, V x, int64_t dim, resize_mode_t mode, int64_t in, int64_t out,
                       bool align, double scale, bool transposed) {
  double most, *matrix = weight_matrix(L, mode, in, out, align, scale, &most);
  if (!matrix || !x) return NULL;
  tt_dim_t dims[2] = {out, in};
  V weights = tt_lx_constant(L, tt_lx_dtype(x), 2, dims, matrix);
  return tt_lx_matrix_along(L, x, dim, weights, transposed);
}

// Bytes (as i32) along `dim`, with PyTorch's integer weights: as many fractional bits as fit 16 bits, rounded to bytes
// after each dimension.
static V resize_bytes(tt_lower_t* L, V x, int64_t dim, resize_mode_t mode, int64_t in, int64_t out,
                      bool align, double scale) {
  double most, *matrix = weight_matrix(L, mode, in, out, align, scale, &most);
  int32_t* whole = tt_arena_alloc_array(L->scratch, (size_t)(in * out), sizeof(*whole));
  if (!matrix || !whole) return matrix ? no_memory(L) : NULL;
  int bits = 0;
  while (bits < 22 && (int)(0.5 + most * (double)(1 << (bits + 1))) < 1 << 15) ++bits;
  for (int64_t i = 0; i < in * out; ++i)
    whole[i] = (int32_t)(matrix[i] * (double)(1 << bits) + (matrix[i] < 0 ? -0.5 : 0.5));
  tt_dim_t dims[2] = {out, in};
  V weights = tt_b_constant(L->b, tt_b_type(L->b, TT_DTYPE_S32, 2, dims), whole, false);
  V sum = tt_lx_matrix_along(L, x, dim, weights, false);
  if (bits) sum = ADD(sum, tt_lx_splat_i64(L, sum, (int64_t)1 << (bits - 1)));
  sum = TT_B2(SHIFT_RIGHT_ARITHMETIC, sum, tt_lx_splat_i64(L, sum, bits));
  return tt_b_clamp(L->b, tt_lx_splat_i64(L, sum, 0), sum, tt_lx_splat_i64(L, sum, 255));
}

// Scale arguments start at `scale_arg`, one a spatial dimension.
static void resize(tt_lower_t* L, resize_mode_t mode, int n, bool has_align) {
  V input = tt_l_tensor(L, 0), x = input && tt_dtype_is_float(tt_lx_dtype(input)) ? UP(input) : input;
  tt_i64s_t sizes = tt_l_ints(L, 1);
  if (!x) return;
  bool bytes = mode >= LINEAR && !tt_dtype_is_float(tt_lx_dtype(input));
  if (bytes && (tt_lx_dtype(input) != TT_DTYPE_U8 || n != 2)) {
    tt_builder_fail(L->b, TT_UNIMPLEMENTED, "\"upsample%dd\" not implemented for '%s'", n,
                    tt_lx_torch_name(tt_lx_dtype(input)));
    return;
  }
  if (bytes) x = CAST(input, TT_DTYPE_S32);
  if (tt_lx_rank(x) != n + 2 || sizes.size != (size_t)n) {
    tt_builder_fail(L->b, TT_INVALID_ARGUMENT,
                    "It is expected output_size equals to %d, but got size %zu (input rank %lld)", n,
                    sizes.size, (long long)tt_lx_rank(x));
    return;
  }
  bool align = has_align && tt_l_bool(L, 2, false);
  if (mode == NEAREST && n > 1 && (L->args[0].tensor.is_strided || tt_lx_size(x, 1) == 1)) mode = NEAREST_WHOLE;
  for (int k = 0; k < n && x; ++k) {
    int i = bytes ? n - 1 - k : k;  // bytes: the last first, as rounding follows each
    double scale = tt_l_float(L, (has_align ? 3u : 2u) + (uint32_t)i, 0);
    int64_t in = tt_lx_static_size(L, x, 2 + i);
    if (in < 1 || sizes.data[i] < 1) {
      tt_builder_fail(
          L->b, TT_INVALID_ARGUMENT,
          "Input and output sizes should be greater than 0, but got input (%lld) and output (%lld)",
          (long long)in, (long long)sizes.data[i]);
      return;
    }
    if (bytes) {
      if (in != sizes.data[i]) x = resize_bytes(L, x, 2 + i, mode, in, sizes.data[i], align, scale);
      continue;
    }
    x = mode >= CUBIC ? resize_matrix(L, x, 2 + i, mode, in, sizes.data[i], align, scale, false)
                      : resize_gather(L, x, 2 + i, mode, sizes.data[i], align, scale);
  }
  tt_l_return(L, x ? CAST(x, tt_lx_dtype(input)) : NULL);
}

// (grad_output, output_size, input_size, [align_corners,] scales...)
static void resize_backward(tt_lower_t* L, resize_mode_t mode, int n, bool has_align) {
  V grad = tt_l_tensor(L, 0), x = UP(grad);
  tt_i64s_t out = tt_l_ints(L, 1), in = tt_l_ints(L, 2);
  if (!x || out.size != (size_t)n || in.size != (size_t)n + 2) return;
  if (mode == NEAREST) mode = NEAREST_WHOLE;
  bool align = has_align && tt_l_bool(L, 3, false);
  for (int i = 0; i < n; ++i) {
    double scale = tt_l_float(L, (has_align ? 4u : 3u) + (uint32_t)i, 0);
    x = resize_matrix(L, x, 2 + i, mode, in.data[2 + i], out.data[i], align, scale, true);
  }
  tt_l_return(L, x ? CAST(x, tt_lx_dtype(grad)) : NULL);
}

#define RESIZE(name, mode, n, has_align)               \
  TT_LOWERING(name) { resize(L, mode, n, has_align); } \
  TT_LOWERING(name##_backward) { resize_backward(L, mode, n, has_align); }
RESIZE(upsample_nearest1d, NEAREST, 1, false)
RESIZE(upsample_nearest2d, NEAREST, 2, false)
RESIZE(upsample_nearest3d, NEAREST, 3, false)
RESIZE(upsample_nearest_exact1d, NEAREST_EXACT, 1, false)
RESIZE(upsample_nearest_exact2d, NEAREST_EXACT, 2, false)
RESIZE(upsample_nearest_exact3d, NEAREST_EXACT, 3, false)
RESIZE(upsample_linear1d, LINEAR, 1, true)
RESIZE(upsample_bilinear2d, LINEAR, 2, true)
RESIZE(upsample_trilinear3d, LINEAR, 3, true)
RESIZE(upsample_bicubic2d, CUBIC, 2, true)
RESIZE(upsample_bilinear2d_aa, LINEAR_AA, 2, true)
RESIZE(upsample_bicubic2d_aa, CUBIC_AA, 2, true)
