// Nodes -> steps, in program order. Values that uses.c wants in memory are written at their own place; views and
// constants are written when someone needs them as bytes. A result of the program is written where it belongs
// at once whenever its producer is known.
#include "compile/internal.h"

#include <math.h>
#include <string.h>

typedef struct tc_mark_s {
  tc_value_t* value;
  struct tc_mark_s* next;
} tc_mark_t;

enum { EMBED_BYTES = 256 };

// ---- tables ------------------------------------------------------------------------------------
uint32_t tc_buffer_add(tc_t* c, pd_buffer_kind_t kind, int64_t bytes, tc_block_t* block) {
  if (!tc_push(c, (void**)&c->buffers, &c->buffer_capacity, c->buffer_count, sizeof *c->buffers)) return PD_NONE;
  c->buffers[c->buffer_count] = (tc_buffer_t){.kind = kind, .bytes = bytes, .merged = PD_NONE, .block = block, .begin = UINT32_MAX};
  return c->buffer_count++;
}

uint32_t tc_lane_add(tc_t* c, pd_lane_t lane) {
  for (uint32_t i = 0; i < c->lane_count; ++i) if (memcmp(&c->lanes[i], &lane, sizeof lane) == 0) return i;
  if (!tc_push(c, (void**)&c->lanes, &c->lane_capacity, c->lane_count, sizeof lane)) return 0;
  c->lanes[c->lane_count] = lane;
  return c->lane_count++;
}

tc_step_t* tc_step_add(tc_t* c, tc_block_t* block, pd_step_kind_t kind) {
  tc_step_t* step = TC_NEW(c, tc_step_t);
  if (!step) return NULL;
  step->kind = kind;
  step->block = block;
  step->prev = block->last_step;
  if (block->last_step) block->last_step->next = step; else block->first_step = step;
  block->last_step = step;
  return step;
}

void tc_step_remove(tc_step_t* step) {
  tc_block_t* block = step->block;
  if (step->prev) step->prev->next = step->next; else block->first_step = step->next;
  if (step->next) step->next->prev = step->prev; else block->last_step = step->prev;
}

void tc_mark_ready(tc_t* c, tc_value_t* value) {
  tc_mark_t* mark = TC_NEW(c, tc_mark_t);
  if (!mark) return;
  mark->value = value;
  mark->next = c->marks;
  c->marks = mark;
  value->ready = true;
}

// Forgets what was made ready inside a nested block: it may not run, or runs again.
static void unmark(tc_t* c, tc_mark_t* until) {
  for (; c->marks != until && c->marks; c->marks = c->marks->next) {
    c->marks->value->ready = false;
    c->marks->value->buffer = PD_NONE;
  }
}

static uint32_t target(tc_t* c, tc_block_t* block, tc_value_t* value) {
  if (value->buffer == PD_NONE) value->buffer = tc_buffer_add(c, PD_TEMP, value->bytes, block);
  return value->buffer;
}

static void emit_copy(tc_t* c, tc_block_t* block, uint32_t from, uint32_t to, int64_t bytes) {
  if (from == to || bytes == 0) return;
  tc_step_t* step = tc_step_add(c, block, PD_S_COPY);
  if (step) step->copy = (pd_copy_t){.from = from, .to = to, .bytes = bytes};
}

uint32_t tc_dense(tc_t* c, tc_block_t* block, tc_value_t* value) {
  if (!tc_ok(c)) return 0;
  if (value->ready) return value->buffer;
  if (value->dtype == TT_DTYPE_TOKEN) return target(c, block, value);
  if (value->data && value->buffer == PD_NONE && (!value->splat || value->bytes <= EMBED_BYTES)) {
    uint32_t buffer = tc_buffer_add(c, PD_CONST, value->bytes, NULL);
    if (!tc_ok(c)) return 0;
    c->buffers[buffer].data = value->data;
    if (value->splat && value->elems > 1) {
      size_t esize = tt_dtype_bytes(value->dtype);
      char* wide = tc_alloc(c, (size_t)value->elems, esize);
      if (!wide) return 0;
      for (int64_t i = 0; i < value->elems; ++i) memcpy(wide + (size_t)i * esize, value->data, esize);
      c->buffers[buffer].data = wide;
    }
    value->buffer = buffer;
    value->ready = true;              // constants hold everywhere
    return buffer;
  }
  tc_node_t* node = value->def;
  if (node && node->cls == TC_RESHAPE && value->buffer == PD_NONE) {
    uint32_t buffer = tc_dense(c, block, node->in[0]);
    value->buffer = buffer;           // an alias of equal bytes
    tc_mark_ready(c, value);
    return buffer;
  }
  uint32_t buffer = target(c, block, value);
  tc_loop_store(c, block, value->rank, value->dims, value, 0, NULL, buffer, 0, NULL, true);
  tc_mark_ready(c, value);
  return buffer;
}

// ---- reductions --------------------------------------------------------------------------------
bool tc_is_identity(tt_op_kind_t kind, const tc_value_t* value) {
  uint64_t identity[2] = {0, 0};
  if (!value->data) return false;
  tc_identity(kind, value->dtype, identity);
  size_t esize = tt_dtype_bytes(value->dtype);
  if (memcmp(value->data, identity, esize) == 0) return true;
  // -0.0 is an identity of addition as well
  return kind == TT_OP_ADD && tt_dtype_is_float(value->dtype) && tt_scalar_load_f64(value->dtype, value->data) == 0;
}

void tc_identity(tt_op_kind_t kind, tt_dtype_t dtype, void* out) {
  bool top = kind == TT_OP_MINIMUM;
  memset(out, 0, 16);
  switch (kind) {
    case TT_OP_MULTIPLY:
      if (tt_dtype_is_complex(dtype)) { double one[2] = {1, 0}; tt_scalar_store_complex(dtype, one, out); }
      else if (tt_dtype_is_float(dtype)) tt_scalar_store_f64(dtype, 1, out);
      else tt_scalar_store_i64(dtype, 1, out);
      return;
    case TT_OP_AND:
      if (dtype == TT_DTYPE_PRED) *(uint8_t*)out = 1;
      else tt_scalar_store_i64(dtype, -1, out);
      return;
    case TT_OP_MAXIMUM: case TT_OP_MINIMUM:
      if (tt_dtype_is_float(dtype)) { tt_scalar_store_f64(dtype, top ? (double)INFINITY : -(double)INFINITY, out); return; }
      if (dtype == TT_DTYPE_PRED) { *(uint8_t*)out = top; return; }
      if (tt_dtype_is_unsigned_int(dtype)) {
        if (top) memset(out, 0xff, tt_dtype_bytes(dtype));
        if (top && dtype == TT_DTYPE_U4) *(uint8_t*)out = 15;
        if (top && dtype == TT_DTYPE_U2) *(uint8_t*)out = 3;
        return;
      }
      {
        unsigned bits = (unsigned)tt_dtype_bytes(dtype) * 8;
        if (dtype == TT_DTYPE_S4) bits = 4;
        if (dtype == TT_DTYPE_S2) bits = 2;
        int64_t max = bits >= 64 ? INT64_MAX : ((int64_t)1 << (bits - 1)) - 1;
        tt_scalar_store_i64(dtype, top ? max : -max - 1, out);
      }
      return;
    default: return;                   // ADD, OR, XOR: zero
  }
}

static tt_dtype_t accumulator(tt_op_kind_t kind, tt_dtype_t dtype) {
  if (!tt_dtype_is_float(dtype) || dtype == TT_DTYPE_F64) return dtype;
  return kind == TT_OP_INVALID ? dtype : TT_DTYPE_F32;
}

enum { CHUNK_ELEMS = 32768, MAX_CHUNKS = 1024, FEW_OUTPUTS = 16 };

static void emit_reduce(tc_t* c, tc_block_t* block, tc_node_t* node) {
  uint32_t count = node->in_count / 2;
  tc_value_t* out0 = &node->out[0];
  tc_value_t* in0 = node->in[0];
  tt_i64s_t dims = tt_op_attr_i64s(node->op, TT_ATTR_DIMENSIONS);
  bool reduced[TT_MAX_RANK] = {false};
  int64_t reduced_elems = 1;
  for (size_t i = 0; i < dims.size; ++i) {
    if (reduced[dims.data[i]]) { tc_fail(c, TT_INVALID_ARGUMENT, "vtpu: a dimension is reduced twice"); return; }
    reduced[dims.data[i]] = true;
    reduced_elems *= in0->dims[dims.data[i]];
  }
  if (count > 8) { tc_fail(c, TT_UNIMPLEMENTED, "vtpu: a reduction of more than 8 operands"); return; }
  static const int64_t zeros[TT_MAX_RANK];
  for (uint32_t i = 0; i < count; ++i) (void)target(c, block, &node->out[i]);
  if (in0->elems == 0 || out0->elems == 0) {       // nothing to fold: the initial value
    for (uint32_t i = 0; i < count; ++i) {
      tc_value_t* v = &node->out[i];
      (void)tc_dense(c, block, node->in[count + i]);
      tc_loop_store(c, block, v->rank, v->dims, node->in[count + i], 0, zeros, v->buffer, 0, NULL, false);
      tc_mark_ready(c, v);
    }
    return;
  }
  tt_op_kind_t kind = count == 1 ? tt_region_binary_kind(&node->op->regions[0]) : TT_OP_INVALID;
  tt_dtype_t acc = accumulator(kind, out0->dtype);
  switch (kind) {
    case TT_OP_ADD: case TT_OP_MULTIPLY: case TT_OP_MAXIMUM: case TT_OP_MINIMUM: case TT_OP_AND: case TT_OP_OR:
      if (!tt_k_fold(kind, acc) || !tt_k_binary(kind, acc)) kind = TT_OP_INVALID;
      break;
    default: kind = TT_OP_INVALID;
  }
  tt_dtype_t widen[8];
  for (uint32_t i = 0; i < count; ++i) widen[i] = kind != TT_OP_INVALID ? acc : node->out[i].dtype;
  uint16_t regs[8];
  pd_reduce_layout_t layout;
  tc_loop_t* l = tc_loop_reduce(c, block, count, node->in, reduced, widen, &layout, regs);
  if (!l) return;
  tc_region_t* region = kind == TT_OP_INVALID ? tc_region_compile(c, block, node, &node->op->regions[0]) : NULL;
  for (uint32_t i = 0; i < count; ++i) {
    tc_value_t* init = node->in[count + i];
    if (kind == TT_OP_INVALID || !tc_is_identity(kind, init)) (void)tc_dense(c, block, init);
  }
  if (!tc_ok(c)) return;
  pd_reduce_t r = {.layout = layout, .count = count, .region = region ? region->number : PD_NONE, .fold = PD_NONE,
                   .combine = PD_NONE, .scratch = PD_NONE, .reduced = reduced_elems};
  if (!region) {
    r.fold = tc_lane_add(c, (pd_lane_t){.cls = PD_LANE_FOLD, .dtype = (uint8_t)acc, .kind = (uint32_t)kind});
    r.combine = tc_lane_add(c, (pd_lane_t){.cls = PD_LANE_BINARY, .dtype = (uint8_t)acc, .kind = (uint32_t)kind});
  }
  if (region && (size_t)region->data.slot_count * region->data.slot_bytes > 4 * PD_SLOT_BYTES) {
    tc_fail(c, TT_UNIMPLEMENTED, "vtpu: a reducer of more than %u bytes of registers", 4 * PD_SLOT_BYTES);
    return;
  }
  int64_t inner = l->dims[l->rank - 1];
  // Accumulators lie on the worker's stack: bound the tile.
  size_t widest = 1;
  for (uint32_t i = 0; i < count; ++i) widest = TT_MAX(widest, tt_dtype_bytes(widen[i]));
  uint32_t limit = region ? PD_REGION_LANES : 4096;
  limit = TT_MIN(limit, (uint32_t)((32768 / count & ~63u) / widest)) & ~1u;
  if (l->mode == PD_MODE_ROWS) {
    while (l->tile_rows > 1 && l->tile_rows * l->tile_cols > limit) l->tile_rows /= 2;
    if (l->tile_cols > limit) { tc_fail(c, TT_INTERNAL, "vtpu: a reduction's tile is too wide"); return; }
  } else {
    l->tile_cols = TT_MIN(l->tile_cols, limit);
  }
  int64_t outs = out0->elems;
  if (layout == PD_R_INNER) {
    r.kept = outs;
    r.inner = 1;
    r.reduced_rows = (uint32_t)(reduced_elems / inner);
    r.chunk = reduced_elems;
    if (outs < FEW_OUTPUTS && reduced_elems >= 2 * CHUNK_ELEMS) {
      int64_t unit = inner <= CHUNK_ELEMS ? inner : 1;
      int64_t wanted = TT_MAX((int64_t)CHUNK_ELEMS, (reduced_elems + MAX_CHUNKS - 1) / MAX_CHUNKS);
      r.chunk = (wanted + unit - 1) / unit * unit;
    }
  } else {
    r.inner = inner;
    r.kept = outs / inner;
    r.chunk = reduced_elems;
    int64_t tiles = r.kept * ((inner + l->tile_cols - 1) / l->tile_cols);
    if (tiles < FEW_OUTPUTS && outs * reduced_elems >= 2 * CHUNK_ELEMS) {
      int64_t rows = TT_MAX(CHUNK_ELEMS / inner, (int64_t)l->tile_rows);
      r.chunk = TT_MAX(rows, (reduced_elems + MAX_CHUNKS - 1) / MAX_CHUNKS);
      r.chunk = (r.chunk + l->tile_rows - 1) / l->tile_rows * l->tile_rows;
    }
  }
  r.chunks = (uint32_t)((reduced_elems + r.chunk - 1) / r.chunk);
  if (r.chunks > 1) {
    int64_t bytes = 0;
    for (uint32_t i = 0; i < count; ++i) bytes += (int64_t)tt_align_up((size_t)(outs * r.chunks) * tt_dtype_bytes(widen[i]), 64);
    r.scratch = tc_buffer_add(c, PD_TEMP, bytes, block);
  }
  tc_step_t* step = tc_step_add(c, block, PD_S_REDUCE);
  pd_reduce_operand_t* operands = TC_ARRAY(c, pd_reduce_operand_t, count);
  if (!step || !operands) return;
  for (uint32_t i = 0; i < count; ++i) {
    pd_reduce_operand_t* o = &operands[i];
    tc_value_t *v = &node->out[i], *init = node->in[count + i];
    o->init = kind != TT_OP_INVALID && tc_is_identity(kind, init) ? PD_NONE : init->buffer;
    o->out = v->buffer;
    o->reg = regs[i];
    o->acc_dtype = (uint8_t)widen[i];
    o->acc_esize = (uint8_t)tt_dtype_bytes(widen[i]);
    o->out_esize = (uint8_t)tt_dtype_bytes(v->dtype);
    o->narrow = o->widen = PD_NONE;
    if (widen[i] != v->dtype) {
      o->narrow = tc_lane_add(c, (pd_lane_t){.cls = PD_LANE_CONVERT, .dtype = (uint8_t)widen[i], .dtype2 = (uint8_t)v->dtype});
      o->widen = tc_lane_add(c, (pd_lane_t){.cls = PD_LANE_CONVERT, .dtype = (uint8_t)v->dtype, .dtype2 = (uint8_t)widen[i]});
    }
    if (!region) tc_identity(kind, widen[i], o->identity);
  }
  step->loop = l;
  step->reduce.data = r;
  step->reduce.operands = operands;
  for (uint32_t i = 0; i < count; ++i) tc_mark_ready(c, &node->out[i]);
}

// ---- data movement -----------------------------------------------------------------------------
static void emit_concat(tc_t* c, tc_block_t* block, tc_node_t* node) {
  tc_value_t* out = &node->out[0];
  uint32_t buffer = target(c, block, out);
  int64_t rows[TT_MAX_RANK], at = 0;
  tc_row_strides(out->dims, out->rank, rows);
  for (uint32_t i = 0; i < node->in_count; ++i) {
    tc_value_t* in = node->in[i];
    tc_loop_store(c, block, in->rank, in->dims, in, 0, NULL, buffer, at * rows[node->dim], rows, false);
    at += in->dims[node->dim];
  }
  tc_mark_ready(c, out);
}

static void emit_pad(tc_t* c, tc_block_t* block, tc_node_t* node) {
  tc_value_t *out = &node->out[0], *in = node->in[0];
  uint32_t buffer = target(c, block, out);
  static const int64_t zeros[TT_MAX_RANK];
  int64_t rows[TT_MAX_RANK], in_rows[TT_MAX_RANK], dims[TT_MAX_RANK], store[TT_MAX_RANK];
  tt_i64s_t low = tt_op_attr_i64s(node->op, TT_ATTR_EDGE_PADDING_LOW);
  tt_i64s_t interior = tt_op_attr_i64s(node->op, TT_ATTR_INTERIOR_PADDING);
  tc_row_strides(out->dims, out->rank, rows);
  tc_row_strides(in->dims, in->rank, in_rows);
  int64_t load_base = 0, store_base = 0;
  bool covers = out->rank > 0;
  for (uint32_t d = 0; d < out->rank; ++d) {
    int64_t step = 1 + (d < interior.size ? interior.data[d] : 0), shift = d < low.size ? low.data[d] : 0;
    int64_t first = shift >= 0 ? 0 : (-shift + step - 1) / step;      // operand index that lands inside
    int64_t room = out->dims[d] - 1 - shift;
    int64_t last = room < 0 ? -1 : TT_MIN(room / step, in->dims[d] - 1);
    dims[d] = TT_MAX(last - first + 1, (int64_t)0);
    load_base += first * in_rows[d];
    store_base += (shift + first * step) * rows[d];
    store[d] = step * rows[d];
    covers = covers && dims[d] == out->dims[d];
  }
  bool empty = false;
  for (uint32_t d = 0; d < out->rank; ++d) empty = empty || dims[d] == 0;
  if (!covers) tc_loop_store(c, block, out->rank, out->dims, node->in[1], 0, zeros, buffer, 0, NULL, false);
  if (!empty) tc_loop_store(c, block, out->rank, dims, in, load_base, in_rows, buffer, store_base, store, false);
  tc_mark_ready(c, out);
}

static void emit_strided_write(tc_t* c, tc_block_t* block, tc_node_t* node) {
  tc_value_t *out = &node->out[0], *base = node->in[0], *value = node->in[1];
  uint32_t from = tc_dense(c, block, base);
  uint32_t to = target(c, block, out);
  tc_step_t* before = block->last_step;
  tc_loop_store(c, block, value->rank, value->dims, value, 0, NULL, to, node->base, node->weights, false);
  tc_step_t* write = block->last_step;
  if (!tc_ok(c)) return;
  if (write == before) {               // an empty value
    emit_copy(c, block, from, to, out->bytes);
    tc_mark_ready(c, out);
    return;
  }
  tc_loop_t* l = write->loop;
  const tc_access_t* store = NULL;
  for (uint32_t i = 0; i < l->access_count; ++i) if (l->accesses[i].store) store = &l->accesses[i];
  bool safe = true;
  for (uint32_t i = 0; i < l->access_count; ++i) {
    const tc_access_t* a = &l->accesses[i];
    if (!a->store && a->buffer == from) safe = safe && tc_access_safe(l, a, store);
  }
  tc_step_remove(write);
  if (safe) {
    // What the loop reads of the base it may as well read of the copy, so that the base is dead by then.
    for (uint32_t i = 0; i < l->access_count; ++i) if (l->accesses[i].buffer == from) l->accesses[i].buffer = to;
    emit_copy(c, block, from, to, out->bytes);
    write->prev = block->last_step;
    write->next = NULL;
    if (block->last_step) block->last_step->next = write; else block->first_step = write;
    block->last_step = write;
  } else {
    uint32_t temp = tc_buffer_add(c, PD_TEMP, value->bytes, block);
    uint32_t kept_buffer = value->buffer;
    bool kept_ready = value->ready;
    tc_loop_store(c, block, value->rank, value->dims, value, 0, NULL, temp, 0, NULL, false);
    emit_copy(c, block, from, to, out->bytes);
    value->buffer = temp;
    value->ready = true;
    tc_loop_store(c, block, value->rank, value->dims, value, 0, NULL, to, node->base, node->weights, false);
    value->buffer = kept_buffer;
    value->ready = kept_ready;
  }
  tc_mark_ready(c, out);
}

// ---- op steps ----------------------------------------------------------------------------------
static void dense_tensor(tc_t* c, tc_value_t* v, uint32_t buffer, tc_tensor_t* out) {
  int64_t* strides = TC_ARRAY(c, int64_t, v->rank + 1);
  if (!strides) return;
  tc_row_strides(v->dims, v->rank, strides);
  *out = (tc_tensor_t){.buffer = buffer, .dtype = v->dtype, .rank = v->rank, .dims = v->dims, .strides = strides};
}

static void operand_tensor(tc_t* c, tc_block_t* block, tc_value_t* v, bool strided, tc_tensor_t* out) {
  if (strided && !v->ready && v->def && (v->def->cls == TC_VIEW || v->def->cls == TC_STRIDED_READ) && !v->data) {
    tc_value_t* source = NULL;
    int64_t base = 0;
    int64_t* strides = TC_ARRAY(c, int64_t, TT_MAX_RANK);
    if (strides && tc_view_resolve(c, v, &source, &base, strides) && !(source->data && source->splat)) {
      uint32_t buffer = tc_dense(c, block, source);
      *out = (tc_tensor_t){.buffer = buffer, .dtype = v->dtype, .rank = v->rank, .dims = v->dims, .strides = strides,
                           .offset = base * (int64_t)tt_dtype_bytes(v->dtype)};
      return;
    }
  }
  dense_tensor(c, v, tc_dense(c, block, v), out);
}

static void emit_op(tc_t* c, tc_block_t* block, tc_node_t* node) {
  const tt_k_op_t* kernel = node->kernel;
  uint32_t n = node->in_count, m = node->out_count;
  tc_tensor_t* tensors = TC_ARRAY(c, tc_tensor_t, n + m + 1);
  if (!tensors) return;
  for (uint32_t i = 0; i < n; ++i) operand_tensor(c, block, node->in[i], i < 32 && (kernel->strided_operands >> i & 1), &tensors[i]);
  for (uint32_t i = 0; i < m && tc_ok(c); ++i) dense_tensor(c, &node->out[i], target(c, block, &node->out[i]), &tensors[n + i]);
  uint32_t regions = node->op->region_count;
  tc_region_t** compiled = TC_ARRAY(c, tc_region_t*, regions + 1);
  for (uint32_t i = 0; i < regions && tc_ok(c); ++i) compiled[i] = tc_region_compile(c, block, node, &node->op->regions[i]);
  if (!tc_ok(c)) return;
  tt_k_blob_t blob = {NULL, 0};
  if (kernel->encode) {
    tt_status_t status = kernel->encode(node->op, &c->arena, &blob);
    if (!tt_status_is_ok(status)) { c->status = status; return; }
  }
  size_t scratch = 0;
  if (kernel->scratch_bytes) {
    tt_k_tensor_t* shapes = TC_ARRAY(c, tt_k_tensor_t, n + m + 1);
    if (!shapes) return;
    for (uint32_t i = 0; i < n + m; ++i)
      shapes[i] = (tt_k_tensor_t){.dtype = tensors[i].dtype, .rank = tensors[i].rank, .dims = tensors[i].dims, .strides = tensors[i].strides};
    scratch = kernel->scratch_bytes(blob.data, c->threads, shapes, n, shapes + n, m);
  }
  tc_step_t* step = tc_step_add(c, block, PD_S_OP);
  if (!step) return;
  step->tensors = tensors;
  step->operand_count = n;
  step->result_count = m;
  step->inplace = kernel->inplace;
  step->op.kernel = kernel;
  step->op.blob = blob;
  step->op.regions = compiled;
  step->op.region_count = regions;
  step->op.scratch = scratch ? tc_buffer_add(c, PD_TEMP, (int64_t)scratch, block) : PD_NONE;
  step->op.scratch_bytes = (int64_t)scratch;
  double largest = 0;
  for (uint32_t i = 0; i < n + m; ++i) {
    double elems = 1;
    for (uint32_t d = 0; d < tensors[i].rank; ++d) elems *= (double)tensors[i].dims[d];
    c->bytes_accessed += elems * (double)tt_dtype_bytes(tensors[i].dtype);
    largest = TT_MAX(largest, elems);
  }
  if (node->kind == TT_OP_DOT_GENERAL || node->kind == TT_OP_DOT || node->kind == TT_OP_CONVOLUTION) {
    // 2 * results * contracted: operand elements give the contracted extent of plain products.
    double out = (double)node->out[0].elems, a = (double)node->in[0]->elems, b = (double)node->in[1]->elems;
    c->flops += out > 0 ? 2 * __builtin_sqrt(a * b * out) : 0;
  } else {
    c->flops += largest;
  }
  for (uint32_t i = 0; i < m; ++i) tc_mark_ready(c, &node->out[i]);
}

static void emit_check(tc_t* c, tc_block_t* block, tc_node_t* node) {
  const tt_op_t* op = node->op;
  const tt_attr_t* config = tt_op_attr(op, TT_ATTR_BACKEND_CONFIG);     // text form keeps them in a dictionary
  int64_t code = tt_op_attr_int(op, TT_ATTR_CODE, TT_INVALID_ARGUMENT);
  const char* message = tt_op_attr_text(op, TT_ATTR_MESSAGE);
  if (config && config->kind == TT_AK_DICT) {
    const tt_attr_t* a = tt_attr_find(config->dict.data, config->dict.size, TT_ATTR_CODE);
    if (a && a->kind == TT_AK_INT) code = a->i;
    a = tt_attr_find(config->dict.data, config->dict.size, TT_ATTR_MESSAGE);
    if (a && a->kind == TT_AK_STRING) message = a->text.data;
  }
  tc_tensor_t* tensors = TC_ARRAY(c, tc_tensor_t, node->in_count + 1);
  for (uint32_t i = 0; i < node->in_count && tc_ok(c); ++i) dense_tensor(c, node->in[i], tc_dense(c, block, node->in[i]), &tensors[i]);
  tc_step_t* step = tc_step_add(c, block, PD_S_CHECK);
  if (!step) return;
  step->tensors = tensors + 1;
  step->operand_count = node->in_count - 1;
  step->check.pred = tensors[0].buffer;
  step->check.code = code > 0 && code <= 16 ? (uint32_t)code : TT_INVALID_ARGUMENT;
  step->check.message = message;
  step->check.message_bytes = strlen(message) + 1;
}

static const tt_dense_t* dense_attr(const tt_op_t* op, tt_attr_name_t name) {
  const tt_attr_t* a = tt_op_attr(op, name);
  return a && a->kind == TT_AK_DENSE ? &a->dense : NULL;
}

static void emit_collective(tc_t* c, tc_block_t* block, tc_node_t* node) {
  const tt_op_t* op = node->op;
  pd_collective_step_t s = {.region = PD_NONE, .combine = PD_NONE, .count = node->out_count};
  const tt_attr_t* channel = tt_op_attr(op, TT_ATTR_CHANNEL_HANDLE);
  bool cross = channel && channel->kind == TT_AK_CHANNEL && channel->channel.handle > 0;
  const tt_attr_t* global_attr = tt_op_attr(op, TT_ATTR_USE_GLOBAL_DEVICE_IDS);
  bool global = global_attr && (global_attr->kind == TT_AK_UNIT || (global_attr->kind == TT_AK_BOOL && global_attr->b));
  s.by = cross ? (global ? PD_BY_GLOBAL : PD_BY_BOTH) : PD_BY_REPLICA;
  switch (op->kind) {
    case TT_OP_ALL_REDUCE: s.kind = PD_C_ALL_REDUCE; break;
    case TT_OP_ALL_GATHER: s.kind = PD_C_ALL_GATHER; s.dim = (uint32_t)tt_op_attr_int(op, TT_ATTR_ALL_GATHER_DIM, 0); break;
    case TT_OP_REDUCE_SCATTER: s.kind = PD_C_REDUCE_SCATTER; s.dim = (uint32_t)tt_op_attr_int(op, TT_ATTR_SCATTER_DIMENSION, 0); break;
    case TT_OP_ALL_TO_ALL:
      s.kind = PD_C_ALL_TO_ALL;
      s.split_dim = (uint32_t)tt_op_attr_int(op, TT_ATTR_SPLIT_DIMENSION, 0);
      s.dim = (uint32_t)tt_op_attr_int(op, TT_ATTR_CONCAT_DIMENSION, 0);
      s.split_count = (uint32_t)tt_op_attr_int(op, TT_ATTR_SPLIT_COUNT, 1);
      s.by = cross ? PD_BY_PARTITION : PD_BY_REPLICA;
      break;
    case TT_OP_COLLECTIVE_PERMUTE: s.kind = PD_C_PERMUTE; s.by = cross ? PD_BY_PARTITION : PD_BY_REPLICA; break;
    default: s.kind = PD_C_BROADCAST; s.by = cross ? PD_BY_PARTITION : PD_BY_REPLICA; break;
  }
  if (node->in_count != node->out_count) { tc_fail(c, TT_INVALID_ARGUMENT, "vtpu: %s with unequal operands and results", tt_op_info(op->kind)->name); return; }
  const tt_dense_t* groups = dense_attr(op, s.kind == PD_C_PERMUTE ? TT_ATTR_SOURCE_TARGET_PAIRS : TT_ATTR_REPLICA_GROUPS);
  int64_t* ids = NULL;
  int64_t replicas = TT_MAX(c->options.num_replicas, 1), partitions = TT_MAX(c->options.num_partitions, 1);
  if (groups && groups->type->rank == 2 && groups->type->dims[0] * groups->type->dims[1] > 0) {
    s.group_count = (uint32_t)groups->type->dims[0];
    s.group_size = (uint32_t)groups->type->dims[1];
    int64_t total = groups->type->dims[0] * groups->type->dims[1];
    ids = TC_ARRAY(c, int64_t, total);
    size_t esize = tt_dtype_bytes(groups->type->dtype);
    for (int64_t i = 0; ids && i < total; ++i)
      ids[i] = tt_scalar_load_i64(groups->type->dtype, (const char*)groups->data + (groups->is_splat ? 0 : (size_t)i * esize));
  } else if (s.kind != PD_C_PERMUTE) {  // none: one group of all
    int64_t total = s.by == PD_BY_PARTITION ? partitions : s.by == PD_BY_GLOBAL ? replicas * partitions : replicas;
    s.group_count = 1;
    s.group_size = (uint32_t)total;
    ids = TC_ARRAY(c, int64_t, total);
    for (int64_t i = 0; ids && i < total; ++i) ids[i] = i;
  }
  if (!tc_ok(c)) return;
  if (op->region_count) {
    tt_dtype_t dtype = node->in[0]->dtype;
    tt_op_kind_t kind = tt_region_binary_kind(&op->regions[0]);
    s.dtype = (uint32_t)dtype;
    bool same = true;
    for (uint32_t i = 0; i < node->in_count; ++i) same = same && node->in[i]->dtype == dtype;
    if (kind != TT_OP_INVALID && same && tt_k_binary(kind, dtype)) {
      s.combine = tc_lane_add(c, (pd_lane_t){.cls = PD_LANE_BINARY, .dtype = (uint8_t)dtype, .kind = (uint32_t)kind});
    } else {
      tc_region_t* region = tc_region_compile(c, block, node, &op->regions[0]);
      if (!region) return;
      s.region = region->number;
    }
  }
  uint32_t n = node->in_count;
  tc_tensor_t* tensors = TC_ARRAY(c, tc_tensor_t, 2 * n + 1);
  for (uint32_t i = 0; i < n && tc_ok(c); ++i) dense_tensor(c, node->in[i], tc_dense(c, block, node->in[i]), &tensors[i]);
  for (uint32_t i = 0; i < n && tc_ok(c); ++i) dense_tensor(c, &node->out[i], target(c, block, &node->out[i]), &tensors[n + i]);
  tc_step_t* step = tc_step_add(c, block, PD_S_COLLECTIVE);
  if (!step) return;
  s.number = c->collectives++;
  step->tensors = tensors;
  step->operand_count = step->result_count = n;
  step->collective.data = s;
  step->collective.groups = ids;
  c->can_fail = true;                  // a peer may go away
  for (uint32_t i = 0; i < n; ++i) tc_mark_ready(c, &node->out[i]);
}

// ---- control -----------------------------------------------------------------------------------
static void emit_block(tc_t* c, tc_block_t* block);

// `value` into `buffer`, wherever it is now.
static void store_into(tc_t* c, tc_block_t* block, tc_value_t* value, uint32_t buffer) {
  if (!tc_ok(c) || value->bytes == 0) return;
  if (value->ready && value->buffer == buffer) return;
  if (value->ready) { emit_copy(c, block, value->buffer, buffer, value->bytes); return; }
  tc_loop_store(c, block, value->rank, value->dims, value, 0, NULL, buffer, 0, NULL, false);
}

static void emit_while(tc_t* c, tc_block_t* block, tc_node_t* node) {
  uint32_t n = node->out_count;
  tc_block_t *cond = node->blocks[0], *body = node->blocks[1];
  if (cond->arg_count != n || body->arg_count != n || body->result_count != n || cond->result_count != 1) {
    tc_fail(c, TT_INVALID_ARGUMENT, "vtpu: stablehlo.while: operand, argument and result counts differ");
    return;
  }
  uint32_t* carried = TC_ARRAY(c, uint32_t, n + 1);
  if (!carried) return;
  for (uint32_t i = 0; i < n; ++i) {
    carried[i] = target(c, block, &node->out[i]);
    if (!tc_ok(c)) return;
    c->buffers[carried[i]].pinned = true;
  }
  for (uint32_t i = 0; i < n; ++i) store_into(c, block, node->in[i], carried[i]);
  tc_step_t* step = tc_step_add(c, block, PD_S_WHILE);
  if (!step) return;
  tc_mark_t* until = c->marks;
  for (uint32_t i = 0; i < n; ++i) { cond->args[i]->buffer = carried[i]; cond->args[i]->ready = true; }
  emit_block(c, cond);
  if (!tc_ok(c)) return;
  uint32_t pred = tc_dense(c, cond, cond->results[0]);
  unmark(c, until);
  for (uint32_t i = 0; i < n; ++i) { body->args[i]->buffer = carried[i]; body->args[i]->ready = true; }
  emit_block(c, body);
  if (!tc_ok(c)) return;
  // All next values first, then the carried buffers: a body may swap them.
  uint32_t* next = TC_ARRAY(c, uint32_t, n + 1);
  for (uint32_t i = 0; i < n && tc_ok(c); ++i) {
    tc_value_t* v = body->results[i];
    next[i] = carried[i];
    if (v == body->args[i] || v->bytes == 0) continue;
    next[i] = tc_dense(c, body, v);
    bool is_carried = false;
    for (uint32_t k = 0; k < n; ++k) is_carried = is_carried || (next[i] == carried[k]);
    if (is_carried && next[i] != carried[i]) {
      uint32_t temp = tc_buffer_add(c, PD_TEMP, v->bytes, body);
      emit_copy(c, body, next[i], temp, v->bytes);
      next[i] = temp;
    }
  }
  for (uint32_t i = 0; i < n && tc_ok(c); ++i) emit_copy(c, body, next[i], carried[i], node->out[i].bytes);
  unmark(c, until);
  step->loop_while.pred = pred;
  step->loop_while.cond = cond;
  step->loop_while.body = body;
  for (uint32_t i = 0; i < n; ++i) tc_mark_ready(c, &node->out[i]);
}

static void emit_case(tc_t* c, tc_block_t* block, tc_node_t* node) {
  uint32_t n = node->out_count;
  uint32_t index = tc_dense(c, block, node->in[0]);
  for (uint32_t i = 0; i < n && tc_ok(c); ++i) (void)target(c, block, &node->out[i]);
  tc_step_t* step = tc_step_add(c, block, PD_S_CASE);
  if (!step) return;
  for (uint32_t k = 0; k < node->block_count && tc_ok(c); ++k) {
    tc_block_t* branch = node->blocks[k];
    tc_mark_t* until = c->marks;
    if (branch->result_count != n) { tc_fail(c, TT_INVALID_ARGUMENT, "vtpu: a branch returns %u values, %u expected", branch->result_count, n); return; }
    for (uint32_t i = 0; i < n; ++i) {  // write the results where they belong at once
      tc_value_t* v = branch->results[i];
      if (v->def && v->block == branch && v->buffer == PD_NONE && !v->data && v->def->cls != TC_RESHAPE) v->buffer = node->out[i].buffer;
    }
    emit_block(c, branch);
    for (uint32_t i = 0; i < n && tc_ok(c); ++i) {
      tc_value_t* v = branch->results[i];
      if (!v->ready && v->buffer == node->out[i].buffer) (void)tc_dense(c, branch, v);
      else store_into(c, branch, v, node->out[i].buffer);
    }
    unmark(c, until);
  }
  step->select.index = index;
  step->select.is_if = node->kind == TT_OP_IF;
  step->select.blocks = node->blocks;
  step->select.block_count = node->block_count;
  for (uint32_t i = 0; i < n; ++i) tc_mark_ready(c, &node->out[i]);
}

static void emit_node(tc_t* c, tc_block_t* block, tc_node_t* node) {
  switch (node->cls) {
    case TC_CONSTANT: case TC_IOTA: return;
    case TC_ELEMENTWISE: case TC_RESHAPE: case TC_VIEW: case TC_STRIDED_READ:
      if (node->out[0].dense) (void)tc_dense(c, block, &node->out[0]);
      return;
    case TC_STRIDED_WRITE: emit_strided_write(c, block, node); return;
    case TC_CONCAT: emit_concat(c, block, node); return;
    case TC_PAD: emit_pad(c, block, node); return;
    case TC_REDUCE: emit_reduce(c, block, node); return;
    case TC_OP: emit_op(c, block, node); return;
    case TC_WHILE: emit_while(c, block, node); return;
    case TC_CASE: emit_case(c, block, node); return;
    case TC_CHECK: emit_check(c, block, node); return;
    case TC_COLLECTIVE: emit_collective(c, block, node); return;
    case TC_DEVICE_ID: {
      tc_step_t* step = tc_step_add(c, block, PD_S_DEVICE_ID);
      if (!step) return;
      step->device_id = (pd_device_id_t){.buffer = target(c, block, &node->out[0]), .is_partition = node->kind == TT_OP_PARTITION_ID};
      tc_mark_ready(c, &node->out[0]);
      return;
    }
  }
}

static void emit_block(tc_t* c, tc_block_t* block) {
  for (tc_node_t* node = block->first; node && tc_ok(c); node = node->next) if (node->live) emit_node(c, block, node);
}

// ---- the program -------------------------------------------------------------------------------
static void describe(tc_t* c, const tc_value_t* v, pd_value_t* out) {
  (void)c;
  out->dtype = (uint32_t)v->dtype;
  out->rank = v->rank;
  out->bytes = v->bytes;
  out->alias = out->passthrough = out->donor = -1;
}

// tf.aliasing_output names the result; jax.buffer_donor leaves the choice to us: the first of equal type.
static void read_aliases(tc_t* c) {
  const tt_func_t* func = c->func;
  if (!func->arg_attrs) return;
  for (int pass = 0; pass < 2; ++pass) {
    for (uint32_t p = 0; p < c->main->arg_count; ++p) {
      if (c->params[p].alias >= 0) continue;
      int64_t result = -1;
      const tt_attr_t* a = tt_attr_find(func->arg_attrs[p].data, func->arg_attrs[p].size, pass ? TT_ATTR_BUFFER_DONOR : TT_ATTR_ALIASING_OUTPUT);
      if (!a) continue;
      if (pass == 0) {
        result = a->kind == TT_AK_INT ? a->i : -1;
        if (result < 0 || result >= c->main->result_count) { tc_fail(c, TT_INVALID_ARGUMENT, "vtpu: argument %u aliases result %lld of %u", p, (long long)result, c->main->result_count); return; }
        if (c->results[result].bytes != c->params[p].bytes) { tc_fail(c, TT_INVALID_ARGUMENT, "vtpu: argument %u and its aliased result %lld differ in size", p, (long long)result); return; }
      } else {
        if (a->kind == TT_AK_BOOL && !a->b) continue;
        for (uint32_t r = 0; r < c->main->result_count && result < 0; ++r) {
          const tc_value_t *x = c->main->args[p], *y = c->main->results[r];
          if (c->results[r].alias < 0 && x->dtype == y->dtype && x->rank == y->rank &&
              memcmp(x->dims, y->dims, x->rank * sizeof(int64_t)) == 0) result = r;
        }
      }
      if (result < 0 || c->results[result].alias >= 0) continue;
      c->params[p].alias = (int32_t)result;
      c->results[result].alias = (int32_t)p;
    }
  }
}

void tc_emit(tc_t* c) {
  tc_block_t* main = c->main;
  uint32_t n = main->arg_count, m = main->result_count;
  c->params = TC_ARRAY(c, pd_value_t, n + 1);
  c->results = TC_ARRAY(c, pd_value_t, m + 1);
  if (!tc_ok(c)) return;
  for (uint32_t i = 0; i < n; ++i) {
    describe(c, main->args[i], &c->params[i]);
    uint32_t buffer = tc_buffer_add(c, PD_PARAM, main->args[i]->bytes, NULL);
    if (!tc_ok(c)) return;
    c->buffers[buffer].index = i;
    main->args[i]->buffer = buffer;
    main->args[i]->ready = true;
  }
  uint32_t* buffers = TC_ARRAY(c, uint32_t, m + 1);
  for (uint32_t r = 0; r < m && tc_ok(c); ++r) {
    describe(c, main->results[r], &c->results[r]);
    buffers[r] = tc_buffer_add(c, PD_RESULT, main->results[r]->bytes, NULL);
    if (!tc_ok(c)) return;
    c->buffers[buffers[r]].index = r;
    tc_value_t* v = main->results[r];
    while (v->def && v->def->cls == TC_RESHAPE && v->buffer == PD_NONE && !v->data && v->def->in[0]->block == main) v = v->def->in[0];
    if (v->def && v->block == main && v->buffer == PD_NONE && !v->data && v->bytes == main->results[r]->bytes) v->buffer = buffers[r];
  }
  if (!tc_ok(c)) return;
  read_aliases(c);
  emit_block(c, main);
  for (uint32_t r = 0; r < m && tc_ok(c); ++r) {
    tc_value_t* v = main->results[r];
    if (v->bytes == 0) continue;
    if (!v->ready && (v->buffer == buffers[r] || (v->def && v->def->cls == TC_RESHAPE && v->buffer == PD_NONE))) (void)tc_dense(c, main, v);
    if (!tc_ok(c)) return;
    if (v->ready && v->buffer == buffers[r]) continue;
    const tc_buffer_t* b = v->ready ? &c->buffers[v->buffer] : NULL;
    if (b && b->kind == PD_PARAM && b->bytes == v->bytes) { c->results[r].passthrough = (int32_t)b->index; continue; }
    store_into(c, main, v, buffers[r]);
  }
}
