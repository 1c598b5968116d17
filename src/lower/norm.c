// Normalisations and their gradients: batch, layer, group, RMS. Statistics are computed in f32 for 16-bit floats.
#include <stdio.h>

#include "lower/expr.h"

// v [C] along dimension 1 of like.
static V channel(tt_lower_t* L, V v, V like) {
  return v && like ? tt_lx_along(L, CAST(v, tt_lx_dtype(like)), 1, like) : NULL;
}

static size_t channel_dims(V x, int64_t* dims) {  // all but dimension 1
  size_t count = 0;
  for (int64_t i = 0; i < tt_lx_rank(x); ++i) {
    if (i != 1) dims[count++] = i;
  }
  return count;
}
static double channel_count(tt_lower_t* L, V x) {
  double n = 1;
  for (int64_t i = 0; x && i < tt_lx_rank(x); ++i) {
    if (i != 1) n *= (double)tt_lx_static_size(L, x, i);
  }
  return n;
}
static V sum_channels(tt_lower_t* L, V x) {
  int64_t dims[TT_MAX_RANK];
  return x ? tt_b_reduce(L->b, TT_OP_ADD, x, channel_dims(x, dims), dims, false) : NULL;
}

typedef struct batch_norm_s {
  V y, mean, invstd;  // saved statistics: empty [0] tensors in inference
  V running_mean, running_var;  // new values, NULL in inference
} batch_norm_t;

static V empty_stat(tt_lower_t* L, tt_dtype_t dtype) {
  tt_dim_t zero = 0;
  return tt_lx_full(L, dtype, 1, &zero, 0);
}

static batch_norm_t batch_norm(tt_lower_t* L, V input, V weight, V bias, V running_mean, V running_var,
                               bool training, double momentum, double eps) {
  batch_norm_t out = {NULL, NULL, NULL, NULL, NULL};
  V x = UP(input);
  if (!x) return out;
  if (tt_lx_rank(x) < 2) {
    tt_builder_fail(L->b, TT_INVALID_ARGUMENT, "batch_norm: expected at least 2 dimensions, got %lld",
                    (long long)tt_lx_rank(x));
    return out;
  }
  tt_dtype_t wide = tt_lx_dtype(x);
  V mean, invstd;
  if (training) {
    double n = channel_count(L, x);
    V total = sum_channels(L, x);
    mean = DIV(total, K(total, n));
    V centred = SUB(x, channel(L, mean, x));
    V squares = sum_channels(L, MUL(centred, centred));
    V var = DIV(squares, K(squares, n));
    invstd = RSQRT(ADD(var, K(var, eps)));
    if (running_mean) {
      V old = CAST(running_mean, wide);
      out.running_mean =
          CAST(ADD(MUL(old, K(old, 1 - momentum)), MUL(mean, K(mean, momentum))), tt_lx_dtype(running_mean));
    }
    if (running_var) {
      V old = CAST(running_var, wide), unbiased = MUL(var, K(var, n / (n - 1)));
      out.running_var = CAST(ADD(MUL(old, K(old, 1 - momentum)), MUL(unbiased, K(unbiased, momentum))),
                             tt_lx_dtype(running_var));
    }
    out.mean = mean;
    out.invstd = invstd;
  } else {
    if (!running_mean || !running_var) {
      tt_builder_fail(L->b, TT_INVALID_ARGUMENT,
                      "batch_norm: running_mean and running_var must be defined in evaluation mode");
      return out;
    }
    mean = CAST(running_mean, wide);
    V var = CAST(running_var, wide);
    invstd = RSQRT(ADD(var, K(var, eps)));
    out.mean = out.invstd = empty_stat(L, wide);
  }
  V y = MUL(SUB(x, channel(L, mean, x)), channel(L, invstd, x));
  if (weight) y = MUL(y, channel(L, weight, x));
  if (bias) y = ADD(y, channel(L, bias, x));
  out.y = CAST(y, tt_lx_dtype(input));
  return out;
}

static void return_norm(tt_lower_t* L, const batch_norm_t* r) {
  tt_l_return(L, r->y);
  tt_l_return(L, r->mean);
  tt_l_return(L, r->invstd);
}

TT_LOWERING(native_batch_norm) {
  batch_norm_t r = batch_norm(L, tt_l_tensor(L, 0), tt_l_tensor_or_null(L, 1), tt_l_tensor_or_null(L, 2),
                              tt_l_tensor_or_null(L, 3), tt_l_tensor_or_null(L, 4), tt_l_bool(L, 5, false),
                              tt_l_float(L, 6, 0.1), tt_l_float(L, 7, 1e-5));
  if (r.running_mean) tt_l_write(L, 3, 0, r.running_mean);
  if (r.running_var) tt_l_write(L, 4, 0, r.running_var);
  tt_l_return(L, r.y);
  if (L->variant == TT_VARIANT_OUT && !tt_l_bool(L, 5, false)) {  // inference leaves the targets as they are
    tt_l_return_none(L);
    tt_l_return_none(L);
    return;
  }
  tt_l_return(L, r.mean);
  tt_l_return(L, r.invstd);
}
// (input, weight?, bias?, running_mean, running_var, momentum, eps) -> (y, mean, invstd, reserve): training; the
// reserve is for libraries that keep something between forward and backward.
TT_LOWERING(batch_norm_with_update) {
  batch_norm_t r =
      batch_norm(L, tt_l_tensor(L, 0), tt_l_tensor_or_null(L, 1), tt_l_tensor_or_null(L, 2),
                 tt_l_tensor(L, 3), tt_l_tensor(L, 4), true, tt_l_float(L, 5, 0.1), tt_l_float(L, 6, 1e-5));
  if (r.running_mean) tt_l_write(L, 3, 0, r.running_mean);
  if (r.running_var) tt_l_write(L, 4, 0, r.running_var);
  return_norm(L, &r);
  tt_l_return(L, empty_stat(L, TT_DTYPE_U8));
}
TT_LOWERING(native_batch_norm_no_stats) {
  batch_norm_t r =
      batch_norm(L, tt_l_tensor(L, 0), tt_l_tensor_or_null(L, 1), tt_l_tensor_or_null(L, 2), NULL, NULL,
                 tt_l_bool(L, 3, true), tt_l_float(L, 4, 0.1), tt_l_float(L, 5, 1e-5));
  return_norm(L, &r);
}
TT_LOWERING(native_batch_norm_no_training) {
  batch_norm_t r =
      batch_norm(L, tt_l_tensor(L, 0), tt_l_tensor_or_null(L, 1), tt_l_tensor_or_null(L, 2),
                 tt_l_tensor(L, 3), tt_l_tensor(L, 4), false, tt_l_float(L, 5, 0.1), tt_l_float(L, 6, 1e-5));
  return_norm(L, &r);
}
// The functional form of training graphs: new running statistics are results.
TT_LOWERING(native_batch_norm_functional) {
  V running_mean = tt_l_tensor(L, 3), running_var = tt_l_tensor(L, 4);
  batch_norm_t r =
      batch_norm(L, tt_l_tensor(L, 0), tt_l_tensor_or_null(L, 1), tt_l_tensor_or_null(L, 2), running_mean,
                 running_var, tt_l_bool(L, 5, false), tt_l_float(L, 6, 0.1), tt_l_float(L, 7, 1e-5));
  return_norm(L, &r);
  tt_l_return(L, r.running_mean ? r.running_mean : running_mean);
  tt_l_return(L, r.running_var ? r.running_var : running_var);
}

// (grad_out, input, weight?, running_mean?, running_var?, save_mean?, save_invstd?, train, eps, mask[3])
TT_LOWERING(native_batch_norm_backward) {
  V grad = UP(tt_l_tensor(L, 0)), input = tt_l_tensor(L, 1), weight = tt_l_tensor_or_null(L, 2);
  V x = UP(input);
  if (!grad || !x) return;
  tt_dtype_t wide = tt_lx_dtype(x);
  bool train = tt_l_bool(L, 7, false);
  V mean, invstd;
  if (train) {
    mean = CAST(tt_l_tensor(L, 5), wide);
    invstd = CAST(tt_l_tensor(L, 6), wide);
  } else {
    mean = CAST(tt_l_tensor(L, 3), wide);
    V var = CAST(tt_l_tensor(L, 4), wide);
    invstd = var ? RSQRT(ADD(var, K(var, tt_l_float(L, 8, 1e-5)))) : NULL;
  }
  if (!mean || !invstd) return;
  V scale = channel(L, invstd, x);
  V normal = MUL(SUB(x, channel(L, mean, x)), scale);
  V sum_grad = sum_channels(L, grad), sum_product = sum_channels(L, MUL(grad, normal));
  const bool* mask = L->args[9].bools;
  if (mask[0]) {
    V dx = grad;
    if (train) {
      double n = channel_count(L, x);
      V mean_grad = DIV(sum_grad, K(sum_grad, n)), mean_product = DIV(sum_product, K(sum_product, n));
      dx = SUB(SUB(grad, channel(L, mean_grad, x)), MUL(normal, channel(L, mean_product, x)));
    }
    dx = MUL(dx, scale);
    if (weight) dx = MUL(dx, channel(L, weight, x));
    tt_l_return(L, CAST(dx, tt_lx_dtype(input)));
  } else {
    tt_l_return_none(L);
  }
  tt_dtype_t parameter = weight ? tt_lx_dtype(weight) : tt_lx_dtype(input);
  if (mask[1]) tt_l_return(L, CAST(sum_product, parameter));
  else tt_l_return_none(L);
  if (mask[2]) tt_l_return(L, CAST(sum_grad, parameter));
  else tt_l_return_none(L);
}

// ---- layer norm, RMS norm ----------------------------------------------------------------------

// First normalised axis; checks that the trailing shape is `shape`.
static int64_t first_axis(tt_lower_t* L, V x, tt_i64s_t shape) {
  int64_t axis = tt_lx_rank(x) - (int64_t)shape.size;
  bool ok = axis >= 0 && shape.size > 0;
  for (size_t i = 0; ok && i < shape.size; ++i) ok = tt_lx_size(x, axis + (int64_t)i) == shape.data[i];
  if (!ok) {
    char want[256] = "", got[256] = "";
    size_t w = 0, g = 0;
    for (size_t i = 0; i < shape.size && w < sizeof(want); ++i)
      w += (size_t)snprintf(want + w, sizeof(want) - w, i ? ", %lld" : "%lld", (long long)shape.data[i]);
    for (int64_t i = 0; i < tt_lx_rank(x) && g < sizeof(got); ++i)
      g += (size_t)snprintf(got + g, sizeof(got) - g, i ? ", %lld" : "%lld", (long long)tt_lx_size(x, i));
    tt_builder_fail(L->b, TT_INVALID_ARGUMENT,
                    "Given normalized_shape=[%s], expected input with shape [*, %s], but got input of size[%s]", want, want, got);
  }
  return axis;
}

static V flat_parameter(tt_lower_t* L, V v) { return v ? tt_lx_flatten(L, v) : NULL; }

// tt.layer_norm over the trailing dimensions from `axis`.
static void layer_norm(tt_lower_t* L, V x, V weight, V bias, int64_t axis, double eps, bool rms, V* y,
                       V* mean, V* rstd) {
  *y = *mean = *rstd = NULL;
  if (!x) return;
  V operands[3] = {x, NULL, NULL};
  size_t count = 1;
  if (weight) operands[count++] = CAST(flat_parameter(L, weight), tt_lx_dtype(weight));
  if (bias) operands[count++] = CAST(flat_parameter(L, bias), tt_lx_dtype(bias));
  tt_dim_t dims[TT_MAX_RANK];
  for (int64_t i = 0; i < tt_lx_rank(x); ++i) dims[i] = i < axis ? tt_lx_size(x, i) : 1;
  const tt_type_t* stat = tt_b_type(L->b, tt_l_accumulate(tt_lx_dtype(x)), (size_t)tt_lx_rank(x), dims);
  const tt_type_t* types[3] = {x->type, stat, stat};
  tt_attr_t attrs[] = {tt_attr_int(TT_ATTR_AXIS, axis), tt_attr_float(TT_ATTR_EPS, eps),
                       tt_attr_bool(TT_ATTR_RMS, rms), tt_attr_bool(TT_ATTR_HAS_WEIGHT, weight != NULL),
                       tt_attr_bool(TT_ATTR_HAS_BIAS, bias != NULL)};
  tt_op_t* op =
      tt_b_composite(L->b, "tt.layer_norm", count, operands, 3, types, TT_ARRAY_LENGTH(attrs), attrs, NULL);
  if (!op) return;
  *y = &op->results[0];
  *mean = &op->results[1];
  *rstd = &op->results[2];
}

V tt_lx_layer_norm(tt_lower_t* L, V x, V weight, V bias, int64_t axis, double eps) {
  V y, mean, rstd;
  layer_norm(L, x, weight, bias, axis, eps, false, &y, &mean, &rstd);
  return y;
}

TT_LOWERING(native_layer_norm) {
  V x = tt_l_tensor(L, 0), y, mean, rstd;
  int64_t axis = x ? first_axis(L, x, tt_l_ints(L, 1)) : 0;
  if (tt_lx_is_int_or_bool(tt_lx_dtype(x))) {
    tt_builder_fail(L->b, TT_UNIMPLEMENTED, "\"LayerNormKernelImpl\" not implemented for '%s'",
                    tt_lx_torch_name(tt_lx_dtype(x)));
  }
  if (!tt_builder_ok(L->b)) return;
  layer_norm(L, x, tt_l_tensor_or_null(L, 2), tt_l_tensor_or_null(L, 3), axis, tt_l_float(L, 4, 1e-5), false,
             &y, &mean, &rstd);
  tt_l_return(L, y);
  tt_l_return(L, mean);
  tt_l_return(L, rstd);
}

static size_t trailing(V x, int64_t axis, int64_t* dims) {
  size_t count = 0;
  for (int64_t i = axis; i < tt_lx_rank(x); ++i) dims[count++] = i;
  return count;
}
static size_t leading(int64_t axis, int64_t* dims) {
  for (int64_t i = 0; i < axis; ++i) dims[i] = i;
  return (size_t)axis;
}
static V sum_dims(tt_lower_t* L, V x, size_t count, const int64_t* dims, bool keep) {
  if (!x || !count) return x;
  return tt_b_reduce(L->b, TT_OP_ADD, x, count, dims, keep);
}

// Gradient of y = (x - mean) * rstd * w: what layer norm (and RMS norm, mean absent) needs over trailing dims.
static V normalised_gradient(tt_lower_t* L, V grad, V normal, V rstd, V weight, int64_t axis, bool centre) {
  int64_t dims[TT_MAX_RANK];
  size_t count = trailing(normal, axis, dims);
  double n = 1;
  for (size_t i = 0; i < count; ++i) n *= (double)tt_lx_static_size(L, normal, dims[i]);
  V g = weight ? MUL(grad, tt_lx_broadcast_like(L, CAST(weight, tt_lx_dtype(grad)), grad)) : grad;
  V along = sum_dims(L, MUL(g, normal), count, dims, true);
  V dx = SUB(g, MUL(normal, tt_lx_broadcast_like(L, DIV(along, K(along, n)), normal)));
  if (centre) {
    V total = sum_dims(L, g, count, dims, true);
    dx = SUB(dx, tt_lx_broadcast_like(L, DIV(total, K(total, n)), normal));
  }
  return MUL(dx, tt_lx_broadcast_like(L, rstd, normal));
}

// (grad_out, input, normalized_shape, mean, rstd, weight?, bias?, mask[3])
TT_LOWERING(native_layer_norm_backward) {
  V grad = UP(tt_l_tensor(L, 0)), input = tt_l_tensor(L, 1), weight = tt_l_tensor_or_null(L, 5),
    bias = tt_l_tensor_or_null(L, 6);
  V x = UP(input);
  if (!grad || !x) return;
  int64_t axis = first_axis(L, x, tt_l_ints(L, 2)), dims[TT_MAX_RANK];
  if (!tt_builder_ok(L->b)) return;
  V mean = CAST(tt_l_tensor(L, 3), tt_lx_dtype(x)), rstd = CAST(tt_l_tensor(L, 4), tt_lx_dtype(x));
  V normal = MUL(SUB(x, tt_lx_broadcast_like(L, mean, x)), tt_lx_broadcast_like(L, rstd, x));
  const bool* mask = L->args[7].bools;
  size_t count = leading(axis, dims);
  if (mask[0])
    tt_l_return(L, CAST(normalised_gradient(L, grad, normal, rstd, weight, axis, true), tt_lx_dtype(input)));
  else tt_l_return_none(L);
  if (mask[1] && weight)
    tt_l_return(L, CAST(sum_dims(L, MUL(grad, normal), count, dims, false), tt_lx_dtype(weight)));
  else tt_l_return_none(L);
  if (mask[2] && bias) tt_l_return(L, CAST(sum_dims(L, grad, count, dims, false), tt_lx_dtype(bias)));
  else tt_l_return_none(L);
}

// _fused_rms_norm(input, normalized_shape, weight?, eps?) -> (y, rstd)
TT_LOWERING(fused_rms_norm) {
  V x = tt_l_tensor(L, 0), y, mean, rstd;
  int64_t axis = x ? first_axis(L, x, tt_l_ints(L, 1)) : 0;
  if (!tt_builder_ok(L->b)) return;
  tt_dtype_t dtype = tt_lx_dtype(x);
  double eps = dtype == TT_DTYPE_F64 ? 2.220446049250313e-16
                                     : 1.1920928955078125e-07;  // torch.finfo of the accumulation dtype
  layer_norm(L, x, tt_l_tensor_or_null(L, 2), NULL, axis, tt_l_float(L, 3, eps), true, &y, &mean, &rstd);
  tt_l_return(L, y);
  tt_l_return(L, rstd);
}

// (grad_out, input, normalized_shape, rstd, weight?, mask[2]) -> (dx, dw)
TT_LOWERING(fused_rms_norm_backward) {
  V grad = UP(tt_l_tensor(L, 0)), input = tt_l_tensor(L, 1), weight = tt_l_tensor_or_null(L, 4);
  V x = UP(input);
  if (!grad || !x) return;
  int64_t axis = first_axis(L, x, tt_l_ints(L, 2)), dims[TT_MAX_RANK];
  if (!tt_builder_ok(L->b)) return;
  V rstd = CAST(tt_l_tensor(L, 3), tt_lx_dtype(x));
  V normal = MUL(x, tt_lx_broadcast_like(L, rstd, x));
  const bool* mask = L->args[5].bools;
  if (mask[0])
    tt_l_return(L, CAST(normalised_gradient(L, grad, normal, rstd, weight, axis, false), tt_lx_dtype(input)));
  else tt_l_return_none(L);
  if (mask[1] && weight) {
    size_t count = leading(axis, dims);
    tt_l_return(L, CAST(sum_dims(L, MUL(grad, normal), count, dims, false), tt_lx_dtype(weight)));
  } else {
    tt_l_return_none(L);
  }
}

// ---- group norm --------------------------------------------------------------------------------

// x [N, C, *] as [N, G, C/G, HxW].
static V by_group(tt_lower_t* L, V x, int64_t n, int64_t c, int64_t hxw, int64_t groups) {
  tt_dim_t dims[4] = {n, groups, groups ? c / groups : 0, hxw};
  return x ? tt_b_reshape(L->b, x, 4, dims) : NULL;
}
static V group_parameter(tt_lower_t* L, V v, V like) {  // [C] over [N, G, C/G, HxW]
  if (!v || !like) return NULL;
  tt_dim_t dims[4] = {1, tt_lx_size(like, 1), tt_lx_size(like, 2), 1};
  return tt_lx_broadcast_like(L, tt_b_reshape(L->b, CAST(v, tt_lx_dtype(like)), 4, dims), like);
}
static V group_stat(tt_lower_t* L, V v, V like) {  // [N, G]
  if (!v || !like) return NULL;
  tt_dim_t dims[4] = {tt_lx_size(like, 0), tt_lx_size(like, 1), 1, 1};
  return tt_lx_broadcast_like(L, tt_b_reshape(L->b, CAST(v, tt_lx_dtype(like)), 4, dims), like);
}

static bool group_sizes(tt_lower_t* L, uint32_t first, int64_t* n, int64_t* c, int64_t* hxw,
                        int64_t* groups) {
  *n = tt_l_int(L, first, 0);
  *c = tt_l_int(L, first + 1, 0);
  *hxw = tt_l_int(L, first + 2, 0);
  *groups = tt_l_int(L, first + 3, 1);
  if (*groups > 0 && *c % *groups == 0) return true;
  tt_builder_fail(L->b, TT_INVALID_ARGUMENT,
                  "Expected number of channels in input to be divisible by num_groups, but got input of %lld "
                  "channels and num_groups=%lld",
                  (long long)*c, (long long)*groups);
  return false;
}

// (input, weight?, bias?, N, C, HxW, group, eps) -> (y, mean [N, G], rstd [N, G])
TT_LOWERING(native_group_norm) {
  V input = tt_l_tensor(L, 0), weight = tt_l_tensor_or_null(L, 1), bias = tt_l_tensor_or_null(L, 2);
  int64_t n, c, hxw, groups;
  if (!input || !group_sizes(L, 3, &n, &c, &hxw, &groups)) return;
  V x = by_group(L, UP(input), n, c, hxw, groups), y, mean, rstd;
  layer_norm(L, x, NULL, NULL, 2, tt_l_float(L, 7, 1e-5), false, &y, &mean, &rstd);
  if (!y) return;
  if (weight) y = MUL(y, group_parameter(L, weight, y));
  if (bias) y = ADD(y, group_parameter(L, bias, y));
  tt_dim_t stat[2] = {n, groups};
  tt_l_return(L, tt_b_reshape(L->b, CAST(y, tt_lx_dtype(input)), input->type->rank, input->type->dims));
  tt_l_return(L, CAST(tt_b_reshape(L->b, mean, 2, stat), tt_lx_dtype(input)));
  tt_l_return(L, CAST(tt_b_reshape(L->b, rstd, 2, stat), tt_lx_dtype(input)));
}

// (grad_out, input, mean, rstd, weight?, N, C, HxW, group, mask[3])
TT_LOWERING(native_group_norm_backward) {
  V input = tt_l_tensor(L, 1), weight = tt_l_tensor_or_null(L, 4);
  int64_t n, c, hxw, groups;
  if (!input || !group_sizes(L, 5, &n, &c, &hxw, &groups)) return;
  V x = by_group(L, UP(input), n, c, hxw, groups),
    grad = by_group(L, CAST(tt_l_tensor(L, 0), tt_lx_dtype(x)), n, c, hxw, groups);
  if (!x || !grad) return;
  V rstd = group_stat(L, tt_l_tensor(L, 3), x);
  V normal = MUL(SUB(x, group_stat(L, tt_l_tensor(L, 2), x)), rstd);
  const bool* mask = L->args[9].bools;
  if (mask[0]) {
    V g = weight ? MUL(grad, group_parameter(L, weight, grad)) : grad;
    V dx = normalised_gradient(L, g, normal, rstd, NULL, 2, true);
    tt_l_return(L, dx ? tt_b_reshape(L->b, CAST(dx, tt_lx_dtype(input)), input->type->rank, input->type->dims)
                      : NULL);
  } else {
    tt_l_return_none(L);
  }
  static const int64_t dims[2] = {0, 3};
  tt_dim_t channels = c;
  tt_dtype_t parameter = weight ? tt_lx_dtype(weight) : tt_lx_dtype(input);
  V dw = mask[1] ? sum_dims(L, MUL(grad, normal), 2, dims, false) : NULL,
    db = mask[2] ? sum_dims(L, grad, 2, dims, false) : NULL;
  if (dw) tt_l_return(L, tt_b_reshape(L->b, CAST(dw, parameter), 1, &channels));
  else tt_l_return_none(L);
  if (db) tt_l_return(L, tt_b_reshape(L->b, CAST(db, parameter), 1, &channels));
  else tt_l_return_none(L);
}
