// Readable listing of a plan.
#include <string.h>

#include "compile/plan_load.h"

static const char* const step_names[] = {"nop", "loop", "copy", "reduce", "op", "while", "case", "check", "collective", "device_id"};
static const char* const instr_names[] = {"load", "store", "move", "fill", "iota", "unary", "binary", "ternary", "reduce_precision",
                                          "compound"};
static const char* const mode_names[] = {"row", "rows", "block"};
static const char* const collective_names[] = {"all_reduce", "all_gather", "reduce_scatter", "all_to_all", "permute", "broadcast"};

static void print_buffer(const tt_plan_t* plan, uint32_t number, tt_strbuf_t* out) {
  if (number == PD_NONE) { tt_strbuf_puts(out, "none"); return; }
  static const char kinds[] = "pctr";
  const pd_buffer_t* b = &plan->buffers[number];
  if (b->kind == PD_PARAM || b->kind == PD_RESULT) tt_strbuf_printf(out, "%c%u", kinds[b->kind], b->index);
  else tt_strbuf_printf(out, "%c[%lld+%lld]", kinds[b->kind], (long long)b->offset, (long long)b->bytes);
}

static void print_dims(const int64_t* dims, uint32_t rank, tt_strbuf_t* out) {
  tt_strbuf_putc(out, '[');
  for (uint32_t d = 0; d < rank; ++d) tt_strbuf_printf(out, "%s%lld", d ? "," : "", (long long)dims[d]);
  tt_strbuf_putc(out, ']');
}

static void print_lane(const tt_plan_t* plan, uint32_t number, tt_strbuf_t* out) {
  const pd_lane_t* lane = PD_AT(plan->bytes, plan->header->lanes_at, pd_lane_t) + number;
  static const char* const directions[] = {"eq", "ne", "lt", "le", "gt", "ge"};
  const char* dtype = tt_dtype_name((tt_dtype_t)lane->dtype);
  switch (lane->cls) {
    case PD_LANE_COMPARE: tt_strbuf_printf(out, "compare.%s.%s", lane->kind < 6 ? directions[lane->kind] : "?", dtype); break;
    case PD_LANE_CONVERT: tt_strbuf_printf(out, "convert.%s.%s", dtype, tt_dtype_name((tt_dtype_t)lane->dtype2)); break;
    case PD_LANE_SELECT: tt_strbuf_printf(out, "select.%u", lane->extra); break;
    case PD_LANE_COMPOUND: tt_strbuf_printf(out, "compound.%s.%s", tt_k_compound_postfix(lane->kind), dtype); break;
    case PD_LANE_CLAMP: tt_strbuf_printf(out, "clamp.%s", dtype); break;
    default: {
      const char* name = tt_op_info((tt_op_kind_t)lane->kind)->name;
      const char* dot = strchr(name, '.');
      tt_strbuf_printf(out, "%s%s.%s", lane->cls == PD_LANE_FOLD ? "fold." : "", dot ? dot + 1 : name, dtype);
    }
  }
}

static void print_instrs(const tt_plan_t* plan, const pd_instr_t* instrs, uint32_t count, uint32_t hoisted, uint32_t by_row, const char* indent, tt_strbuf_t* out) {
  for (uint32_t i = 0; i < count; ++i) {
    const pd_instr_t* in = &instrs[i];
    tt_strbuf_printf(out, "%s  ", indent);
    if (in->dst != PD_NO_REG) tt_strbuf_printf(out, "%%%u = ", in->dst);
    if (in->op == PD_I_UNARY || in->op == PD_I_BINARY || in->op == PD_I_TERNARY || in->op == PD_I_COMPOUND)
      print_lane(plan, in->fn, out);
    else if (in->op == PD_I_LOAD || in->op == PD_I_STORE) tt_strbuf_printf(out, "%s a%u", instr_names[in->op], in->fn);
    else tt_strbuf_puts(out, instr_names[in->op]);
    for (int k = 0; k < 3; ++k) if (in->src[k] != PD_NO_REG) tt_strbuf_printf(out, " %%%u", in->src[k]);
    if (in->op == PD_I_FILL) tt_strbuf_printf(out, " 0x%llx", (unsigned long long)in->imm[0] & (in->esize >= 8 ? ~0ull : (1ull << (in->esize * 8)) - 1));
    tt_strbuf_printf(out, "%s\n", i < hoisted ? "  (once)" : i < hoisted + by_row ? "  (a row)" : "");
  }
}

static void print_loop(const tt_plan_t* plan, const pd_loop_t* l, const char* indent, tt_strbuf_t* out) {
  tt_strbuf_puts(out, " over ");
  print_dims(PD_AT(plan->bytes, l->dims_at, int64_t), l->rank, out);
  tt_strbuf_printf(out, " %s %ux%u slots %u\n", mode_names[l->mode], l->tile_rows, l->tile_cols, l->slot_count);
  const pd_access_t* a = PD_AT(plan->bytes, l->accesses_at, pd_access_t);
  for (uint32_t i = 0; i < l->access_count; ++i) {
    tt_strbuf_printf(out, "%s  a%u: %%%u %s ", indent, i, a[i].reg, a[i].store ? "->" : "<-");
    print_buffer(plan, a[i].buffer, out);
    tt_strbuf_printf(out, "+%lld ", (long long)a[i].offset);
    print_dims(PD_AT(plan->bytes, a[i].strides_at, int64_t), l->rank, out);
    tt_strbuf_printf(out, "%s\n", a[i].direct ? " direct" : "");
  }
  print_instrs(plan, PD_AT(plan->bytes, l->instrs_at, pd_instr_t), l->instr_count, l->hoist_count, l->row_count, indent, out);
}

static void print_tensors(const tt_plan_t* plan, uint32_t at, uint32_t count, tt_strbuf_t* out) {
  const pd_tensor_t* t = PD_AT(plan->bytes, at, pd_tensor_t);
  for (uint32_t i = 0; i < count; ++i) {
    tt_strbuf_puts(out, i ? ", " : " ");
    print_buffer(plan, t[i].buffer, out);
    if (t[i].offset) tt_strbuf_printf(out, "+%lld", (long long)t[i].offset);
    tt_strbuf_printf(out, ":%s", tt_dtype_name((tt_dtype_t)t[i].dtype));
    print_dims(PD_AT(plan->bytes, t[i].dims_at, int64_t), t[i].rank, out);
  }
}

static void print_block(const tt_plan_t* plan, uint32_t number, uint32_t depth, tt_strbuf_t* out) {
  char indent[2 * PD_MAX_DEPTH + 4];
  if (depth > PD_MAX_DEPTH) return;
  memset(indent, ' ', sizeof indent);
  indent[2 * depth] = 0;
  const pd_block_t* block = &plan->blocks[number];
  const pd_step_t* steps = PD_AT(plan->bytes, block->steps_at, pd_step_t);
  for (uint32_t i = 0; i < block->step_count; ++i) {
    const void* data = (const char*)plan->bytes + steps[i].data_at;
    tt_strbuf_printf(out, "%s%s", indent, step_names[steps[i].kind]);
    switch ((pd_step_kind_t)steps[i].kind) {
      case PD_S_LOOP: print_loop(plan, data, indent, out); continue;
      case PD_S_COPY: {
        const pd_copy_t* c = data;
        tt_strbuf_putc(out, ' ');
        print_buffer(plan, c->from, out);
        tt_strbuf_puts(out, " -> ");
        print_buffer(plan, c->to, out);
        break;
      }
      case PD_S_REDUCE: {
        const pd_reduce_t* r = data;
        const pd_reduce_operand_t* o = PD_AT(plan->bytes, r->operands_at, pd_reduce_operand_t);
        tt_strbuf_printf(out, " %s kept %lld reduced %lld inner %lld chunks %u ", r->layout == PD_R_INNER ? "inner" : "outer", (long long)r->kept, (long long)r->reduced, (long long)r->inner, r->chunks);
        if (r->region == PD_NONE) print_lane(plan, r->fold, out); else tt_strbuf_printf(out, "region %u", r->region);
        for (uint32_t k = 0; k < r->count; ++k) { tt_strbuf_printf(out, " %%%u -> ", o[k].reg); print_buffer(plan, o[k].out, out); }
        print_loop(plan, PD_AT(plan->bytes, r->loop_at, pd_loop_t), indent, out);
        continue;
      }
      case PD_S_OP: {
        const pd_op_t* op = data;
        tt_strbuf_printf(out, " %s", plan->kernels[op->kernel]->name);
        print_tensors(plan, op->tensors_at, op->operand_count, out);
        tt_strbuf_puts(out, " ->");
        print_tensors(plan, op->tensors_at + op->operand_count * (uint32_t)sizeof(pd_tensor_t), op->result_count, out);
        if (op->scratch != PD_NONE) tt_strbuf_printf(out, " scratch %lld", (long long)op->scratch_bytes);
        if (!op->epilogue_at) break;
        tt_strbuf_printf(out, "\n%s  epilogue", indent);
        print_loop(plan, PD_AT(plan->bytes, op->epilogue_at, pd_loop_t), indent, out);
        continue;
      }
      case PD_S_WHILE: {
        const pd_while_t* w = data;
        tt_strbuf_puts(out, " ");
        print_buffer(plan, w->pred, out);
        tt_strbuf_puts(out, "\n");
        print_block(plan, w->cond_block, depth + 1, out);
        tt_strbuf_printf(out, "%sdo\n", indent);
        print_block(plan, w->body_block, depth + 1, out);
        continue;
      }
      case PD_S_CASE: {
        const pd_case_t* c = data;
        tt_strbuf_puts(out, " ");
        print_buffer(plan, c->index, out);
        tt_strbuf_puts(out, "\n");
        for (uint32_t k = 0; k < c->block_count; ++k) {
          tt_strbuf_printf(out, "%sbranch %u\n", indent, k);
          print_block(plan, PD_AT(plan->bytes, c->blocks_at, uint32_t)[k], depth + 1, out);
        }
        continue;
      }
      case PD_S_CHECK: {
        const pd_check_t* c = data;
        tt_strbuf_puts(out, " ");
        print_buffer(plan, c->pred, out);
        tt_strbuf_printf(out, " \"%s\"", (const char*)plan->bytes + c->message_at);
        break;
      }
      case PD_S_COLLECTIVE: {
        const pd_collective_step_t* c = data;
        tt_strbuf_printf(out, " %s groups %ux%u", collective_names[c->kind], c->group_count, c->group_size);
        print_tensors(plan, c->tensors_at, 2 * c->count, out);
        break;
      }
      default: break;
    }
    tt_strbuf_putc(out, '\n');
  }
}

void tt_plan_print(const tt_plan_t* plan, tt_strbuf_t* out) {
  const pd_header_t* h = plan->header;
  tt_strbuf_printf(out, "plan: %u parameters, %u results, %u steps, %lld temporary bytes, %lld constant bytes\n", h->param_count, h->result_count, h->step_count, (long long)h->temp_bytes, (long long)h->constant_bytes);
  const pd_value_t* results = PD_AT(plan->bytes, h->results_at, pd_value_t);
  for (uint32_t r = 0; r < h->result_count; ++r) {
    if (results[r].passthrough >= 0) tt_strbuf_printf(out, "r%u is p%d\n", r, results[r].passthrough);
    if (results[r].donor >= 0) tt_strbuf_printf(out, "r%u takes over p%d\n", r, results[r].donor);
  }
  print_block(plan, 0, 0, out);
}
