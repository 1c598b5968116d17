// Executables of graphs: one program a distinct layout of the inputs, found by the same keys as eager calls.
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "cache/lru.h"
#include "eager/call.h"
#include "eager/overlap.h"
#include "eager/reasons.h"
#include "eager/signature.h"
#include "eager/view.h"
#include "graph/graph.h"

// Invariants: `layouts` maps the key of the inputs to a program and is bounded; the graph is closed and
// lives as long as the executable, because another layout replays its records.
enum { LAYOUTS = 32 };

struct tt_graph_executable_s {
  _Atomic int32_t references;
  tt_graph_t* graph;
  tt_lru_t* layouts;
  uint32_t result_count;
};

// ---- building ----------------------------------------------------------------------------------
static tt_status_t replay(const tt_graph_t* graph, tt_build_t* build, tt_value_t** values) {
  // Inputs and scalars first: reads come before any write (build.h B2). Unused inputs are no parameters.
  for (size_t i = 0; i < graph->value_count; ++i) {
    const tt_graph_value_t* value = &graph->values[i];
    if (value->kind == TT_GRAPH_INPUT && value->is_named) values[i] = tt_build_read(build, value->index);
    if (value->kind == TT_GRAPH_SCALAR && value->is_named)
      values[i] = tt_build_scalar(build, value->index, graph->scalar_dtypes[value->index]);
  }
  if (!tt_builder_ok(&build->b)) return tt_builder_take_status(&build->b);
  size_t id = 0;
  for (size_t r = 0; r < graph->record_count; ++r) {
    tt_lower_t L;
    TT_RETURN_IF_ERROR(tt_graph_lower(graph, &graph->records[r], build, values, &L));
    for (uint32_t k = 0; k < L.result_count; ++k) {
      if (L.results[k].kind != TT_RESULT_TENSOR) continue;
      while (id < graph->value_count && graph->values[id].kind != TT_GRAPH_RESULT) ++id;
      if (id == graph->value_count)
        return tt_status_create(TT_INTERNAL, "graph '%s' replays to more values", graph->name);
      values[id++] = L.results[k].value;
    }
  }
  return TT_OK_STATUS;
}

static tt_status_t place_outputs(const tt_graph_t* graph, tt_build_t* build, tt_value_t* const* values) {
  for (size_t i = 0; i < graph->output_count; ++i) {
    if (graph->outputs[i].into < 0) tt_build_result(build, values[graph->outputs[i].value], NULL);
  }
  for (size_t i = 0; i < graph->output_count; ++i) {
    int32_t into = graph->outputs[i].into;
    if (into < 0) continue;
    const tt_tensor_t* view = build->frame->views[into];
    TT_RETURN_IF_ERROR(tt_overlap_check_internal(view));
    tt_build_write(build, (size_t)into,
                   tt_build_convert(build, values[graph->outputs[i].value], view->dtype));
  }
  return tt_builder_ok(&build->b) ? TT_OK_STATUS : tt_builder_take_status(&build->b);
}

// Builds the program of the frame's inputs and remembers it under the frame's key.
static tt_status_t build_layout(tt_graph_executable_t* executable, tt_frame_t* frame, uint64_t hash,
                                tt_eager_program_t** out_program) {
  const tt_graph_t* graph = executable->graph;
  if (tt_setting_get(TT_SETTING_FORBID_RECOMPILES)) return tt_reasons_forbidden(frame);
  int64_t begin = tt_clock_ns();
  tt_build_t build;
  tt_status_t status = tt_build_begin(&build, frame);
  tt_value_t** values = tt_arena_alloc_array(&frame->scratch, graph->value_count + 1, sizeof(*values));
  if (tt_status_is_ok(status) && !values)
    status = tt_status_create(TT_RESOURCE_EXHAUSTED, "out of host memory building a graph");
  if (tt_status_is_ok(status)) status = replay(graph, &build, values);
  if (tt_status_is_ok(status)) status = place_outputs(graph, &build, values);
  if (tt_status_is_ok(status))
    status = tt_build_finish(&build, tt_eager_op_name(TT_EAGER_OP_GRAPH, TT_VARIANT_FUNCTIONAL), out_program);
  tt_build_end(&build);
  TT_RETURN_IF_ERROR(status);
  if (!frame->engine->is_vtpu) {
    char name[96];
    snprintf(name, sizeof(name), "graph '%s'", graph->name);
    tt_status_ignore(tt_rt_note_create(name, &(*out_program)->note));   // errors are then told plainly
  }
  tt_call_count(false, tt_clock_ns() - begin);
  tt_reasons_record(frame, false);
  status =
      tt_lru_insert(executable->layouts, hash, frame->key, frame->key_count * sizeof(uint64_t), *out_program);
  if (!tt_status_is_ok(status)) tt_eager_program_release(*out_program);
  return status;
}

// ---- compiling ---------------------------------------------------------------------------------
// Pretends dense inputs of separate storages, the usual layout: errors of the compiler come here, not at
// the first run. Not where compiles are slow: the backward pass of a model has views among its inputs, and would
// be compiled twice.
static tt_status_t compile_dense(tt_graph_executable_t* executable, tt_frame_t* frame) {
  const tt_graph_t* graph = executable->graph;
  size_t count = graph->input_count;
  tt_tensor_t* views = tt_arena_alloc_array(&graph->frame->scratch, count + 1, sizeof(*views));
  tt_storage_t* cells = tt_arena_alloc_array(&graph->frame->scratch, count + 1, sizeof(*cells));
  int64_t* strides = tt_arena_alloc_array(&graph->frame->scratch, count + 1, TT_MAX_RANK * sizeof(int64_t));
  if (!views || !cells || !strides)
    return tt_status_create(TT_RESOURCE_EXHAUSTED, "out of host memory building a graph");
  for (size_t i = 0; i < count; ++i) {
    const tt_type_t* type = graph->values[graph->inputs[i]].value->type;
    tt_view_contiguous_strides(type->rank, type->dims, &strides[i * TT_MAX_RANK]);
    tt_storage_t* cell = &cells[i];
    cell->device = graph->device;
    cell->bytes = (size_t)tt_type_bytes(type);
    cell->buffer = (tt_rt_buffer_t*)cell;   // bound to something: nothing here looks inside
    cell->dtype = (uint8_t)type->dtype;
    cell->rank = (uint8_t)type->rank;
    memcpy(cell->dims, type->dims, type->rank * sizeof(int64_t));
    views[i] = (tt_tensor_t){.storage = cell,
                             .graph_value = -1,
                             .dtype = cell->dtype,
                             .rank = cell->rank,
                             .is_defined = true,
                             .sizes = type->dims,
                             .strides = &strides[i * TT_MAX_RANK]};
  }
  TT_RETURN_IF_ERROR(tt_frame_gather_views(frame, count, views));
  TT_RETURN_IF_ERROR(tt_signature_add_views(frame));
  tt_eager_program_t* program = NULL;
  TT_RETURN_IF_ERROR(build_layout(executable, frame, tt_signature_hash(frame), &program));
  tt_eager_program_release(program);
  return TT_OK_STATUS;
}

tt_status_t tt_graph_compile(tt_graph_t* graph, tt_graph_executable_t** out_executable) {
  *out_executable = NULL;
  TT_RETURN_IF_ERROR(tt_graph_close(graph));
  tt_engine_t* engine = NULL;
  TT_RETURN_IF_ERROR(tt_engine_get(&engine));
  void* block = NULL;
  TT_RETURN_IF_ERROR(tt_alloc(sizeof(tt_graph_executable_t), &block));
  tt_graph_executable_t* executable = block;
  atomic_init(&executable->references, 1);
  tt_graph_retain(graph);
  executable->graph = graph;
  for (size_t i = 0; i < graph->output_count; ++i) executable->result_count += graph->outputs[i].into < 0;
  tt_frame_t* frame = NULL;
  tt_status_t status =
      tt_lru_create(LAYOUTS, tt_eager_program_retain, tt_eager_program_release, &executable->layouts);
  if (tt_status_is_ok(status)) status = tt_frame_begin(engine, graph->device, &frame);
  if (tt_status_is_ok(status) && !engine->target.slow_compiles) status = compile_dense(executable, frame);
  tt_frame_end(frame);
  if (!tt_status_is_ok(status)) {
    tt_graph_executable_release(executable);
    return tt_status_annotate(status, "graph '%s'", graph->name);
  }
  *out_executable = executable;
  return TT_OK_STATUS;
}

void tt_graph_executable_release(tt_graph_executable_t* executable) {
  // acq_rel: the last holder sees every write of the others before it frees
  if (!executable || atomic_fetch_sub_explicit(&executable->references, 1, memory_order_acq_rel) != 1) return;
  tt_lru_release(executable->layouts);
  tt_graph_release(executable->graph);
  tt_free(executable);
}

bool tt_graph_executable_writes(const tt_graph_executable_t* executable, uint32_t input) {
  const tt_graph_t* graph = executable->graph;
  for (size_t i = 0; i < graph->output_count; ++i) {
    if (graph->outputs[i].into == (int32_t)input) return true;
  }
  return false;
}

// ---- running -----------------------------------------------------------------------------------
static tt_status_t check_inputs(const tt_graph_t* graph, uint32_t input_count, const tt_tensor_t* inputs,
                                uint32_t scalar_count) {
  if (input_count != graph->input_count || scalar_count != graph->scalar_count) {
    return tt_status_create(TT_INVALID_ARGUMENT, "it takes %zu tensors and %zu scalars, not %u and %u",
                            graph->input_count, graph->scalar_count, input_count, scalar_count);
  }
  for (uint32_t i = 0; i < input_count; ++i) {
    const tt_type_t* type = graph->values[graph->inputs[i]].value->type;
    const tt_tensor_t* view = &inputs[i];
    bool same = view->is_defined && view->dtype == type->dtype && view->rank == type->rank;
    for (size_t d = 0; same && d < type->rank; ++d) same = view->sizes[d] == type->dims[d];
    if (!same)
      return tt_status_create(TT_INVALID_ARGUMENT,
                              "input %u has another dtype or other sizes than the graph was built for", i);
  }
  return TT_OK_STATUS;
}

static tt_status_t run_locked(tt_graph_executable_t* executable, tt_frame_t* frame, tt_result_t* results) {
  TT_RETURN_IF_ERROR(tt_frame_lock(frame));
  TT_RETURN_IF_ERROR(tt_signature_add_views(frame));
  uint64_t hash = tt_signature_hash(frame);
  tt_eager_program_t* program =
      tt_lru_find(executable->layouts, hash, frame->key, frame->key_count * sizeof(uint64_t));
  if (program) {
    tt_call_count(true, 0);
  } else {
    TT_RETURN_IF_ERROR(build_layout(executable, frame, hash, &program));
  }
  tt_status_t status = tt_eager_program_run(program, frame, results);
  tt_eager_program_release(program);
  return status;
}

tt_status_t tt_graph_run(tt_graph_executable_t* executable, uint32_t input_count, const tt_tensor_t* inputs,
                         uint32_t scalar_count, const tt_scalar_t* scalars, void* generator,
                         tt_result_t* results, uint32_t capacity, uint32_t* out_count) {
  *out_count = 0;
  tt_engine_t* engine = NULL;
  TT_RETURN_IF_ERROR(tt_engine_get(&engine));
  const tt_graph_t* graph = executable->graph;
  tt_status_t status = check_inputs(graph, input_count, inputs, scalar_count);
  if (tt_status_is_ok(status) && executable->result_count > capacity) {
    status = tt_status_create(TT_INVALID_ARGUMENT, "room for %u results, it has %u", capacity,
                              executable->result_count);
  }
  tt_frame_t* frame = NULL;
  if (tt_status_is_ok(status)) status = tt_frame_begin(engine, graph->device, &frame);
  if (tt_status_is_ok(status)) status = tt_frame_gather_views(frame, input_count, inputs);
  if (tt_status_is_ok(status)) {
    frame->scalars = scalars;
    frame->generator = generator;
    status = run_locked(executable, frame, results);
  }
  tt_frame_end(frame);
  if (!tt_status_is_ok(status)) {
    char location[TT_LOCATION_BYTES];
    tt_location_describe(location, sizeof(location));
    return tt_status_annotate(status, "graph '%s'%s", graph->name, location);
  }
  *out_count = executable->result_count;
  return TT_OK_STATUS;
}
