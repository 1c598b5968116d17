// Padded dimensions under windows: convolutions and window reductions.
//
// A window that reaches behind the logical end must read there what it read before: the convolution's zeros, the
// reduction's initial values. These lie over the padding, and the padding behind the dimension (`high`) is whatever
// makes as many windows as the result's form has places; its first ones are then the logical ones. A kernel that grows
// (the gradient with respect to a weight) has zeros behind its end, and so has what it slides over.
#include "ir/infer.h"
#include "ir/pad_internal.h"

typedef struct windows_s {  // of one operation, a place a windowed dimension
  uint32_t count;
  int64_t size[TT_MAX_RANK], stride[TT_MAX_RANK], base[TT_MAX_RANK], dilation[TT_MAX_RANK], low[TT_MAX_RANK],
      high[TT_MAX_RANK];
} windows_t;

static int64_t dilated(int64_t size, int64_t dilation) { return size ? (size - 1) * dilation + 1 : 0; }

// The padding behind a dimension of `from` places under which `to` windows of `size` fit.
static int64_t high_for(const windows_t* w, uint32_t i, int64_t from, int64_t size, int64_t to) {
  return (to - 1) * w->stride[i] + dilated(size, w->dilation[i]) - w->low[i] - dilated(from, w->base[i]);
}

// As many places behind as before, or a part of them: most of a growing dimension grows with it.
static bool goes_along(const windows_t* w, uint32_t i, int64_t from, int64_t to) {
  return 2 * to * w->stride[i] > dilated(from, w->base[i]);
}

static bool read_list(tt_pad_t* p, const tt_infer_t* in, tt_attr_name_t name, uint32_t rank, int64_t* out) {
  tt_status_t status = tt_infer_list(in, name, rank, 1, out);
  if (tt_status_is_ok(status)) return true;
  tt_builder_fail(&p->clone.builder, TT_INTERNAL, "%s", tt_status_message(status));
  tt_status_free(status);
  return false;
}

// The op at these operands and forms of its results, with this padding behind.
static void copy_with(tt_pad_t* p, const tt_op_t* op, const windows_t* w, tt_value_t* const* operands,
                      const tt_type_t* const* types) {
  tt_builder_t* b = &p->clone.builder;
  tt_attr_t* attrs = tt_pad_room(p, op->attr_count + 1u, sizeof(*attrs));
  int64_t* pairs = tt_pad_room(p, 2 * (size_t)w->count, sizeof(*pairs));
  if (!attrs || !pairs || !tt_builder_ok(b)) return;
  tt_op_t changed = *op;
  changed.attrs = attrs;
  changed.attr_count = 0;
  for (uint16_t i = 0; i < op->attr_count; ++i) {
    if (op->attrs[i].name == TT_ATTR_PADDING) continue;
    attrs[changed.attr_count++] = op->attrs[i];
    if (op->attrs[i].name == TT_ATTR_WINDOW_DIMENSIONS)
      attrs[changed.attr_count - 1] = tt_attr_i64s(TT_ATTR_WINDOW_DIMENSIONS, w->count, w->size);
  }
  attrs[changed.attr_count++] = tt_b_padding_attr(b, w->count, w->low, w->high, pairs);
  if (!tt_builder_ok(b)) return;
  tt_clone_op(&p->clone, &changed, operands, types);
  for (uint32_t i = 0; i < op->result_count; ++i)
    tt_pad_define(p, &op->results[i], tt_pad_value(p, &op->results[i]));
}

// ---- convolution -------------------------------------------------------------------------------
typedef struct conv_s {
  const tt_conv_dims_t* dims;
  bool has_free_batch, has_features;  // whose classes go along: groups keep sizes exact
  bool is_reversed[TT_MAX_RANK];
  windows_t windows;
} conv_t;

static bool read_conv(tt_pad_t* p, const tt_op_t* op, conv_t* out) {
  const tt_attr_t* attr = tt_op_attr(op, TT_ATTR_DIMENSION_NUMBERS);
  if (!attr || attr->kind != TT_AK_CONV) return false;
  memset(out, 0, sizeof(*out));
  out->dims = attr->conv;
  out->has_free_batch = tt_op_attr_int(op, TT_ATTR_BATCH_GROUP_COUNT, 1) == 1;
  out->has_features = out->has_free_batch && tt_op_attr_int(op, TT_ATTR_FEATURE_GROUP_COUNT, 1) == 1;
  windows_t* w = &out->windows;
  w->count = (uint32_t)attr->conv->input_spatial.size;
  const tt_attr_t* reversal = tt_op_attr(op, TT_ATTR_WINDOW_REVERSAL);
  for (uint32_t i = 0; i < w->count; ++i) {
    w->size[i] = op->operands[1]->type->dims[attr->conv->kernel_spatial.data[i]];
    // of another kind than a list: treated as reversed, which is the exact one
    out->is_reversed[i] = reversal && (reversal->kind != TT_AK_BOOLS || reversal->bools.data[i]);
  }
  const tt_infer_t in = {.op = op};
  return read_list(p, &in, TT_ATTR_WINDOW_STRIDES, w->count, w->stride) &&
         read_list(p, &in, TT_ATTR_LHS_DILATION, w->count, w->base) &&
         read_list(p, &in, TT_ATTR_RHS_DILATION, w->count, w->dilation) &&
         tt_infer_padding(op, w->count, w->low, w->high);
}

void tt_pad_relate_convolution(tt_pad_t* p, const tt_op_t* op) {
  const tt_value_t *x = op->operands[0], *k = op->operands[1], *y = &op->results[0];
  conv_t c;
  if (!read_conv(p, op, &c)) return;
  const tt_conv_dims_t* dims = c.dims;
  if (c.has_free_batch) tt_pad_unite(p, x, (uint32_t)dims->input_batch, y, (uint32_t)dims->output_batch);
  if (c.has_features) {
    tt_pad_unite(p, k, (uint32_t)dims->kernel_output_feature, y, (uint32_t)dims->output_feature);
    tt_pad_unite(p, x, (uint32_t)dims->input_feature, k, (uint32_t)dims->kernel_input_feature);
  }
  for (uint32_t i = 0; i < c.windows.count; ++i) {
    uint32_t from = (uint32_t)dims->input_spatial.data[i], to = (uint32_t)dims->output_spatial.data[i];
    if (tt_pad_grows(p, x, from) && !tt_pad_grows(p, k, (uint32_t)dims->kernel_spatial.data[i]) &&
        goes_along(&c.windows, i, x->type->dims[from], y->type->dims[to]))
      tt_pad_grow(p, y, to);
  }
}

static bool has_elements(const tt_value_t* v) { return tt_type_elems(v->type) != 0; }

void tt_pad_emit_convolution(tt_pad_t* p, const tt_op_t* op) {
  const tt_value_t *x = op->operands[0], *k = op->operands[1], *y = &op->results[0];
  conv_t c;
  if (!read_conv(p, op, &c) || !has_elements(y) || !has_elements(x) || !has_elements(k)) {
    tt_pad_emit_exact(p, op);
    return;
  }
  const tt_conv_dims_t* dims = c.dims;
  uint32_t free_x = c.has_free_batch ? 1u << dims->input_batch : 0, mixed_x = 0, free_k = 0, mixed_k = 0;
  int64_t sizes[TT_MAX_RANK];
  memcpy(sizes, y->type->dims, y->type->rank * sizeof(*sizes));
  if (c.has_free_batch) sizes[dims->output_batch] = tt_pad_form_size(p, y, (uint32_t)dims->output_batch);
  if (c.has_features) {
    sizes[dims->output_feature] = tt_pad_form_size(p, y, (uint32_t)dims->output_feature);
    mixed_x |= 1u << dims->input_feature;
    free_k |= 1u << dims->kernel_output_feature;
    mixed_k |= 1u << dims->kernel_input_feature;
  }
  windows_t* w = &c.windows;
  for (uint32_t i = 0; i < w->count; ++i) {
    uint32_t from = (uint32_t)dims->input_spatial.data[i], over = (uint32_t)dims->kernel_spatial.data[i],
             to = (uint32_t)dims->output_spatial.data[i];
    bool grows = tt_pad_grows(p, x, from) || tt_pad_grows(p, y, to);
    mixed_x |= 1u << from;
    if (!c.is_reversed[i]) {  // a reversed kernel would have its zeros before its first place
      mixed_k |= 1u << over;
      grows |= tt_pad_grows(p, k, over);
      w->size[i] = tt_pad_form_size(p, k, over);
    }
    if (!grows) continue;
    sizes[to] = tt_pad_form_size(p, y, to);
    w->high[i] = high_for(w, i, tt_pad_form_size(p, x, from), w->size[i], sizes[to]);
  }
  tt_value_t* operands[2] = {tt_pad_exact(p, x, ~(free_x | mixed_x)), tt_pad_exact(p, k, ~(free_k | mixed_k))};
  operands[0] = tt_pad_filled(p, x, operands[0], mixed_x, tt_pad_zero(p, x->type->dtype));
  operands[1] = tt_pad_filled(p, k, operands[1], mixed_k, tt_pad_zero(p, k->type->dtype));
  const tt_type_t* type = tt_pad_type(p, y->type, y->type->rank, sizes);
  copy_with(p, op, w, operands, &type);
}

// ---- window reductions -------------------------------------------------------------------------
static bool read_reduction(tt_pad_t* p, const tt_op_t* op, windows_t* w) {
  const tt_infer_t in = {.op = op};
  memset(w, 0, sizeof(*w));
  w->count = op->operands[0]->type->rank;
  return read_list(p, &in, TT_ATTR_WINDOW_DIMENSIONS, w->count, w->size) &&
         read_list(p, &in, TT_ATTR_WINDOW_STRIDES, w->count, w->stride) &&
         read_list(p, &in, TT_ATTR_BASE_DILATIONS, w->count, w->base) &&
         read_list(p, &in, TT_ATTR_WINDOW_DILATIONS, w->count, w->dilation) &&
         tt_infer_padding(op, w->count, w->low, w->high);
}

static bool is_windowed(const windows_t* w, uint32_t i) {
  return w->size[i] != 1 || w->stride[i] != 1 || w->base[i] != 1 || w->low[i] || w->high[i];
}

// One window over all of the dimension.
static bool is_whole(const windows_t* w, uint32_t i, int64_t size) {
  return w->size[i] == size && size > 1 && w->base[i] == 1 && w->dilation[i] == 1 && !w->low[i] && !w->high[i];
}

void tt_pad_relate_window(tt_pad_t* p, const tt_op_t* op) {
  const tt_value_t* x = op->operands[0];
  windows_t w;
  if (!read_reduction(p, op, &w)) return;
  for (uint32_t k = 1; k < op->operand_count / 2; ++k) {
    tt_pad_unite_all(p, x, op->operands[k]);
    tt_pad_unite_all(p, &op->results[0], &op->results[k]);
  }
  for (uint32_t d = 0; d < w.count; ++d) {
    const tt_value_t* y = &op->results[0];
    if (!is_windowed(&w, d)) tt_pad_unite(p, x, d, y, d);
    else if (tt_pad_grows(p, x, d) && !is_whole(&w, d, x->type->dims[d]) &&
             goes_along(&w, d, x->type->dims[d], y->type->dims[d]))
      tt_pad_grow(p, y, d);
  }
}

void tt_pad_emit_window(tt_pad_t* p, const tt_op_t* op) {
  const tt_value_t *x = op->operands[0], *y = &op->results[0];
  uint32_t inputs = op->operand_count / 2, windowed = 0;
  windows_t w;
  tt_value_t** operands = tt_pad_room(p, op->operand_count, sizeof(*operands));
  const tt_type_t** types = tt_pad_room(p, op->result_count, sizeof(*types));
  if (!operands || !types) return;
  if (!read_reduction(p, op, &w) || !has_elements(y) || !has_elements(x)) {
    tt_pad_emit_exact(p, op);
    return;
  }
  for (uint32_t d = 0; d < w.count; ++d) {
    if (!is_windowed(&w, d)) continue;
    windowed |= 1u << d;
    if (!tt_pad_grows(p, x, d) && !tt_pad_grows(p, y, d)) continue;
    int64_t from = tt_pad_form_size(p, x, d);
    if (is_whole(&w, d, x->type->dims[d])) w.size[d] = from;
    w.high[d] = high_for(&w, d, from, w.size[d], tt_pad_form_size(p, y, d));
  }
  for (uint32_t i = 0; i < inputs; ++i) {
    operands[inputs + i] = tt_pad_value(p, op->operands[inputs + i]);
    tt_value_t* value = tt_pad_value(p, op->operands[i]);
    operands[i] = tt_pad_filled(p, op->operands[i], value, windowed, operands[inputs + i]);
    types[i] = tt_pad_form(p, &op->results[i]);
  }
  copy_with(p, op, &w, operands, types);
}
