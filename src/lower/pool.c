// Pooling over the last 2 or 3 (or 1) dimensions, forward and backward.
//
// A window of up to MAX_UNROLLED places becomes that many strided slices combined elementwise: they fuse into one
// loop and need no general reduce_window region for (value, index) pairs.
#include <math.h>
#include <string.h>

#include "lower/expr.h"

#define MAX_UNROLLED 1024

typedef struct pool_s {
  int n;  // spatial dimensions
  int64_t first;  // first spatial dimension of x
  int64_t size[3], stride[3], pad[3], dilation[3], in[3], out[3];
  int64_t extra[3];  // padding behind, beyond what the windows need at least 0
} pool_t;

static bool expand_list(tt_lower_t* L, const char* name, tt_i64s_t list, int n, int64_t if_empty,
                        const int64_t* fallback, int64_t* out) {
  if (list.size != 0 && list.size != 1 && list.size != (size_t)n) {
    tt_builder_fail(L->b, TT_INVALID_ARGUMENT,
                    "%s must either be a single int, or a tuple of %d ints, got %zu", name, n, list.size);
    return false;
  }
  for (int i = 0; i < n; ++i) {
    out[i] = list.size == 0 ? (fallback ? fallback[i] : if_empty) : list.data[list.size == 1 ? 0 : i];
    if (out[i] == (int32_t)out[i]) continue;   // the CPU's kernels count in int
    tt_builder_fail(L->b, TT_INVALID_ARGUMENT, "%s: value %lld cannot be converted to type int without overflow",
                    name, (long long)out[i]);
    return false;
  }
  return true;
}

// Output extent of PyTorch's pooling: the last window must start inside the input or its left padding.
static int64_t out_extent(int64_t in, int64_t size, int64_t stride, int64_t pad, int64_t dilation,
                          bool ceil_mode) {
  int64_t span = in + 2 * pad - dilation * (size - 1) - 1 + (ceil_mode ? stride - 1 : 0);
  int64_t out = (span >= 0 ? span / stride : -((-span + stride - 1) / stride)) + 1;
  if (ceil_mode && (out - 1) * stride >= in + pad) --out;
  return out;
}

static bool pool_begin(tt_lower_t* L, V x, int n, uint32_t size_arg, uint32_t stride_arg, uint32_t pad_arg,
                       int64_t dilation_arg, bool ceil_mode, pool_t* p) {
  memset(p, 0, sizeof(*p));
  if (!x) return false;
  p->n = n;
  p->first = tt_lx_rank(x) - n;
  if (p->first < 1 || p->first > 2) {
    tt_builder_fail(L->b, TT_INVALID_ARGUMENT, "pooling expects a %d-D or %d-D input, got %lld-D", n + 1,
                    n + 2, (long long)tt_lx_rank(x));
    return false;
  }
  if (!expand_list(L, "kernel_size", tt_l_ints(L, size_arg), n, 1, NULL, p->size) ||
      !expand_list(L, "stride", tt_l_ints(L, stride_arg), n, 1, p->size, p->stride) ||
      !expand_list(L, "padding", tt_l_ints(L, pad_arg), n, 0, NULL, p->pad)) {
    return false;
  }
  tt_i64s_t none = {NULL, 0};
  if (!expand_list(L, "dilation", dilation_arg >= 0 ? tt_l_ints(L, (uint32_t)dilation_arg) : none, n, 1, NULL,
                   p->dilation))
    return false;
  for (int i = 0; i < n; ++i) {
    p->in[i] = tt_lx_static_size(L, x, p->first + i);
    if (p->size[i] <= 0 || p->stride[i] <= 0 || p->dilation[i] <= 0) {
      tt_builder_fail(
          L->b, TT_INVALID_ARGUMENT,
          "kernel size, stride and dilation should be greater than zero, but got %lld, %lld, %lld",
          (long long)p->size[i], (long long)p->stride[i], (long long)p->dilation[i]);
      return false;
    }
    if (p->pad[i] < 0 || p->pad[i] * 2 > (p->size[i] - 1) * p->dilation[i] + 1) {
      tt_builder_fail(L->b, TT_INVALID_ARGUMENT,
                      "pad should be at most half of effective kernel size, but got pad=%lld, "
                      "kernel_size=%lld and dilation=%lld",
                      (long long)p->pad[i], (long long)p->size[i], (long long)p->dilation[i]);
      return false;
    }
    p->out[i] = out_extent(p->in[i], p->size[i], p->stride[i], p->pad[i], p->dilation[i], ceil_mode);
    if (p->out[i] < 1) {
      tt_builder_fail(
          L->b, TT_INVALID_ARGUMENT,
          "Given input size per channel: %lld and kernel size %lld, calculated output size %lld is too small",
          (long long)p->in[i], (long long)p->size[i], (long long)p->out[i]);
      return false;
    }
    int64_t reach = (p->out[i] - 1) * p->stride[i] + (p->size[i] - 1) * p->dilation[i] + 1;
    p->extra[i] = TT_MAX(reach - p->in[i] - p->pad[i], 0);
  }
  return true;
}

static V pad_spatial(tt_lower_t* L, const pool_t* p, V x, V fill) {
  int64_t low[TT_MAX_RANK] = {0}, high[TT_MAX_RANK] = {0};
  bool any = false;
  for (int i = 0; i < p->n; ++i) {
    low[p->first + i] = p->pad[i];
    high[p->first + i] = p->extra[i];
    any |= low[p->first + i] || high[p->first + i];
  }
  return any ? tt_b_pad(L->b, x, fill, low, high, NULL) : x;
}

// Places of the window at offset `at` of every output, from the padded input.
static V window_slice(tt_lower_t* L, const pool_t* p, V padded, const int64_t* at) {
  if (!padded) return NULL;
  int64_t start[TT_MAX_RANK], limit[TT_MAX_RANK], step[TT_MAX_RANK];
  for (int64_t d = 0; d < tt_lx_rank(padded); ++d) {
    start[d] = 0;
    limit[d] = tt_lx_size(padded, d);
    step[d] = 1;
  }
  for (int i = 0; i < p->n; ++i) {
    start[p->first + i] = at[i] * p->dilation[i];
    limit[p->first + i] = at[i] * p->dilation[i] + (p->out[i] - 1) * p->stride[i] + 1;
    step[p->first + i] = p->stride[i];
  }
  return tt_b_slice(L->b, padded, start, limit, step);
}

static int64_t window_places(const pool_t* p) {
  int64_t count = 1;
  for (int i = 0; i < p->n; ++i) count *= p->size[i];
  return count;
}
// The k-th place of the window, row-major.
static void window_place(const pool_t* p, int64_t k, int64_t* at) {
  for (int i = p->n - 1; i >= 0; --i) {
    at[i] = k % p->size[i];
    k /= p->size[i];
  }
}

// Flat index in the input's spatial plane of window place `at`, for every output; i1 validity in *inside.
static V plane_index(tt_lower_t* L, const pool_t* p, const int64_t* at, V like, V* inside) {
  V flat = NULL;
  *inside = NULL;
  for (int i = 0; i < p->n; ++i) {
    V position = tt_lx_iota(L, TT_DTYPE_S64, like, p->first + i);
    position = ADD(MUL(position, tt_lx_splat_i64(L, position, p->stride[i])),
                   tt_lx_splat_i64(L, position, at[i] * p->dilation[i] - p->pad[i]));
    V ok = AND(GE(position, tt_lx_splat_i64(L, position, 0)),
               LT(position, tt_lx_splat_i64(L, position, p->in[i])));
    *inside = *inside ? AND(*inside, ok) : ok;
    flat = flat ? ADD(MUL(flat, tt_lx_splat_i64(L, flat, p->in[i])), position) : position;
  }
  return flat;
}

static void max_pool(tt_lower_t* L, int n) {
  V x = tt_l_tensor(L, 0);
  pool_t p;
  if (!pool_begin(L, x, n, 1, 2, 3, 4, tt_l_bool(L, 5, false), &p)) return;
  int64_t places = window_places(&p), at[3];
  if (places > MAX_UNROLLED) {
    tt_builder_fail(L->b, TT_UNIMPLEMENTED, "max_pool: a window of %lld places (at most %d)",
                    (long long)places, MAX_UNROLLED);
    return;
  }
  V padded = pad_spatial(L, &p, x, tt_b_identity(L->b, TT_OP_MAXIMUM, tt_lx_dtype(x)));
  V best = NULL, index = NULL;
  for (int64_t k = 0; k < places && tt_builder_ok(L->b); ++k) {
    window_place(&p, k, at);
    V value = window_slice(L, &p, padded, at), inside;
    V flat = plane_index(L, &p, at, value, &inside);
    if (!best) {
      best = value;
      index = SEL(inside, flat, tt_lx_splat_i64(L, flat, -1));
      continue;
    }
    // The first of equals wins; a NaN wins over numbers; before the first inside place anything does.
    V better = OR(GT(value, best), LT(index, tt_lx_splat_i64(L, index, 0)));
    if (tt_dtype_is_float(tt_lx_dtype(value))) better = OR(better, NE(value, value));
    better = AND(better, inside);
    best = SEL(better, value, best);
    index = SEL(better, flat, index);
  }
  tt_l_return(L, best);
  tt_l_return(L, index);
}
TT_LOWERING(max_pool2d_with_indices) { max_pool(L, 2); }
TT_LOWERING(max_pool3d_with_indices) { max_pool(L, 3); }

// Puts grad [.., out] at flat plane indices into zeros of x's shape: adds (gradients of max pooling), or replaces
// in order (kind INVALID: unpooling, where the last of equal indices stays).
static V scatter_plane(tt_lower_t* L, tt_op_kind_t kind, V grad, V index, V like, int n) {
  if (!grad || !index || !like) return NULL;
  int64_t first = tt_lx_rank(like) - n, planes = 1, plane = 1, taken = 1;
  for (int64_t d = 0; d < first; ++d) planes *= tt_lx_static_size(L, like, d);
  for (int i = 0; i < n; ++i) {
    plane *= tt_lx_static_size(L, like, first + i);
    taken *= tt_lx_static_size(L, grad, first + i);
  }
  tt_dim_t flat[2] = {planes, plane}, updates[2] = {planes, taken}, places[3] = {planes, taken, 1};
  V zeros = tt_lx_full(L, tt_lx_dtype(grad), 2, flat, 0);
  static const int64_t zero = 0, one = 1;
  tt_scatter_dims_t dims;
  memset(&dims, 0, sizeof(dims));
  dims.inserted_window_dims = (tt_i64s_t){&one, 1};
  dims.input_batching_dims = (tt_i64s_t){&zero, 1};
  dims.scatter_indices_batching_dims = (tt_i64s_t){&zero, 1};
  dims.scatter_dims_to_operand_dims = (tt_i64s_t){&one, 1};
  dims.index_vector_dim = 2;
  V sum = tt_b_scatter(L->b, kind, zeros, tt_b_reshape(L->b, index, 3, places),
                       tt_b_reshape(L->b, grad, 2, updates), &dims, false, false);
  return sum ? tt_b_reshape(L->b, sum, like->type->rank, like->type->dims) : NULL;
}

static void max_pool_backward(tt_lower_t* L, int n, uint32_t index_arg) {
  V grad = tt_l_tensor(L, 0), like = tt_l_tensor(L, 1), index = tt_l_tensor(L, index_arg);
  V wide = scatter_plane(L, TT_OP_ADD, UP(grad), index, like, n);
  tt_l_return(L, wide ? CAST(wide, tt_lx_dtype(grad)) : NULL);
}
TT_LOWERING(max_pool2d_with_indices_backward) { max_pool_backward(L, 2, 7); }
TT_LOWERING(max_pool3d_with_indices_backward) { max_pool_backward(L, 3, 7); }
TT_LOWERING(adaptive_max_pool2d_backward) { max_pool_backward(L, 2, 2); }
TT_LOWERING(adaptive_max_pool3d_backward) { max_pool_backward(L, 3, 2); }

// ---- average -----------------------------------------------------------------------------------

// Places of the input, or with count_pad of its padding too, under window `o` of dimension i.
static int64_t places_under(const pool_t* p, int i, int64_t o, bool count_pad) {
  int64_t begin = o * p->stride[i] - p->pad[i], end = TT_MIN(begin + p->size[i], p->in[i] + p->pad[i]);
  return count_pad ? end - begin : TT_MIN(end, p->in[i]) - TT_MAX(begin, 0);
}

// The same of every window, computed from the window's number: a table would be another one for each size.
static V places_along(tt_lower_t* L, const pool_t* p, int i, bool count_pad, V like) {
  tt_dim_t extent = p->out[i];
  V o = tt_b_iota(L->b, tt_b_type(L->b, TT_DTYPE_S32, 1, &extent), 0);
  if (!o) return NULL;
  V begin = SUB(MUL(o, tt_lx_splat_i64(L, o, p->stride[i])), tt_lx_splat_i64(L, o, p->pad[i]));
  V end = MIN(ADD(begin, tt_lx_splat_i64(L, o, p->size[i])), tt_lx_splat_i64(L, o, p->in[i] + p->pad[i]));
  if (!count_pad) {
    begin = MAX(begin, tt_lx_splat_i64(L, o, 0));
    end = MIN(end, tt_lx_splat_i64(L, o, p->in[i]));
  }
  return tt_lx_along(L, CAST(SUB(end, begin), tt_lx_dtype(like)), p->first + i, like);
}

// What each output's sum is divided by, broadcast to like: the product of each dimension's count.
static V average_divisor(tt_lower_t* L, const pool_t* p, V like, bool count_pad, int64_t override) {
  if (!like) return NULL;
  if (override) return K(like, (double) override);
  V divisor = NULL;
  double common = 1;
  for (int i = 0; i < p->n; ++i) {
    int64_t first = places_under(p, i, 0, count_pad), o = 1;
    while (o < p->out[i] && places_under(p, i, o, count_pad) == first) ++o;
    if (o >= p->out[i]) {
      common *= (double)first;
      continue;
    }
    V line = places_along(L, p, i, count_pad, like);
    divisor = divisor ? MUL(divisor, line) : line;
  }
  if (!divisor) return K(like, common);
  return common == 1 ? divisor : MUL(divisor, K(like, common));
}

static V window_sum(tt_lower_t* L, const pool_t* p, V x) {
  int64_t ones[TT_MAX_RANK], size[TT_MAX_RANK], stride[TT_MAX_RANK], low[TT_MAX_RANK] = {0},
                                                                     high[TT_MAX_RANK] = {0};
  for (int64_t d = 0; d < tt_lx_rank(x); ++d) ones[d] = size[d] = stride[d] = 1;
  for (int i = 0; i < p->n; ++i) {
    size[p->first + i] = p->size[i];
    stride[p->first + i] = p->stride[i];
    low[p->first + i] = p->pad[i];
    // exactly what the windows reach: the rest of the input may go unread
    high[p->first + i] = (p->out[i] - 1) * p->stride[i] + p->size[i] - p->in[i] - p->pad[i];
  }
  tt_window_t window = {size, stride, ones, ones, low, high};
  V init = tt_b_identity(L->b, TT_OP_ADD, tt_lx_dtype(x));
  for (int64_t d = 0; d < tt_lx_rank(x); ++d) {
    if (high[d] >= 0) continue;  // negative padding: cut first
    x = tt_lx_slice_dim(L, x, d, 0, tt_lx_size(x, d) + high[d], 1);
    high[d] = 0;
  }
  return x ? tt_b_reduce_window(L->b, TT_OP_ADD, x, init, &window) : NULL;
}

static void avg_pool(tt_lower_t* L, int n) {
  V input = tt_l_tensor(L, 0), x = UP(input);
  pool_t p;
  if (!pool_begin(L, x, n, 1, 2, 3, -1, tt_l_bool(L, 4, false), &p)) return;
  int64_t override = tt_l_int(L, 6, 0);
  if (!tt_l_is_none(L, 6) && override == 0) {
    tt_builder_fail(L->b, TT_INVALID_ARGUMENT, "divisor must be not zero");
    return;
  }
  V sum = window_sum(L, &p, x);
  V divisor = average_divisor(L, &p, sum, tt_l_bool(L, 5, true), override);
  tt_l_return(L, CAST(DIV(sum, divisor), tt_lx_dtype(input)));
}
TT_LOWERING(avg_pool2d) { avg_pool(L, 2); }
TT_LOWERING(avg_pool3d) { avg_pool(L, 3); }

// (grad_output, self, kernel, stride, padding, ceil_mode, count_include_pad, divisor_override?)
static void avg_pool_backward(tt_lower_t* L, int n) {
  V input = tt_l_tensor(L, 1), grad = UP(tt_l_tensor(L, 0));
  pool_t p;
  if (!grad || !pool_begin(L, input, n, 2, 3, 4, -1, tt_l_bool(L, 5, false), &p)) return;
  V share = DIV(grad, average_divisor(L, &p, grad, tt_l_bool(L, 6, true), tt_l_int(L, 7, 0)));
  // Each input place sums the shares of the windows over it: a stride-1 window sum over the dilated shares.
  int64_t low[TT_MAX_RANK] = {0}, high[TT_MAX_RANK] = {0}, interior[TT_MAX_RANK] = {0}, ones[TT_MAX_RANK],
          size[TT_MAX_RANK];
  for (int64_t d = 0; d < tt_lx_rank(grad); ++d) ones[d] = size[d] = 1;
  for (int i = 0; i < n; ++i) {
    int64_t d = p.first + i, dilated = (p.out[i] - 1) * p.stride[i] + 1;
    low[d] = p.size[i] - 1 - p.pad[i];
    interior[d] = p.stride[i] - 1;
    high[d] = p.in[i] + p.size[i] - 1 - dilated - low[d];
    size[d] = p.size[i];
  }
  V zero = tt_b_identity(L->b, TT_OP_ADD, tt_lx_dtype(grad));
  V spread = tt_b_pad(L->b, share, zero, low, high, interior);
  tt_window_t window = {size, ones, ones, ones, NULL, NULL};
  V dx = spread ? tt_b_reduce_window(L->b, TT_OP_ADD, spread, zero, &window) : NULL;
  tt_l_return(L, dx ? CAST(dx, tt_lx_dtype(input)) : NULL);
}
TT_LOWERING(avg_pool2d_backward) { avg_pool_backward(L, 2); }
TT_LOWERING(avg_pool3d_backward) { avg_pool_backward(L, 3); }

// ---- adaptive ----------------------------------------------------------------------------------

static int64_t adaptive_begin(int64_t o, int64_t out, int64_t in) { return o * in / out; }
static int64_t adaptive_end(int64_t o, int64_t out, int64_t in) { return ((o + 1) * in + out - 1) / out; }

// Tables of weights and positions are built in host memory: one entry a place.
#define MAX_TABLE ((int64_t)1 << 28)

static bool adaptive_size(tt_lower_t* L, int64_t out, int64_t in) {
  if (out >= 0 && out <= MAX_TABLE && out * in <= MAX_TABLE) return true;
  tt_builder_fail(L->b, out < 0 ? TT_INVALID_ARGUMENT : TT_RESOURCE_EXHAUSTED,
                  out < 0
                      ? "adaptive_pool: elements of output_size must be greater than or equal to 0, got %lld"
                      : "adaptive_pool: an output size of %lld is too large",
                  (long long)out);
  return false;
}

// All dimensions but the first must have elements.
static bool adaptive_nonempty(tt_lower_t* L, V x, const char* kind, int n) {
  for (int64_t d = 1; d < tt_lx_rank(x); ++d) {
    if (tt_lx_static_size(L, x, d) != 0) continue;
    char sizes[256];
    tt_lx_sizes_text(x, "", sizes, sizeof sizes);
    tt_builder_fail(L->b, TT_INVALID_ARGUMENT,
                    "adaptive_%s_pool%dd(): Expected input to have non-zero size for non-batch dimensions, but "
                    "input has sizes %s with dimension %lld being empty",
                    kind, n, sizes, (long long)d);
    return false;
  }
  return true;
}

// Constant [out, in] of the averaging weights.
static V adaptive_matrix(tt_lower_t* L, int64_t out, int64_t in, tt_dtype_t dtype) {
  double* weights = tt_arena_alloc_array(L->scratch, (size_t)TT_MAX(out * in, 1), sizeof(*weights));
  if (!weights) return tt_builder_fail(L->b, TT_RESOURCE_EXHAUSTED, "out of host memory");
  for (int64_t o = 0; o < out; ++o) {
    int64_t begin = adaptive_begin(o, out, in), end = adaptive_end(o, out, in);
    for (int64_t i = begin; i < end; ++i) weights[o * in + i] = 1.0 / (double)(end - begin);
  }
  tt_dim_t dims[2] = {out, in};
  return tt_lx_constant(L, dtype, 2, dims, weights);
}

static void adaptive_avg(tt_lower_t* L, int n, bool backward) {
  V grad = backward ? tt_l_tensor(L, 0) : NULL, input = tt_l_tensor(L, backward ? 1 : 0);
  if (!input || !adaptive_nonempty(L, input, "avg", n)) return;
  int64_t first = tt_lx_rank(input) - n;
  tt_i64s_t sizes = backward ? (tt_i64s_t){NULL, 0} : tt_l_ints(L, 1);
  V x = UP(backward ? grad : input);
  if (!x) return;
  bool all_one = true;
  int64_t in[3], out[3];
  for (int i = 0; i < n; ++i) {
    in[i] = tt_lx_static_size(L, input, first + i);
    out[i] = backward                  ? tt_lx_static_size(L, grad, first + i)
             : sizes.size == (size_t)n ? sizes.data[i]
             : sizes.size              ? sizes.data[0]
                                       : in[i];
    all_one &= out[i] == 1;
    if (!adaptive_size(L, out[i], in[i])) return;
  }
  if (all_one) {  // global average
    double count = 1;
    int64_t dims[3];
    for (int i = 0; i < n; ++i) {
      dims[i] = first + i;
      count *= (double)in[i];
    }
    V y = backward ? tt_lx_broadcast_like(L, DIV(x, K(x, count)), input)
                   : tt_b_reduce(L->b, TT_OP_ADD, x, (size_t)n, dims, true);
    tt_l_return(L, y ? CAST(backward ? y : DIV(y, K(y, count)), tt_lx_dtype(input)) : NULL);
    return;
  }
  for (int i = 0; i < n; ++i)
    x = tt_lx_matrix_along(L, x, first + i, adaptive_matrix(L, out[i], in[i], tt_lx_dtype(x)), backward);
  tt_l_return(L, x ? CAST(x, tt_lx_dtype(input)) : NULL);
}
TT_LOWERING(adaptive_avg_pool2d) { adaptive_avg(L, 2, false); }
TT_LOWERING(adaptive_avg_pool2d_backward) { adaptive_avg(L, 2, true); }
TT_LOWERING(adaptive_avg_pool3d) { adaptive_avg(L, 3, false); }
TT_LOWERING(adaptive_avg_pool3d_backward) { adaptive_avg(L, 3, true); }

// Windows differ in size, so each output place is reduced on its own and the pieces are put together.
static void adaptive_max(tt_lower_t* L, int n) {
  V x = tt_l_tensor(L, 0);
  if (!x || !adaptive_nonempty(L, x, "max", n)) return;
  tt_i64s_t sizes = tt_l_ints(L, 1);
  pool_t p;
  memset(&p, 0, sizeof(p));
  p.n = n;
  p.first = tt_lx_rank(x) - n;
  int64_t rounds[3] = {1, 1, 1};  // the widest window of each dimension
  for (int i = 0; i < n; ++i) {
    p.in[i] = tt_lx_static_size(L, x, p.first + i);
    p.out[i] = sizes.size == (size_t)n ? sizes.data[i] : sizes.data[0];
    if (!adaptive_size(L, p.out[i], p.in[i])) return;
    for (int64_t o = 0; o < p.out[i]; ++o)
      rounds[i] =
          TT_MAX(rounds[i], adaptive_end(o, p.out[i], p.in[i]) - adaptive_begin(o, p.out[i], p.in[i]));
  }
  // Place k of every window along one dimension is a static gather; a window shorter than k repeats its last.
  V best = NULL, index = NULL;
  int64_t total = rounds[0] * rounds[1] * rounds[2];
  if (total > MAX_UNROLLED) {
    tt_builder_fail(L->b, TT_UNIMPLEMENTED, "adaptive_max_pool: a window of %lld places (at most %d)",
                    (long long)total, MAX_UNROLLED);
    return;
  }
  for (int64_t k = 0; k < total && tt_builder_ok(L->b); ++k) {
    int64_t at[3] = {0, 0, 0}, rest = k;
    for (int i = n - 1; i >= 0; --i) {
      at[i] = rest % rounds[i];
      rest /= rounds[i];
    }
    V value = x, flat = NULL, lines[3] = {NULL, NULL, NULL};
    for (int i = 0; i < n; ++i) {
      int64_t* picks = tt_arena_alloc_array(L->scratch, (size_t)p.out[i], sizeof(*picks));
      if (!picks) {
        tt_builder_fail(L->b, TT_RESOURCE_EXHAUSTED, "out of host memory");
        return;
      }
      for (int64_t o = 0; o < p.out[i]; ++o) {
        picks[o] =
            TT_MIN(adaptive_begin(o, p.out[i], p.in[i]) + at[i], adaptive_end(o, p.out[i], p.in[i]) - 1);
      }
      lines[i] = tt_b_i64s(L->b, (size_t)p.out[i], picks);
      value = tt_lx_take(L, value, p.first + i, lines[i]);
      if (!value) return;
    }
    for (int i = 0; i < n; ++i) {
      V along = tt_lx_along(L, lines[i], p.first + i, value);
      flat = flat ? ADD(MUL(flat, tt_lx_splat_i64(L, flat, p.in[i])), along) : along;
    }
    if (!best) {
      best = value;
      index = flat;
      continue;
    }
    V better = GT(value, best);
    if (tt_dtype_is_float(tt_lx_dtype(value))) better = OR(better, AND(NE(value, value), EQ(best, best)));
    best = SEL(better, value, best);
    index = SEL(better, flat, index);
  }
  tt_l_return(L, best);
  tt_l_return(L, index);
}
TT_LOWERING(adaptive_max_pool2d) { adaptive_max(L, 2); }
TT_LOWERING(adaptive_max_pool3d) { adaptive_max(L, 3); }

static bool same_shape(V a, V b) {
  bool same = tt_lx_rank(a) == tt_lx_rank(b);
  for (int64_t d = 0; same && d < tt_lx_rank(a); ++d) same = tt_lx_size(a, d) == tt_lx_size(b, d);
  return same;
}

// ---- unpooling ---------------------------------------------------------------------------------

// (self, indices, output_size, ...)
static void max_unpool(tt_lower_t* L, int n, const char* message) {
  V x = tt_l_tensor(L, 0), index = tt_l_tensor(L, 1);
  tt_i64s_t sizes = tt_l_ints(L, 2);
  if (!x || !index) return;
  int64_t rank = tt_lx_rank(x), first = rank - n, plane = 1;
  if (tt_lx_dtype(index) != TT_DTYPE_S64) {
    tt_builder_fail(L->b, TT_INVALID_ARGUMENT, "elements in indices should be type int64 but got: %s",
                    tt_lx_torch_name(tt_lx_dtype(index)));
    return;
  }
  if (sizes.size != (size_t)n) {
    tt_builder_fail(L->b, TT_INVALID_ARGUMENT,
                    "There should be exactly %d elements in output_size, but got %zu elements.", n,
                    sizes.size);
    return;
  }
  if (first < 1 || first > 2) {
    tt_builder_fail(L->b, TT_INVALID_ARGUMENT,
                    "Input to max_unpooling%dd should be a %dd or %dd Tensor, but got a tensor with dim %lld",
                    n, n + 1, n + 2, (long long)rank);
    return;
  }
  if (!same_shape(x, index)) {
    tt_builder_fail(L->b, TT_INVALID_ARGUMENT,
                    "Expected shape of indices to be same as that of the input tensor");
    return;
  }
  tt_dim_t dims[TT_MAX_RANK];
  for (int64_t d = 0; d < rank; ++d) dims[d] = d < first ? tt_lx_size(x, d) : sizes.data[d - first];
  for (int i = 0; i < n; ++i) plane *= sizes.data[i];
  tt_lx_check_range(L, index, 0, plane, n == 2 ? TT_OUT_OF_RANGE : TT_INVALID_ARGUMENT, message);
  tt_l_return(
      L, scatter_plane(L, TT_OP_INVALID, x, index, tt_lx_full(L, tt_lx_dtype(x), (size_t)rank, dims, 0), n));
}
TT_LOWERING(max_unpool2d) { max_unpool(L, 2, "Found an invalid max index: {0}"); }
TT_LOWERING(max_unpool3d) { max_unpool(L, 3, "Found an invalid max index: {0}"); }

// ---- fractional --------------------------------------------------------------------------------

// Where the windows of one dimension begin, from a random number of each plane: [planes, out] (i64). The arithmetic is
// the dtype's own, step by step, as on the CPU: it decides which window an element falls into.
static V fractional_begin(tt_lower_t* L, V sample, int64_t in, int64_t out, int64_t size) {
  if (!sample) return NULL;
  tt_dtype_t dtype = tt_lx_dtype(sample);
  tt_dim_t grid[2] = {tt_lx_size(sample, 0), out};
  V place = tt_b_iota(L->b, tt_b_type(L->b, TT_DTYPE_S64, 2, grid), 1),
    last = tt_lx_splat_i64(L, place, in - size);
  if (out < 2) return last;
  V u = tt_b_broadcast_to(L->b, tt_lx_unsqueeze(L, sample, 1), 2, grid);
  V span = CAST(K(UP(u), (double)(in - size)), dtype), steps = CAST(K(UP(u), (double)(out - 1)), dtype);
  V alpha = UP(CAST(DIV(UP(span), UP(steps)), dtype));
  V ahead = CAST(ADD(UP(CAST(place, dtype)), UP(u)), dtype);
  V from = CAST(CAST(MUL(UP(ahead), alpha), dtype), TT_DTYPE_S64),
    offset = CAST(CAST(MUL(UP(u), alpha), dtype), TT_DTYPE_S64);
  return SEL(EQ(place, tt_lx_splat_i64(L, place, out - 1)), last, SUB(from, offset));
}

// (self, kernel_size, output_size, random_samples [N, C, n]) -> (output, indices)
static void fractional_max_pool(tt_lower_t* L, int n) {
  V x = tt_l_tensor(L, 0), samples = tt_l_tensor(L, 3);
  tt_i64s_t size = tt_l_ints(L, 1), out = tt_l_ints(L, 2);
  if (!x || !samples) return;
  int64_t rank = tt_lx_rank(x), first = rank - n, planes = 1, plane = 1, taken = 1, places = 1, in[3];
  tt_dim_t dims[TT_MAX_RANK];
  for (int64_t d = 0; d < first; ++d) planes *= dims[d] = tt_lx_static_size(L, x, d);
  for (int i = 0; i < n; ++i) {
    plane *= in[i] = tt_lx_static_size(L, x, first + i);
    taken *= dims[first + i] = out.data[i];
    places *= size.data[i];
  }
  if (places > MAX_UNROLLED) {
    tt_builder_fail(L->b, TT_UNIMPLEMENTED, "fractional_max_pool: a window of %lld places (at most %d)",
                    (long long)places, MAX_UNROLLED);
    return;
  }
  if (planes * taken == 0) {
    tt_l_return(L, tt_lx_full(L, tt_lx_dtype(x), (size_t)rank, dims, 0));
    tt_l_return(L, tt_lx_full(L, TT_DTYPE_S64, (size_t)rank, dims, 0));
    return;
  }
  tt_dim_t lines[2] = {planes, plane}, numbers[2] = {tt_lx_numel(L, samples) / n, n}, grid[4] = {planes},
           flat[2] = {planes, taken};
  V values = tt_b_reshape(L->b, x, 2, lines), begin[3];
  samples = tt_lx_slice_dim(L, tt_b_reshape(L->b, samples, 2, numbers), 0, 0, planes, 1);
  for (int i = 0; i < n; ++i) grid[i + 1] = out.data[i];
  for (int i = 0; i < n; ++i) {
    int column = n == 2 ? 1 - i : i;  // two dimensions: width first
    V line = tt_lx_squeeze(L, tt_lx_slice_dim(L, samples, 1, column, column + 1, 1), 1);
    const int64_t along[2] = {0, i + 1};
    begin[i] = tt_b_broadcast_in_dim(L->b, fractional_begin(L, line, in[i], out.data[i], size.data[i]),
                                     (size_t)n + 1, grid, along);
  }
  V best = NULL, index = NULL;
  for (int64_t k = 0; k < places; ++k) {
    int64_t at[3], rest = k;
    for (int i = n - 1; i >= 0; --i) {
      at[i] = rest % size.data[i];
      rest /= size.data[i];
    }
    V here = NULL;
    for (int i = 0; i < n; ++i) {
      V position = ADD(begin[i], tt_lx_splat_i64(L, begin[i], at[i]));
      here = here ? ADD(MUL(here, tt_lx_splat_i64(L, here, in[i])), position) : position;
    }
    here = tt_b_reshape(L->b, here, 2, flat);
    V value = tt_lx_gather_along(L, values, 1, here);
    if (!best) {
      best = value;
      index = here;
      continue;
    }
    V better = OR(GT(value, best), NE(value, value));
    best = SEL(better, value, best);
    index = SEL(better, here, index);
  }
  tt_l_return(L, tt_b_reshape(L->b, best, (size_t)rank, dims));
  tt_l_return(L, tt_b_reshape(L->b, index, (size_t)rank, dims));
}
TT_LOWERING(fractional_max_pool2d) { fractional_max_pool(L, 2); }
TT_LOWERING(fractional_max_pool3d) { fractional_max_pool(L, 3); }

// (grad_output, self, kernel_size, output_size, indices)
static void fractional_max_pool_backward(tt_lower_t* L, int n) {
  V grad = tt_l_tensor(L, 0), x = tt_l_tensor(L, 1), index = tt_l_tensor(L, 4);
  tt_i64s_t out = tt_l_ints(L, 3);
  if (!grad || !x || !index) return;
  int64_t rank = tt_lx_rank(x), first = rank - n, plane = 1;
  bool fits = first >= 1 && tt_lx_rank(grad) == rank && same_shape(grad, index);
  for (int64_t d = 0; fits && d < rank; ++d)
    fits = tt_lx_size(grad, d) == (d < first ? tt_lx_size(x, d) : out.data[d - first]);
  if (!fits) {
    tt_builder_fail(L->b, TT_INVALID_ARGUMENT,
                    "fractional_max_pool%dd_backward(): gradOutput sizes unexpected", n);
    return;
  }
  for (int i = 0; i < n; ++i) plane *= tt_lx_static_size(L, x, first + i);
  tt_lx_check_range(L, index, 0, plane, TT_INVALID_ARGUMENT,
                    "fractional_max_pool_backward: index {0} is out of range");
  V dx = scatter_plane(L, TT_OP_ADD, UP(grad), index, x, n);
  tt_l_return(L, CAST(dx, tt_lx_dtype(grad)));
}
TT_LOWERING(fractional_max_pool2d_backward) { fractional_max_pool_backward(L, 2); }
TT_LOWERING(fractional_max_pool3d_backward) { fractional_max_pool_backward(L, 3); }
