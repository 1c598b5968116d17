// Runs plans: one loop over steps with an explicit stack of blocks, so that it can stop at a collective and go
// on later.
//
//   begin: allocate results and temporaries, resolve buffers -> resume: steps until DONE or WAIT -> end
//
// Invariants:
//  E1 all memory is there before the first step runs; steps allocate nothing of the device;
//  E2 on an error no result is handed out, and no donated parameter has been written (the planner puts every
//     overwrite behind the last step that can fail);
//  E3 a step that waits has finished its own part; resume polls and never blocks;
//  E4 an execution that ends early fails the rendezvous, so its peers do not wait forever;
//  E5 work that runs behind its caller needs the plan, which it holds, and the addresses of its buffers, no block.
#include "exec/exec.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/strbuf.h"
#include "exec/queue.h"
#include "exec/rendezvous.h"

enum { INLINE_BUFFERS = 64 };

typedef struct frame_s {
  uint32_t block, pc;
  const pd_while_t* loop;             // of a WHILE's condition or body; NULL else
  bool in_cond;
} frame_t;

struct tt_exec_s {
  tt_exec_args_t args;
  const tt_plan_t* plan;
  tt_pool_t* pool;
  void** bases;
  tt_vmem_t* temps;
  tt_vmem_t** results;                // owned until handed out
  uint32_t* rounds;                   // how often each collective has run
  tt_meeting_t* waiting;
  uint32_t depth;
  bool finished, heap;
  frame_t frames[PD_MAX_DEPTH];
};

// ---- single steps ------------------------------------------------------------------------------
static void fill_tensor(const tt_exec_t* e, const pd_tensor_t* t, tt_k_tensor_t* out) {
  const void* bytes = e->plan->bytes;
  out->data = (char*)e->bases[t->buffer] + t->offset;
  out->dtype = (tt_dtype_t)t->dtype;
  out->rank = t->rank;
  out->dims = PD_AT(bytes, t->dims_at, int64_t);
  out->strides = PD_AT(bytes, t->strides_at, int64_t);
}

typedef struct epilogue_s { const tt_plan_t* plan; void* const* bases; const pd_loop_t* loop; } epilogue_t;
static void run_epilogue(const void* self, int64_t first, int64_t rows, int64_t stride, int64_t cols) {
  const epilogue_t* e = self;
  tt_loop_run_block(e->plan, e->bases, e->loop, first, rows, stride, cols);
}

static tt_status_t run_op(tt_exec_t* e, const pd_op_t* op) {
  const tt_plan_t* plan = e->plan;
  uint32_t count = op->operand_count + op->result_count;
  tt_k_tensor_t few[16], *tensors = few;
  tt_region_run_t regions[8];
  const void* region_pointers[8];
  if (op->region_count > 8) return tt_status_create(TT_UNIMPLEMENTED, "vtpu: an op of %u regions", op->region_count);
  if (count > TT_ARRAY_LENGTH(few)) tensors = __builtin_alloca(count * sizeof *tensors);
  const pd_tensor_t* p = PD_AT(plan->bytes, op->tensors_at, pd_tensor_t);
  for (uint32_t i = 0; i < count; ++i) fill_tensor(e, &p[i], &tensors[i]);
  const uint32_t* numbers = PD_AT(plan->bytes, op->regions_at, uint32_t);
  size_t region_scratch = 0;
  for (uint32_t i = 0; i < op->region_count; ++i) {
    regions[i] = (tt_region_run_t){plan, e->bases, tt_plan_region(plan, numbers[i])};
    region_pointers[i] = &regions[i];
    region_scratch = TT_MAX(region_scratch, tt_region_scratch_bytes(regions[i].region));
  }
  const tt_k_op_t* kernel = plan->kernels[op->kernel];
  const void* blob = op->blob_bytes ? (const char*)plan->bytes + op->blob_at : NULL;
  void* scratch = op->scratch == PD_NONE ? NULL : e->bases[op->scratch];
  void* own = NULL;
  int threads = tt_pool_threads(e->pool);
  int limit = tt_pool_limit_get();
  bool fewer = false;
  if (kernel->scratch_bytes && (uint32_t)threads > plan->header->threads) {   // the pool has grown since
    size_t bytes = kernel->scratch_bytes(blob, threads, tensors, op->operand_count, tensors + op->operand_count, op->result_count);
    if ((int64_t)bytes > op->scratch_bytes) {
      tt_status_t refused = tt_alloc_aligned(bytes + 64, 64, &own);
      fewer = !tt_status_is_ok(refused);   // no room for more threads than were planned: go on with those
      if (fewer) tt_pool_limit((int)plan->header->threads);
      else scratch = own;
      tt_status_free(refused);
    }
  }
  const pd_loop_t* loop = op->epilogue_at ? PD_AT(plan->bytes, op->epilogue_at, pd_loop_t) : NULL;
  epilogue_t own_epilogue = {plan, e->bases, loop};
  tt_k_epilogue_t epilogue = {.run = run_epilogue, .self = &own_epilogue};
  tt_k_env_t env = {.pool = e->pool, .scratch = scratch, .epilogue = loop ? &epilogue : NULL, .regions = region_pointers, .region_fn = tt_region_run,
                    .region_scratch_bytes = region_scratch, .region_max_lanes = PD_REGION_LANES};
  tt_status_t status = kernel->run(&env, blob, tensors, op->operand_count, tensors + op->operand_count, op->result_count);
  tt_free(own);
  if (fewer) tt_pool_limit(limit);
  if (loop && !epilogue.taken && tt_status_is_ok(status)) tt_loop_run(plan, e->bases, loop, e->pool);
  return status;
}

static void print_scalar(tt_strbuf_t* out, tt_dtype_t dtype, const void* data) {
  if (dtype == TT_DTYPE_PRED) tt_strbuf_puts(out, *(const uint8_t*)data ? "true" : "false");
  else if (dtype == TT_DTYPE_U64) tt_strbuf_printf(out, "%llu", (unsigned long long)tt_scalar_load_i64(dtype, data));
  else if (tt_dtype_is_integer(dtype)) tt_strbuf_printf(out, "%lld", (long long)tt_scalar_load_i64(dtype, data));
  else tt_strbuf_printf(out, "%.9g", tt_scalar_load_f64(dtype, data));
}

static tt_status_t run_check(tt_exec_t* e, const pd_check_t* check) {
  const tt_plan_t* plan = e->plan;
  if (*(const uint8_t*)e->bases[check->pred]) return TT_OK_STATUS;
  const char* message = (const char*)plan->bytes + check->message_at;
  const pd_tensor_t* values = PD_AT(plan->bytes, check->values_at, pd_tensor_t);
  tt_strbuf_t text;
  tt_strbuf_initialize(&text);
  for (const char* p = message; *p; ++p) {
    if (p[0] == '{' && p[1] >= '0' && p[1] <= '9') {
      uint32_t n = 0;
      const char* q = p + 1;
      while (*q >= '0' && *q <= '9' && n < 1000) n = n * 10 + (uint32_t)(*q++ - '0');
      if (*q == '}' && n < check->value_count) {
        print_scalar(&text, (tt_dtype_t)values[n].dtype, (const char*)e->bases[values[n].buffer] + values[n].offset);
        p = q;
        continue;
      }
    }
    tt_strbuf_putc(&text, *p);
  }
  tt_status_t status = tt_status_create((tt_status_code_t)check->code, "%s", tt_strbuf_text(&text));
  tt_strbuf_deinitialize(&text);
  return status;
}

typedef struct copy_task_s { char* to; const char* from; size_t bytes; } copy_task_t;
enum { COPY_PIECE = 1 << 20 };
static void copy_task(void* self, size_t index) {
  const copy_task_t* c = self;
  size_t at = index * (size_t)COPY_PIECE;
  memcpy(c->to + at, c->from + at, TT_MIN(c->bytes - at, (size_t)COPY_PIECE));
}
static void run_copy(tt_exec_t* e, const pd_copy_t* copy) {
  copy_task_t task = {e->bases[copy->to], e->bases[copy->from], (size_t)copy->bytes};
  if (task.to == task.from) return;    // donated: in place
  tt_pool_run(e->pool, (task.bytes + COPY_PIECE - 1) / COPY_PIECE, copy_task, &task);
}

// ---- the loop ----------------------------------------------------------------------------------
static tt_status_t push(tt_exec_t* e, uint32_t block, const pd_while_t* loop, bool in_cond) {
  if (e->depth >= PD_MAX_DEPTH) return tt_status_create(TT_INTERNAL, "vtpu: control flow nested deeper than %u", PD_MAX_DEPTH);
  e->frames[e->depth++] = (frame_t){block, 0, loop, in_cond};
  return TT_OK_STATUS;
}

static tt_status_t run_step(tt_exec_t* e, const pd_step_t* step, bool* out_wait) {
  const tt_plan_t* plan = e->plan;
  const void* data = (const char*)plan->bytes + step->data_at;
  switch ((pd_step_kind_t)step->kind) {
    case PD_S_LOOP: tt_loop_run(plan, e->bases, data, e->pool); return TT_OK_STATUS;
    case PD_S_REDUCE: tt_reduce_run(plan, e->bases, data, e->pool); return TT_OK_STATUS;
    case PD_S_COPY: run_copy(e, data); return TT_OK_STATUS;
    case PD_S_OP: return run_op(e, data);
    case PD_S_CHECK: return run_check(e, data);
    case PD_S_WHILE: return push(e, ((const pd_while_t*)data)->cond_block, data, true);
    case PD_S_CASE: {
      const pd_case_t* c = data;
      int32_t index;
      if (c->is_if) {
        index = *(const uint8_t*)e->bases[c->index] ? 0 : 1;
      } else {
        memcpy(&index, e->bases[c->index], sizeof index);
        if (index < 0 || (uint32_t)index >= c->block_count) index = (int32_t)c->block_count - 1;
      }
      return push(e, PD_AT(plan->bytes, c->blocks_at, uint32_t)[index], NULL, false);
    }
    case PD_S_DEVICE_ID: {
      const pd_device_id_t* d = data;
      uint32_t id = (uint32_t)(d->is_partition ? e->args.partition_id : e->args.replica_id);
      memcpy(e->bases[d->buffer], &id, sizeof id);
      return TT_OK_STATUS;
    }
    case PD_S_COLLECTIVE: {
      const pd_collective_step_t* s = data;
      TT_RETURN_IF_ERROR(tt_collective_begin(e->args.rendezvous, plan, e->bases, s, e->rounds[s->number]++, e->args.replica_id, e->args.partition_id, e->pool, &e->waiting));
      *out_wait = e->waiting != NULL;
      return TT_OK_STATUS;
    }
    default: return TT_OK_STATUS;
  }
}

static tt_status_t run(tt_exec_t* e, bool* out_wait) {
  const tt_plan_t* plan = e->plan;
  *out_wait = false;
  while (e->depth) {
    frame_t* f = &e->frames[e->depth - 1];
    const pd_block_t* block = &plan->blocks[f->block];
    const pd_step_t* steps = PD_AT(plan->bytes, block->steps_at, pd_step_t);
    uint32_t depth = e->depth;
    while (f->pc < block->step_count && e->depth == depth) {
      const pd_step_t* step = &steps[f->pc++];
      if (step->kind == PD_S_LOOP) { tt_loop_run(plan, e->bases, PD_AT(plan->bytes, step->data_at, pd_loop_t), e->pool); continue; }
      TT_RETURN_IF_ERROR(run_step(e, step, out_wait));
      if (*out_wait) return TT_OK_STATUS;
    }
    if (e->depth != depth) continue;   // entered a block
    if (!f->loop) { --e->depth; continue; }
    f->pc = 0;
    if (f->in_cond) {
      if (*(const uint8_t*)e->bases[f->loop->pred]) { f->in_cond = false; f->block = f->loop->body_block; }
      else --e->depth;
    } else {
      f->in_cond = true;
      f->block = f->loop->cond_block;
    }
  }
  return TT_OK_STATUS;
}

// ---- begin and end -----------------------------------------------------------------------------
static tt_status_t allocate(tt_exec_t* e) {
  const tt_plan_t* plan = e->plan;
  const pd_header_t* h = plan->header;
  const pd_value_t* values = PD_AT(plan->bytes, h->results_at, pd_value_t);
  for (uint32_t r = 0; r < h->result_count; ++r) e->results[r] = NULL;
  for (uint32_t r = 0; r < h->result_count; ++r) {
    const pd_value_t* v = &values[r];
    int32_t keep = v->passthrough;
    if (keep < 0 && v->donor >= 0 && e->args.donated && e->args.donated[v->donor]) keep = v->donor;
    if (keep >= 0) {
      e->results[r] = e->args.parameters[keep];
      tt_vmem_retain(e->results[r]);
      continue;
    }
    TT_RETURN_IF_ERROR(tt_vmem_allocate(e->args.memory, (size_t)v->bytes, &e->results[r]));
  }
  if (h->temp_bytes) TT_RETURN_IF_ERROR(tt_vmem_allocate(e->args.memory, (size_t)h->temp_bytes, &e->temps));
  char* temps = e->temps ? e->temps->data : NULL;
  for (uint32_t i = 0; i < h->buffer_count; ++i) {
    const pd_buffer_t* b = &plan->buffers[i];
    switch (b->kind) {
      case PD_PARAM: e->bases[i] = e->args.parameters[b->index]->data; break;
      case PD_CONST: e->bases[i] = (char*)plan->bytes + h->constants_at + b->offset; break;
      case PD_RESULT: e->bases[i] = e->results[b->index]->data; break;
      default: e->bases[i] = temps + b->offset; break;
    }
  }
  return TT_OK_STATUS;
}

static void drop_results(tt_exec_t* e) {
  for (uint32_t r = 0; r < e->plan->header->result_count; ++r) {
    tt_vmem_release(e->results[r]);
    e->results[r] = NULL;
  }
}

static void initialize(tt_exec_t* e, const tt_exec_args_t* args) {
  e->args = *args;
  e->plan = args->plan;
  e->pool = tt_pool_get();
  e->temps = NULL;
  e->waiting = NULL;
  e->finished = e->heap = false;
  e->depth = 1;
  e->frames[0] = (frame_t){0, 0, NULL, false};
}

static void call_fast(const tt_plan_t* plan, void* out, const void* const* x) {
  size_t n = (size_t)plan->fast.n;
  switch (plan->fast.op) {
    case PD_I_UNARY: ((tt_k_unary_fn_t)plan->fast.fn)(out, x[0], n); break;
    case PD_I_BINARY: ((tt_k_binary_fn_t)plan->fast.fn)(out, x[0], x[1], n); break;
    case PD_I_TERNARY: ((tt_k_ternary_fn_t)plan->fast.fn)(out, x[0], x[1], x[2], n); break;
    case PD_I_COMPOUND: ((tt_k_compound_fn_t)plan->fast.fn)(out, x[0], plan->fast.imm, n); break;
    case PD_I_FILL: tt_k_fill(out, plan->fast.imm, (size_t)plan->fast.esize, n); break;
    default: if (out != x[0]) memcpy(out, x[0], n * (size_t)plan->fast.esize); break;
  }
}

// ---- behind the caller ---------------------------------------------------------------------------
typedef struct fast_entry_s {
  tt_plan_t* plan;
  void* out;
  const void* x[3];
} fast_entry_t;
static void run_fast_entry(void* payload) {
  const fast_entry_t* entry = payload;
  call_fast(entry->plan, entry->out, entry->x);
  tt_plan_release(entry->plan);
}

enum { ENTRY_BUFFERS = (TT_QUEUE_PAYLOAD - sizeof(tt_plan_t*)) / sizeof(void*) };
typedef struct entry_s {
  tt_plan_t* plan;
  void* bases[ENTRY_BUFFERS];
} entry_t;
static_assert(sizeof(entry_t) <= TT_QUEUE_PAYLOAD && sizeof(fast_entry_t) <= TT_QUEUE_PAYLOAD, "Q5");

static void run_entry(void* payload) {
  entry_t* entry = payload;
  tt_exec_t e;
  initialize(&e, &(tt_exec_args_t){.plan = entry->plan});
  e.bases = entry->bases;
  bool wait = false;
  tt_status_t status = run(&e, &wait);
  assert(tt_status_is_ok(status) && !wait && "L5: a plan that may run behind cannot fail");
  tt_status_ignore(status);
  tt_plan_release(entry->plan);
}

static tt_plan_t* hold(const tt_plan_t* plan) {
  tt_plan_t* held = (tt_plan_t*)(uintptr_t)plan;
  tt_plan_retain(held);
  return held;
}

static tt_status_t run_fast(const tt_exec_args_t* args) {
  const tt_plan_t* plan = args->plan;
  const pd_value_t* v = PD_AT(plan->bytes, plan->header->results_at, pd_value_t);
  if (v->donor >= 0 && args->donated && args->donated[v->donor]) {
    args->results[0] = args->parameters[v->donor];
    tt_vmem_retain(args->results[0]);
  } else {
    TT_RETURN_IF_ERROR(tt_vmem_allocate(args->memory, (size_t)v->bytes, &args->results[0]));
  }
  fast_entry_t fast = {.out = args->results[0]->data};
  for (int k = 0; k < 3; ++k) fast.x[k] = plan->fast.param[k] >= 0 ? (const char*)args->parameters[plan->fast.param[k]]->data + plan->fast.offset[k] : NULL;
  if (TT_UNLIKELY(!tt_queue_is_idle())) {   // too small to begin with, but it keeps its place behind others (Q2)
    if (tt_queue_is_useful()) {
      fast.plan = hold(plan);
      *(fast_entry_t*)tt_queue_reserve() = fast;
      tt_queue_commit(run_fast_entry);
      return TT_OK_STATUS;
    }
    tt_queue_drain();
  }
  call_fast(plan, fast.out, fast.x);
  return TT_OK_STATUS;
}

static bool leave_behind(const tt_exec_t* e) {
  const tt_plan_t* plan = e->plan;
  if (!plan->may_run_behind || plan->header->buffer_count > ENTRY_BUFFERS) return false;
  if (tt_queue_is_idle() && !plan->is_worth_it) return false;
  if (!tt_queue_is_useful()) return false;
  tt_plan_t* held = hold(plan);
  entry_t* entry = tt_queue_reserve();
  entry->plan = held;
  memcpy(entry->bases, e->bases, plan->header->buffer_count * sizeof(void*));
  tt_queue_commit(run_entry);
  return true;
}

// ---- one device, without collectives -----------------------------------------------------------
static tt_status_t exec_run(const tt_exec_args_t* args, bool may_leave_behind) {
  const tt_plan_t* plan = args->plan;
  if (TT_LIKELY(plan->fast.on)) return run_fast(args);
  const pd_header_t* h = plan->header;
  if (h->collective_count && args->rendezvous) return tt_status_create(TT_FAILED_PRECONDITION, "tt_exec_run: a plan with collectives on several devices needs begin and resume");
  tt_exec_t e;
  initialize(&e, args);
  e.results = args->results;
  size_t bytes = h->buffer_count * sizeof(void*) + h->collective_count * sizeof(uint32_t);
  void* own = NULL;
  if (bytes <= 32768) e.bases = __builtin_alloca(bytes + 8);
  else {
    tt_status_t failed = tt_alloc(bytes, &own);
    if (!tt_status_is_ok(failed)) { for (uint32_t r = 0; r < h->result_count; ++r) args->results[r] = NULL; return failed; }
    e.bases = own;
  }
  e.rounds = (uint32_t*)(e.bases + h->buffer_count);
  if (h->collective_count) memset(e.rounds, 0, h->collective_count * sizeof *e.rounds);
  tt_status_t status = allocate(&e);
  bool wait = false;
  if (tt_status_is_ok(status) && !(may_leave_behind && leave_behind(&e))) {
    tt_queue_drain();                  // Q2
    status = run(&e, &wait);
  }
  tt_vmem_release(e.temps);
  tt_free(own);
  if (TT_UNLIKELY(!tt_status_is_ok(status))) drop_results(&e);
  return status;
}

tt_status_t tt_exec_submit(const tt_exec_args_t* args) { return exec_run(args, true); }

tt_status_t tt_exec_run(const tt_exec_args_t* args) {
  tt_status_t status = exec_run(args, false);
  tt_queue_drain();                    // a fast plan may have kept its place behind others
  return status;
}

tt_status_t tt_exec_begin(const tt_exec_args_t* args, tt_exec_t** out_exec) {
  const pd_header_t* h = args->plan->header;
  *out_exec = NULL;
  for (uint32_t r = 0; r < h->result_count; ++r) args->results[r] = NULL;
  tt_exec_t* e;
  size_t pointers = ((size_t)h->buffer_count + h->result_count + h->param_count) * sizeof(void*);
  TT_RETURN_IF_ERROR(tt_alloc(sizeof *e + pointers + h->collective_count * sizeof(uint32_t) + h->param_count, (void**)&e));
  initialize(e, args);
  e->heap = true;
  e->bases = (void**)(e + 1);
  e->results = (tt_vmem_t**)(e->bases + h->buffer_count);
  // The caller's arrays need not outlive this call.
  tt_vmem_t** parameters = e->results + h->result_count;
  e->rounds = (uint32_t*)(parameters + h->param_count);
  bool* donated = (bool*)(e->rounds + h->collective_count);
  for (uint32_t i = 0; i < h->param_count; ++i) {
    parameters[i] = args->parameters[i];
    tt_vmem_retain(parameters[i]);
    donated[i] = args->donated && args->donated[i];
  }
  e->args.parameters = parameters;
  e->args.donated = donated;
  tt_plan_retain((tt_plan_t*)(uintptr_t)args->plan);
  tt_status_t status = allocate(e);
  if (!tt_status_is_ok(status)) { tt_exec_end(e); return status; }
  tt_queue_drain();                    // Q2
  *out_exec = e;
  return TT_OK_STATUS;
}

tt_status_t tt_exec_resume(tt_exec_t* e, tt_exec_state_t* out_state) {
  *out_state = TT_EXEC_WAIT;
  if (e->finished) { *out_state = TT_EXEC_DONE; return TT_OK_STATUS; }
  tt_status_t status = TT_OK_STATUS;
  for (;;) {
    bool wait = false;
    if (e->waiting) {
      bool done;
      status = tt_collective_poll(e->args.rendezvous, e->waiting, &done);
      if (!tt_status_is_ok(status)) break;
      if (!done) return TT_OK_STATUS;
      e->waiting = NULL;
    }
    status = run(e, &wait);
    if (!tt_status_is_ok(status)) break;
    if (wait) continue;                // poll at once: it may have been the last to arrive
    e->finished = true;
    for (uint32_t r = 0; r < e->plan->header->result_count; ++r) {
      e->args.results[r] = e->results[r];
      e->results[r] = NULL;
    }
    *out_state = TT_EXEC_DONE;
    return TT_OK_STATUS;
  }
  tt_rendezvous_fail(e->args.rendezvous, tt_status_message(status));
  drop_results(e);
  return status;
}

void tt_exec_end(tt_exec_t* e) {
  if (!e) return;
  if (!e->finished) tt_rendezvous_fail(e->args.rendezvous, "it was ended early");
  drop_results(e);
  tt_vmem_release(e->temps);
  for (uint32_t i = 0; i < e->plan->header->param_count; ++i) tt_vmem_release(e->args.parameters[i]);
  tt_plan_release((tt_plan_t*)(uintptr_t)e->plan);
  tt_free(e);
}
