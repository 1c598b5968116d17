// Convolution and its gradients, plain and transposed, any number of spatial dimensions, with groups.
//
//   y = conv(x, w):            x [N, C, ...], w [O, C/G, ...]
//   dx = conv_input(dy, w):    dy dilated by the stride, w reversed with its channels swapped
//   dw = conv_weight(x, dy):   x's channels as batch, dy as the window, dilated by the stride
// A transposed convolution is conv_input of the same geometry; its gradients are conv and conv_weight swapped.
#include <string.h>

#include "lower/expr.h"

typedef struct conv_s {
  int n;
  int64_t stride[8], pad[8], dilation[8], output_pad[8], groups;
  int64_t spatial[8];  // 2, 3, ...
  bool transposed;
} conv_t;

static bool read_list(tt_lower_t* L, uint32_t arg, const char* name, int n, int64_t if_empty, int64_t* out) {
  tt_i64s_t list = tt_l_ints(L, arg);
  if (list.size != 0 && list.size != 1 && list.size != (size_t)n) {
    tt_builder_fail(L->b, TT_INVALID_ARGUMENT,
                    "expected %s to be a single integer value or a list of %d values, but got %zu values",
                    name, n, list.size);
    return false;
  }
  for (int i = 0; i < n; ++i) out[i] = list.size ? list.data[list.size == 1 ? 0 : i] : if_empty;
  return true;
}

// Geometry arguments from `first`: stride, padding, dilation, transposed, output_padding, groups.
static bool conv_begin(tt_lower_t* L, V weight, uint32_t first, conv_t* c) {
  memset(c, 0, sizeof(*c));
  if (!weight) return false;
  c->n = (int)tt_lx_rank(weight) - 2;
  if (c->n < 1 || c->n > 8) {
    tt_builder_fail(L->b, TT_INVALID_ARGUMENT,
                    "convolution: weight should have at least three dimensions, got %lld",
                    (long long)tt_lx_rank(weight));
    return false;
  }
  if (!read_list(L, first, "stride", c->n, 1, c->stride) ||
      !read_list(L, first + 1, "padding", c->n, 0, c->pad) ||
      !read_list(L, first + 2, "dilation", c->n, 1, c->dilation) ||
      !read_list(L, first + 4, "output_padding", c->n, 0, c->output_pad)) {
    return false;
  }
  c->transposed = tt_l_bool(L, first + 3, false);
  c->groups = tt_l_int(L, first + 5, 1);
  for (int i = 0; i < c->n; ++i) {
    c->spatial[i] = 2 + i;
    if (c->stride[i] <= 0 || c->dilation[i] <= 0) {
      tt_builder_fail(L->b, TT_INVALID_ARGUMENT,
                      "non-positive stride or dilation is not supported: stride %lld, dilation %lld",
                      (long long)c->stride[i], (long long)c->dilation[i]);
      return false;
    }
  }
  if (c->groups <= 0) {
    tt_builder_fail(L->b, TT_INVALID_ARGUMENT, "expected groups to be greater than 0, but got groups=%lld",
                    (long long)c->groups);
    return false;
  }
  return true;
}

static tt_conv_dims_t plain_dims(const conv_t* c) {
  tt_i64s_t spatial = {c->spatial, (size_t)c->n};
  return (tt_conv_dims_t){0, 1, 1, 0, 0, 1, spatial, spatial, spatial};
}

static V conv(tt_lower_t* L, const conv_t* c, V x, V w) {
  tt_conv_t conv = {c->stride, c->pad, c->pad, NULL, c->dilation, NULL, c->groups, 1, plain_dims(c)};
  return x && w ? tt_b_convolution(L->b, x, w, &conv) : NULL;
}

// w [O, C/G, ...] as [O/G, C, ...]: the kernel of the input gradient before reversal.
static V swap_groups(tt_lower_t* L, const conv_t* c, V w) {
  if (!w || c->groups == 1) return w;
  tt_dim_t split[TT_MAX_RANK], merged[TT_MAX_RANK];
  int64_t permutation[TT_MAX_RANK], rank = tt_lx_rank(w);
  split[0] = c->groups;
  split[1] = tt_lx_size(w, 0) / c->groups;
  split[2] = tt_lx_size(w, 1);
  for (int i = 0; i < c->n; ++i) split[3 + i] = tt_lx_size(w, 2 + i);
  for (int64_t i = 0; i <= rank; ++i) permutation[i] = i;
  permutation[0] = 1;
  permutation[1] = 0;
  merged[0] = split[1];
  merged[1] = split[0] * split[2];
  for (int i = 0; i < c->n; ++i) merged[2 + i] = split[3 + i];
  return tt_b_reshape(L->b, tt_b_transpose(L->b, tt_b_reshape(L->b, w, (size_t)rank + 1, split), permutation),
                      (size_t)rank, merged);
}

// Gradient of conv with respect to an input of spatial extents `in`.
static V conv_input(tt_lower_t* L, const conv_t* c, V grad, V w, const int64_t* in) {
  if (!grad || !w) return NULL;
  int64_t low[8], high[8], ones[8];
  bool reversal[8];
  for (int i = 0; i < c->n; ++i) {
    int64_t reach = c->dilation[i] * (tt_lx_size(w, 2 + i) - 1),
            dilated = (tt_lx_size(grad, 2 + i) - 1) * c->stride[i] + 1;
    low[i] = reach - c->pad[i];
    high[i] = in[i] + reach - dilated - low[i];
    ones[i] = 1;
    reversal[i] = true;
  }
  tt_conv_dims_t dims = plain_dims(c);
  dims.kernel_input_feature = 0;
  dims.kernel_output_feature = 1;
  tt_conv_t conv = {ones, low, high, c->stride, c->dilation, reversal, c->groups, 1, dims};
  return tt_b_convolution(L->b, grad, swap_groups(L, c, w), &conv);
}

// Cut to the first `extent` places of each spatial dimension: a transposed convolution whose output padding reaches
// past its stride has outputs that no input place made.
static V crop(tt_lower_t* L, const conv_t* c, V x, const int64_t* extent) {
  for (int i = 0; x && i < c->n; ++i) x = tt_lx_slice_dim(L, x, 2 + i, 0, extent[i], 1);
  return x;
}

// Gradient of conv with respect to its weight, whose spatial extents are `kernel`.
static V conv_weight(tt_lower_t* L, const conv_t* c, V x, V grad, const int64_t* kernel) {
  if (!x || !grad) return NULL;
  int64_t high[8];
  for (int i = 0; i < c->n; ++i) {
    int64_t window = (tt_lx_size(grad, 2 + i) - 1) * c->stride[i] + 1;
    high[i] = window + (kernel[i] - 1) * c->dilation[i] - tt_lx_size(x, 2 + i) - c->pad[i];
  }
  tt_conv_dims_t dims = plain_dims(c);
  dims.input_batch = 1;
  dims.input_feature = 0;
  dims.kernel_input_feature = 0;
  dims.kernel_output_feature = 1;
  dims.output_batch = 1;
  dims.output_feature = 0;
  tt_conv_t conv = {c->dilation, c->pad, high, NULL, c->stride, NULL, 1, c->groups, dims};
  return tt_b_convolution(L->b, x, grad, &conv);
}

static bool check_shapes(tt_lower_t* L, const conv_t* c, V x, V w) {
  int64_t want = c->transposed ? tt_lx_size(w, 0) : tt_lx_size(w, 1) * c->groups;
  if (tt_lx_rank(x) != tt_lx_rank(w)) {
    tt_builder_fail(
        L->b, TT_INVALID_ARGUMENT,
        "Expected %lld-dimensional input for %lld-dimensional weight, but got %lld-dimensional input instead",
        (long long)tt_lx_rank(w), (long long)tt_lx_rank(w), (long long)tt_lx_rank(x));
    return false;
  }
  if (tt_lx_size(x, 1) != want) {
    tt_builder_fail(L->b, TT_INVALID_ARGUMENT,
                    "Given groups=%lld, weight of size [%lld, %lld, ...], expected input to have %lld "
                    "channels, but got %lld channels instead",
                    (long long)c->groups, (long long)tt_lx_size(w, 0), (long long)tt_lx_size(w, 1),
                    (long long)want, (long long)tt_lx_size(x, 1));
    return false;
  }
  if (tt_lx_dtype(x) != tt_lx_dtype(w)) {
    tt_builder_fail(L->b, TT_INVALID_ARGUMENT, "Input type (%s) and weight type (%s) should be the same",
                    tt_lx_torch_name(tt_lx_dtype(x)), tt_lx_torch_name(tt_lx_dtype(w)));
    return false;
  }
  for (int i = 0; !c->transposed && i < c->n; ++i) {
    int64_t padded = tt_lx_size(x, 2 + i) + 2 * c->pad[i],
            window = c->dilation[i] * (tt_lx_size(w, 2 + i) - 1) + 1;
    if (padded < window) {
      tt_builder_fail(L->b, TT_INVALID_ARGUMENT,
                      "Calculated padded input size per channel: (%lld). Kernel size: (%lld). Kernel size "
                      "can't be greater than actual input size",
                      (long long)padded, (long long)window);
      return false;
    }
  }
  return true;
}

// Of a transposed convolution's result; each must be at least 1, and a number.
static bool transposed_extents(tt_lower_t* L, const conv_t* c, V x, V w, int64_t* out) {
  for (int i = 0; i < c->n; ++i) {
    int64_t in = tt_lx_static_size(L, x, 2 + i), kernel = tt_lx_static_size(L, w, 2 + i), reach, padding;
    bool overflow = __builtin_mul_overflow(in - 1, c->stride[i], &out[i]) ||
                    __builtin_mul_overflow(kernel - 1, c->dilation[i], &reach) ||
                    __builtin_mul_overflow(c->pad[i], -2, &padding) ||
                    __builtin_add_overflow(out[i], reach, &out[i]) ||
                    __builtin_add_overflow(out[i], padding, &out[i]) ||
                    __builtin_add_overflow(out[i], c->output_pad[i], &out[i]) ||
                    __builtin_add_overflow(out[i], 1, &out[i]);
    if (!overflow && out[i] >= 1) continue;
    tt_builder_fail(L->b, TT_INVALID_ARGUMENT,
                    "Given input size per channel: %lld. Calculated output size per channel: %lld (stride %lld, "
                    "padding %lld, dilation %lld, output padding %lld). Output size is too %s",
                    (long long)in, (long long)out[i], (long long)c->stride[i], (long long)c->pad[i],
                    (long long)c->dilation[i], (long long)c->output_pad[i], overflow ? "large" : "small");
    return false;
  }
  return true;
}

// (input, weight, bias?, stride, padding, dilation, transposed, output_padding, groups)
TT_LOWERING(convolution) {
  V x = tt_l_tensor(L, 0), w = tt_l_tensor(L, 1), bias = tt_l_tensor_or_null(L, 2), y;
  conv_t c;
  if (!x || !conv_begin(L, w, 3, &c) || !check_shapes(L, &c, x, w)) return;
  if (c.transposed) {
    int64_t out[8];
    if (!transposed_extents(L, &c, x, w, out)) return;
    y = conv_input(L, &c, x, w, out);
  } else {
    y = conv(L, &c, x, w);
  }
  if (bias && y) y = ADD(y, tt_lx_along(L, CAST(bias, tt_lx_dtype(y)), 1, y));
  tt_l_return(L, y);
}

static void convolution_backward(tt_lower_t* L, uint32_t first, uint32_t mask_arg) {
  V grad = tt_l_tensor(L, 0), x = tt_l_tensor(L, 1), w = tt_l_tensor(L, 2);
  conv_t c;
  if (!grad || !x || !conv_begin(L, w, first, &c)) return;
  const bool* mask = L->args[mask_arg].bools;
  int64_t in[8], kernel[8];
  for (int i = 0; i < c.n; ++i) {
    in[i] = tt_lx_size(x, 2 + i);
    kernel[i] = tt_lx_size(w, 2 + i);
  }
  // An output padding of a stride or more leaves rows of `grad` that no input reached.
  V dx = !mask[0] ? NULL : c.transposed ? crop(L, &c, conv(L, &c, grad, w), in) : conv_input(L, &c, grad, w, in);
  for (int i = 0; dx && c.transposed && i < c.n; ++i) {
    if (tt_lx_size(dx, 2 + i) > in[i]) dx = tt_lx_slice_dim(L, dx, 2 + i, 0, in[i], 1);
  }
  if (mask[0]) tt_l_return(L, dx);
  else tt_l_return_none(L);
  if (mask[1])
    tt_l_return(L, c.transposed ? conv_weight(L, &c, grad, x, kernel) : conv_weight(L, &c, x, grad, kernel));
  else tt_l_return_none(L);
  if (mask[2]) {
    int64_t dims[TT_MAX_RANK];
    size_t count = 0;
    for (int64_t d = 0; d < tt_lx_rank(grad); ++d) {
      if (d != 1) dims[count++] = d;
    }
    tt_l_return(L, CAST(tt_b_reduce(L->b, TT_OP_ADD, UP(grad), count, dims, false), tt_lx_dtype(grad)));
  } else {
    tt_l_return_none(L);
  }
}
// (grad_output, input, weight, stride, padding, dilation, transposed, output_padding, groups, mask)
TT_LOWERING(convolution_backward_overrideable) { convolution_backward(L, 3, 9); }
// (grad_output, input, weight, bias_sizes?, stride, ...)
TT_LOWERING(convolution_backward) { convolution_backward(L, 4, 10); }
