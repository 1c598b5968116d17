// Views in terms of their base's dimensions: slices, reshapes and transposes of it, not of its flat memory. The base
// keeps its layout that way, and a dimension that grows stays one (ir/pad.h).
//
// Both lists are refined against each other until each dimension of the base has at most one of the view:
//   base dimension with two or more view dimensions   split at the view's strides:  [h * d] read as (h, d)
//   view dimension over several base dimensions        split at the base's strides:  (h, d) read as [h * d]
#include <string.h>

#include "lower/expand.h"

enum { MOST = TT_MAX_RANK };
typedef struct piece_s {
  int64_t size, stride;
  size_t dim;
} piece_t;  // of view dimension `dim`
typedef struct axis_s {
  int64_t size, stride, start;
  int piece;
} axis_t;
typedef struct layout_s {
  axis_t axes[MOST];  // the base without dimensions of size 1, outermost first
  piece_t pieces[MOST];  // of the view without sizes 1 and strides 0; those of one dimension outermost first
  size_t axis_count, piece_count;
} layout_t;

static bool add_axes(layout_t* t, const tt_type_t* base) {
  int64_t stride = 1;
  for (size_t d = base->rank; d-- > 0;) {
    if (base->dims[d] != 1) ++t->axis_count;
  }
  if (t->axis_count > MOST) return false;
  size_t at = t->axis_count;
  for (size_t d = base->rank; d-- > 0;) {
    if (base->dims[d] == 1) continue;
    t->axes[--at] = (axis_t){base->dims[d], stride, 0, -1};
    stride *= base->dims[d];
  }
  return true;
}

static bool lies_in(const axis_t* axis, int64_t stride) {
  return stride >= axis->stride && stride < axis->stride * axis->size;
}

static bool split_axis(layout_t* t, size_t at, int64_t stride) {
  axis_t* axis = &t->axes[at];
  int64_t inner = stride / axis->stride;
  if (stride % axis->stride || axis->size % inner || t->axis_count == MOST) return false;
  memmove(&t->axes[at + 1], &t->axes[at], (t->axis_count - at) * sizeof(*axis));
  ++t->axis_count;
  t->axes[at].size /= inner;
  t->axes[at].stride = stride;
  t->axes[at + 1].size = inner;
  return true;
}

// Splits axes that two view dimensions step through, at the larger stride.
static bool split_axes(layout_t* t) {
  for (size_t i = 0; i < t->axis_count; ++i) {
    int64_t largest = 0;
    size_t count = 0;
    for (size_t k = 0; k < t->piece_count; ++k) {
      if (!lies_in(&t->axes[i], t->pieces[k].stride)) continue;
      ++count;
      largest = TT_MAX(largest, t->pieces[k].stride);
    }
    if (count < 2) continue;
    if (largest == t->axes[i].stride || !split_axis(t, i, largest)) return false;
    --i;  // the outer part again: another dimension may have the same stride
  }
  return true;
}

static bool split_piece(layout_t* t, size_t at, int64_t inner) {
  piece_t* piece = &t->pieces[at];
  if (inner <= 0 || piece->size % inner || t->piece_count == MOST) return false;
  memmove(&t->pieces[at + 1], &t->pieces[at], (t->piece_count - at) * sizeof(*piece));
  ++t->piece_count;
  t->pieces[at].size /= inner;
  t->pieces[at].stride *= inner;
  t->pieces[at + 1].size = inner;
  return true;
}

// Splits view dimensions that run over the end of an axis into the next outer one.
static bool split_pieces(layout_t* t) {
  for (size_t k = 0; k < t->piece_count; ++k) {
    for (size_t i = t->axis_count; i-- > 0;) {
      const axis_t* axis = &t->axes[i];
      if (t->pieces[k].stride != axis->stride || t->pieces[k].size <= axis->size) continue;
      if (!split_piece(t, k, axis->size)) return false;
    }
  }
  return true;
}

// Gives each axis its piece and start; false: the view is no such selection.
static bool match(layout_t* t, int64_t offset) {
  for (size_t i = 0; i < t->axis_count; ++i) {
    axis_t* axis = &t->axes[i];
    axis->start = offset / axis->stride;
    offset %= axis->stride;
    axis->piece = -1;
    for (size_t k = 0; k < t->piece_count; ++k) {
      if (!lies_in(axis, t->pieces[k].stride)) continue;
      if (axis->piece >= 0 || t->pieces[k].stride % axis->stride) return false;
      axis->piece = (int)k;
    }
    int64_t step = axis->piece < 0 ? 0 : t->pieces[axis->piece].stride / axis->stride;
    int64_t last = axis->piece < 0 ? 0 : step * (t->pieces[axis->piece].size - 1);
    if (axis->start + last >= axis->size) return false;
  }
  size_t used = 0;
  for (size_t i = 0; i < t->axis_count; ++i) used += t->axes[i].piece >= 0;
  return offset == 0 && used == t->piece_count;
}

static bool lay_out(layout_t* t, const tt_type_t* base, size_t rank, const int64_t* sizes,
                    const int64_t* strides, int64_t offset) {
  memset(t, 0, sizeof *t);
  if (!add_axes(t, base) || rank > MOST) return false;
  for (size_t d = 0; d < rank; ++d)
    if (sizes[d] != 1 && strides[d] != 0) t->pieces[t->piece_count++] = (piece_t){sizes[d], strides[d], d};
  return split_axes(t) && split_pieces(t) && match(t, offset);
}

static V as_axes(tt_lower_t* L, const layout_t* t, V base) {
  int64_t dims[MOST];
  for (size_t i = 0; i < t->axis_count; ++i) dims[i] = t->axes[i].size;
  return tt_b_reshape(L->b, base, t->axis_count, dims);
}

// The view's dimensions that are not broadcast, and the pieces' places: piece j of the view is axis order[j] of the
// kept ones.
static void order_of(const layout_t* t, int64_t* out_order) {
  int64_t kept = 0;
  for (size_t i = 0; i < t->axis_count; ++i)
    if (t->axes[i].piece >= 0) out_order[t->axes[i].piece] = kept++;
}

V tt_expand_read_axes(tt_lower_t* L, V base, size_t rank, const int64_t* sizes, const int64_t* strides,
                      int64_t offset) {
  layout_t t;
  int64_t starts[MOST], limits[MOST], steps[MOST], kept[MOST], order[MOST], dims[MOST], places[MOST];
  size_t count = 0;
  if (!base || !lay_out(&t, base->type, rank, sizes, strides, offset)) return NULL;
  for (size_t i = 0; i < t.axis_count; ++i) {
    const axis_t* axis = &t.axes[i];
    const piece_t* piece = axis->piece < 0 ? NULL : &t.pieces[axis->piece];
    starts[i] = axis->start;
    steps[i] = piece ? piece->stride / axis->stride : 1;
    limits[i] = axis->start + (piece ? (piece->size - 1) * steps[i] : 0) + 1;
    if (piece) kept[count++] = piece->size;
  }
  V cut = tt_b_slice(L->b, as_axes(L, &t, base), starts, limits, steps);
  cut = tt_b_reshape(L->b, cut, count, kept);
  order_of(&t, order);
  cut = tt_b_transpose(L->b, cut, order);
  size_t whole = 0;
  for (size_t k = 0; k < t.piece_count; ++k) {
    if (k && t.pieces[k].dim == t.pieces[k - 1].dim) continue;
    dims[whole] = sizes[t.pieces[k].dim];
    places[whole++] = (int64_t)t.pieces[k].dim;
  }
  cut = tt_b_reshape(L->b, cut, whole, dims);
  return tt_b_broadcast_in_dim(L->b, cut, rank, sizes, places);
}

// One element of each dimension that repeats a place (stride 0): the only writes that may do so write one value.
static V without_repeats(tt_lower_t* L, V value, const int64_t* strides) {
  int64_t starts[MOST] = {0}, limits[MOST], steps[MOST];
  bool repeats = false;
  if (value->type->rank > MOST) return NULL;
  for (size_t d = 0; d < value->type->rank; ++d) {
    bool here = strides[d] == 0 && value->type->dims[d] > 1;
    limits[d] = here ? 1 : value->type->dims[d];
    steps[d] = 1;
    repeats |= here;
  }
  return repeats ? tt_b_slice(L->b, value, starts, limits, steps) : value;
}

V tt_expand_write_axes(tt_lower_t* L, V base, V value, const int64_t* strides, int64_t offset) {
  layout_t t;
  int64_t dims[MOST], order[MOST], back[MOST], sizes[MOST];
  if (!base || !value) return NULL;
  if (!lay_out(&t, base->type, value->type->rank, value->type->dims, strides, offset)) return NULL;
  V starts[MOST];
  for (size_t i = 0; i < t.axis_count; ++i) {
    const axis_t* axis = &t.axes[i];
    if (axis->piece >= 0 && t.pieces[axis->piece].stride != axis->stride)
      return NULL;  // every n-th: a scatter
    sizes[i] = axis->piece < 0 ? 1 : t.pieces[axis->piece].size;
    starts[i] = tt_b_scalar_i64(L->b, TT_DTYPE_S32, axis->start);
  }
  for (size_t k = 0; k < t.piece_count; ++k) dims[k] = t.pieces[k].size;
  order_of(&t, order);
  for (size_t k = 0; k < t.piece_count; ++k) back[order[k]] = (int64_t)k;
  value = without_repeats(L, value, strides);
  V update = tt_b_transpose(L->b, tt_b_reshape(L->b, value, t.piece_count, dims), back);
  update = tt_b_reshape(L->b, update, t.axis_count, sizes);
  V written = tt_b_dynamic_update_slice(L->b, as_axes(L, &t, base), update, starts);
  return tt_b_reshape(L->b, written, base->type->rank, base->type->dims);
}
