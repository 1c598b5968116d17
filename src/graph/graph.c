#include "graph/graph.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "eager/call.h"
#include "eager/describe.h"
#include "ir/text.h"

tt_status_t tt_graph_create(int device, const char* name, tt_graph_t** out_graph) {
  *out_graph = NULL;
  tt_engine_t* engine = NULL;
  tt_engine_device_t* slot = NULL;
  TT_RETURN_IF_ERROR(tt_engine_device(device, &engine, &slot));
  void* block = NULL;
  TT_RETURN_IF_ERROR(tt_alloc(sizeof(tt_graph_t), &block));
  tt_graph_t* graph = block;
  atomic_init(&graph->references, 1);
  graph->device = device;
  snprintf(graph->name, sizeof(graph->name), "%s", name ? name : "graph");
  tt_arena_initialize(&graph->arena);
  tt_status_t status = tt_frame_begin(engine, device, &graph->frame);
  if (tt_status_is_ok(status)) status = tt_build_begin(&graph->build, graph->frame);
  if (!tt_status_is_ok(status)) {
    tt_graph_release(graph);
    return status;
  }
  *out_graph = graph;
  return TT_OK_STATUS;
}

void tt_graph_retain(tt_graph_t* graph) {
  atomic_fetch_add_explicit(&graph->references, 1, memory_order_relaxed);
}

void tt_graph_release(tt_graph_t* graph) {
  // acq_rel: the last holder sees every write of the others before it frees
  if (!graph || atomic_fetch_sub_explicit(&graph->references, 1, memory_order_acq_rel) != 1) return;
  tt_build_end(&graph->build);
  tt_frame_end(graph->frame);
  tt_free(graph->values);
  tt_free(graph->flat);
  tt_free(graph->records);
  tt_free(graph->outputs);
  tt_free(graph->inputs);
  tt_free(graph->scalar_dtypes);
  tt_arena_deinitialize(&graph->arena);
  tt_free(graph);
}

static tt_status_t check_open(const tt_graph_t* graph) {
  if (graph->has_failed) {
    return tt_status_create(TT_FAILED_PRECONDITION, "graph '%s': an earlier call failed", graph->name);
  }
  if (!graph->is_closed) return TT_OK_STATUS;
  return tt_status_create(TT_FAILED_PRECONDITION, "graph '%s' is compiled: nothing can be added",
                          graph->name);
}

static tt_status_t no_memory(void) {
  return tt_status_create(TT_RESOURCE_EXHAUSTED, "out of host memory building a graph");
}

static tt_status_t take_failure(tt_graph_t* graph, tt_status_t status) {
  if (!tt_status_is_ok(status)) graph->has_failed = true;
  return status;
}

static tt_status_t add_value(tt_graph_t* graph, tt_graph_value_kind_t kind, uint32_t index, tt_value_t* value,
                             int32_t* out_id) {
  if (!tt_builder_ok(&graph->build.b)) return take_failure(graph, tt_builder_take_status(&graph->build.b));
  TT_RETURN_IF_ERROR(tt_grow((void**)&graph->values, &graph->value_capacity, graph->value_count + 1,
                             sizeof(*graph->values)));
  TT_RETURN_IF_ERROR(
      tt_grow((void**)&graph->flat, &graph->flat_capacity, graph->value_count + 1, sizeof(*graph->flat)));
  graph->values[graph->value_count] = (tt_graph_value_t){kind, index, value, false};
  graph->flat[graph->value_count] = value;
  *out_id = (int32_t)graph->value_count++;
  return TT_OK_STATUS;
}

tt_status_t tt_graph_input(tt_graph_t* graph, tt_dtype_t dtype, size_t rank, const int64_t* sizes,
                           int32_t* out_value) {
  TT_RETURN_IF_ERROR(check_open(graph));
  if (dtype == TT_DTYPE_INVALID || dtype >= TT_DTYPE_COUNT ||
      graph->build.target.dtype_support[dtype] == TT_SUPPORT_REFUSED) {
    return tt_status_create(TT_UNIMPLEMENTED, "graph '%s', input %zu: dtype %s is not supported on %s",
                            graph->name, graph->input_count,
                            dtype && dtype < TT_DTYPE_COUNT ? tt_dtype_name(dtype) : "?",
                            graph->frame->engine->devices[graph->device].properties.name);
  }
  if (rank > TT_MAX_RANK) {
    return tt_status_create(TT_UNIMPLEMENTED, "graph '%s', input %zu: %zu dimensions; tpu supports up to %d",
                            graph->name, graph->input_count, rank, TT_MAX_RANK);
  }
  TT_RETURN_IF_ERROR(
      tt_grow((void**)&graph->inputs, &graph->input_capacity, graph->input_count + 1, sizeof(int32_t)));
  tt_value_t* value = tt_build_input(&graph->build, dtype, rank, sizes);
  TT_RETURN_IF_ERROR(add_value(graph, TT_GRAPH_INPUT, (uint32_t)graph->input_count, value, out_value));
  graph->inputs[graph->input_count++] = *out_value;
  return TT_OK_STATUS;
}

tt_status_t tt_graph_scalar(tt_graph_t* graph, tt_dtype_t dtype, int32_t* out_value) {
  TT_RETURN_IF_ERROR(check_open(graph));
  if (dtype != TT_DTYPE_S64 && dtype != TT_DTYPE_F64) {
    return tt_status_create(TT_INVALID_ARGUMENT, "graph '%s': a scalar is i64 or f64, not %s", graph->name,
                            tt_dtype_name(dtype));
  }
  if (dtype == TT_DTYPE_F64 && graph->build.target.dtype_support[dtype] == TT_SUPPORT_REFUSED)
    dtype = TT_DTYPE_F32;
  TT_RETURN_IF_ERROR(tt_grow((void**)&graph->scalar_dtypes, &graph->scalar_capacity, graph->scalar_count + 1,
                             sizeof(tt_dtype_t)));
  tt_value_t* value = tt_build_scalar(&graph->build, (uint32_t)graph->scalar_count, dtype);
  TT_RETURN_IF_ERROR(add_value(graph, TT_GRAPH_SCALAR, (uint32_t)graph->scalar_count, value, out_value));
  graph->scalar_dtypes[graph->scalar_count++] = dtype;
  return TT_OK_STATUS;
}

// ---- records -----------------------------------------------------------------------------------
// Copies a tensor argument; its type comes from the value it names.
static tt_status_t copy_tensor(tt_graph_t* graph, const tt_tensor_t* from, uint32_t arg, tt_tensor_t* to) {
  *to = (tt_tensor_t){.graph_value = -1, .is_wrapped_number = from->is_wrapped_number};
  if (!from->is_defined) return TT_OK_STATUS;
  to->is_defined = true;
  if (from->host_scalar) {
    if (from->rank != 0 || from->dtype == 0 || from->dtype >= TT_DTYPE_COUNT) {
      return tt_status_create(TT_INVALID_ARGUMENT,
                              "graph '%s', argument %u: a CPU tensor must have no dimensions", graph->name,
                              arg);
    }
    to->dtype = from->dtype;
    to->host_scalar = tt_arena_copy(&graph->arena, from->host_scalar, tt_dtype_bytes(from->dtype));
    return to->host_scalar ? TT_OK_STATUS : no_memory();
  }
  if (from->graph_value < 0 || (size_t)from->graph_value >= graph->value_count) {
    return tt_status_create(
        TT_INVALID_ARGUMENT, "graph '%s', argument %u: %s", graph->name, arg,
        from->storage ? "a stored tensor must be an input of the graph" : "no such value");
  }
  tt_graph_value_t* value = &graph->values[from->graph_value];
  value->is_named = true;
  to->graph_value = from->graph_value;
  to->dtype = (uint8_t)value->value->type->dtype;
  to->rank = (uint8_t)value->value->type->rank;
  to->sizes = value->value->type->dims;
  if (value->kind == TT_GRAPH_SCALAR) to->is_wrapped_number = true;   // a Python number: weak in promotion
  return TT_OK_STATUS;
}

static tt_status_t copy_arg(tt_graph_t* graph, const tt_arg_t* from, uint32_t index, tt_arg_t* to) {
  *to = *from;
  tt_arena_t* arena = &graph->arena;
  switch (from->kind) {
    case TT_ARG_TENSOR: return copy_tensor(graph, &from->tensor, index, &to->tensor);
    case TT_ARG_TENSORS: {
      tt_tensor_t* tensors = tt_arena_alloc_array(arena, from->count + 1u, sizeof(*tensors));
      if (!tensors) return no_memory();
      for (uint32_t i = 0; i < from->count; ++i)
        TT_RETURN_IF_ERROR(copy_tensor(graph, &from->tensors[i], index, &tensors[i]));
      to->tensors = tensors;
      return TT_OK_STATUS;
    }
    case TT_ARG_INTS: to->ints = tt_arena_copy(arena, from->ints, from->count * sizeof(int64_t)); break;
    case TT_ARG_FLOATS: to->floats = tt_arena_copy(arena, from->floats, from->count * sizeof(double)); break;
    case TT_ARG_BOOLS: to->bools = tt_arena_copy(arena, from->bools, from->count * sizeof(bool)); break;
    case TT_ARG_SCALARS:
      to->scalars = tt_arena_copy(arena, from->scalars, from->count * sizeof(tt_scalar_t));
      break;
    case TT_ARG_STRING: to->text = tt_arena_strndup(arena, from->text, strlen(from->text)); break;
    case TT_ARG_GENERATOR: to->generator = NULL; return TT_OK_STATUS;   // given to tt_graph_run
    default: return TT_OK_STATUS;
  }
  return to->ints ? TT_OK_STATUS : no_memory();
}

// ---- lowering ----------------------------------------------------------------------------------
typedef struct lowering_s {
  const tt_graph_t* graph;
  tt_build_t* build;
  tt_value_t* const* values;
  const tt_graph_record_t* record;
} lowering_t;

// A run-time number in a Scalar's place.
static tt_value_t* scalar_parameter(tt_lower_t* L, uint32_t arg, tt_dtype_t dtype) {
  const lowering_t* lowering = L->self;
  return tt_b_convert(L->b, lowering->values[lowering->record->args[arg].tensor.graph_value], dtype);
}

static bool is_run_time_scalar(const lowering_t* lowering, const tt_arg_t* arg, uint32_t index,
                               uint32_t value_args) {
  return index < 32 && (value_args >> index & 1) && arg->tensor.is_defined && !arg->tensor.host_scalar &&
         lowering->graph->values[arg->tensor.graph_value].kind == TT_GRAPH_SCALAR;
}

static void random_words(tt_lower_t* L, uint64_t words, tt_value_t** out_seed, tt_value_t** out_offset) {
  tt_build_random(((lowering_t*)L->self)->build, words, out_seed, out_offset);
}

// 64-bit Python numbers narrow where the device has no 64-bit floats, as in eager (tt_build_read).
static tt_value_t* lower_host_scalar(tt_build_t* build, const tt_tensor_t* tensor) {
  tt_builder_t* b = &build->b;
  bool refused = build->target.dtype_support[tensor->dtype] == TT_SUPPORT_REFUSED;
  bool narrows = tensor->is_wrapped_number && refused;
  double value[2];
  float narrow[2];
  if (!narrows || (tensor->dtype != TT_DTYPE_F64 && tensor->dtype != TT_DTYPE_C128))
    return tt_b_constant(b, tt_b_type(b, tensor->dtype, 0, NULL), tensor->host_scalar, true);
  tt_scalar_load_complex(tensor->dtype, tensor->host_scalar, value);
  narrow[0] = (float)value[0];
  narrow[1] = (float)value[1];
  tt_dtype_t dtype = tensor->dtype == TT_DTYPE_F64 ? TT_DTYPE_F32 : TT_DTYPE_C64;
  return tt_b_constant(b, tt_b_type(b, dtype, 0, NULL), narrow, true);
}

static tt_ltensor_t lower_tensor(lowering_t* lowering, const tt_tensor_t* tensor) {
  tt_ltensor_t result = {NULL, tensor->is_wrapped_number, false};
  if (!tensor->is_defined) return result;
  if (tensor->host_scalar)
    result.value = lower_host_scalar(lowering->build, tensor);
  else
    result.value = lowering->values[tensor->graph_value];
  return result;
}

static tt_status_t lower_args(lowering_t* lowering, uint32_t value_args, tt_larg_t* out) {
  const tt_graph_record_t* record = lowering->record;
  for (uint32_t i = 0; i < record->arg_count; ++i) {
    const tt_arg_t* arg = &record->args[i];
    out[i] = (tt_larg_t){.kind = arg->kind, .count = arg->count};
    switch (arg->kind) {
      case TT_ARG_TENSOR:
        if (is_run_time_scalar(lowering, arg, i, value_args)) {
          out[i].kind = arg->tensor.dtype == TT_DTYPE_S64 ? TT_ARG_INT : TT_ARG_FLOAT;
          out[i].scalar = (tt_scalar_t){.kind = out[i].kind};
          out[i].is_value = true;
        } else {
          out[i].tensor = lower_tensor(lowering, &arg->tensor);
        }
        break;
      case TT_ARG_TENSORS: {
        tt_ltensor_t* tensors =
            tt_arena_alloc_array(lowering->build->scratch, arg->count + 1u, sizeof(*tensors));
        if (!tensors) return no_memory();
        for (uint32_t k = 0; k < arg->count; ++k) tensors[k] = lower_tensor(lowering, &arg->tensors[k]);
        out[i].tensors = tensors;
        break;
      }
      case TT_ARG_BOOL:
      case TT_ARG_INT:
      case TT_ARG_FLOAT:
      case TT_ARG_COMPLEX: tt_call_lower_scalar(arg, false, &out[i]); break;
      case TT_ARG_INTS: out[i].ints = arg->ints; break;
      case TT_ARG_FLOATS: out[i].floats = arg->floats; break;
      case TT_ARG_BOOLS: out[i].bools = arg->bools; break;
      case TT_ARG_SCALARS: out[i].scalars = arg->scalars; break;
      case TT_ARG_DTYPE: out[i].integer = arg->integer; break;
      case TT_ARG_STRING: out[i].text = arg->text; break;
      default: out[i].kind = TT_ARG_NONE; break;
    }
  }
  return TT_OK_STATUS;
}

tt_status_t tt_graph_lower(const tt_graph_t* graph, const tt_graph_record_t* record, tt_build_t* build,
                           tt_value_t* const* values, tt_lower_t* L) {
  const tt_aten_entry_t* entry = tt_aten_entry(record->op);
  lowering_t lowering = {graph, build, values, record};
  memset(L, 0, sizeof(*L));
  if (!entry)
    return tt_status_create(TT_INVALID_ARGUMENT, "op number %zu is not in the table of %zu", record->op,
                            tt_aten_count());
  if (entry->info.flags & TT_ATEN_SIZED) {
    return tt_status_create(TT_UNIMPLEMENTED,
                            "the result size depends on data: run it between graphs");
  }
  if ((entry->info.flags & TT_ATEN_VTPU_ONLY) && !build->target.is_vtpu) {
    return tt_status_create(TT_UNIMPLEMENTED, "this op runs on the virtual TPU only, not on %s",
                            build->target.name);
  }
  tt_larg_t* args = tt_arena_alloc_array(build->scratch, record->arg_count + 1u, sizeof(*args));
  if (!args) return no_memory();
  TT_RETURN_IF_ERROR(lower_args(&lowering, entry->value_args, args));
  build->b.loc = record->loc;
  L->b = &build->b;
  L->target = &build->target;
  L->args = args;
  L->arg_count = record->arg_count;
  L->variant = TT_VARIANT_FUNCTIONAL;
  L->scratch = build->scratch;
  L->scalar_parameter = scalar_parameter;
  L->random = random_words;
  L->self = &lowering;
  tt_status_t status = tt_lower_run(record->op, L);
  L->self = NULL;
  build->b.loc = NULL;
  TT_RETURN_IF_ERROR(status);
  if (L->write_count)
    return tt_status_create(TT_UNIMPLEMENTED, "it changes its arguments; graphs are functional");
  return TT_OK_STATUS;
}

static tt_status_t record_call(tt_graph_t* graph, tt_graph_record_t* record, tt_result_t* results,
                               uint32_t capacity, uint32_t* out_count) {
  tt_lower_t L;
  TT_RETURN_IF_ERROR(tt_graph_lower(graph, record, &graph->build, graph->flat, &L));
  if (L.result_count > capacity) {
    return tt_status_create(TT_INVALID_ARGUMENT, "room for %u results, the op has %u", capacity,
                            L.result_count);
  }
  for (uint32_t i = 0; i < L.result_count; ++i) {
    results[i] = (tt_result_t){.kind = L.results[i].kind, .integer = L.results[i].integer};
    if (L.results[i].kind != TT_RESULT_TENSOR) continue;
    const tt_type_t* type = L.results[i].value->type;
    int32_t id = -1;
    TT_RETURN_IF_ERROR(add_value(graph, TT_GRAPH_RESULT, 0, L.results[i].value, &id));
    results[i].integer = id;
    results[i].dtype = (uint8_t)type->dtype;
    results[i].rank = (uint8_t)type->rank;
    memcpy(results[i].sizes, type->dims, type->rank * sizeof(int64_t));
    int64_t stride = 1;
    for (size_t d = type->rank; d-- > 0;) {
      results[i].strides[d] = stride;
      stride *= TT_MAX(type->dims[d], 1);
    }
  }
  *out_count = L.result_count;
  return TT_OK_STATUS;
}

tt_status_t tt_graph_call(tt_graph_t* graph, size_t op, uint32_t arg_count, const tt_arg_t* args,
                          tt_result_t* results, uint32_t capacity, uint32_t* out_count) {
  *out_count = 0;
  TT_RETURN_IF_ERROR(check_open(graph));
  TT_RETURN_IF_ERROR(tt_grow((void**)&graph->records, &graph->record_capacity, graph->record_count + 1,
                             sizeof(*graph->records)));
  tt_graph_record_t record = {.op = op, .arg_count = arg_count, .loc = graph->loc};
  record.args = tt_arena_alloc_array(&graph->arena, arg_count + 1u, sizeof(*record.args));
  if (!record.args) return no_memory();
  for (uint32_t i = 0; i < arg_count; ++i) TT_RETURN_IF_ERROR(copy_arg(graph, &args[i], i, &record.args[i]));
  tt_status_t status = record_call(graph, &record, results, capacity, out_count);
  if (!tt_status_is_ok(status)) {
    graph->has_failed = true;   // the module may hold half of the op
    tt_call_t call = {.op = op, .device = graph->device, .arg_count = arg_count, .args = record.args};
    return tt_describe_error(status, &call);
  }
  graph->records[graph->record_count++] = record;
  return TT_OK_STATUS;
}

uint32_t tt_graph_value_args(size_t op) {
  const tt_aten_entry_t* entry = tt_aten_entry(op);
  return entry ? entry->value_args : 0;
}

// ---- outputs -----------------------------------------------------------------------------------
static tt_status_t add_output(tt_graph_t* graph, int32_t value, int32_t into) {
  TT_RETURN_IF_ERROR(check_open(graph));
  if (value < 0 || (size_t)value >= graph->value_count) {
    return tt_status_create(TT_INVALID_ARGUMENT, "graph '%s' has no value %d (it has %zu)", graph->name,
                            value, graph->value_count);
  }
  TT_RETURN_IF_ERROR(tt_grow((void**)&graph->outputs, &graph->output_capacity, graph->output_count + 1,
                             sizeof(*graph->outputs)));
  graph->values[value].is_named = true;
  graph->outputs[graph->output_count++] = (tt_graph_output_t){value, into};
  return TT_OK_STATUS;
}

tt_status_t tt_graph_output(tt_graph_t* graph, int32_t value) { return add_output(graph, value, -1); }

tt_status_t tt_graph_output_into(tt_graph_t* graph, int32_t value, int32_t input_value) {
  TT_RETURN_IF_ERROR(check_open(graph));
  if (input_value < 0 || (size_t)input_value >= graph->value_count ||
      graph->values[input_value].kind != TT_GRAPH_INPUT) {
    return tt_status_create(TT_INVALID_ARGUMENT, "graph '%s': value %d is not an input", graph->name,
                            input_value);
  }
  if (value >= 0 && (size_t)value < graph->value_count) {
    const tt_type_t *from = graph->values[value].value->type, *to = graph->values[input_value].value->type;
    bool same = from->rank == to->rank;
    for (size_t i = 0; same && i < from->rank; ++i) same = from->dims[i] == to->dims[i];
    if (!same) {
      return tt_status_create(TT_INVALID_ARGUMENT,
                              "graph '%s': value %d has other sizes than input %d that it is to be written "
                              "into",
                              graph->name, value, input_value);
    }
  }
  return add_output(graph, value, (int32_t)graph->values[input_value].index);
}

void tt_graph_location(tt_graph_t* graph, const char* file, int line, const char* name) {
  tt_loc_t* loc = tt_arena_alloc(&graph->arena, sizeof(*loc));
  if (!loc) return;   // locations are for messages only
  loc->file = file ? tt_arena_strndup(&graph->arena, file, strlen(file)) : NULL;
  loc->line = line;
  loc->name = name ? tt_arena_strndup(&graph->arena, name, strlen(name)) : NULL;
  graph->loc = loc;
}

tt_status_t tt_graph_close(tt_graph_t* graph) {
  if (graph->is_closed) return TT_OK_STATUS;
  TT_RETURN_IF_ERROR(check_open(graph));
  tt_value_t** values = tt_arena_alloc_array(&graph->arena, graph->output_count + 1, sizeof(*values));
  if (!values) return no_memory();
  for (size_t i = 0; i < graph->output_count; ++i) values[i] = graph->values[graph->outputs[i].value].value;
  tt_b_func_end(&graph->build.b, graph->build.func, graph->output_count, values);
  TT_RETURN_IF_ERROR(take_failure(graph, tt_builder_take_status(&graph->build.b)));
  graph->is_closed = true;
  return TT_OK_STATUS;
}

tt_status_t tt_graph_text(tt_graph_t* graph, char** out_text) {
  *out_text = NULL;
  TT_RETURN_IF_ERROR(tt_graph_close(graph));
  tt_strbuf_t text;
  tt_strbuf_initialize(&text);
  tt_status_t status = tt_module_print(graph->build.module, TT_PRINT_DEFAULT, &text);
  if (tt_status_is_ok(status)) status = tt_strdup(tt_strbuf_text(&text), out_text);
  tt_strbuf_deinitialize(&text);
  return status;
}
