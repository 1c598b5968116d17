#include "eager/executable.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "eager/scalar.h"
#include "eager/stream.h"
#include "eager/trace.h"
#include "lower/lower.h"

static _Atomic int64_t executions;
static _Atomic(tt_reserve_random_t) reserve_callback;

int64_t tt_eager_executions(void) { return atomic_load_explicit(&executions, memory_order_relaxed); }

void tt_eager_program_retain(void* value) {
  // relaxed: the caller already has a way to the object
  atomic_fetch_add_explicit(&((tt_eager_program_t*)value)->references, 1, memory_order_relaxed);
}

void tt_eager_program_release(void* value) {
  tt_eager_program_t* program = value;
  // acq_rel: the last holder sees every write of the others before it frees
  if (!program || atomic_fetch_sub_explicit(&program->references, 1, memory_order_acq_rel) != 1) return;
  tt_rt_executable_release(program->executable);
  tt_rt_note_release(program->note);
  tt_free(program);
}

// ---- random words ------------------------------------------------------------------------------
void tt_set_reserve_random(tt_reserve_random_t reserve) {
  atomic_store_explicit(&reserve_callback, reserve, memory_order_release);
}

void tt_random_reserve(void* generator, int device, uint64_t words, uint64_t* out_seed,
                       uint64_t* out_offset) {
  tt_reserve_random_t reserve = atomic_load_explicit(&reserve_callback, memory_order_acquire);
  if (reserve) {
    reserve(generator, device, words, out_seed, out_offset);
    return;
  }
  static _Atomic uint64_t offset;   // without a host framework: one stream of the process, seed 0
  *out_seed = 0;
  *out_offset = atomic_fetch_add_explicit(&offset, words, memory_order_relaxed);
}

// ---- running -----------------------------------------------------------------------------------
static tt_status_t reserve_run(tt_frame_t* frame, const tt_eager_program_t* program) {
#define ROOM(field, capacity, count)                                                                        \
  do {                                                                                                      \
    if (TT_UNLIKELY(frame->capacity < (count))) {                                                           \
      TT_RETURN_IF_ERROR(tt_grow((void**)&frame->field, &frame->capacity, (count), sizeof(*frame->field))); \
    }                                                                                                       \
  } while (0)
  ROOM(inputs, input_capacity, program->param_count + 1u);
  ROOM(donate, donate_capacity, program->param_count + 1u);
  ROOM(temporaries, temporary_capacity, program->param_count + 1u);
  ROOM(outputs, output_capacity, program->output_count + 1u);
  ROOM(dead, dead_capacity, program->output_count + 1u);
  ROOM(fresh, fresh_capacity, program->result_count + 1u);
#undef ROOM
  return TT_OK_STATUS;
}

// 0-d parameter `param` of this call; retained for the caller.
static tt_status_t scalar_input(tt_frame_t* frame, const tt_param_t* param, const tt_pad_number_t* numbers,
                                uint64_t seed, uint64_t offset, tt_rt_buffer_t** out_buffer) {
  unsigned char data[16];
  switch ((tt_param_kind_t)param->kind) {
    case TT_PARAM_SCALAR: {
      const tt_scalar_t* scalar =
          frame->scalars ? &frame->scalars[param->index] : &frame->call->args[param->index].scalar;
      const tt_aten_info_t* info = frame->call ? tt_aten_info(frame->call->op) : NULL;
      const char* op = info ? info->functional[0] ? info->functional : info->inplace : NULL;
      // x[i] = number fills a 0-d view; the CPU stores what the number rounds to in a 16-bit float.
      bool stores = op && strncmp(op, "fill", 4) == 0 && frame->view_count && frame->views[0]->rank == 0 &&
                    tt_dtype_is_float(param->dtype) && tt_dtype_bytes(param->dtype) == 2;
      if (!stores) TT_RETURN_IF_ERROR(tt_l_scalar_check(op, scalar, param->dtype));
      tt_scalar_encode(scalar, param->dtype, data);
      break;
    }
    case TT_PARAM_HOST: {
      const tt_tensor_t* view = frame->views[param->index];
      if (view->dtype == param->dtype) {
        return tt_scalar_buffer(frame->engine, frame->device, param->dtype, view->host_scalar, out_buffer);
      }
      double value[2];   // a 64-bit Python number on a device without f64
      tt_scalar_load_complex(view->dtype, view->host_scalar, value);
      tt_scalar_store_complex(param->dtype, value, data);
      break;
    }
    case TT_PARAM_SEED: memcpy(data, &seed, 8); break;
    case TT_PARAM_OFFSET:
      memcpy(data, &offset, 8);
      return tt_scalar_buffer_uncached(frame->engine, frame->device, TT_DTYPE_U64, data, out_buffer);
    case TT_PARAM_NUMBER:
      return tt_scalar_buffer(frame->engine, frame->device, param->dtype, numbers[param->index].data, out_buffer);
    default: return tt_status_create(TT_INTERNAL, "parameter kind %d", param->kind);
  }
  return tt_scalar_buffer(frame->engine, frame->device, param->dtype, data, out_buffer);
}

// D3: a whole overwrite heals. The plugin would give the error of an old value, although the program does not
// use it: where it is known to have failed, zeros go in. NULL: it has not.
static tt_status_t stand_in(tt_frame_t* frame, tt_rt_buffer_t* buffer, tt_rt_buffer_t** out_buffer) {
  *out_buffer = NULL;
  tt_rt_event_t* event = NULL;
  bool is_done = true;
  tt_status_t failure = tt_rt_buffer_ready_event(buffer, &event);
  if (tt_status_is_ok(failure) && event) failure = tt_rt_event_poll(event, &is_done);
  tt_rt_event_release(event);
  if (tt_status_is_ok(failure)) return TT_OK_STATUS;
  tt_status_ignore(failure);   // what was read raised it; this call does not
  size_t bytes = tt_rt_buffer_bytes(buffer);
  void* zeros = NULL;
  TT_RETURN_IF_ERROR(tt_alloc(bytes ? bytes : 1, &zeros));
  memset(zeros, 0, bytes);
  tt_status_t status =
      tt_rt_buffer_from_host(frame->engine->client, (size_t)frame->device, tt_rt_buffer_dtype(buffer),
                             tt_rt_buffer_rank(buffer), tt_rt_buffer_dims(buffer), zeros, out_buffer);
  tt_free(zeros);
  return status;
}

static tt_status_t gather_inputs(tt_frame_t* frame, const tt_eager_program_t* program,
                                 size_t* out_temporaries) {
  uint64_t seed = 0, offset = 0;
  if (program->random_words)
    tt_random_reserve(frame->generator, frame->device, program->random_words, &seed, &offset);
  bool allow_donation = tt_setting_get(TT_SETTING_SAFE_INPLACE) == 0;
  for (uint32_t i = 0; i < program->param_count; ++i) {
    const tt_param_t* param = &program->params[i];
    if (TT_LIKELY(param->kind == TT_PARAM_STORAGE)) {
      const tt_storage_t* cell = frame->storages[param->index];
      frame->inputs[i] = cell->buffer;
      frame->donate[i] = param->may_donate && allow_donation && cell->holds == 0 &&   // E6
                         (TT_LIKELY(!cell->is_shared) || tt_rt_buffer_is_sole(cell->buffer));
      if (TT_UNLIKELY(param->is_unread)) {
        tt_rt_buffer_t* zeros = NULL;
        TT_RETURN_IF_ERROR(stand_in(frame, cell->buffer, &zeros));
        if (!zeros) continue;
        frame->inputs[i] = frame->temporaries[(*out_temporaries)++] = zeros;
      }
      continue;
    }
    TT_RETURN_IF_ERROR(scalar_input(frame, param, program->numbers, seed, offset, &frame->inputs[i]));
    frame->donate[i] = false;
    frame->temporaries[(*out_temporaries)++] = frame->inputs[i];
  }
  return TT_OK_STATUS;
}

static tt_status_t allocate_results(tt_frame_t* frame, const tt_eager_program_t* program) {
  memset(frame->fresh, 0, program->result_count * sizeof(*frame->fresh));
  for (uint32_t i = 0; i < program->result_count; ++i) {
    if (program->results[i].kind != TT_RESULT_TENSOR) continue;
    tt_status_t status = tt_storage_allocate(frame->device, program->results[i].bytes, &frame->fresh[i]);
    if (tt_status_is_ok(status)) continue;
    while (i-- > 0) tt_storage_release(frame->fresh[i]);
    return status;
  }
  return TT_OK_STATUS;
}

// Steps that cannot fail (X4).
static void publish(tt_frame_t* frame, const tt_eager_program_t* program, tt_result_t* results) {
  for (uint32_t i = 0; i < program->output_count; ++i) {
    const tt_output_t* output = &program->outputs[i];
    tt_storage_t* cell = output->is_storage ? frame->storages[output->index] : frame->fresh[output->index];
    tt_rt_buffer_t* before =
        tt_cell_bind(cell, frame->outputs[i], output->dtype, output->rank, output->dims, program->name);
    assert((!output->padded || frame->engine->target.slow_compiles) && "E10");
    cell->padded = output->padded;
    if (before) frame->dead[frame->dead_count++] = before;
  }
  for (uint32_t i = 0; i < program->result_count; ++i) {
    const tt_eager_result_t* from = &program->results[i];
    tt_result_t* to = &results[i];
    to->kind = from->kind;
    to->storage = frame->fresh[i];
    to->integer = from->integer;
    to->dtype = from->dtype;
    to->rank = from->rank;
    for (size_t d = 0; d < from->rank; ++d) {
      to->sizes[d] = from->sizes[d];
      to->strides[d] = from->strides[d];
    }
  }
}

// Foreign plugins run behind our back: the stream is busy until the results are there.
static void remember_work(tt_frame_t* frame, const tt_eager_program_t* program) {
  if (TT_LIKELY(frame->engine->is_vtpu) || !program->output_count) return;
  // outputs of one program become ready together
  tt_stream_add_buffer(&frame->engine->devices[frame->device], tt_stream_current(frame->device),
                       frame->outputs[0]);
}

// The call's words for errors that its results may carry. A copy speaks of what it copied.
static void note_results(tt_frame_t* frame, const tt_eager_program_t* program) {
  tt_rt_note_t *note = program->note, *own = NULL;
  if (TT_LIKELY(frame->engine->is_vtpu) || !note) return;
  const tt_storage_t* source = NULL;
  if (frame->call && frame->call->op == TT_EAGER_OP_COPY) source = frame->views[1]->storage;
  if (source && source->buffer && tt_rt_buffer_note(source->buffer)) {
    note = tt_rt_buffer_note(source->buffer);
  } else if (frame->location[0]) {
    tt_strbuf_t text;
    tt_strbuf_initialize(&text);
    tt_strbuf_printf(&text, "%s%s", tt_rt_note_text(note), frame->location);
    tt_status_ignore(tt_rt_note_create(tt_strbuf_text(&text), &own));   // without memory: no position
    tt_strbuf_deinitialize(&text);
    if (own) note = own;
  }
  for (uint32_t i = 0; i < program->output_count; ++i) tt_rt_buffer_set_note(frame->outputs[i], note);
  tt_rt_note_release(own);
}

// Debug mode: the op's own error, now. Outputs are released when one failed.
static tt_status_t await_outputs(tt_frame_t* frame, const tt_eager_program_t* program) {
  tt_status_t status = TT_OK_STATUS;
  for (uint32_t i = 0; i < program->output_count; ++i) {
    status = tt_status_join(status, tt_rt_buffer_await(frame->outputs[i]));
  }
  if (tt_status_is_ok(status)) return status;
  // the storages keep what they had; where the plugin has consumed that, it gives this error from now on (D3)
  tt_rt_buffers_consumed(program->param_count, frame->inputs, frame->donate, status);
  for (uint32_t i = 0; i < program->output_count; ++i) tt_rt_buffer_release(frame->outputs[i]);
  return status;
}

tt_status_t tt_eager_program_run(tt_eager_program_t* program, tt_frame_t* frame, tt_result_t* results) {
  TT_RETURN_IF_ERROR(reserve_run(frame, program));
  TT_RETURN_IF_ERROR(allocate_results(frame, program));
  size_t temporaries = 0;
  tt_status_t status = gather_inputs(frame, program, &temporaries);
  int64_t begin = 0;
  if (TT_UNLIKELY(tt_trace_is_on())) {   // on vtpu the program's own time, without those before it
    tt_rt_client_synchronize(frame->engine->client);
    begin = tt_clock_ns();
  }
  if (tt_status_is_ok(status) && program->executable) {
    status = tt_rt_execute(program->executable, program->param_count, frame->inputs, frame->donate,
                           program->output_count, frame->outputs);
  }
  if (TT_UNLIKELY(tt_setting_get(TT_SETTING_DEBUG)) && tt_status_is_ok(status) && program->executable) {
    status = await_outputs(frame, program);
  }
  for (size_t i = 0; i < temporaries; ++i) tt_rt_buffer_release(frame->temporaries[i]);
  if (TT_UNLIKELY(!tt_status_is_ok(status))) {
    for (uint32_t i = 0; i < program->result_count; ++i) tt_storage_release(frame->fresh[i]);
    if (tt_status_code(status) == TT_RESOURCE_EXHAUSTED)
      status = tt_cell_out_of_memory(frame->device, status);
    return status;
  }
  if (TT_UNLIKELY(begin)) {
    tt_rt_client_synchronize(frame->engine->client);
    tt_trace_record(program->name, frame->device, begin, tt_clock_ns());
  }
  atomic_fetch_add_explicit(&executions, 1, memory_order_relaxed);
  note_results(frame, program);
  remember_work(frame, program);
  publish(frame, program, results);
  return TT_OK_STATUS;
}

// ---- names -------------------------------------------------------------------------------------
// Formatted once an op and variant; the strings live as long as the process (traces keep pointers to them).
const char* tt_eager_op_name(size_t op, tt_variant_t variant) {
  static _Atomic(const char*) names[4096][3];
  if (op == TT_EAGER_OP_COPY) return "aten::copy_";
  if (op == TT_EAGER_OP_GRAPH) return "graph";
  const tt_aten_info_t* info = op < TT_ARRAY_LENGTH(names) ? tt_aten_info(op) : NULL;
  if (!info || (unsigned)variant > TT_VARIANT_INPLACE) return "aten::?";
  const char* name = atomic_load_explicit(&names[op][variant], memory_order_acquire);
  if (name) return name;
  const char* candidates[3] = {info->functional, info->out, info->inplace};
  const char* bare = candidates[variant][0] ? candidates[variant]
                     : info->functional[0]  ? info->functional
                     : info->out[0]         ? info->out
                                            : info->inplace;
  char text[160];
  snprintf(text, sizeof(text), "aten::%s", bare);
  char* copy = NULL;
  tt_status_t status = tt_strdup(text, &copy);
  if (!tt_status_is_ok(status)) {
    tt_status_ignore(status);   // the bare name says enough
    return bare;
  }
  const char* expected = NULL;
  // release: the characters before the pointer
  if (!atomic_compare_exchange_strong_explicit(&names[op][variant], &expected, copy, memory_order_acq_rel,
                                               memory_order_acquire)) {
    tt_free(copy);
    return expected;
  }
  return copy;
}
