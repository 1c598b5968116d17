// Products without a product op: broadcast, multiply, add up. Compilers fuse the three into one loop (libtpu
// keeps no temporary for it), so only the operands lie in memory.
#include <string.h>

#include "ir/infer.h"
#include "ir/legalise.h"

enum { MOST_POSITIONS = 1024 };

static int64_t extent(const tt_value_t* x, int64_t d) { return x->type->dims[d]; }

// x [B, M, K] y [B, K, N] -> [B, M, N]
static tt_value_t* multiply_add(tt_builder_t* b, tt_value_t* x, tt_value_t* y) {
  if (!tt_builder_ok(b)) return NULL;
  const int64_t dims[4] = {extent(x, 0), extent(x, 1), extent(x, 2), extent(y, 2)};
  tt_value_t* left = tt_b_broadcast_in_dim(b, x, 4, dims, (int64_t[]){0, 1, 2});
  tt_value_t* right = tt_b_broadcast_in_dim(b, y, 4, dims, (int64_t[]){0, 2, 3});
  return tt_b_reduce(b, TT_OP_ADD, tt_b_binary(b, TT_OP_MULTIPLY, left, right), 1, (int64_t[]){2}, false);
}

static bool holds(tt_i64s_t list, int64_t value) {
  for (size_t i = 0; i < list.size; ++i) {
    if (list.data[i] == value) return true;
  }
  return false;
}

// ---- dot_general -------------------------------------------------------------------------------
// One side as three dimensions: batch, then free and contracting ones (`free_first`) or the other way round.
static tt_value_t* flatten(tt_builder_t* b, tt_value_t* x, tt_i64s_t batch, tt_i64s_t contracting,
                           bool free_first) {
  int64_t order[TT_MAX_RANK], sizes[3] = {1, 1, 1};
  uint32_t at = 0, rank = x->type->rank;
  for (size_t i = 0; i < batch.size; ++i) order[at++] = batch.data[i];
  for (int part = 0; part < 2; ++part) {
    if (free_first == (part == 0)) {
      for (uint32_t i = 0; i < rank; ++i) {
        if (!holds(batch, i) && !holds(contracting, i)) order[at++] = i;
      }
    } else {
      for (size_t i = 0; i < contracting.size; ++i) order[at++] = contracting.data[i];
    }
  }
  size_t first = free_first ? rank - batch.size - contracting.size : contracting.size;
  for (uint32_t i = 0; i < rank; ++i)
    sizes[i < batch.size ? 0 : i < batch.size + first ? 1 : 2] *= extent(x, order[i]);
  return tt_b_reshape(b, tt_b_transpose(b, x, order), 3, sizes);
}

static tt_value_t* dot(tt_builder_t* b, const tt_op_t* op, tt_value_t* x, tt_value_t* y) {
  const tt_dot_dims_t* d = tt_op_attr(op, TT_ATTR_DOT_DIMENSION_NUMBERS)->dot;
  const tt_type_t* type = op->results[0].type;
  x = flatten(b, x, d->lhs_batch, d->lhs_contracting, true);
  y = flatten(b, y, d->rhs_batch, d->rhs_contracting, false);
  return tt_b_reshape(b, multiply_add(b, x, y), type->rank, type->dims);
}

// ---- convolution -------------------------------------------------------------------------------
typedef struct conv_s {
  size_t spatial;
  int64_t size[TT_MAX_RANK], out[TT_MAX_RANK], stride[TT_MAX_RANK], dilation[TT_MAX_RANK];
  int64_t groups, batch, features, group_out;  // of one group: batch size, input and output features
  bool splits_batch;
} conv_t;

static tt_value_t* to_order(tt_builder_t* b, tt_value_t* x, int64_t first, int64_t second, tt_i64s_t rest) {
  int64_t order[TT_MAX_RANK] = {first, second};
  for (size_t i = 0; i < rest.size; ++i) order[i + 2] = rest.data[i];
  return tt_b_transpose(b, x, order);
}

static void fill_list(const tt_op_t* op, tt_attr_name_t name, size_t count, int64_t* out) {
  tt_i64s_t list = tt_op_attr_i64s(op, name);
  for (size_t i = 0; i < count; ++i) out[i] = list.size == count ? list.data[i] : 1;
}

// Zeros around and between the elements of x [batch, feature, spatial...].
static tt_value_t* pad_input(tt_builder_t* b, const tt_op_t* op, tt_value_t* x, size_t spatial) {
  int64_t low[TT_MAX_RANK] = {0}, high[TT_MAX_RANK] = {0}, interior[TT_MAX_RANK] = {0};
  fill_list(op, TT_ATTR_LHS_DILATION, spatial, interior + 2);
  for (size_t i = 0; i < spatial; ++i) interior[i + 2] -= 1;
  if (!tt_infer_padding(op, spatial, low + 2, high + 2))
    return tt_builder_fail(b, TT_INVALID_ARGUMENT, "stablehlo.convolution: bad padding");
  if (!x) return NULL;
  return tt_b_pad(b, x, tt_b_scalar_i64(b, x->type->dtype, 0), low, high, interior);
}

static tt_value_t* reverse_kernel(tt_builder_t* b, const tt_op_t* op, tt_value_t* w) {
  const tt_attr_t* attr = tt_op_attr(op, TT_ATTR_WINDOW_REVERSAL);
  int64_t dims[TT_MAX_RANK];
  size_t count = 0;
  for (size_t i = 0; attr && attr->kind == TT_AK_BOOLS && i < attr->bools.size; ++i) {
    if (attr->bools.data[i]) dims[count++] = (int64_t)i + 2;
  }
  return count ? tt_b_reverse(b, w, count, dims) : w;
}

// What one position of the kernel adds: [batch, groups, group_out, spatial...].
static tt_value_t* position(tt_builder_t* b, const conv_t* c, tt_value_t* x, tt_value_t* w,
                            const int64_t* at) {
  int64_t start[TT_MAX_RANK] = {0}, limit[TT_MAX_RANK], stride[TT_MAX_RANK] = {1, 1};
  if (!x || !w) return NULL;
  size_t rank = c->spatial + 2, wide = rank + 2;
  for (size_t i = 0; i < 2; ++i) limit[i] = extent(x, (int64_t)i);
  for (size_t i = 0; i < c->spatial; ++i) {
    start[i + 2] = at[i] * c->dilation[i];
    stride[i + 2] = c->stride[i];
    limit[i + 2] = start[i + 2] + (c->out[i] - 1) * c->stride[i] + 1;
  }
  x = tt_b_slice(b, x, start, limit, stride);
  for (size_t i = 0; i < rank; ++i) {
    start[i] = i < 2 ? 0 : at[i - 2];
    limit[i] = i < 2 ? extent(w, (int64_t)i) : start[i] + 1;
    stride[i] = 1;
  }
  w = tt_b_slice(b, w, start, limit, stride);
  // dimensions of the product: batch, group, output feature, input feature, spatial
  int64_t dims[TT_MAX_RANK] = {c->batch, c->groups, c->group_out, c->features};
  int64_t split[TT_MAX_RANK], order[TT_MAX_RANK], to[TT_MAX_RANK] = {0, 1, 3};
  split[0] = c->splits_batch ? c->groups : c->batch;
  split[1] = c->splits_batch ? c->batch : c->groups;
  split[2] = c->features;
  for (size_t i = 0; i < 3; ++i) order[i] = (int64_t)(c->splits_batch && i < 2 ? 1 - i : i);
  for (size_t i = 0; i < c->spatial; ++i) {
    dims[i + 4] = split[i + 3] = c->out[i];
    order[i + 3] = (int64_t)i + 3;
    to[i + 3] = (int64_t)i + 4;
  }
  x = tt_b_transpose(b, tt_b_reshape(b, x, rank + 1, split), order);
  w = tt_b_reshape(b, w, 3, (int64_t[]){c->groups, c->group_out, c->features});
  tt_value_t* left = tt_b_broadcast_in_dim(b, x, wide, dims, to);
  tt_value_t* right = tt_b_broadcast_in_dim(b, w, wide, dims, (int64_t[]){1, 2, 3});
  return tt_b_reduce(b, TT_OP_ADD, tt_b_binary(b, TT_OP_MULTIPLY, left, right), 1, (int64_t[]){3}, false);
}

static tt_value_t* convolution(tt_builder_t* b, const tt_op_t* op, tt_value_t* x, tt_value_t* w) {
  const tt_conv_dims_t* d = tt_op_attr(op, TT_ATTR_DIMENSION_NUMBERS)->conv;
  const tt_type_t* type = op->results[0].type;
  int64_t by_feature = tt_op_attr_int(op, TT_ATTR_FEATURE_GROUP_COUNT, 1);
  int64_t by_batch = tt_op_attr_int(op, TT_ATTR_BATCH_GROUP_COUNT, 1), positions = 1;
  if (!x || !w) return NULL;
  conv_t c = {
      .spatial = d->input_spatial.size, .groups = by_feature * by_batch, .splits_batch = by_batch > 1};
  c.batch = extent(x, d->input_batch) / by_batch;
  c.features = extent(x, d->input_feature) / by_feature;
  c.group_out = extent(w, d->kernel_output_feature) / c.groups;
  fill_list(op, TT_ATTR_WINDOW_STRIDES, c.spatial, c.stride);
  fill_list(op, TT_ATTR_RHS_DILATION, c.spatial, c.dilation);
  if (c.spatial + 4 > TT_MAX_RANK)
    return tt_builder_fail(b, TT_UNIMPLEMENTED, "an integer convolution over %zu dimensions", c.spatial);
  for (size_t i = 0; i < c.spatial; ++i) {
    c.size[i] = extent(w, d->kernel_spatial.data[i]);
    c.out[i] = type->dims[d->output_spatial.data[i]];
    if (!tt_checked_mul_i64(positions, c.size[i], &positions) || positions > MOST_POSITIONS) {
      return tt_builder_fail(b, TT_UNIMPLEMENTED,
                             "a 64-bit integer convolution of %s: the window has more than %d "
                             "positions",
                             tt_dtype_name(type->dtype), MOST_POSITIONS);
    }
  }
  x = pad_input(b, op, to_order(b, x, d->input_batch, d->input_feature, d->input_spatial), c.spatial);
  w = to_order(b, w, d->kernel_output_feature, d->kernel_input_feature, d->kernel_spatial);
  w = reverse_kernel(b, op, w);
  tt_value_t* sum = NULL;
  int64_t at[TT_MAX_RANK] = {0};
  for (int64_t p = 0; p < positions && tt_builder_ok(b); ++p) {
    tt_value_t* term = position(b, &c, x, w, at);
    sum = sum ? tt_b_binary(b, TT_OP_ADD, sum, term) : term;
    for (size_t i = c.spatial; i-- > 0 && ++at[i] == c.size[i];) at[i] = 0;
  }
  int64_t dims[TT_MAX_RANK] = {c.batch, c.groups * c.group_out}, back[TT_MAX_RANK];
  back[d->output_batch] = 0;
  back[d->output_feature] = 1;
  for (size_t i = 0; i < c.spatial; ++i) {
    dims[i + 2] = c.out[i];
    back[d->output_spatial.data[i]] = (int64_t)i + 2;
  }
  return tt_b_transpose(b, tt_b_reshape(b, sum, c.spatial + 2, dims), back);
}

tt_value_t* tt_legalise_product(tt_builder_t* b, const tt_op_t* op) {
  const tt_type_t* type = op->results[0].type;
  if (!tt_type_is_static(type) || !tt_type_is_static(op->operands[0]->type) ||
      !tt_type_is_static(op->operands[1]->type))
    return tt_builder_fail(b, TT_UNIMPLEMENTED, "a 64-bit integer product of a bounded size");
  if (tt_type_elems(type) == 0 || tt_type_elems(op->operands[0]->type) == 0)
    return tt_b_splat_i64(b, type, 0);
  tt_value_t* x = tt_b_convert(b, op->operands[0], type->dtype);
  tt_value_t* y = tt_b_convert(b, op->operands[1], type->dtype);
  return op->kind == TT_OP_DOT_GENERAL ? dot(b, op, x, y) : convolution(b, op, x, y);
}
