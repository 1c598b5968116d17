// embedding_bag and its gradients.
#include <math.h>
#include <string.h>

#include "lower/expr.h"

enum { BAG_SUM, BAG_MEAN, BAG_MAX };

// Number of the bag that each position belongs to.
static V bag_of(tt_lower_t* L, V offsets, int64_t count) {
  const tt_type_t* type = tt_b_type(L->b, TT_DTYPE_S64, 1, &count);
  if (!type || !offsets) return NULL;
  V place = tt_lx_search_sorted(L, CAST(offsets, TT_DTYPE_S64), tt_b_iota(L->b, type, 0), true);
  return SUB(place, tt_lx_splat_i64(L, place, 1));
}

TT_LOWERING(embedding_bag) {
  V weight = tt_l_tensor(L, 0), indices = tt_l_tensor(L, 1), offsets = tt_l_tensor(L, 2),
    scale = tt_l_tensor_or_null(L, 6);
  if (!weight || !indices || !offsets) return;
  int64_t mode = tt_l_int(L, 4, BAG_SUM), padding = tt_l_int(L, 8, -1);
  int64_t rows = tt_lx_static_size(L, weight, 0), width = tt_lx_static_size(L, weight, 1),
          count = tt_lx_numel(L, indices);
  int64_t bags = tt_lx_static_size(L, offsets, 0) - (tt_l_bool(L, 7, false) ? 1 : 0);
  tt_dtype_t dtype = tt_lx_dtype(weight), index_dtype = tt_lx_dtype(indices);
  if (scale && mode != BAG_SUM) {
    tt_builder_fail(L->b, TT_INVALID_ARGUMENT,
                    "embedding_bag: per_sample_weights only supported with mode='sum'");
    return;
  }
  V index = tt_lx_flatten(L, CAST(indices, TT_DTYPE_S64)), bag = bag_of(L, offsets, count);
  tt_lx_check_range(L, index, 0, rows, TT_INVALID_ARGUMENT,
                    "embedding_bag: Expected idx >= 0 && idx < num_embeddings but found idx to be {0}");
  int64_t shape[2] = {bags, width};
  V counted =
      padding < 0 ? NULL : NE(index, tt_lx_splat_i64(L, index, padding < 0 ? padding + rows : padding));
  V place = counted ? SEL(counted, bag, tt_lx_splat_i64(L, bag, bags)) : bag;   // out of range: dropped
  V sizes = tt_lx_full(L, TT_DTYPE_S64, 1, &bags, 0);
  sizes = tt_lx_scatter_rows(L, TT_OP_ADD, sizes, place, tt_lx_splat_i64(L, place, 1), false);
  V taken = UP(tt_lx_take_rows(L, weight, index)), result, where = tt_lx_full(L, index_dtype, 1, &bags, 0);
  if (!taken || !sizes) return;
  if (scale) taken = MUL(taken, tt_lx_along(L, CAST(scale, tt_lx_dtype(taken)), 0, taken));
  V sizes_wide = tt_lx_along(L, sizes, 0, tt_lx_full(L, TT_DTYPE_S64, 2, shape, 0));
  V empty = EQ(sizes_wide, tt_lx_splat_i64(L, sizes_wide, 0));
  if (mode == BAG_MAX) {
    V lowest = tt_lx_splat_lowest(L, tt_lx_full(L, tt_lx_dtype(taken), 2, shape, 0));
    result = tt_lx_scatter_rows(L, TT_OP_MAXIMUM, lowest, place, taken, false);
    // the first row of the bag that reaches the maximum
    V position = count ? tt_lx_iota(L, TT_DTYPE_S64, taken, 0) : NULL;
    V best = tt_lx_full(L, TT_DTYPE_S64, 2, shape, 0);
    if (count) {
      V reached = EQ(
          taken,
          tt_lx_take_rows(L, result, MIN(MAX(bag, K(bag, 0)), tt_lx_splat_i64(L, bag, TT_MAX(bags - 1, 0)))));
      V candidate = SEL(reached, position, tt_lx_splat_i64(L, position, count));
      V none = tt_lx_splat_i64(L, best, count);
      best = tt_lx_scatter_rows(L, TT_OP_MINIMUM, none, place, candidate, false);
      best = tt_lx_take_flat(L, index, MIN(best, tt_lx_splat_i64(L, best, count - 1)));
    }
    where = CAST(SEL(empty, K(best, 0), best), index_dtype);
    result = SEL(empty, K(result, 0), result);
  } else {
    result = tt_lx_full(L, tt_lx_dtype(taken), 2, shape, 0);
    result = tt_lx_scatter_rows(L, TT_OP_ADD, result, place, taken, false);
    if (mode == BAG_MEAN) {
      V divisor = CAST(SEL(empty, K(sizes_wide, 1), sizes_wide), tt_lx_dtype(result));
      result = DIV(result, divisor);
    }
  }
  tt_l_return(L, CAST(result, dtype));
  tt_l_return(L, CAST(bag, index_dtype));
  tt_l_return(L, CAST(sizes, index_dtype));
  tt_l_return(L, where);
}

static void bag_backward(tt_lower_t* L, V bag, uint32_t size_arg, uint32_t max_arg, uint32_t weights_arg,
                         uint32_t freq_arg, uint32_t mode_arg, uint32_t scale_arg, uint32_t padding_arg) {
  V grad = tt_l_tensor(L, 0), indices = tt_l_tensor(L, 1), sizes = tt_l_tensor(L, size_arg);
  if (!grad || !indices || !bag || !sizes) return;
  V scale = tt_l_tensor_or_null(L, scale_arg);
  int64_t rows = tt_l_int(L, weights_arg, 0), mode = tt_l_int(L, mode_arg, BAG_SUM),
          padding = tt_l_int(L, padding_arg, -1);
  int64_t width = tt_lx_static_size(L, grad, 1), shape[2] = {rows, width}, count = tt_lx_numel(L, indices);
  tt_dtype_t dtype = tt_lx_dtype(grad);
  V wide = UP(grad), result = tt_lx_full(L, tt_lx_dtype(wide), 2, shape, 0);
  V index = tt_lx_flatten(L, CAST(indices, TT_DTYPE_S64));
  if (count == 0 || !index || !wide) {
    tt_l_return(L, CAST(result, dtype));
    return;
  }
  if (mode ==
      BAG_MAX) {   // each element of grad goes to the row that gave the maximum; empty bags give nothing
    V best = CAST(tt_l_tensor(L, max_arg), TT_DTYPE_S64);
    V full = tt_lx_along(L, CAST(sizes, TT_DTYPE_S64), 0, best);
    best = SEL(EQ(full, K(full, 0)), tt_lx_splat_i64(L, best, rows), best);
    V column = tt_lx_iota(L, TT_DTYPE_S64, best, 1);
    V place = ADD(MUL(best, tt_lx_splat_i64(L, best, width)), column);
    V flat = tt_lx_scatter_flat(L, TT_OP_ADD, tt_lx_flatten(L, result), place, wide);
    tt_l_return(L, CAST(tt_b_reshape(L->b, flat, 2, shape), dtype));
    return;
  }
  V updates = tt_lx_take_rows(L, wide, bag);
  if (mode == BAG_MEAN) {
    V size = tt_lx_take_flat(L, CAST(sizes, TT_DTYPE_S64), bag);
    size = CAST(MAX(size, tt_lx_splat_i64(L, size, 1)), tt_lx_dtype(updates));
    updates = DIV(updates, tt_lx_along(L, size, 0, updates));
  }
  if (scale) updates = MUL(updates, tt_lx_along(L, CAST(scale, tt_lx_dtype(updates)), 0, updates));
  if (tt_l_bool(L, freq_arg, false)) {
    V zeros = tt_lx_full(L, tt_lx_dtype(updates), 1, &rows, 0),
      ones = tt_lx_full(L, tt_lx_dtype(updates), 1, &count, 1);
    V frequency = tt_lx_take_flat(L, tt_lx_scatter_rows(L, TT_OP_ADD, zeros, index, ones, false), index);
    updates = DIV(updates, tt_lx_along(L, frequency, 0, updates));
  }
  if (padding >= 0)
    index = SEL(EQ(index, tt_lx_splat_i64(L, index, padding)), tt_lx_splat_i64(L, index, rows), index);
  tt_l_return(L, CAST(tt_lx_scatter_rows(L, TT_OP_ADD, result, index, updates, false), dtype));
}
TT_LOWERING(embedding_bag_dense_backward) {
  V bag = CAST(tt_l_tensor(L, 2), TT_DTYPE_S64);
  bag_backward(L, bag, 3, 4, 5, 6, 7, 8, 9);
}
TT_LOWERING(embedding_bag_backward) {
  V bag = CAST(tt_l_tensor(L, 3), TT_DTYPE_S64), indices = tt_l_tensor(L, 1);
  if (tt_l_bool(L, 9, false)) {
    tt_builder_fail(L->b, TT_UNIMPLEMENTED, "sparse gradients");
    return;
  }
  if (bag && indices && tt_lx_numel(L, bag) != tt_lx_numel(L, indices))
    bag = bag_of(L, tt_l_tensor(L, 2), tt_lx_numel(L, indices));
  bag_backward(L, bag, 4, 5, 6, 7, 8, 10, 11);
}
TT_LOWERING(embedding_bag_scale_backward) {
  V grad = tt_l_tensor(L, 0), weight = tt_l_tensor(L, 1), indices = tt_l_tensor(L, 2),
    bag = CAST(tt_l_tensor(L, 4), TT_DTYPE_S64);
  if (!grad || !weight || !indices || !bag) return;
  int64_t padding = tt_l_int(L, 6, -1), one = 1, count = tt_lx_numel(L, indices);
  V index = tt_lx_flatten(L, CAST(indices, TT_DTYPE_S64));
  if (tt_lx_numel(L, bag) != count) bag = bag_of(L, tt_l_tensor(L, 3), count);
  V product = MUL(UP(tt_lx_take_rows(L, grad, bag)), UP(tt_lx_take_rows(L, weight, index)));
  V result = tt_b_reduce(L->b, TT_OP_ADD, product, 1, &one, false);
  if (padding >= 0) result = SEL(EQ(index, tt_lx_splat_i64(L, index, padding)), K(result, 0), result);
  tt_l_return(L, CAST(result, tt_lx_dtype(grad)));
}
