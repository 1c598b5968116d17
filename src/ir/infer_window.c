// Inference rules of reductions, windows, convolution, dot products and linear algebra.
#include <string.h>

#include "ir/infer.h"

static tt_status_t infer_reduce(tt_infer_t* in) {
  const tt_op_t* op = in->op;
  if (op->operand_count % 2)
    return tt_infer_fail(in, "has %u operands, needs inputs and as many initial values", op->operand_count);
  uint32_t n = op->operand_count / 2;
  const tt_type_t* x = tt_infer_type(in, 0);
  tt_i64s_t reduced = tt_op_attr_i64s(op, TT_ATTR_DIMENSIONS);
  TT_RETURN_IF_ERROR(tt_infer_unique(in, "dimensions", reduced, x->rank));
  uint32_t mask = 0;
  for (size_t i = 0; i < reduced.size; ++i) mask |= 1u << reduced.data[i];
  for (uint32_t k = 0; k < n; ++k) {
    const tt_type_t *input = tt_infer_type(in, k), *init = tt_infer_type(in, n + k);
    if (!tt_infer_shapes_fit(in, x, input)) {
      return tt_infer_fail(in, "input shapes %s and %s differ", TT_TYPE_TEXT(in->names, x),
                           TT_TYPE_TEXT(in->names, input));
    }
    if (init->rank != 0)
      return tt_infer_fail(in, "initial value is %s, needs rank 0", TT_TYPE_TEXT(in->names, init));
    tt_dim_t dims[TT_MAX_RANK];
    int64_t bounds[TT_MAX_RANK];
    uint32_t rank = 0;
    for (uint32_t i = 0; i < input->rank; ++i) {
      if (mask >> i & 1) continue;
      bounds[rank] = input->bounds ? input->bounds[i] : TT_DIM_UNKNOWN;
      dims[rank++] = input->dims[i];
    }
    TT_RETURN_IF_ERROR(tt_infer_emit_shape(in, init->dtype, rank, dims, input->bounds ? bounds : NULL));
  }
  return TT_OK_STATUS;
}

typedef struct window_s {
  int64_t size[TT_MAX_RANK], stride[TT_MAX_RANK], base_dilation[TT_MAX_RANK], dilation[TT_MAX_RANK];
  int64_t low[TT_MAX_RANK], high[TT_MAX_RANK];
} window_t;

// Number of window positions along one dimension: floor((padded - window) / stride) + 1, 0 if none fits.
static tt_status_t window_extent(const tt_infer_t* in, const window_t* w, uint32_t i, tt_dim_t size,
                                 tt_dim_t* out) {
  if (w->stride[i] <= 0 || w->base_dilation[i] <= 0 || w->dilation[i] <= 0 || w->size[i] <= 0) {
    return tt_infer_fail(in, "window size, stride and dilations of dimension %u must be positive", i);
  }
  int64_t window;
  if (!tt_checked_mul_i64(w->size[i] - 1, w->dilation[i], &window) ||
      __builtin_add_overflow(window, 1, &window)) {
    return tt_infer_fail(in, "window of dimension %u overflows int64", i);
  }
  int64_t edges;
  if (__builtin_add_overflow(w->low[i], w->high[i], &edges))
    return tt_infer_fail(in, "padding overflows int64");
  if (size >= 0) {
    int64_t padded = size;
    if (size > 0 && (!tt_checked_mul_i64(size - 1, w->base_dilation[i], &padded) ||
                     __builtin_add_overflow(padded, 1, &padded))) {
      return tt_infer_fail(in, "dimension %u overflows int64", i);
    }
    if (__builtin_add_overflow(padded, edges, &padded))
      return tt_infer_fail(in, "dimension %u overflows int64", i);
    *out = padded < window ? 0 : (padded - window) / w->stride[i] + 1;
    return TT_OK_STATUS;
  }
  *out = TT_DIM_UNKNOWN;
  if (size == TT_DIM_UNKNOWN || !in->module) return TT_OK_STATUS;
  tt_module_t* m = in->module;
  tt_dim_t padded = size;
  if (w->base_dilation[i] != 1)
    padded = tt_dim_add(m, tt_dim_mul(m, tt_dim_sub(m, size, 1), w->base_dilation[i]), 1);
  int64_t slack = edges - window;
  padded = slack >= 0 ? tt_dim_add(m, padded, slack) : tt_dim_sub(m, padded, -slack);
  *out = tt_dim_max(m, tt_dim_add(m, tt_dim_floordiv(m, padded, w->stride[i]), 1), 0);
  return TT_OK_STATUS;
}

static tt_status_t infer_reduce_window(tt_infer_t* in) {
  const tt_op_t* op = in->op;
  if (op->operand_count % 2)
    return tt_infer_fail(in, "has %u operands, needs inputs and as many initial values", op->operand_count);
  uint32_t n = op->operand_count / 2;
  const tt_type_t* x = tt_infer_type(in, 0);
  window_t w;
  TT_RETURN_IF_ERROR(tt_infer_list(in, TT_ATTR_WINDOW_DIMENSIONS, x->rank, 1, w.size));
  TT_RETURN_IF_ERROR(tt_infer_list(in, TT_ATTR_WINDOW_STRIDES, x->rank, 1, w.stride));
  TT_RETURN_IF_ERROR(tt_infer_list(in, TT_ATTR_BASE_DILATIONS, x->rank, 1, w.base_dilation));
  TT_RETURN_IF_ERROR(tt_infer_list(in, TT_ATTR_WINDOW_DILATIONS, x->rank, 1, w.dilation));
  if (!tt_infer_padding(op, x->rank, w.low, w.high)) {
    return tt_infer_fail(in, "padding does not hold %u pairs of integers", x->rank);
  }
  tt_dim_t dims[TT_MAX_RANK];
  for (uint32_t i = 0; i < x->rank; ++i) TT_RETURN_IF_ERROR(window_extent(in, &w, i, x->dims[i], &dims[i]));
  for (uint32_t k = 0; k < n; ++k) {
    const tt_type_t *input = tt_infer_type(in, k), *init = tt_infer_type(in, n + k);
    if (!tt_infer_shapes_fit(in, x, input)) {
      return tt_infer_fail(in, "input shapes %s and %s differ", TT_TYPE_TEXT(in->names, x),
                           TT_TYPE_TEXT(in->names, input));
    }
    if (init->rank != 0)
      return tt_infer_fail(in, "initial value is %s, needs rank 0", TT_TYPE_TEXT(in->names, init));
    TT_RETURN_IF_ERROR(tt_infer_emit_shape(in, init->dtype, x->rank, dims, NULL));
  }
  return TT_OK_STATUS;
}

static tt_status_t infer_select_and_scatter(tt_infer_t* in) {
  const tt_type_t *x = tt_infer_type(in, 0), *source = tt_infer_type(in, 1), *init = tt_infer_type(in, 2);
  window_t w;
  TT_RETURN_IF_ERROR(tt_infer_list(in, TT_ATTR_WINDOW_DIMENSIONS, x->rank, 1, w.size));
  TT_RETURN_IF_ERROR(tt_infer_list(in, TT_ATTR_WINDOW_STRIDES, x->rank, 1, w.stride));
  for (uint32_t i = 0; i < x->rank; ++i) w.base_dilation[i] = w.dilation[i] = 1;
  if (!tt_infer_padding(in->op, x->rank, w.low, w.high)) {
    return tt_infer_fail(in, "padding does not hold %u pairs of integers", x->rank);
  }
  bool fits = source->rank == x->rank && init->rank == 0;
  for (uint32_t i = 0; fits && i < x->rank; ++i) {
    tt_dim_t extent;
    TT_RETURN_IF_ERROR(window_extent(in, &w, i, x->dims[i], &extent));
    fits = tt_infer_dims_fit(in, extent, source->dims[i]);
  }
  if (!fits) {
    return tt_infer_fail(in, "source %s does not fit the windows over %s", TT_TYPE_TEXT(in->names, source),
                         TT_TYPE_TEXT(in->names, x));
  }
  return tt_infer_emit(in, x);
}

// Checks that a permutation of the dimension numbers covers [0, rank).
static tt_status_t check_cover(const tt_infer_t* in, const char* what, int64_t a, int64_t b,
                               tt_i64s_t spatial, size_t rank) {
  uint32_t seen = 0;
  if (spatial.size + 2 != rank || rank > TT_MAX_RANK) {
    return tt_infer_fail(in, "%s has %zu spatial dimensions, its rank is %zu", what, spatial.size, rank);
  }
  for (size_t i = 0; i < rank; ++i) {
    int64_t d = i == 0 ? a : i == 1 ? b : spatial.data[i - 2];
    if (d < 0 || d >= (int64_t)rank || (seen >> d & 1)) {
      return tt_infer_fail(in, "dimension number %lld of the %s is out of range or doubled", (long long)d,
                           what);
    }
    seen |= 1u << d;
  }
  return TT_OK_STATUS;
}

static tt_status_t infer_convolution(tt_infer_t* in) {
  const tt_op_t* op = in->op;
  const tt_type_t *x = tt_infer_type(in, 0), *kernel = tt_infer_type(in, 1);
  const tt_attr_t* attr = tt_op_attr(op, TT_ATTR_DIMENSION_NUMBERS);
  if (!attr || attr->kind != TT_AK_CONV) return tt_infer_fail(in, "has no dimension numbers");
  const tt_conv_dims_t* d = attr->conv;
  if (x->rank != kernel->rank || x->rank < 2) {
    return tt_infer_fail(in, "input %s and kernel %s need one rank of at least 2", TT_TYPE_TEXT(in->names, x),
                         TT_TYPE_TEXT(in->names, kernel));
  }
  TT_RETURN_IF_ERROR(check_cover(in, "input", d->input_batch, d->input_feature, d->input_spatial, x->rank));
  TT_RETURN_IF_ERROR(check_cover(in, "kernel", d->kernel_input_feature, d->kernel_output_feature,
                                 d->kernel_spatial, x->rank));
  TT_RETURN_IF_ERROR(
      check_cover(in, "output", d->output_batch, d->output_feature, d->output_spatial, x->rank));
  uint32_t spatial = x->rank - 2;
  int64_t groups = tt_op_attr_int(op, TT_ATTR_FEATURE_GROUP_COUNT, 1);
  int64_t batch_groups = tt_op_attr_int(op, TT_ATTR_BATCH_GROUP_COUNT, 1);
  if (groups < 1 || batch_groups < 1 || (groups > 1 && batch_groups > 1)) {
    return tt_infer_fail(
        in, "feature_group_count %lld and batch_group_count %lld: both must be positive and one of them 1",
        (long long)groups, (long long)batch_groups);
  }
  tt_dim_t batch = x->dims[d->input_batch], feature = x->dims[d->input_feature];
  tt_dim_t kernel_in = kernel->dims[d->kernel_input_feature],
           kernel_out = kernel->dims[d->kernel_output_feature];
  if (feature >= 0 && kernel_in >= 0 && (feature % groups != 0 || feature / groups != kernel_in)) {
    return tt_infer_fail(in, "input %s has %lld features, kernel %s wants %lld in each of %lld groups",
                         TT_TYPE_TEXT(in->names, x), (long long)feature, TT_TYPE_TEXT(in->names, kernel),
                         (long long)kernel_in, (long long)groups);
  }
  if (kernel_out >= 0 && (kernel_out % groups || kernel_out % batch_groups)) {
    return tt_infer_fail(in, "%lld output features do not divide into groups", (long long)kernel_out);
  }
  if (batch >= 0 && batch % batch_groups) {
    return tt_infer_fail(in, "batch %lld does not divide into %lld groups", (long long)batch,
                         (long long)batch_groups);
  }
  window_t w;
  TT_RETURN_IF_ERROR(tt_infer_list(in, TT_ATTR_WINDOW_STRIDES, spatial, 1, w.stride));
  TT_RETURN_IF_ERROR(tt_infer_list(in, TT_ATTR_LHS_DILATION, spatial, 1, w.base_dilation));
  TT_RETURN_IF_ERROR(tt_infer_list(in, TT_ATTR_RHS_DILATION, spatial, 1, w.dilation));
  if (!tt_infer_padding(op, spatial, w.low, w.high)) {
    return tt_infer_fail(in, "padding does not hold %u pairs of integers", spatial);
  }
  tt_dim_t dims[TT_MAX_RANK];
  dims[d->output_batch] = batch_groups == 1 ? batch : tt_infer_floordiv(in, batch, batch_groups);
  dims[d->output_feature] = kernel_out;
  for (uint32_t i = 0; i < spatial; ++i) {
    tt_dim_t extent = kernel->dims[d->kernel_spatial.data[i]], *out = &dims[d->output_spatial.data[i]];
    if (extent < 0) {  // a window of unknown size
      *out = TT_DIM_UNKNOWN;
    } else if (extent == 0) {
      return tt_infer_fail(in, "kernel %s has an empty window", TT_TYPE_TEXT(in->names, kernel));
    } else {
      w.size[i] = extent;
      TT_RETURN_IF_ERROR(window_extent(in, &w, i, x->dims[d->input_spatial.data[i]], out));
    }
  }
  return tt_infer_emit_shape(in, in->module ? x->dtype : TT_DTYPE_INVALID, x->rank, dims, NULL);
}

static tt_status_t infer_dot(tt_infer_t* in) {
  const tt_type_t *x = tt_infer_type(in, 0), *y = tt_infer_type(in, 1);
  if (x->rank < 1 || x->rank > 2 || y->rank < 1 || y->rank > 2 ||
      !tt_infer_dims_fit(in, x->dims[x->rank - 1], y->dims[0])) {
    return tt_infer_fail(in, "operands %s and %s do not multiply", TT_TYPE_TEXT(in->names, x),
                         TT_TYPE_TEXT(in->names, y));
  }
  tt_dim_t dims[2];
  uint32_t rank = 0;
  if (x->rank == 2) dims[rank++] = x->dims[0];
  if (y->rank == 2) dims[rank++] = y->dims[1];
  return tt_infer_emit_shape(in, in->module ? x->dtype : TT_DTYPE_INVALID, rank, dims, NULL);
}

static tt_status_t dot_side(const tt_infer_t* in, const char* side, const tt_type_t* x, tt_i64s_t batch,
                            tt_i64s_t contracting, uint32_t* out_mask) {
  uint32_t mask = 0;
  for (size_t i = 0; i < batch.size + contracting.size; ++i) {
    int64_t d = i < batch.size ? batch.data[i] : contracting.data[i - batch.size];
    if (d < 0 || d >= (int64_t)x->rank) {
      return tt_infer_fail(in, "dimension %lld is outside the %s %s", (long long)d, side,
                           TT_TYPE_TEXT(in->names, x));
    }
    if (mask >> d & 1) return tt_infer_fail(in, "dimension %lld of the %s is used twice", (long long)d, side);
    mask |= 1u << d;
  }
  *out_mask = mask;
  return TT_OK_STATUS;
}

static tt_status_t infer_dot_general(tt_infer_t* in) {
  const tt_type_t *x = tt_infer_type(in, 0), *y = tt_infer_type(in, 1);
  const tt_attr_t* attr = tt_op_attr(in->op, TT_ATTR_DOT_DIMENSION_NUMBERS);
  if (!attr || attr->kind != TT_AK_DOT) return tt_infer_fail(in, "has no dimension numbers");
  const tt_dot_dims_t* d = attr->dot;
  if (d->lhs_batch.size != d->rhs_batch.size || d->lhs_contracting.size != d->rhs_contracting.size) {
    return tt_infer_fail(in, "batch or contracting dimensions of the two sides differ in number");
  }
  uint32_t used_x, used_y;
  TT_RETURN_IF_ERROR(dot_side(in, "left side", x, d->lhs_batch, d->lhs_contracting, &used_x));
  TT_RETURN_IF_ERROR(dot_side(in, "right side", y, d->rhs_batch, d->rhs_contracting, &used_y));
  tt_dim_t dims[TT_MAX_RANK * 2];
  size_t rank = 0;
  for (size_t i = 0; i < d->lhs_batch.size; ++i) {
    tt_dim_t a = x->dims[d->lhs_batch.data[i]], b = y->dims[d->rhs_batch.data[i]];
    if (!tt_infer_dims_fit(in, a, b)) {
      return tt_infer_fail(in, "batch dimensions %lld of %s and %lld of %s differ",
                           (long long)d->lhs_batch.data[i], TT_TYPE_TEXT(in->names, x),
                           (long long)d->rhs_batch.data[i], TT_TYPE_TEXT(in->names, y));
    }
    dims[rank++] = a >= 0 || b == TT_DIM_UNKNOWN ? a : b >= 0 || a == TT_DIM_UNKNOWN ? b : a;
  }
  for (size_t i = 0; i < d->lhs_contracting.size; ++i) {
    if (!tt_infer_dims_fit(in, x->dims[d->lhs_contracting.data[i]], y->dims[d->rhs_contracting.data[i]])) {
      return tt_infer_fail(in, "contracting dimensions %lld of %s and %lld of %s differ",
                           (long long)d->lhs_contracting.data[i], TT_TYPE_TEXT(in->names, x),
                           (long long)d->rhs_contracting.data[i], TT_TYPE_TEXT(in->names, y));
    }
  }
  for (uint32_t i = 0; i < x->rank; ++i) {
    if (!(used_x >> i & 1)) dims[rank++] = x->dims[i];
  }
  for (uint32_t i = 0; i < y->rank; ++i) {
    if (!(used_y >> i & 1)) dims[rank++] = y->dims[i];
  }
  return tt_infer_emit_shape(in, in->module ? x->dtype : TT_DTYPE_INVALID, rank, dims, NULL);
}

static tt_status_t check_square(const tt_infer_t* in, const tt_type_t* x) {
  if (x->rank < 2 || !tt_infer_dims_fit(in, x->dims[x->rank - 1], x->dims[x->rank - 2])) {
    return tt_infer_fail(in, "operand %s is not a batch of square matrices", TT_TYPE_TEXT(in->names, x));
  }
  return TT_OK_STATUS;
}

static tt_status_t infer_triangular_solve(tt_infer_t* in) {
  const tt_type_t *a = tt_infer_type(in, 0), *b = tt_infer_type(in, 1);
  TT_RETURN_IF_ERROR(check_square(in, a));
  bool fits = b->rank == a->rank && b->dtype == a->dtype;
  for (uint32_t i = 0; fits && i + 2 < a->rank; ++i) fits = tt_infer_dims_fit(in, a->dims[i], b->dims[i]);
  uint32_t side = tt_op_attr_bool(in->op, TT_ATTR_LEFT_SIDE, true) ? 2 : 1;
  fits = fits && tt_infer_dims_fit(in, a->dims[a->rank - 1], b->dims[b->rank - side]);
  if (!fits) {
    return tt_infer_fail(in, "operands %s and %s do not fit", TT_TYPE_TEXT(in->names, a),
                         TT_TYPE_TEXT(in->names, b));
  }
  return tt_infer_emit(in, b);
}

static tt_status_t infer_fft(tt_infer_t* in) {
  const tt_type_t* x = tt_infer_type(in, 0);
  const char* type = tt_op_attr_text(in->op, TT_ATTR_FFT_TYPE);
  tt_i64s_t length = tt_op_attr_i64s(in->op, TT_ATTR_FFT_LENGTH);
  if (length.size < 1 || length.size > 3 || length.size > x->rank) {
    return tt_infer_fail(in, "fft_length has %zu elements, needs 1 to 3 and at most the rank of %s",
                         length.size, TT_TYPE_TEXT(in->names, x));
  }
  bool is_rfft = strcmp(type, "RFFT") == 0, is_irfft = strcmp(type, "IRFFT") == 0;
  if (!is_rfft && !is_irfft && strcmp(type, "FFT") != 0 && strcmp(type, "IFFT") != 0) {
    return tt_infer_fail(in, "fft_type \"%s\" is unknown", type);
  }
  if (is_rfft ? x->dtype != TT_DTYPE_F32 && x->dtype != TT_DTYPE_F64 : !tt_dtype_is_complex(x->dtype)) {
    return tt_infer_fail(in, "%s does not take %s", type, TT_TYPE_TEXT(in->names, x));
  }
  tt_dim_t dims[TT_MAX_RANK];
  for (uint32_t i = 0; i < x->rank; ++i) dims[i] = x->dims[i];
  for (size_t i = 0; i < length.size; ++i) {
    size_t d = x->rank - length.size + i;
    if (length.data[i] < 0)
      return tt_infer_fail(in, "fft_length %lld is negative", (long long)length.data[i]);
    bool is_last = d + 1 == x->rank;
    tt_dim_t wanted =
        is_irfft && is_last ? (length.data[i] > 0 ? length.data[i] / 2 + 1 : 0) : length.data[i];
    if (!tt_infer_dims_fit(in, x->dims[d], wanted)) {
      return tt_infer_fail(in, "fft_length %lld does not fit dimension %zu of %s", (long long)length.data[i],
                           d, TT_TYPE_TEXT(in->names, x));
    }
    if (is_last && is_irfft) dims[d] = length.data[i];
    if (is_last && is_rfft) dims[d] = length.data[i] ? length.data[i] / 2 + 1 : 0;
  }
  tt_dtype_t dtype = x->dtype;
  if (is_rfft) dtype = dtype == TT_DTYPE_F32 ? TT_DTYPE_C64 : TT_DTYPE_C128;
  if (is_irfft) dtype = tt_dtype_real_part(dtype);
  return tt_infer_emit_shape(in, dtype, x->rank, dims, NULL);
}

static tt_status_t infer_batch_norm(tt_infer_t* in) {
  const tt_op_t* op = in->op;
  const tt_type_t* x = tt_infer_type(in, 0);
  int64_t feature = tt_op_attr_int(op, TT_ATTR_FEATURE_INDEX, -1);
  if (feature < 0 || feature >= (int64_t)x->rank) {
    return tt_infer_fail(in, "feature_index %lld is outside %s", (long long)feature,
                         TT_TYPE_TEXT(in->names, x));
  }
  uint32_t vectors = op->kind == TT_OP_BATCH_NORM_GRAD ? 4 : op->operand_count;
  for (uint32_t i = 1; i < vectors; ++i) {
    const tt_type_t* v = tt_infer_type(in, i);
    if (v->rank != 1 || !tt_infer_dims_fit(in, v->dims[0], x->dims[feature])) {
      return tt_infer_fail(in, "operand %u is %s, needs one value a feature of %s", i,
                           TT_TYPE_TEXT(in->names, v), TT_TYPE_TEXT(in->names, x));
    }
  }
  TT_RETURN_IF_ERROR(tt_infer_emit(in, x));
  if (op->kind == TT_OP_BATCH_NORM_INFERENCE) return TT_OK_STATUS;
  TT_RETURN_IF_ERROR(tt_infer_emit(in, tt_infer_type(in, 1)));
  return tt_infer_emit(in, tt_infer_type(in, 1));
}

tt_status_t tt_infer_window_op(tt_infer_t* in) {
  switch (in->op->kind) {
    case TT_OP_REDUCE: return infer_reduce(in);
    case TT_OP_REDUCE_WINDOW: return infer_reduce_window(in);
    case TT_OP_SELECT_AND_SCATTER: return infer_select_and_scatter(in);
    case TT_OP_CONVOLUTION: return infer_convolution(in);
    case TT_OP_DOT: return infer_dot(in);
    case TT_OP_DOT_GENERAL: return infer_dot_general(in);
    case TT_OP_CHOLESKY:
      TT_RETURN_IF_ERROR(check_square(in, tt_infer_type(in, 0)));
      return tt_infer_emit(in, tt_infer_type(in, 0));
    case TT_OP_TRIANGULAR_SOLVE: return infer_triangular_solve(in);
    case TT_OP_FFT: return infer_fft(in);
    default: return infer_batch_norm(in);
  }
}
