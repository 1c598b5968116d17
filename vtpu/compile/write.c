// Steps -> plan bytes. The writer grows one block; offsets, never pointers, go into it.
#include "compile/internal.h"

#include <string.h>

#include "base/alloc.h"
#include "exec/pool.h"

typedef struct w_s {
  tc_t* c;
  char* data;
  size_t size, capacity;
} w_t;

static uint32_t reserve(w_t* w, size_t bytes) {
  if (!tc_ok(w->c)) return 0;
  size_t at = tt_align_up(w->size, 8), end = at + bytes;
  if (end > UINT32_MAX / 2) { tc_fail(w->c, TT_RESOURCE_EXHAUSTED, "vtpu: a plan larger than 2 GB"); return 0; }
  if (end > w->capacity) {
    size_t wanted = TT_MAX(end + end / 2, (size_t)2048);
    void* block = w->data;
    tt_status_t status = tt_realloc(wanted, &block);
    if (!tt_status_is_ok(status)) { w->c->status = status; return 0; }
    w->data = block;
    w->capacity = wanted;
  }
  memset(w->data + w->size, 0, end - w->size);
  w->size = end;
  return (uint32_t)at;
}
static uint32_t put(w_t* w, const void* data, size_t bytes) {
  uint32_t at = reserve(w, bytes);
  if (tc_ok(w->c) && bytes) memcpy(w->data + at, data, bytes);
  return at;
}

static uint32_t put_tensors(w_t* w, const tc_tensor_t* tensors, uint32_t count) {
  uint32_t at = reserve(w, count * sizeof(pd_tensor_t));
  for (uint32_t i = 0; i < count && tc_ok(w->c); ++i) {
    const tc_tensor_t* t = &tensors[i];
    pd_tensor_t p = {.buffer = tc_buffer_find(w->c, t->buffer), .dtype = (uint32_t)t->dtype, .rank = t->rank, .offset = t->offset};
    p.dims_at = put(w, t->dims, t->rank * sizeof(int64_t));
    p.strides_at = put(w, t->strides, t->rank * sizeof(int64_t));
    if (tc_ok(w->c)) memcpy(w->data + at + i * sizeof p, &p, sizeof p);
  }
  return at;
}

static uint32_t put_instrs(w_t* w, const tc_instr_t* instrs, uint32_t count, uint32_t rank) {
  uint32_t at = reserve(w, count * sizeof(pd_instr_t));
  for (uint32_t i = 0; i < count && tc_ok(w->c); ++i) {
    pd_instr_t in = instrs[i].data;
    if (in.op == PD_I_IOTA) in.strides_at = put(w, instrs[i].strides, rank * sizeof(int64_t));
    if (tc_ok(w->c)) memcpy(w->data + at + i * sizeof in, &in, sizeof in);
  }
  return at;
}

static uint32_t put_loop(w_t* w, const tc_loop_t* l) {
  uint32_t at = reserve(w, sizeof(pd_loop_t));
  pd_loop_t p = {.rank = l->rank, .mode = (uint32_t)l->mode, .row_dim = l->row_dim, .tile_rows = l->tile_rows,
                 .tile_cols = l->tile_cols, .access_count = l->access_count, .instr_count = l->instr_count,
                 .hoist_count = l->hoist_count, .row_count = l->row_count, .reg_count = l->reg_count, .slot_count = l->slot_count,
                 .slot_bytes = l->slot_bytes, .work = l->work, .elems = l->elems};
  int64_t inner = l->dims[l->rank - 1], outer = l->elems / inner;
  p.col_tiles = (inner + l->tile_cols - 1) / l->tile_cols;
  if (l->mode == PD_MODE_ROW) p.tiles = outer * p.col_tiles;
  else if (l->mode == PD_MODE_ROWS) p.tiles = (outer + l->tile_rows - 1) / l->tile_rows;
  else p.tiles = outer / l->dims[l->row_dim] * ((l->dims[l->row_dim] + l->tile_rows - 1) / l->tile_rows) * p.col_tiles;
  p.dims_at = put(w, l->dims, l->rank * sizeof(int64_t));
  p.accesses_at = reserve(w, l->access_count * sizeof(pd_access_t));
  for (uint32_t i = 0; i < l->access_count && tc_ok(w->c); ++i) {
    const tc_access_t* a = &l->accesses[i];
    pd_access_t x = {.buffer = tc_buffer_find(w->c, a->buffer), .reg = a->reg, .store = a->store, .esize = a->esize,
                     .direct = a->direct, .offset = a->offset};
    x.strides_at = put(w, a->strides, l->rank * sizeof(int64_t));
    if (tc_ok(w->c)) memcpy(w->data + p.accesses_at + i * sizeof x, &x, sizeof x);
  }
  p.instrs_at = put_instrs(w, l->instrs, l->instr_count, l->rank);
  p.slots_at = put(w, l->slots, l->reg_count * sizeof(uint16_t));
  if (tc_ok(w->c)) memcpy(w->data + at, &p, sizeof p);
  return at;
}

static uint32_t find(w_t* w, uint32_t buffer) { return buffer == PD_NONE ? PD_NONE : tc_buffer_find(w->c, buffer); }

typedef struct names_s { const tt_k_op_t** kernels; uint32_t count; } names_t;

static uint32_t kernel_number(names_t* names, const tt_k_op_t* kernel) {
  for (uint32_t i = 0; i < names->count; ++i) if (names->kernels[i] == kernel) return i;
  names->kernels[names->count] = kernel;
  return names->count++;
}

static uint32_t put_step(w_t* w, names_t* names, const tc_step_t* s) {
  tc_t* c = w->c;
  switch (s->kind) {
    case PD_S_LOOP: return put_loop(w, s->loop);
    case PD_S_COPY: {
      pd_copy_t p = {.from = find(w, s->copy.from), .to = find(w, s->copy.to), .bytes = s->copy.bytes};
      return put(w, &p, sizeof p);
    }
    case PD_S_REDUCE: {
      pd_reduce_t p = s->reduce.data;
      p.scratch = find(w, p.scratch);
      p.loop_at = put_loop(w, s->loop);
      p.operands_at = reserve(w, p.count * sizeof(pd_reduce_operand_t));
      for (uint32_t i = 0; i < p.count && tc_ok(c); ++i) {
        pd_reduce_operand_t o = s->reduce.operands[i];
        o.init = find(w, o.init);
        o.out = find(w, o.out);
        memcpy(w->data + p.operands_at + i * sizeof o, &o, sizeof o);
      }
      return put(w, &p, sizeof p);
    }
    case PD_S_OP: {
      pd_op_t p = {.kernel = kernel_number(names, s->op.kernel), .operand_count = s->operand_count, .result_count = s->result_count,
                   .blob_bytes = (uint32_t)s->op.blob.size, .region_count = s->op.region_count,
                   .scratch = find(w, s->op.scratch), .scratch_bytes = s->op.scratch_bytes};
      if (s->loop) p.epilogue_at = put_loop(w, s->loop);
      p.tensors_at = put_tensors(w, s->tensors, s->operand_count + s->result_count);
      p.blob_at = put(w, s->op.blob.data, s->op.blob.size);
      p.regions_at = reserve(w, s->op.region_count * sizeof(uint32_t));
      for (uint32_t i = 0; i < s->op.region_count && tc_ok(c); ++i) memcpy(w->data + p.regions_at + i * sizeof(uint32_t), &s->op.regions[i]->number, sizeof(uint32_t));
      return put(w, &p, sizeof p);
    }
    case PD_S_WHILE: {
      pd_while_t p = {.cond_block = s->loop_while.cond->number, .body_block = s->loop_while.body->number, .pred = find(w, s->loop_while.pred)};
      return put(w, &p, sizeof p);
    }
    case PD_S_CASE: {
      pd_case_t p = {.index = find(w, s->select.index), .is_if = s->select.is_if, .block_count = s->select.block_count};
      p.blocks_at = reserve(w, p.block_count * sizeof(uint32_t));
      for (uint32_t i = 0; i < p.block_count && tc_ok(c); ++i) memcpy(w->data + p.blocks_at + i * sizeof(uint32_t), &s->select.blocks[i]->number, sizeof(uint32_t));
      return put(w, &p, sizeof p);
    }
    case PD_S_CHECK: {
      pd_check_t p = {.pred = find(w, s->check.pred), .code = s->check.code, .message_bytes = (uint32_t)s->check.message_bytes, .value_count = s->operand_count};
      p.message_at = put(w, s->check.message, s->check.message_bytes);
      p.values_at = put_tensors(w, s->tensors, s->operand_count);
      return put(w, &p, sizeof p);
    }
    case PD_S_COLLECTIVE: {
      pd_collective_step_t p = s->collective.data;
      p.tensors_at = put_tensors(w, s->tensors, s->operand_count + s->result_count);
      p.groups_at = put(w, s->collective.groups, (size_t)p.group_count * p.group_size * sizeof(int64_t));
      return put(w, &p, sizeof p);
    }
    case PD_S_DEVICE_ID: {
      pd_device_id_t p = {.buffer = find(w, s->device_id.buffer), .is_partition = s->device_id.is_partition};
      return put(w, &p, sizeof p);
    }
    default: return 0;
  }
}

static void write_header(w_t* w, pd_header_t* h) {
  tc_t* c = w->c;
  h->params_at = reserve(w, c->main->arg_count * sizeof(pd_value_t));
  h->results_at = reserve(w, c->main->result_count * sizeof(pd_value_t));
  for (int k = 0; k < 2; ++k) {
    uint32_t count = k ? c->main->result_count : c->main->arg_count, at = k ? h->results_at : h->params_at;
    for (uint32_t i = 0; i < count && tc_ok(c); ++i) {
      pd_value_t v = k ? c->results[i] : c->params[i];
      v.dims_at = put(w, (k ? c->main->results[i] : c->main->args[i])->dims, v.rank * sizeof(int64_t));
      if (tc_ok(c)) memcpy(w->data + at + i * sizeof v, &v, sizeof v);
    }
  }
}

static void write_blocks(w_t* w, pd_header_t* h, names_t* names) {
  tc_t* c = w->c;
  h->block_count = c->blocks;
  h->blocks_at = reserve(w, c->blocks * sizeof(pd_block_t));
  for (uint32_t b = 0; b < c->blocks && tc_ok(c); ++b) {
    tc_block_t* block = c->block_list[b];
    pd_block_t p = {.step_count = block->step_count};
    p.steps_at = reserve(w, block->step_count * sizeof(pd_step_t));
    uint32_t i = 0;
    for (const tc_step_t* s = block->first_step; s && tc_ok(c) && i < block->step_count; s = s->next, ++i) {
      pd_step_t step = {.kind = (uint32_t)s->kind, .data_at = put_step(w, names, s)};
      if (tc_ok(c)) memcpy(w->data + p.steps_at + i * sizeof step, &step, sizeof step);
    }
    h->step_count += block->step_count;
    if (tc_ok(c)) memcpy(w->data + h->blocks_at + b * sizeof p, &p, sizeof p);
  }
}

static void write_regions(w_t* w, pd_header_t* h) {
  tc_t* c = w->c;
  h->region_count = c->region_count;
  h->regions_at = reserve(w, c->region_count * sizeof(uint32_t));
  uint32_t i = 0;
  for (tc_region_t* r = c->first_region; r && tc_ok(c); r = r->next, ++i) {
    pd_region_t p = r->data;
    p.instrs_at = put_instrs(w, r->instrs, p.instr_count, 0);
    p.slots_at = put(w, r->slots, p.reg_count * sizeof(uint16_t));
    p.types_at = put(w, r->types, p.arg_count + p.result_count);
    p.results_at = put(w, r->results, p.result_count * sizeof(uint16_t));
    for (uint32_t k = 0; k < p.capture_count; ++k) r->captures[k].buffer = find(w, r->captures[k].buffer);
    p.captures_at = put(w, r->captures, p.capture_count * sizeof(pd_access_t));
    uint32_t at = put(w, &p, sizeof p);
    if (tc_ok(c)) memcpy(w->data + h->regions_at + i * sizeof at, &at, sizeof at);
  }
}

static void write_buffers(w_t* w, pd_header_t* h) {
  tc_t* c = w->c;
  h->buffer_count = c->buffer_count;
  h->buffers_at = reserve(w, c->buffer_count * sizeof(pd_buffer_t));
  for (uint32_t i = 0; i < c->buffer_count && tc_ok(c); ++i) {
    const tc_buffer_t* b = &c->buffers[i];
    pd_buffer_t p = {.kind = (uint32_t)b->kind, .index = b->index, .offset = b->offset, .bytes = b->bytes};
    if (b->merged != PD_NONE || (b->kind == PD_TEMP && !b->used)) p = (pd_buffer_t){.kind = PD_TEMP};
    if (b->kind == PD_CONST) {
      h->constant_bytes = (int64_t)tt_align_up((size_t)h->constant_bytes, 64);
      p.offset = h->constant_bytes;
      h->constant_bytes += b->bytes;
    }
    memcpy(w->data + h->buffers_at + i * sizeof p, &p, sizeof p);
  }
}

void tc_write(tc_t* c, void** out_bytes, size_t* out_size) {
  *out_bytes = NULL;
  if (!tc_ok(c)) return;
  w_t w = {.c = c};
  pd_header_t h = {.magic = PD_MAGIC, .version = PD_VERSION, .fingerprint = tt_plan_fingerprint(), .isa = (uint32_t)tt_k_isa(),
                   .param_count = c->main->arg_count, .result_count = c->main->result_count,
                   .collective_count = c->collectives, .threads = (uint32_t)c->threads, .temp_bytes = c->temp_bytes,
                   .flops = c->flops, .bytes_accessed = c->bytes_accessed};
  reserve(&w, sizeof h);
  names_t names = {TC_ARRAY(c, const tt_k_op_t*, c->next_number + 1), 0};
  write_header(&w, &h);
  write_blocks(&w, &h, &names);
  write_regions(&w, &h);
  write_buffers(&w, &h);
  h.lane_count = c->lane_count;
  h.lanes_at = put(&w, c->lanes, c->lane_count * sizeof(pd_lane_t));
  h.kernel_count = names.count;
  h.kernels_at = reserve(&w, names.count * sizeof(uint32_t));
  for (uint32_t i = 0; i < names.count && tc_ok(c); ++i) {
    uint32_t at = put(&w, names.kernels[i]->name, strlen(names.kernels[i]->name) + 1);
    if (tc_ok(c)) memcpy(w.data + h.kernels_at + i * sizeof at, &at, sizeof at);
  }
  if (c->can_fail) h.flags |= PD_FLAG_CAN_FAIL;
  if (c->flops + c->bytes_accessed < 65536 && !c->collectives && c->blocks == 1) h.flags |= PD_FLAG_TINY;
  size_t at = tt_align_up(w.size, 64);
  size_t size = at + tt_align_up((size_t)h.constant_bytes, 64) + 64;
  h.constants_at = (int64_t)at;
  h.size = size;
  void* bytes = NULL;
  if (tc_ok(c)) c->status = tt_alloc_aligned(size, 64, &bytes);
  if (tc_ok(c)) {
    memcpy(w.data, &h, sizeof h);
    memcpy(bytes, w.data, w.size);
    for (uint32_t i = 0; i < c->buffer_count; ++i) {
      const tc_buffer_t* b = &c->buffers[i];
      const pd_buffer_t* p = PD_AT(bytes, h.buffers_at, pd_buffer_t) + i;
      if (b->kind == PD_CONST && b->bytes) memcpy((char*)bytes + at + p->offset, b->data, (size_t)b->bytes);
    }
    *out_bytes = bytes;
    *out_size = size;
  }
  tt_free(w.data);
}
