// Scalar regions (reducers, comparators, ...) as tile programs: one register a value, one lane an element.
#include "compile/internal.h"

#include <string.h>

typedef struct rb_s {
  tc_t* c;
  tc_block_t* block;
  const tc_node_t* node;
  const tt_value_t** values;           // of register r; one value may have several entries
  uint16_t* regs;
  uint32_t count;
  size_t value_capacity, reg_capacity;
  tc_instr_t* instrs;
  size_t instr_capacity;
  uint32_t instr_count, reg_count, capture_count, depth;
  uint8_t esize[PD_MAX_REGS];
  pd_access_t captures[PD_MAX_ACCESSES];
} rb_t;

static void bind(rb_t* b, const tt_value_t* value, uint16_t reg) {
  if (!tc_push(b->c, (void**)&b->values, &b->value_capacity, b->count, sizeof *b->values) ||
      !tc_push(b->c, (void**)&b->regs, &b->reg_capacity, b->count, sizeof *b->regs)) return;
  b->values[b->count] = value;
  b->regs[b->count++] = reg;
}

static uint16_t new_reg(rb_t* b, size_t esize) {
  if (b->reg_count >= PD_MAX_REGS) { tc_fail(b->c, TT_UNIMPLEMENTED, "vtpu: a region has more than %u values", PD_MAX_REGS); return 0; }
  b->esize[b->reg_count] = (uint8_t)esize;
  return (uint16_t)b->reg_count++;
}

static tc_instr_t* new_instr(rb_t* b, pd_instr_op_t op, tt_dtype_t dtype) {
  if (!tc_push(b->c, (void**)&b->instrs, &b->instr_capacity, b->instr_count, sizeof *b->instrs)) return NULL;
  tc_instr_t* i = &b->instrs[b->instr_count++];
  memset(i, 0, sizeof *i);
  i->data.op = (uint8_t)op;
  i->data.esize = (uint8_t)tt_dtype_bytes(dtype);
  i->data.dtype = (uint8_t)dtype;
  i->data.dst = i->data.src[0] = i->data.src[1] = i->data.src[2] = PD_NO_REG;
  return i;
}

static uint16_t fill(rb_t* b, tt_dtype_t dtype, const void* data) {
  tc_instr_t* i = new_instr(b, PD_I_FILL, dtype);
  if (!i) return 0;
  memcpy(i->data.imm, data, tt_dtype_bytes(dtype));
  return i->data.dst = new_reg(b, tt_dtype_bytes(dtype));
}

static uint16_t reg_of(rb_t* b, const tt_value_t* value) {
  for (uint32_t i = b->count; i-- > 0;) if (b->values[i] == value) return b->regs[i];
  for (uint32_t i = 0; i < b->node->capture_count; ++i) {
    if (b->node->capture_from[i] != value) continue;
    tc_value_t* v = b->node->captures[i];
    uint16_t reg;
    if (v->elems != 1) { tc_fail(b->c, TT_UNIMPLEMENTED, "vtpu: a region reads an enclosing tensor that is not a scalar"); return 0; }
    if (v->data) {
      reg = fill(b, v->dtype, v->data);
    } else {
      if (b->capture_count >= PD_MAX_ACCESSES) { tc_fail(b->c, TT_UNIMPLEMENTED, "vtpu: a region reads too many enclosing values"); return 0; }
      reg = new_reg(b, tt_dtype_bytes(v->dtype));
      pd_access_t* a = &b->captures[b->capture_count++];
      memset(a, 0, sizeof *a);
      a->buffer = tc_dense(b->c, b->block, v);
      a->reg = reg;
      a->esize = (uint8_t)tt_dtype_bytes(v->dtype);
      tc_instr_t* i = new_instr(b, PD_I_LOAD, v->dtype);
      if (!i) return 0;
      i->data.dst = reg;
      i->data.fn = b->capture_count - 1;
    }
    bind(b, value, reg);
    return reg;
  }
  tc_fail(b->c, TT_INTERNAL, "vtpu: a region reads an unknown value");
  return 0;
}

static void compile_block(rb_t* b, const tt_block_t* block, uint16_t* out, uint32_t out_count);

static void compile_op(rb_t* b, const tt_op_t* op) {
  tc_t* c = b->c;
  switch (op->kind) {
    case TT_OP_CONSTANT: {
      const tt_attr_t* value = tt_op_attr(op, TT_ATTR_VALUE);
      if (!value || value->kind != TT_AK_DENSE || tt_type_elems(op->results[0].type) != 1) break;
      bind(b, &op->results[0], fill(b, op->results[0].type->dtype, value->dense.data));
      return;
    }
    case TT_OP_RESHAPE: case TT_OP_OPTIMIZATION_BARRIER: case TT_OP_BROADCAST_IN_DIM: case TT_OP_BITCAST_CONVERT:
    case TT_OP_TRANSPOSE:
      for (uint32_t i = 0; i < op->result_count; ++i) {
        if (op->results[i].type->kind == TT_TYPE_TENSOR && tt_type_elems(op->results[i].type) != 1) goto unsupported;
        bind(b, &op->results[i], reg_of(b, op->operands[i]));
      }
      return;
    case TT_OP_FUNC_CALL: case TT_OP_COMPOSITE: {
      bool call = op->kind == TT_OP_FUNC_CALL;
      const tt_func_t* func = tt_module_find_func(c->module, tt_op_attr_text(op, call ? TT_ATTR_CALLEE : TT_ATTR_DECOMPOSITION));
      if (!func || b->depth > 32 || func->body.block.arg_count != op->operand_count) break;
      uint16_t results[64];
      if (op->result_count > 64) break;
      for (uint32_t i = 0; i < op->operand_count; ++i) bind(b, &func->body.block.args[i], reg_of(b, op->operands[i]));
      ++b->depth;
      compile_block(b, &func->body.block, results, op->result_count);
      --b->depth;
      for (uint32_t i = 0; i < op->result_count; ++i) bind(b, &op->results[i], results[i]);
      return;
    }
    default: {
      tc_node_t node;
      memset(&node, 0, sizeof node);
      if (!tc_elementwise_describe(c, op, &node)) break;
      uint16_t src[3] = {PD_NO_REG, PD_NO_REG, PD_NO_REG};
      for (uint32_t i = 0; i < op->operand_count && i < 3; ++i) src[i] = reg_of(b, op->operands[i]);
      tt_dtype_t dtype = op->results[0].type->dtype;
      tc_instr_t* i = new_instr(b, (pd_instr_op_t)node.instr, dtype);
      if (!i) return;
      memcpy(i->data.src, src, sizeof src);
      memcpy(i->data.imm, node.imm, sizeof node.imm);
      i->data.dtype = node.lane.dtype;
      if (node.instr != PD_I_RPREC) i->data.fn = tc_lane_add(c, node.lane);
      uint16_t reg = new_reg(b, tt_dtype_bytes(dtype));
      b->instrs[b->instr_count - 1].data.dst = reg;
      bind(b, &op->results[0], reg);
      return;
    }
  }
unsupported:
  if (tc_ok(c)) tc_fail(c, TT_UNIMPLEMENTED, "vtpu: %s is not supported inside a scalar region", tt_op_info(op->kind)->name);
}

static void compile_block(rb_t* b, const tt_block_t* block, uint16_t* out, uint32_t out_count) {
  for (const tt_op_t* op = block->first; op && tc_ok(b->c); op = op->next) {
    if (op->kind != TT_OP_RETURN && op->kind != TT_OP_FUNC_RETURN) { compile_op(b, op); continue; }
    if (op->operand_count < out_count) { tc_fail(b->c, TT_INVALID_ARGUMENT, "vtpu: a region returns too few values"); return; }
    for (uint32_t i = 0; i < out_count; ++i) out[i] = reg_of(b, op->operands[i]);
  }
}

tc_region_t* tc_region_compile(tc_t* c, tc_block_t* block, const tc_node_t* node, const tt_region_t* region) {
  rb_t* b = TC_NEW(c, rb_t);
  tc_region_t* r = TC_NEW(c, tc_region_t);
  if (!b || !r) return NULL;
  b->c = c;
  b->block = block;
  b->node = node;
  const tt_block_t* body = &region->block;
  for (uint32_t i = 0; i < body->arg_count && tc_ok(c); ++i) bind(b, &body->args[i], new_reg(b, tt_dtype_bytes(body->args[i].type->dtype)));
  uint32_t results = body->last ? body->last->operand_count : 0;
  r->results = TC_ARRAY(c, uint16_t, results + 1);
  if (!tc_ok(c)) return NULL;
  compile_block(b, body, r->results, results);
  if (!tc_ok(c)) return NULL;
  // A result register is the caller's memory: it must be written there and only there.
  for (uint32_t i = 0; i < results; ++i) {
    bool move = r->results[i] < body->arg_count;
    for (uint32_t k = 0; k < i; ++k) move = move || r->results[k] == r->results[i];
    if (!move) continue;
    tc_instr_t* in = new_instr(b, PD_I_MOVE, TT_DTYPE_INVALID);
    if (!in) return NULL;
    in->data.esize = b->esize[r->results[i]];
    in->data.src[0] = r->results[i];
    in->data.dst = new_reg(b, in->data.esize);
    if (!tc_ok(c)) return NULL;
    r->results[i] = b->instrs[b->instr_count - 1].data.dst;
  }
  r->slots = TC_ARRAY(c, uint16_t, b->reg_count + 1);
  if (!tc_ok(c)) return NULL;
  memset(r->slots, 0xff, (b->reg_count + 1) * sizeof *r->slots);
  size_t widest = 1;
  uint32_t slots = 0, free_count = 0;
  uint16_t last[PD_MAX_REGS], free_slots[PD_MAX_REGS];
  bool outside[PD_MAX_REGS] = {false};
  memset(last, 0, sizeof last);
  for (uint32_t i = 0; i < results; ++i) outside[r->results[i]] = true;
  for (uint32_t i = 0; i < body->arg_count; ++i) outside[i] = true;
  for (uint32_t i = 0; i < b->instr_count; ++i)
    for (int k = 0; k < 3; ++k) if (b->instrs[i].data.src[k] != PD_NO_REG) last[b->instrs[i].data.src[k]] = (uint16_t)i;
  for (uint32_t i = 0; i < b->instr_count; ++i) {
    pd_instr_t* in = &b->instrs[i].data;
    if (!outside[in->dst]) {
      r->slots[in->dst] = free_count ? free_slots[--free_count] : (uint16_t)slots++;
      widest = TT_MAX(widest, (size_t)in->esize);
    }
    for (int k = 0; k < 3; ++k) {
      uint16_t s = in->src[k];
      if (s == PD_NO_REG || outside[s] || last[s] != i) continue;
      bool seen = false;
      for (int j = 0; j < k; ++j) seen = seen || in->src[j] == s;
      if (!seen) free_slots[free_count++] = r->slots[s];
    }
  }
  r->types = TC_ARRAY(c, uint8_t, body->arg_count + results + 1);
  if (!r->types) return NULL;
  for (uint32_t i = 0; i < body->arg_count; ++i) r->types[i] = b->esize[i];
  for (uint32_t i = 0; i < results; ++i) r->types[body->arg_count + i] = b->esize[r->results[i]];
  r->instrs = b->instrs;
  r->captures = tt_arena_copy(&c->arena, b->captures, b->capture_count * sizeof *b->captures);
  if (!r->captures) return tc_fail(c, TT_RESOURCE_EXHAUSTED, "out of memory while compiling");
  r->data = (pd_region_t){.arg_count = body->arg_count, .result_count = results, .instr_count = b->instr_count,
                          .reg_count = b->reg_count, .slot_count = slots, .slot_bytes = (uint32_t)(PD_REGION_LANES * widest),
                          .capture_count = b->capture_count};
  r->number = c->region_count++;
  if (c->last_region) c->last_region->next = r; else c->first_region = r;
  c->last_region = r;
  return r;
}
