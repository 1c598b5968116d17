// The compiler's driver, and plans as objects: load, information, (de)serialisation.
//
//   graph -> uses -> emit -> fuse -> place -> write -> load
#include "compile/plan.h"

#include <stdatomic.h>
#include <string.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "compile/internal.h"
#include "compile/plan_load.h"
#include "exec/pool.h"
#include "ir/precision.h"
#include "kernels/reserve.h"

// Op and dtype numbers, struct layouts: a plan made by another build is refused.
uint32_t tt_plan_fingerprint(void) {
  static _Atomic uint32_t cached;
  uint32_t known = atomic_load_explicit(&cached, memory_order_relaxed);   // a pure function's value
  if (known) return known;
  uint64_t h = PD_VERSION;
  for (int k = 0; k < TT_OP_COUNT; ++k) {
    const tt_op_info_t* info = tt_op_info((tt_op_kind_t)k);
    if (info && info->name) h = tt_hash_bytes(h, info->name, strlen(info->name));
  }
  const uint64_t sizes[] = {TT_DTYPE_COUNT, sizeof(pd_header_t), sizeof(pd_loop_t), sizeof(pd_access_t), sizeof(pd_instr_t),
                            sizeof(pd_reduce_t), sizeof(pd_op_t), sizeof(pd_tensor_t), sizeof(pd_collective_step_t)};
  for (size_t i = 0; i < TT_ARRAY_LENGTH(sizes); ++i) h = tt_hash_u64(h, sizes[i]);
  known = (uint32_t)h | 1u;
  atomic_store_explicit(&cached, known, memory_order_relaxed);
  return known;
}

void* tc_lane_resolve(pd_lane_t lane) {
  switch (lane.cls) {
    case PD_LANE_UNARY: return (void*)tt_k_unary((tt_op_kind_t)lane.kind, (tt_dtype_t)lane.dtype);
    case PD_LANE_BINARY: return (void*)tt_k_binary((tt_op_kind_t)lane.kind, (tt_dtype_t)lane.dtype);
    case PD_LANE_COMPARE: return (void*)tt_k_compare((tt_k_compare_t)lane.kind, (tt_dtype_t)lane.dtype, lane.extra != 0);
    case PD_LANE_CONVERT: return (void*)tt_k_convert((tt_dtype_t)lane.dtype, (tt_dtype_t)lane.dtype2);
    case PD_LANE_SELECT: return (void*)tt_k_select(lane.extra);
    case PD_LANE_CLAMP: return (void*)tt_k_clamp((tt_dtype_t)lane.dtype);
    case PD_LANE_FOLD: return (void*)tt_k_fold((tt_op_kind_t)lane.kind, (tt_dtype_t)lane.dtype);
    case PD_LANE_ARGMAX: return (void*)tt_k_argmax((tt_dtype_t)lane.dtype);
    case PD_LANE_ARGMIN: return (void*)tt_k_argmin((tt_dtype_t)lane.dtype);
    case PD_LANE_COMPOUND: return (void*)tt_k_compound(lane.kind);
    default: return NULL;
  }
}

_Static_assert(TT_PLAN_COLLECTIVES == PD_C_KINDS, "plan.h lists the kinds");
static void count_collectives(const tt_plan_t* plan, int64_t* counts) {
  for (uint32_t b = 0; plan->header->collective_count && b < plan->header->block_count; ++b) {
    const pd_step_t* steps = tt_plan_steps(plan, b);
    for (uint32_t i = 0; i < plan->blocks[b].step_count; ++i) {
      if (steps[i].kind != PD_S_COLLECTIVE) continue;
      ++counts[PD_AT(plan->bytes, steps[i].data_at, pd_collective_step_t)->kind];
    }
  }
}

static void find_fast(tt_plan_t* plan) {
  const pd_header_t* h = plan->header;
  if (h->block_count != 1 || plan->blocks[0].step_count != 1 || h->result_count != 1 || h->temp_bytes || h->collective_count) return;
  const pd_step_t* step = tt_plan_steps(plan, 0);
  if (step->kind != PD_S_LOOP || plan->results[0].bytes == 0 || PD_AT(plan->bytes, h->results_at, pd_value_t)->passthrough >= 0) return;
  const pd_loop_t* l = PD_AT(plan->bytes, step->data_at, pd_loop_t);
  int64_t n = PD_AT(plan->bytes, l->dims_at, int64_t)[0];
  if (l->rank != 1 || l->mode != PD_MODE_ROW || l->instr_count != 1 || l->hoist_count || l->row_count || l->slot_count || n > l->tile_cols) return;
  if (l->elems * (int64_t)l->work > 32768) return;
  const pd_instr_t* in = PD_AT(plan->bytes, l->instrs_at, pd_instr_t);
  bool calls_lane = in->op == PD_I_UNARY || in->op == PD_I_BINARY || in->op == PD_I_TERNARY || in->op == PD_I_COMPOUND;
  if (!calls_lane && in->op != PD_I_FILL && in->op != PD_I_MOVE) return;
  for (int k = 0; k < 3; ++k) plan->fast.param[k] = -1;
  const pd_access_t* a = PD_AT(plan->bytes, l->accesses_at, pd_access_t);
  uint32_t sources = in->op == PD_I_TERNARY ? 3 : in->op == PD_I_BINARY ? 2 : in->op == PD_I_FILL ? 0 : 1;
  bool stored = false;
  for (uint32_t i = 0; i < l->access_count; ++i) {
    const pd_buffer_t* b = &plan->buffers[a[i].buffer];
    if (!a[i].direct) return;
    if (a[i].store) {
      if (b->kind != PD_RESULT || a[i].offset || a[i].reg != in->dst) return;
      stored = true;
      continue;
    }
    if (b->kind != PD_PARAM) return;
    for (uint32_t k = 0; k < sources; ++k) {
      if (in->src[k] != a[i].reg) continue;
      plan->fast.param[k] = (int32_t)b->index;
      plan->fast.offset[k] = a[i].offset;
    }
  }
  for (uint32_t k = 0; k < sources; ++k) if (plan->fast.param[k] < 0) return;
  if (!stored) return;
  plan->fast.op = in->op;
  plan->fast.fn = calls_lane ? plan->lanes[in->fn] : NULL;
  plan->fast.n = n;
  plan->fast.esize = in->esize;
  memcpy(plan->fast.imm, in->imm, sizeof plan->fast.imm);
  plan->fast.on = true;
}

// L5; control flow is left out because its depth is checked while it runs.
static bool cannot_fail(const tt_plan_t* plan) {
  const pd_header_t* h = plan->header;
  if (h->block_count != 1 || h->collective_count) return false;
  const pd_step_t* steps = tt_plan_steps(plan, 0);
  for (uint32_t i = 0; i < plan->blocks[0].step_count; ++i) {
    if (steps[i].kind == PD_S_LOOP || steps[i].kind == PD_S_REDUCE || steps[i].kind == PD_S_COPY) continue;
    if (steps[i].kind != PD_S_OP) return false;
    const pd_op_t* op = PD_AT(plan->bytes, steps[i].data_at, pd_op_t);
    const tt_k_op_t* kernel = plan->kernels[op->kernel];
    if (op->region_count || tt_k_op_can_fail(kernel)) return false;
  }
  return true;
}

// What a caller saves must exceed what two threads lose by handing the program over, about 1 us; below 10 us of
// estimated work it runs at once.
static bool is_worth_it(const pd_header_t* h) { return h->flops / 30e9 + h->bytes_accessed / 10e9 > 10e-6; }

tt_status_t tt_plan_load(void* bytes, size_t size, bool trusted, tt_plan_t** out_plan) {
  *out_plan = NULL;
  tt_plan_t* plan = NULL;
  tt_status_t status = trusted ? TT_OK_STATUS : tt_plan_validate(bytes, size);
  const pd_header_t* h = bytes;
  size_t values = 0;
  if (tt_status_is_ok(status)) {
    values = (size_t)h->param_count + h->result_count;
    size_t total = sizeof *plan + (h->lane_count + h->kernel_count) * sizeof(void*) + values * sizeof(tt_plan_value_t);
    status = tt_alloc(total, (void**)&plan);
  }
  if (!tt_status_is_ok(status)) { tt_free(bytes); return status; }
  plan->references = 1;
  plan->bytes = bytes;
  plan->size = size;
  plan->header = h;
  plan->buffers = PD_AT(bytes, h->buffers_at, pd_buffer_t);
  plan->blocks = PD_AT(bytes, h->blocks_at, pd_block_t);
  plan->parameters = (tt_plan_value_t*)(plan + 1);
  plan->results = plan->parameters + h->param_count;
  plan->lanes = (void**)(plan->parameters + values);
  plan->kernels = (const tt_k_op_t**)(plan->lanes + h->lane_count);
  const pd_lane_t* lanes = PD_AT(bytes, h->lanes_at, pd_lane_t);
  for (uint32_t i = 0; i < h->lane_count && tt_status_is_ok(status); ++i) {
    plan->lanes[i] = tc_lane_resolve(lanes[i]);
    if (!plan->lanes[i]) status = tt_status_create(TT_UNIMPLEMENTED, "vtpu: lane kernel %u.%u.%u is not in this build", lanes[i].cls, lanes[i].kind, lanes[i].dtype);
  }
  const uint32_t* names = PD_AT(bytes, h->kernels_at, uint32_t);
  for (uint32_t i = 0; i < h->kernel_count && tt_status_is_ok(status); ++i) {
    plan->kernels[i] = tt_k_op_by_name((const char*)bytes + names[i]);
    if (!plan->kernels[i]) status = tt_status_create(TT_UNIMPLEMENTED, "vtpu: kernel %s is not in this build", (const char*)bytes + names[i]);
  }
  for (size_t i = 0; i < values; ++i) {
    bool is_param = i < h->param_count;
    const pd_value_t* v = is_param ? PD_AT(bytes, h->params_at, pd_value_t) + i : PD_AT(bytes, h->results_at, pd_value_t) + (i - h->param_count);
    plan->parameters[i] = (tt_plan_value_t){.dtype = (tt_dtype_t)v->dtype, .rank = v->rank, .dims = PD_AT(bytes, v->dims_at, int64_t), .bytes = v->bytes, .alias = v->alias};
  }
  plan->info = (tt_plan_info_t){.parameter_count = h->param_count, .result_count = h->result_count, .parameters = plan->parameters,
                                .results = plan->results, .temp_bytes = h->temp_bytes, .constant_bytes = h->constant_bytes,
                                .plan_bytes = (int64_t)size, .step_count = h->step_count, .flops = h->flops,
                                .bytes_accessed = h->bytes_accessed, .has_collectives = h->collective_count > 0,
                                .is_tiny = (h->flags & PD_FLAG_TINY) != 0};
  if (tt_status_is_ok(status)) {
    count_collectives(plan, plan->info.collectives);
    find_fast(plan);
    plan->may_run_behind = cannot_fail(plan);
    plan->is_worth_it = is_worth_it(h);
    *out_plan = plan;
    return TT_OK_STATUS;
  }
  tt_plan_release(plan);
  return status;
}

static int64_t module_count(const tt_module_t* module, tt_attr_name_t name) {
  const tt_attr_t* a = tt_attr_find(module->attrs.data, module->attrs.size, name);
  return a && a->kind == TT_AK_INT ? a->i : 0;
}

tt_status_t tt_plan_compile(const tt_module_t* module, const tt_plan_options_t* options, tt_plan_t** out_plan) {
  *out_plan = NULL;
  tt_module_t* rounded = NULL;
  if (options && options->matmul_passes) {
    TT_RETURN_IF_ERROR(tt_module_round_products(module, options->matmul_passes, &rounded));
    module = rounded;
  }
  tc_t c;
  memset(&c, 0, sizeof c);
  tt_arena_initialize(&c.arena);
  c.module = module;
  if (options) c.options = *options;
  if (c.options.num_replicas <= 0) c.options.num_replicas = (int)TT_MAX(module_count(module, TT_ATTR_NUM_REPLICAS), (int64_t)1);
  if (c.options.num_partitions <= 0) c.options.num_partitions = (int)TT_MAX(module_count(module, TT_ATTR_NUM_PARTITIONS), (int64_t)1);
  c.threads = tt_pool_size(tt_pool_get());   // whatever this thread's limit
  tc_graph_build(&c);
  if (tc_ok(&c)) tc_uses_decide(&c);
  if (tc_ok(&c)) tc_emit(&c);
  tc_fuse(&c);
  tc_place(&c);
  void* bytes;
  size_t size;
  tc_write(&c, &bytes, &size);
  tt_status_t status = c.status;
  tt_arena_deinitialize(&c.arena);
  tt_module_release(rounded);
#ifdef TT_DEBUG
  if (tt_status_is_ok(status)) status = tt_plan_validate(bytes, size);
  if (!tt_status_is_ok(status)) { tt_free(bytes); bytes = NULL; }
#endif
  return tt_status_is_ok(status) ? tt_plan_load(bytes, size, true, out_plan) : status;
}

void tt_plan_retain(tt_plan_t* plan) {
  if (plan) __atomic_fetch_add(&plan->references, 1, __ATOMIC_RELAXED);   // the caller holds one already
}

void tt_plan_release(tt_plan_t* plan) {
  // acq_rel: the last holder sees all uses of the others
  if (!plan || __atomic_sub_fetch(&plan->references, 1, __ATOMIC_ACQ_REL) > 0) return;
  tt_free(plan->bytes);
  tt_free(plan);
}

const tt_plan_info_t* tt_plan_info(const tt_plan_t* plan) { return &plan->info; }

tt_status_t tt_plan_serialise(const tt_plan_t* plan, void** out_bytes, size_t* out_size) {
  *out_size = 0;
  TT_RETURN_IF_ERROR(tt_alloc(plan->size, out_bytes));
  memcpy(*out_bytes, plan->bytes, plan->size);
  pd_header_t* h = *out_bytes;
  h->checksum = tt_hash_bytes(PD_MAGIC, (const char*)*out_bytes + sizeof *h, plan->size - sizeof *h);
  *out_size = plan->size;
  return TT_OK_STATUS;
}

tt_status_t tt_plan_deserialise(const void* bytes, size_t size, tt_plan_t** out_plan) {
  *out_plan = NULL;
  pd_header_t h;
  if (size < sizeof h) return tt_status_create(TT_DATA_LOSS, "plan: %zu bytes, fewer than a header", size);
  memcpy(&h, bytes, sizeof h);
  if (h.magic != PD_MAGIC || h.version != PD_VERSION || h.fingerprint != tt_plan_fingerprint()) return tt_status_create(TT_FAILED_PRECONDITION, "plan: made by another build");
  if (h.isa != (uint32_t)tt_k_isa()) return tt_status_create(TT_FAILED_PRECONDITION, "plan: made for %s, this runs %s", h.isa < TT_ISA_COUNT ? tt_k_isa_name((tt_isa_t)h.isa) : "another ISA", tt_k_isa_name(tt_k_isa()));
  if (h.size != size) return tt_status_create(TT_DATA_LOSS, "plan: %zu bytes, its header says %llu", size, (unsigned long long)h.size);
  if (h.checksum != tt_hash_bytes(PD_MAGIC, (const char*)bytes + sizeof h, size - sizeof h)) return tt_status_create(TT_DATA_LOSS, "plan: checksum differs");
  void* copy;
  TT_RETURN_IF_ERROR(tt_alloc_aligned(size, 64, &copy));
  memcpy(copy, bytes, size);
  return tt_plan_load(copy, size, false, out_plan);
}
