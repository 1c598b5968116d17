// grid_sampler_2d and _3d, forward and backward: an image read at positions that a grid gives.
//
// Along every axis a position has one (nearest), two (linear) or four (cubic) taps; the output is the sum over all
// combinations of taps of a row of the image [N * points, C] times the product of the axes' weights. A tap outside
// the image weighs nothing under zero padding; border and reflection move it inside. The gradient of the image
// adds the same rows back; the gradient of the grid takes an axis' slope in place of its weight.
#include "lower/expr.h"

enum { BILINEAR, NEAREST, BICUBIC };
enum { ZEROS, BORDER, REFLECTION };

typedef struct tap_s { V index, weight, slope; } tap_t;   // index: i64, in range; slope NULL: zero
typedef struct axis_s { tap_t taps[4]; int count; } axis_t;

typedef struct sampler_s {
  int n;                               // spatial dimensions
  int64_t batch, channels, points, extent[3];
  int64_t mode, padding;
  bool align;
  V start;                             // first row of the image of each position, [N, P]
  axis_t axes[3];
} sampler_t;

static V flag(tt_lower_t* L, V ok, V x) { return SEL(ok, x, K(x, 0)); }

// Inside [0, size - 1]; NaN becomes 0. *slope is cut to zero where the position was moved.
static V clip(tt_lower_t* L, V x, int64_t size, V* slope) {
  V top = K(x, (double)(size - 1)), zero = K(x, 0);
  if (slope) *slope = flag(L, AND(GT(x, zero), LT(x, top)), *slope);
  x = SEL(GE(x, zero), x, zero);
  return SEL(LT(x, top), x, top);
}

static V reflect(tt_lower_t* L, V x, int64_t size, bool align, V* slope) {
  double low = align ? 0 : -0.5, span = align ? (double)(size - 1) : (double)size;
  if (span == 0) {
    if (slope) *slope = K(*slope, 0);
    return K(x, 0);
  }
  V from = SUB(x, K(x, low)), negative = LT(from, K(x, 0)), width = K(x, span);
  from = ABS(from);
  V extra = REM(from, width), flips = FLOOR(DIV(from, width));
  V odd = NE(REM(flips, K(x, 2)), K(x, 0));
  if (slope) *slope = SEL(NE(negative, odd), NEG(*slope), *slope);
  return SEL(odd, ADD(SUB(width, extra), K(x, low)), ADD(extra, K(x, low)));
}

static V place(tt_lower_t* L, const sampler_t* s, V x, int64_t size, V* slope) {
  if (s->padding == ZEROS) return x;
  if (s->padding == REFLECTION) x = reflect(L, x, size, s->align, slope);
  return clip(L, x, size, slope);
}

// A tap at the whole position `at`: outside the image it weighs nothing and reads element 0.
static tap_t tap(tt_lower_t* L, V at, int64_t size, V weight, V slope) {
  V inside = AND(GE(at, K(at, 0)), LE(at, K(at, (double)(size - 1))));
  tap_t result = {CAST(flag(L, inside, at), TT_DTYPE_S64), flag(L, inside, weight), slope ? flag(L, inside, slope) : NULL};
  return result;
}

static void cubic(tt_lower_t* L, V t, V weights[4], V slopes[4]) {
  const double a = -0.75;
  for (int k = 0; k < 4; ++k) {
    // distance of the tap and its sign towards t
    V d = k == 0 ? ADD(t, K(t, 1)) : k == 1 ? t : k == 2 ? SUB(K(t, 1), t) : SUB(K(t, 2), t);
    bool near = k == 1 || k == 2;
    weights[k] = near ? ADD(MUL(MUL(SUB(MUL(K(t, a + 2), d), K(t, a + 3)), d), d), K(t, 1))
                      : SUB(MUL(ADD(MUL(SUB(MUL(K(t, a), d), K(t, 5 * a)), d), K(t, 8 * a)), d), K(t, 4 * a));
    V slope = near ? MUL(SUB(MUL(K(t, 3 * (a + 2)), d), K(t, 2 * (a + 3))), d)
                   : ADD(MUL(SUB(MUL(K(t, 3 * a), d), K(t, 10 * a)), d), K(t, 8 * a));
    slopes[k] = k < 2 ? slope : NEG(slope);
  }
}

static void axis_build(tt_lower_t* L, sampler_t* s, int axis, V coordinate) {
  axis_t* out = &s->axes[axis];
  int64_t size = s->extent[axis];
  double scale = (s->align ? (double)(size - 1) : (double)size) / 2;
  V one = K(coordinate, 1), x;
  if (s->n == 2 || s->align) {
    x = MUL(ADD(coordinate, one), K(coordinate, scale));
    if (!s->align) x = SUB(x, K(coordinate, 0.5));
  } else {
    x = DIV(SUB(MUL(ADD(coordinate, one), K(coordinate, (double)size)), one), K(coordinate, 2));
  }
  V slope = K(coordinate, scale);
  if (s->mode == BICUBIC) {
    V base = FLOOR(x), weights[4], slopes[4];
    cubic(L, SUB(x, base), weights, slopes);
    out->count = 4;
    for (int k = 0; k < 4; ++k) {
      V at = place(L, s, ADD(base, K(base, k - 1)), size, NULL);
      out->taps[k] = tap(L, at, size, weights[k], MUL(slopes[k], slope));
    }
    return;
  }
  x = place(L, s, x, size, &slope);
  if (s->mode == NEAREST) {
    out->count = 1;
    out->taps[0] = tap(L, TT_B1(ROUND_NEAREST_EVEN, x), size, one, NULL);
    return;
  }
  V base = FLOOR(x), t = SUB(x, base);
  out->count = 2;
  out->taps[0] = tap(L, base, size, SUB(one, t), NEG(slope));
  out->taps[1] = tap(L, ADD(base, one), size, t, slope);
}

static bool sampler_begin(tt_lower_t* L, V x, V grid, uint32_t first, int n, sampler_t* s) {
  if (!x || !grid) return false;
  if (tt_lx_rank(x) != n + 2 || tt_lx_rank(grid) != n + 2 || tt_lx_size(grid, n + 1) != n ||
      tt_lx_size(grid, 0) != tt_lx_size(x, 0)) {
    tt_builder_fail(L->b, TT_INVALID_ARGUMENT,
                    "grid_sampler(): expected %dD input and grid of the same batch size, the grid's last dimension being %d", n + 2, n);
    return false;
  }
  s->n = n;
  s->batch = tt_lx_static_size(L, x, 0);
  s->channels = tt_lx_static_size(L, x, 1);
  s->mode = tt_l_int(L, first, 0);
  s->padding = tt_l_int(L, first + 1, 0);
  s->align = tt_l_bool(L, first + 2, false);
  if (n == 3 && s->mode == BICUBIC) {
    tt_builder_fail(L->b, TT_INVALID_ARGUMENT, "grid_sampler(): bicubic interpolation only supports 4D input");
    return false;
  }
  s->points = 1;
  for (int i = 0; i < n; ++i) {
    s->extent[i] = tt_lx_static_size(L, x, 2 + i);
    s->points *= tt_lx_static_size(L, grid, 1 + i);
    if (s->extent[i] < 1) {
      tt_builder_fail(L->b, TT_INVALID_ARGUMENT, "grid_sampler(): expected input to have non-empty spatial dimensions");
      return false;
    }
  }
  tt_dim_t flat[3] = {s->batch, s->points, n}, positions[2] = {s->batch, s->points};
  V wide = tt_b_reshape(L->b, UP(grid), 3, flat);
  for (int i = 0; i < n; ++i) {
    int64_t at = n - 1 - i;            // the grid holds x, y, z
    axis_build(L, s, i, tt_b_reshape(L->b, tt_lx_slice_dim(L, wide, 2, at, at + 1, 1), 2, positions));
  }
  V start = tt_b_iota(L->b, tt_b_type(L->b, TT_DTYPE_S64, 2, positions), 0);
  int64_t plane = 1;
  for (int i = 0; i < n; ++i) plane *= s->extent[i];
  s->start = MUL(start, tt_lx_splat_i64(L, start, plane));
  return true;
}

// [N, C, ...] as [N * points, C], and as [N, points, C] when `split`.
static V rows_of(tt_lower_t* L, V x, bool split) {
  V last = tt_lx_move_dim(L, x, 1, tt_lx_rank(x) - 1);
  int64_t batch = tt_lx_static_size(L, x, 0), channels = tt_lx_static_size(L, x, 1), plane = 1;
  for (int64_t d = 2; d < tt_lx_rank(x); ++d) plane *= tt_lx_static_size(L, x, d);
  tt_dim_t merged[2] = {batch * plane, channels}, apart[3] = {batch, plane, channels};
  return split ? tt_b_reshape(L->b, last, 3, apart) : tt_b_reshape(L->b, last, 2, merged);
}

// [N, P] along the channels.
static V per_row(tt_lower_t* L, const sampler_t* s, V v) {
  tt_dim_t dims[3] = {s->batch, s->points, s->channels};
  static const int64_t along[2] = {0, 1};
  return tt_b_broadcast_in_dim(L->b, v, 3, dims, along);
}

// One combination of taps: rows to read, product of the weights, and per axis the product with its slope.
typedef struct corner_s { V index, weight, slopes[3]; } corner_t;

static int corner_count(const sampler_t* s) {
  int count = 1;
  for (int i = 0; i < s->n; ++i) count *= s->axes[i].count;
  return count;
}

static corner_t corner(tt_lower_t* L, const sampler_t* s, int number, bool with_slopes) {
  corner_t c = {s->start, NULL, {NULL}};
  const tap_t* taps[3];
  int64_t stride = 1;
  for (int i = s->n; i-- > 0;) {
    taps[i] = &s->axes[i].taps[number % s->axes[i].count];
    number /= s->axes[i].count;
    c.index = ADD(c.index, MUL(taps[i]->index, tt_lx_splat_i64(L, taps[i]->index, stride)));
    stride *= s->extent[i];
    c.weight = c.weight ? MUL(c.weight, taps[i]->weight) : taps[i]->weight;
  }
  for (int i = 0; with_slopes && i < s->n; ++i) {
    V product = taps[i]->slope;
    for (int k = 0; product && k < s->n; ++k) {
      if (k != i) product = MUL(product, taps[k]->weight);
    }
    c.slopes[i] = product;
  }
  return c;
}

// (input, grid, interpolation_mode, padding_mode, align_corners)
static void sample(tt_lower_t* L, int n) {
  V x = tt_l_tensor(L, 0), grid = tt_l_tensor(L, 1), sum = NULL;
  sampler_t s = {0};
  if (!sampler_begin(L, x, grid, 2, n, &s)) return;
  V rows = rows_of(L, UP(x), false);
  for (int k = 0; k < corner_count(&s); ++k) {
    corner_t c = corner(L, &s, k, false);
    V term = MUL(tt_lx_take_rows(L, rows, c.index), per_row(L, &s, c.weight));
    sum = sum ? ADD(sum, term) : term;
  }
  tt_dim_t dims[5] = {s.batch};
  for (int i = 0; i < n; ++i) dims[1 + i] = tt_lx_size(grid, 1 + i);
  dims[n + 1] = s.channels;
  tt_l_return(L, CAST(tt_lx_move_dim(L, tt_b_reshape(L->b, sum, (size_t)n + 2, dims), n + 1, 1), tt_lx_dtype(x)));
}
TT_LOWERING(grid_sampler_2d) { sample(L, 2); }
TT_LOWERING(grid_sampler_3d) { sample(L, 3); }

// (grad_output, input, grid, interpolation_mode, padding_mode, align_corners, output_mask)
static void sample_backward(tt_lower_t* L, int n) {
  V grad = tt_l_tensor(L, 0), x = tt_l_tensor(L, 1), grid = tt_l_tensor(L, 2);
  sampler_t s = {0};
  if (!grad || !sampler_begin(L, x, grid, 3, n, &s)) return;
  V rows = rows_of(L, UP(x), false), given = rows_of(L, UP(grad), true), dx = K(rows, 0), slopes[3] = {NULL, NULL, NULL};
  bool wants_input = L->args[6].bools[0];
  const int64_t channel = 2;
  for (int k = 0; k < corner_count(&s); ++k) {
    corner_t c = corner(L, &s, k, true);
    if (wants_input) {
      tt_dim_t flat[2] = {s.batch * s.points, s.channels};
      V update = tt_b_reshape(L->b, MUL(given, per_row(L, &s, c.weight)), 2, flat);
      dx = tt_lx_scatter_rows(L, TT_OP_ADD, dx, tt_lx_flatten(L, c.index), update, false);
    }
    if (!c.slopes[0]) continue;
    V product = tt_b_reduce(L->b, TT_OP_ADD, MUL(given, tt_lx_take_rows(L, rows, c.index)), 1, &channel, false);
    for (int i = 0; i < n; ++i) {
      V term = MUL(product, c.slopes[i]);
      slopes[i] = slopes[i] ? ADD(slopes[i], term) : term;
    }
  }
  if (wants_input) {
    tt_dim_t dims[5] = {s.batch};
    for (int i = 0; i < n; ++i) dims[1 + i] = s.extent[i];
    dims[n + 1] = s.channels;
    tt_l_return(L, CAST(tt_lx_move_dim(L, tt_b_reshape(L->b, dx, (size_t)n + 2, dims), n + 1, 1), tt_lx_dtype(x)));
  } else {
    tt_l_return_none(L);
  }
  V wide = UP(grid), dgrid = K(wide, 0);
  if (slopes[0]) {
    V parts[3];
    for (int i = 0; i < n; ++i) parts[i] = tt_lx_unsqueeze(L, slopes[n - 1 - i], 2);
    dgrid = tt_b_reshape(L->b, tt_b_concatenate(L->b, (size_t)n, parts, 2), grid->type->rank, grid->type->dims);
  }
  tt_l_return(L, CAST(dgrid, tt_lx_dtype(grid)));
}
TT_LOWERING(grid_sampler_2d_backward) { sample_backward(L, 2); }
TT_LOWERING(grid_sampler_3d_backward) { sample_backward(L, 3); }
