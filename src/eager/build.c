#include "eager/build.h"

#include <string.h>

#include "base/alloc.h"
#include "eager/padded.h"
#include "eager/view.h"
#include "program/program.h"

tt_status_t tt_build_begin(tt_build_t* build, tt_frame_t* frame) {
  memset(build, 0, sizeof(*build));
  build->frame = frame;
  build->scratch = &frame->scratch;
  build->target = frame->engine->target;
  build->target.matmul_passes = (int)tt_setting_get(TT_SETTING_MATMUL_PASSES);
  build->target.default_float = (tt_dtype_t)tt_setting_get(TT_SETTING_DEFAULT_FLOAT);
  build->storages =
      tt_arena_alloc_array(build->scratch, frame->storage_count + 1, sizeof(tt_build_storage_t));
  if (!build->storages)
    return tt_status_create(TT_RESOURCE_EXHAUSTED, "out of host memory building a program");
  for (size_t i = 0; i < frame->storage_count; ++i) {
    build->storages[i] = (tt_build_storage_t){.cell = frame->storages[i], .param = -1};
  }
  TT_RETURN_IF_ERROR(tt_module_create(&build->module));
  tt_builder_initialize(&build->b, build->module);
  build->func = tt_b_func_begin(&build->b, "main", true, 0, NULL);
  return TT_OK_STATUS;
}

void tt_build_end(tt_build_t* build) {
  if (!build->module) return;
  tt_builder_deinitialize(&build->b);
  tt_module_release(build->module);
  build->module = NULL;
}

// Room for one more element of an arena array.
static bool grow(tt_build_t* build, void** array, uint32_t* capacity, uint32_t count, size_t size) {
  if (count < *capacity) return true;
  uint32_t wanted = *capacity ? *capacity * 2 : 16;
  void* larger = tt_arena_alloc_array(build->scratch, wanted, size);
  if (!larger) {
    tt_builder_fail(&build->b, TT_RESOURCE_EXHAUSTED, "out of host memory building a program");
    return false;
  }
  if (count) memcpy(larger, *array, count * size);
  *array = larger;
  *capacity = wanted;
  return true;
}

bool tt_build_add_param(tt_build_t* build, tt_param_kind_t kind, uint32_t index, tt_dtype_t dtype) {
  if (!grow(build, (void**)&build->params, &build->param_capacity, build->param_count, sizeof(tt_param_t)))
    return false;
  build->params[build->param_count++] =
      (tt_param_t){.kind = (uint8_t)kind, .dtype = (uint8_t)dtype, .index = index};
  return true;
}

static tt_value_t* add_param(tt_build_t* build, tt_param_kind_t kind, uint32_t index, tt_dtype_t dtype,
                             size_t rank, const int64_t* dims) {
  if (!tt_build_add_param(build, kind, index, dtype)) return NULL;
  return tt_b_func_add_arg(&build->b, build->func, tt_b_type(&build->b, dtype, rank, dims));
}

// ---- reading -----------------------------------------------------------------------------------
// Zeros in the form that a partial write of `dtype` works on.
static tt_value_t* zero_base(tt_build_t* build, size_t bytes, tt_dtype_t dtype) {
  size_t size = tt_dtype_bytes(dtype);
  if (bytes % size) {
    dtype = TT_DTYPE_U8;
    size = 1;
  }
  int64_t elems = (int64_t)(bytes / size);
  return tt_b_splat_i64(&build->b, tt_b_type(&build->b, dtype, 1, &elems), 0);
}

static tt_value_t* zeros(tt_build_t* build, const tt_tensor_t* view) {
  return tt_b_splat_f64(&build->b, tt_b_type(&build->b, view->dtype, view->rank, view->sizes), 0);
}

static tt_value_t* base_of(tt_build_t* build, size_t storage) {
  tt_build_storage_t* s = &build->storages[storage];
  if (s->base || !s->cell->buffer) return s->base;
  s->param = (int32_t)build->param_count;
  s->base =
      add_param(build, TT_PARAM_STORAGE, (uint32_t)storage, s->cell->dtype, s->cell->rank, s->cell->dims);
  return s->base;
}

// A view without broadcast dimensions, of a bound storage.
static tt_value_t* read_plain(tt_build_t* build, const tt_build_storage_t* s, const tt_tensor_t* view,
                              const int64_t* sizes) {
  tt_builder_t* b = &build->b;
  const tt_storage_t* cell = s->cell;
  int64_t order[TT_MAX_RANK], elems = 0;
  size_t rank = view->rank;
  bool whole = view->dtype == cell->dtype && view->offset == 0 && tt_view_numel(rank, sizes, &elems) &&
               (size_t)elems * tt_dtype_bytes(view->dtype) == cell->bytes &&
               tt_view_physical_order(rank, sizes, view->strides, order);
  if (!whole) return tt_b_strided_read(b, s->base, view->dtype, rank, sizes, view->strides, view->offset);
  int64_t physical[TT_MAX_RANK], permutation[TT_MAX_RANK];
  for (size_t j = 0; j < rank; ++j) {
    physical[j] = sizes[order[j]];
    permutation[order[j]] = (int64_t)j;
  }
  return tt_b_transpose(b, tt_b_reshape(b, s->base, rank, physical), permutation);
}

static tt_value_t* read_storage(tt_build_t* build, size_t storage, const tt_tensor_t* view) {
  const tt_build_storage_t* s = &build->storages[storage];
  int64_t elems;
  if (!tt_view_numel(view->rank, view->sizes, &elems)) {
    return tt_builder_fail(&build->b, TT_INVALID_ARGUMENT, "sizes of a tensor are negative or overflow");
  }
  if (elems == 0) return zeros(build, view);
  tt_status_t status = tt_view_check_range(view, tt_dtype_bytes(view->dtype), s->cell->bytes);
  if (!tt_status_is_ok(status)) {
    tt_builder_fail(&build->b, tt_status_code(status), "%s", tt_status_message(status));
    tt_status_free(status);
    return NULL;
  }
  if (!base_of(build, storage)) return zeros(build, view);
  int64_t core[TT_MAX_RANK];
  bool is_broadcast = false;
  for (size_t i = 0; i < view->rank; ++i) {
    bool repeats = view->strides[i] == 0 && view->sizes[i] > 1;
    core[i] = repeats ? 1 : view->sizes[i];
    is_broadcast |= repeats;
  }
  tt_value_t* value = read_plain(build, s, view, core);
  return is_broadcast ? tt_b_broadcast_to(&build->b, value, view->rank, view->sizes) : value;
}

// A CPU scalar; 64-bit Python numbers narrow where the device has no 64-bit floats (they are weak in
// promotion).
static tt_value_t* read_host(tt_build_t* build, size_t view_index, const tt_tensor_t* view) {
  tt_dtype_t dtype = view->dtype;
  if (view->is_wrapped_number && build->target.dtype_support[dtype] == TT_SUPPORT_REFUSED) {
    if (dtype == TT_DTYPE_F64) dtype = TT_DTYPE_F32;
    if (dtype == TT_DTYPE_C128) dtype = TT_DTYPE_C64;
  }
  return add_param(build, TT_PARAM_HOST, (uint32_t)view_index, dtype, 0, NULL);
}

tt_value_t* tt_build_read(tt_build_t* build, size_t view_index) {
  const tt_tensor_t* view = build->frame->views[view_index];
  if (!tt_builder_ok(&build->b) || !view->is_defined) return NULL;
  if (view->host_scalar) return read_host(build, view_index, view);
  int32_t storage = build->frame->storage_of[view_index];
  if (storage < 0)
    return tt_builder_fail(&build->b, TT_INVALID_ARGUMENT, "a tensor argument has no tpu storage");
  return read_storage(build, (size_t)storage, view);
}

// ---- writing -----------------------------------------------------------------------------------
void tt_build_write(tt_build_t* build, size_t view_index, tt_value_t* value) {
  tt_builder_t* b = &build->b;
  const tt_tensor_t* view = build->frame->views[view_index];
  int64_t elems, order[TT_MAX_RANK];
  if (!tt_builder_ok(b) || !view->is_defined || !value) return;
  if (!tt_view_numel(view->rank, view->sizes, &elems) || elems == 0) return;
  int32_t storage = build->frame->storage_of[view_index];
  if (storage < 0) {
    tt_builder_fail(b, TT_INVALID_ARGUMENT, "a written argument has no tpu storage");
    return;
  }
  tt_build_storage_t* s = &build->storages[storage];
  size_t size = tt_dtype_bytes(view->dtype);
  tt_status_t status = tt_view_check_range(view, size, s->cell->bytes);
  if (!tt_status_is_ok(status)) {
    tt_builder_fail(b, tt_status_code(status), "%s", tt_status_message(status));
    tt_status_free(status);
    return;
  }
  bool whole = view->offset == 0 && (size_t)elems * size == s->cell->bytes &&
               tt_view_physical_order(view->rank, view->sizes, view->strides, order);
  if (whole) {
    value = tt_b_transpose(b, value, order);
    // Keeping the old base's dimensions lets its buffer take the result.
    if (s->param >= 0 && s->cell->dtype == view->dtype)
      value = tt_b_reshape(b, value, s->cell->rank, s->cell->dims);
    s->current = value;
    return;
  }
  tt_value_t* base = s->current ? s->current : base_of(build, (size_t)storage);
  if (!base) base = zero_base(build, s->cell->bytes, view->dtype);
  s->current = tt_b_strided_write(b, base, value, view->strides, view->offset);
}

// ---- scalars and random words ------------------------------------------------------------------
tt_value_t* tt_build_scalar(tt_build_t* build, uint32_t index, tt_dtype_t dtype) {
  for (uint32_t i = 0; i < build->param_count; ++i) {
    const tt_param_t* param = &build->params[i];
    if (param->kind == TT_PARAM_SCALAR && param->index == index && param->dtype == dtype)
      return tt_b_func_arg(build->func, i);
  }
  return add_param(build, TT_PARAM_SCALAR, index, dtype, 0, NULL);
}

tt_value_t* tt_build_input(tt_build_t* build, tt_dtype_t dtype, size_t rank, const int64_t* sizes) {
  return add_param(build, TT_PARAM_HOST, build->param_count, dtype, rank, sizes);
}

void tt_build_random(tt_build_t* build, uint64_t words, tt_value_t** out_seed, tt_value_t** out_offset) {
  if (!build->seed) {
    build->seed = add_param(build, TT_PARAM_SEED, 0, TT_DTYPE_U64, 0, NULL);
    build->offset = add_param(build, TT_PARAM_OFFSET, 0, TT_DTYPE_U64, 0, NULL);
  }
  *out_seed = build->seed;
  *out_offset = build->offset;
  if (build->random_words) {
    tt_value_t* ahead = tt_b_scalar_i64(&build->b, TT_DTYPE_U64, (int64_t)build->random_words);
    *out_offset = tt_b_binary(&build->b, TT_OP_ADD, build->offset, ahead);
  }
  build->random_words += (words + 3) / 4 * 4;
}

tt_value_t* tt_build_convert(tt_build_t* build, tt_value_t* value, tt_dtype_t dtype) {
  if (!value || value->type->dtype == dtype) return value;
  return tt_l_cast(&build->b, value, dtype);
}

// ---- results -----------------------------------------------------------------------------------
static tt_eager_result_t* add_result(tt_build_t* build) {
  uint32_t capacity = build->result_capacity;
  if (!grow(build, (void**)&build->results, &capacity, build->result_count, sizeof(tt_eager_result_t)))
    return NULL;
  if (!grow(build, (void**)&build->result_values, &build->result_capacity, build->result_count,
            sizeof(tt_value_t*)))
    return NULL;
  build->result_values[build->result_count] = NULL;
  tt_eager_result_t* result = &build->results[build->result_count++];
  memset(result, 0, sizeof(*result));
  return result;
}

void tt_build_result(tt_build_t* build, tt_value_t* value, const int64_t* strides) {
  tt_builder_t* b = &build->b;
  if (!value || !tt_builder_ok(b)) return;
  if (!tt_type_is_static(value->type)) {
    tt_builder_fail(b, TT_INTERNAL, "a result has a dynamic shape");
    return;
  }
  tt_eager_result_t* result = add_result(build);
  if (!result) return;
  size_t rank = value->type->rank;
  int64_t elems = tt_type_elems(value->type), order[TT_MAX_RANK];
  if (elems < 0) {
    tt_builder_fail(b, TT_INVALID_ARGUMENT, "a result has too many elements");
    return;
  }
  result->kind = TT_RESULT_TENSOR;
  result->dtype = (uint8_t)value->type->dtype;
  result->rank = (uint8_t)rank;
  result->bytes = (size_t)elems * tt_dtype_bytes(value->type->dtype);
  memcpy(result->sizes, value->type->dims, rank * sizeof(int64_t));
  if (strides)
    memcpy(result->strides, strides, rank * sizeof(int64_t));
  else
    tt_view_contiguous_strides(rank, result->sizes, result->strides);
  if (elems == 0) return;   // nothing to compute: the storage stays unbound
  if (!tt_view_physical_order(rank, result->sizes, result->strides, order)) {
    tt_builder_fail(b, TT_INTERNAL, "result strides are not dense");
    return;
  }
  build->result_values[build->result_count - 1] = tt_b_transpose(b, value, order);
}

void tt_build_result_other(tt_build_t* build, tt_result_kind_t kind, int64_t integer) {
  tt_eager_result_t* result = add_result(build);
  if (!result) return;
  result->kind = (uint8_t)kind;
  result->integer = integer;
}

// ---- finishing ---------------------------------------------------------------------------------
typedef struct outputs_s {
  tt_value_t** values;
  tt_output_t* outputs;
  uint32_t count;
} outputs_t;

static void add_output(outputs_t* outputs, bool is_storage, uint32_t index, tt_value_t* value) {
  tt_output_t* output = &outputs->outputs[outputs->count];
  *output = (tt_output_t){.is_storage = is_storage,
                          .index = index,
                          .dtype = (uint8_t)value->type->dtype,
                          .rank = (uint8_t)value->type->rank};
  memcpy(output->dims, value->type->dims, value->type->rank * sizeof(int64_t));
  outputs->values[outputs->count++] = value;
}

static tt_status_t collect_outputs(tt_build_t* build, outputs_t* outputs) {
  size_t most = build->frame->storage_count + build->result_count + 1;
  outputs->values = tt_arena_alloc_array(build->scratch, most, sizeof(tt_value_t*));
  outputs->outputs = tt_arena_alloc_array(build->scratch, most, sizeof(tt_output_t));
  if (!outputs->values || !outputs->outputs) {
    return tt_status_create(TT_RESOURCE_EXHAUSTED, "out of host memory building a program");
  }
  for (uint32_t i = 0; i < build->result_count; ++i) {
    if (build->result_values[i]) add_output(outputs, false, i, build->result_values[i]);
  }
  for (uint32_t i = 0; i < build->frame->storage_count; ++i) {
    tt_build_storage_t* s = &build->storages[i];
    if (!s->current) continue;
    if (s->param >= 0 && s->base->type == s->current->type) {   // B4
      tt_attr_t alias = tt_attr_int(TT_ATTR_ALIASING_OUTPUT, outputs->count);
      alias.dtype = TT_DTYPE_S32;
      tt_b_func_arg_attr(&build->b, build->func, (size_t)s->param, alias);
      build->params[s->param].may_donate = true;
    }
    add_output(outputs, true, i, s->current);
  }
  return TT_OK_STATUS;
}

// Whether an output or an effect depends on `value`.
static bool is_read(const tt_func_t* func, const tt_value_t* value) {
  uint32_t idle = 0;
  for (const tt_op_t* op = func->body.block.first; op; op = op->next) {
    uint32_t here = 0;
    for (uint32_t i = 0; i < op->operand_count; ++i) here += op->operands[i] == value;
    bool is_dead = here && op->result_count && op->kind != TT_OP_CUSTOM_CALL;
    for (uint32_t i = 0; i < op->result_count && is_dead; ++i) is_dead = !is_read(func, &op->results[i]);
    if (is_dead) idle += here;
  }
  return value->uses > idle;
}

// A lowering that needs only the type of what it overwrites reads it all the same.
static void mark_unread(tt_build_t* build) {
  for (uint32_t i = 0; i < build->param_count; ++i) {
    tt_param_t* param = &build->params[i];
    if (param->kind == TT_PARAM_STORAGE && build->storages[param->index].current)
      param->is_unread = !is_read(build->func, tt_b_func_arg(build->func, i));
  }
}

static tt_status_t make_program(tt_build_t* build, const outputs_t* outputs, const tt_padded_t* padded,
                                const char* name, tt_eager_program_t** out) {
  size_t params = tt_align_up(build->param_count * sizeof(tt_param_t), 16);
  size_t outs = tt_align_up(outputs->count * sizeof(tt_output_t), 16);
  size_t head = tt_align_up(sizeof(tt_eager_program_t), 16);
  size_t results = tt_align_up(build->result_count * sizeof(tt_eager_result_t), 16);
  void* block = NULL;
  TT_RETURN_IF_ERROR(
      tt_alloc(head + params + outs + results + padded->number_count * sizeof(tt_pad_number_t), &block));
  tt_eager_program_t* program = block;
  atomic_init(&program->references, 1);
  program->name = name;
  program->param_count = build->param_count;
  program->output_count = outputs->count;
  program->result_count = build->result_count;
  program->params = (tt_param_t*)((char*)block + head);
  program->outputs = (tt_output_t*)((char*)block + head + params);
  program->results = (tt_eager_result_t*)((char*)block + head + params + outs);
  program->numbers = (tt_pad_number_t*)((char*)block + head + params + outs + results);
  if (padded->number_count)
    memcpy(program->numbers, padded->numbers, padded->number_count * sizeof(tt_pad_number_t));
  program->random_words = build->random_words;
  program->is_rounded = padded->module != NULL;
  program->warning = build->warning;
  if (build->param_count) memcpy(program->params, build->params, build->param_count * sizeof(tt_param_t));
  if (outputs->count) memcpy(program->outputs, outputs->outputs, outputs->count * sizeof(tt_output_t));
  if (build->result_count)
    memcpy(program->results, build->results, build->result_count * sizeof(tt_eager_result_t));
  *out = program;
  return TT_OK_STATUS;
}

// A program without outputs is kept only for its checks.
static bool has_effects(const tt_build_t* build) {
  for (const tt_op_t* op = build->func->body.block.first; op; op = op->next) {
    if (op->kind == TT_OP_CUSTOM_CALL) return true;
  }
  return false;
}

// A result that no storage can have is refused before a plugin compiles it, which may take for ever.
static tt_status_t check_sizes(const tt_build_t* build) {
  const tt_engine_device_t* device = &build->frame->engine->devices[build->frame->device];
  for (uint32_t i = 0; i < build->result_count; ++i) {
    size_t bytes = build->results[i].bytes;
    if (bytes <= device->range.bytes) continue;
    return tt_cell_out_of_memory(build->frame->device,
                                 tt_status_create(TT_RESOURCE_EXHAUSTED,
                                                  "tpu out of memory: a result of %zu bytes on tpu:%d is larger "
                                                  "than the device's address range of %zu bytes",
                                                  bytes, build->frame->device, device->range.bytes));
  }
  return TT_OK_STATUS;
}

tt_status_t tt_build_finish(tt_build_t* build, const char* name, tt_eager_program_t** out_program) {
  *out_program = NULL;
  tt_builder_t* b = &build->b;
  if (!tt_builder_ok(b)) return tt_builder_take_status(b);
  TT_RETURN_IF_ERROR(check_sizes(build));
  outputs_t outputs = {0};
  TT_RETURN_IF_ERROR(collect_outputs(build, &outputs));
  tt_b_func_end(b, build->func, outputs.count, outputs.values);
  if (!tt_builder_ok(b)) return tt_builder_take_status(b);
  if (!build->target.is_vtpu) mark_unread(build);
  tt_padded_t padded = {0};
  TT_RETURN_IF_ERROR(tt_padded_program(build, outputs.count, outputs.outputs, &padded));
  tt_eager_program_t* program = NULL;
  tt_status_t status = make_program(build, &outputs, &padded, name, &program);
  if (tt_status_is_ok(status) && (outputs.count || has_effects(build))) {
    tt_program_options_t options = {.device = (size_t)build->frame->device,
                                    .matmul_passes = build->target.matmul_passes,
                                    .emulate_float64 = build->target.dtype_support[TT_DTYPE_F64] ==
                                                       TT_SUPPORT_EMULATED,
                                    .only_cached = tt_setting_get(TT_SETTING_FORBID_RECOMPILES) != 0};
    status = tt_program_compile(build->frame->engine->client, padded.module ? padded.module : build->module,
                                &options, &program->executable);
  }
  tt_module_release(padded.module);
  if (!tt_status_is_ok(status)) {
    tt_eager_program_release(program);
    return status;
  }
  *out_program = program;
  return TT_OK_STATUS;
}
