// Running one op: signature -> program -> execution.
//
//   call -> frame (views, partition) -> locks -> key -> cache --hit--> run -> publish -> unlock
//                                                  `--miss--> lower -> write-backs -> compile -> insert
#include "eager/call.h"

#include <string.h>

#include "base/alloc.h"
#include "eager/build.h"
#include "eager/describe.h"
#include "eager/growth.h"
#include "eager/overlap.h"
#include "eager/padded.h"
#include "eager/reasons.h"
#include "eager/scalar.h"
#include "eager/signature.h"
#include "eager/strides.h"
#include "eager/view.h"
#include "lower/lower.h"
#include "lower/util.h"
#include "program/program.h"
#include "tt/warn.h"

static _Atomic int64_t hits, misses, build_ns, rounded;

// ---- lowering one call -------------------------------------------------------------------------
typedef struct lowering_s {
  tt_lower_t L;
  tt_build_t* build;
} lowering_t;

static tt_value_t* scalar_parameter(tt_lower_t* L, uint32_t arg, tt_dtype_t dtype) {
  return tt_build_scalar(((lowering_t*)L->self)->build, arg, dtype);
}
static void random_words(tt_lower_t* L, uint64_t words, tt_value_t** out_seed, tt_value_t** out_offset) {
  tt_build_random(((lowering_t*)L->self)->build, words, out_seed, out_offset);
}

static tt_ltensor_t read_tensor(tt_build_t* build, size_t view) {
  const tt_tensor_t* tensor = build->frame->views[view];
  bool is_strided = tensor->rank && !tt_view_is_contiguous(tensor->rank, tensor->sizes, tensor->strides);
  return (tt_ltensor_t){tt_build_read(build, view), tensor->is_wrapped_number, is_strided};
}

void tt_call_lower_scalar(const tt_arg_t* arg, bool is_value_arg, tt_larg_t* out) {
  out->scalar = arg->scalar;
  out->scalar.kind = arg->kind;
  out->is_value = is_value_arg && !tt_scalar_is_special(&out->scalar);
}

static void lower_arg(tt_build_t* build, const tt_arg_t* arg, uint32_t index, uint32_t value_args,
                      tt_larg_t* out) {
  *out = (tt_larg_t){.kind = arg->kind, .count = arg->count};
  switch (arg->kind) {
    case TT_ARG_TENSOR: out->tensor = read_tensor(build, build->frame->arg_view[index]); break;
    case TT_ARG_TENSORS: {
      tt_ltensor_t* tensors = tt_arena_alloc_array(build->scratch, arg->count + 1u, sizeof(*tensors));
      if (!tensors) {
        tt_builder_fail(&build->b, TT_RESOURCE_EXHAUSTED, "out of host memory building a program");
        return;
      }
      for (uint32_t i = 0; i < arg->count; ++i)
        tensors[i] = read_tensor(build, build->frame->arg_view[index] + i);
      out->tensors = tensors;
      break;
    }
    case TT_ARG_BOOL:
    case TT_ARG_INT:
    case TT_ARG_FLOAT:
    case TT_ARG_COMPLEX: tt_call_lower_scalar(arg, index < 32 && (value_args >> index & 1), out); break;
    case TT_ARG_INTS: out->ints = arg->ints; break;
    case TT_ARG_FLOATS: out->floats = arg->floats; break;
    case TT_ARG_BOOLS: out->bools = arg->bools; break;
    case TT_ARG_SCALARS: out->scalars = arg->scalars; break;
    case TT_ARG_DTYPE: out->integer = arg->integer; break;
    case TT_ARG_STRING: out->text = arg->text; break;
    default: out->kind = TT_ARG_NONE; break;
  }
}

static tt_status_t check_dtypes(const tt_build_t* build) {
  for (size_t i = 0; i < build->frame->view_count; ++i) {
    const tt_tensor_t* view = build->frame->views[i];
    if (!view->is_defined || view->is_wrapped_number) continue;
    if (view->dtype == 0 || view->dtype >= TT_DTYPE_COUNT) {
      return tt_status_create(TT_UNIMPLEMENTED, "dtype number %d is not one that tpu knows", view->dtype);
    }
    if (build->target.dtype_support[view->dtype] != TT_SUPPORT_REFUSED) continue;
    return tt_status_create(TT_UNIMPLEMENTED, "dtype %s is not supported on %s", tt_dtype_name(view->dtype),
                            build->frame->engine->devices[build->frame->device].properties.name);
  }
  return TT_OK_STATUS;
}

// View number of (argument, element); false if it is not a tensor.
static bool view_of(const tt_frame_t* frame, uint32_t arg, uint32_t element, size_t* out_view) {
  if (arg >= frame->call->arg_count) return false;
  size_t at = frame->arg_view[arg] + (size_t)element;
  if (at >= frame->arg_view[arg + 1]) return false;
  *out_view = at;
  return true;
}

static tt_status_t check_overlap(const tt_frame_t* frame, size_t written) {
  const tt_tensor_t* view = frame->views[written];
  if (!view->is_defined) return TT_OK_STATUS;
  const tt_aten_entry_t* entry = frame->call->op == TT_EAGER_OP_COPY ? NULL : tt_aten_entry(frame->call->op);
  if (!entry || !(entry->info.flags & TT_ATEN_ONE_VALUE)) TT_RETURN_IF_ERROR(tt_overlap_check_internal(view));
  size_t inputs = frame->arg_view[frame->call->arg_count];
  for (size_t i = 0; i < inputs; ++i) {
    if (i != written && frame->views[i]->is_defined)
      TT_RETURN_IF_ERROR(tt_overlap_check_partial(view, frame->views[i]));
  }
  return TT_OK_STATUS;
}

static bool same_sizes(const tt_tensor_t* view, const tt_type_t* type) {
  if (view->rank != type->rank) return false;
  for (size_t i = 0; i < view->rank; ++i) {
    if (view->sizes[i] != type->dims[i]) return false;
  }
  return true;
}

static bool can_cast(tt_dtype_t from, tt_dtype_t to) {
  if (tt_dtype_is_complex(from) && !tt_dtype_is_complex(to)) return false;
  if (tt_dtype_is_float(from) && (tt_dtype_is_integer(to) || to == TT_DTYPE_PRED)) return false;
  return from == TT_DTYPE_PRED || to != TT_DTYPE_PRED;
}

static void print_sizes(size_t rank, const int64_t* sizes, tt_strbuf_t* text) {
  tt_strbuf_putc(text, '[');
  for (size_t i = 0; i < rank; ++i) tt_strbuf_printf(text, i ? ", %lld" : "%lld", (long long)sizes[i]);
  tt_strbuf_putc(text, ']');
}

static tt_status_t shape_mismatch(const tt_tensor_t* view, const tt_type_t* type) {
  tt_strbuf_t text;
  tt_strbuf_initialize(&text);
  tt_strbuf_puts(&text, "output with shape ");
  print_sizes(view->rank, view->sizes, &text);
  tt_strbuf_puts(&text, " doesn't match the broadcast shape ");
  print_sizes(type->rank, type->dims, &text);
  tt_status_t status = tt_status_create(TT_INVALID_ARGUMENT, "%s", tt_strbuf_text(&text));
  tt_strbuf_deinitialize(&text);
  return status;
}

static tt_status_t write_back(tt_build_t* build, size_t view_index, tt_value_t* value, bool check_cast) {
  const tt_tensor_t* view = build->frame->views[view_index];
  if (!view->is_defined) return TT_OK_STATUS;
  if (!same_sizes(view, value->type)) return shape_mismatch(view, value->type);
  if (check_cast && !can_cast(value->type->dtype, view->dtype)) {
    return tt_status_create(TT_INVALID_ARGUMENT, "result type %s can't be cast to the desired output type %s",
                            tt_lx_torch_name(value->type->dtype), tt_lx_torch_name(view->dtype));
  }
  TT_RETURN_IF_ERROR(check_overlap(build->frame, view_index));
  tt_build_write(build, view_index, tt_build_convert(build, value, view->dtype));
  return TT_OK_STATUS;
}

// Types as PyTorch's structured kernels print them.
static const char* c_type_name(tt_dtype_t dtype) {
  switch (dtype) {
    case TT_DTYPE_PRED: return "bool";
    case TT_DTYPE_U8: return "unsigned char";
    case TT_DTYPE_S8: return "signed char";
    case TT_DTYPE_S16: return "short int";
    case TT_DTYPE_S32: return "int";
    case TT_DTYPE_S64: return "long int";
    case TT_DTYPE_U16: return "short unsigned int";
    case TT_DTYPE_U32: return "unsigned int";
    case TT_DTYPE_U64: return "long unsigned int";
    case TT_DTYPE_F32: return "float";
    case TT_DTYPE_F64: return "double";
    case TT_DTYPE_F16: return "c10::Half";
    case TT_DTYPE_BF16: return "c10::BFloat16";
    case TT_DTYPE_C64: return "c10::complex<float>";
    case TT_DTYPE_C128: return "c10::complex<double>";
    default: return tt_dtype_name(dtype);
  }
}

static tt_status_t check_out_dtype(const tt_aten_entry_t* entry, const tt_lower_t* L, tt_dtype_t result,
                                   tt_dtype_t out) {
  if (result == out) return TT_OK_STATUS;
  if (!can_cast(result, out)) {
    return tt_status_create(TT_INVALID_ARGUMENT, "result type %s can't be cast to the desired output type %s",
                            tt_lx_torch_name(result), tt_lx_torch_name(out));
  }
  uint32_t flags = entry ? entry->info.flags : TT_ATEN_OUT_CASTS;
  if (L->out_casts) flags = TT_ATEN_OUT_CASTS;
  if (flags & TT_ATEN_OUT_EXACT) {
    return tt_status_create(TT_INVALID_ARGUMENT, "Found dtype %s but expected %s", tt_lx_torch_name(out),
                            tt_lx_torch_name(result));
  }
  if (flags & (TT_ATEN_POINTWISE | TT_ATEN_OUT_CASTS)) return TT_OK_STATUS;
  return tt_status_create(TT_INVALID_ARGUMENT, "Expected out tensor to have dtype %s, but got %s instead",
                          c_type_name(result), c_type_name(out));
}

// The result's strides as TensorIterator gives them to a pointwise op (by all inputs; LIKE: by the first), in
// `strides`; NULL for row-major.
static const int64_t* result_strides(const tt_build_t* build, uint32_t flags, const tt_type_t* type,
                                     int64_t* strides) {
  if (!(flags & (TT_ATEN_POINTWISE | TT_ATEN_LIKE)) || !tt_type_is_static(type)) return NULL;
  enum { INPUTS = 64 };
  tt_stride_input_t inputs[INPUTS];
  size_t count = 0, views = build->frame->arg_view[build->frame->call->arg_count];
  if (flags & TT_ATEN_LIKE) {
    if (views == 0 || !same_sizes(build->frame->views[0], type)) return NULL;
    views = 1;
  }
  for (size_t i = 0; i < views && count < INPUTS; ++i) {
    const tt_tensor_t* view = build->frame->views[i];
    if (view->is_defined) inputs[count++] = (tt_stride_input_t){view->rank, view->sizes, view->strides};
  }
  tt_strides_pointwise(type->rank, type->dims, count, inputs, strides);
  return strides;
}

// One result of the lowering, by the call's variant.
static tt_status_t place_result(lowering_t* lowering, const tt_aten_entry_t* entry, uint32_t k) {
  tt_build_t* build = lowering->build;
  const tt_call_t* call = build->frame->call;
  const tt_lresult_t* result = &lowering->L.results[k];
  uint32_t flags = entry ? entry->info.flags : 0;
  int64_t strides[TT_MAX_RANK];
  if (result->kind != TT_RESULT_TENSOR) {
    tt_build_result_other(build, result->kind == TT_RESULT_INT ? TT_RESULT_INT : TT_RESULT_NONE,
                          result->integer);
    return TT_OK_STATUS;
  }
  size_t view = 0;
  if (call->variant == TT_VARIANT_OUT && k < call->out_count) {
    view = build->frame->arg_view[call->arg_count] + k;
    const tt_tensor_t* out = build->frame->views[view];
    if (!out->is_defined) {
      tt_build_result_other(build, TT_RESULT_NONE, 0);
      return TT_OK_STATUS;
    }
    TT_RETURN_IF_ERROR(check_out_dtype(entry, &lowering->L, result->value->type->dtype, out->dtype));
    if (!same_sizes(out, result->value->type)) {   // the caller resizes, takes these strides and copies
      tt_build_result(build, tt_build_convert(build, result->value, out->dtype),
                      result_strides(build, flags, result->value->type, strides));
      return TT_OK_STATUS;
    }
    TT_RETURN_IF_ERROR(write_back(build, view, result->value, true));
    tt_build_result_other(build, TT_RESULT_WRITTEN, 0);
    return TT_OK_STATUS;
  }
  if (call->variant == TT_VARIANT_INPLACE) {
    bool is_target = call->arg_count &&
                     (call->args[0].kind == TT_ARG_TENSORS ? view_of(build->frame, 0, k, &view)
                                                           : k == 0 && view_of(build->frame, 0, 0, &view));
    if (is_target) {
      TT_RETURN_IF_ERROR(write_back(build, view, result->value, flags & TT_ATEN_POINTWISE));
      tt_build_result_other(build, TT_RESULT_WRITTEN, 0);
      return TT_OK_STATUS;
    }
  }
  tt_build_result(build, result->value, result_strides(build, flags, result->value->type, strides));
  return TT_OK_STATUS;
}

static void fill_out_dtypes(tt_lower_t* L, const tt_frame_t* frame) {
  const tt_call_t* call = frame->call;
  L->variant = call->variant;
  if (call->variant == TT_VARIANT_OUT) {
    L->out_count = call->out_count;
    for (uint32_t i = 0; i < call->out_count && i < TT_ARRAY_LENGTH(L->out_dtypes); ++i)
      L->out_dtypes[i] = call->outs[i].dtype;
  } else if (call->variant == TT_VARIANT_INPLACE && frame->view_count) {
    L->out_count = 1;
    L->out_dtypes[0] = frame->views[0]->dtype;
  }
}

static tt_status_t run_lowering(lowering_t* lowering, int sized_phase, uint32_t sized_count,
                                const int64_t* sized) {
  tt_build_t* build = lowering->build;
  tt_lower_t* L = &lowering->L;
  const tt_call_t* call = build->frame->call;
  if (call->op == TT_EAGER_OP_COPY) {
    L->op = "copy_";
    tt_value_t* value = tt_build_read(build, build->frame->arg_view[1]);
    if (tt_builder_ok(&build->b))
      tt_l_return(L, tt_build_convert(build, value, build->frame->views[0]->dtype));
    return tt_builder_take_status(&build->b);
  }
  const tt_aten_entry_t* entry = tt_aten_entry(call->op);
  tt_larg_t* args = tt_arena_alloc_array(build->scratch, call->arg_count + 1u, sizeof(*args));
  if (!args) return tt_status_create(TT_RESOURCE_EXHAUSTED, "out of host memory building a program");
  for (uint32_t i = 0; i < call->arg_count; ++i)
    lower_arg(build, &call->args[i], i, entry->value_args, &args[i]);
  if (!tt_builder_ok(&build->b)) return tt_builder_take_status(&build->b);
  L->args = args;
  L->arg_count = call->arg_count;
  L->sized_phase = sized_phase;
  L->sized = sized;
  L->sized_count = sized_count;
  return tt_lower_run(call->op, L);
}

static tt_status_t lower_call(tt_build_t* build, int sized_phase, uint32_t sized_count,
                              const int64_t* sized) {
  const tt_call_t* call = build->frame->call;
  const tt_aten_entry_t* entry = call->op == TT_EAGER_OP_COPY ? NULL : tt_aten_entry(call->op);
  TT_RETURN_IF_ERROR(check_dtypes(build));
  lowering_t lowering = {.build = build};
  tt_lower_t* L = &lowering.L;
  L->b = &build->b;
  L->target = &build->target;
  L->scratch = build->scratch;
  L->scalar_parameter = scalar_parameter;
  L->random = random_words;
  L->self = &lowering;
  fill_out_dtypes(L, build->frame);
  // errors of the arguments come before those of the device
  TT_RETURN_IF_ERROR(run_lowering(&lowering, sized_phase, sized_count, sized));
  if (entry && (entry->info.flags & TT_ATEN_VTPU_ONLY) && !build->target.is_vtpu) {
    return tt_status_create(TT_UNIMPLEMENTED, "this op runs on the virtual TPU only, not on %s",
                            build->target.name);
  }
  build->warning = L->warning;
  if (entry && (entry->info.flags & TT_ATEN_SIZED) && sized_phase == 0) {
    if (L->result_count == 1 && L->results[0].kind == TT_RESULT_TENSOR)
      tt_build_result(build, L->results[0].value, NULL);
    return tt_builder_take_status(&build->b);
  }
  for (uint32_t k = 0; k < L->result_count; ++k) TT_RETURN_IF_ERROR(place_result(&lowering, entry, k));
  for (uint32_t k = 0; k < L->write_count; ++k) {
    size_t view = 0;
    if (!view_of(build->frame, L->writes[k].arg, L->writes[k].element, &view)) {
      return tt_status_create(TT_INTERNAL, "%s writes argument %u, element %u, which is no tensor", L->op,
                              L->writes[k].arg, L->writes[k].element);
    }
    if (L->writes[k].value) TT_RETURN_IF_ERROR(write_back(build, view, L->writes[k].value, false));
  }
  return tt_builder_take_status(&build->b);
}

// ---- lookup ------------------------------------------------------------------------------------
static void note_program(const tt_frame_t* frame, uint32_t value_args, tt_eager_program_t* program) {
  if (frame->engine->is_vtpu) return;
  tt_strbuf_t text;
  tt_strbuf_initialize(&text);
  tt_describe_signature(frame->call, value_args, &text);
  // without memory errors are told plainly
  tt_status_ignore(tt_rt_note_create(tt_strbuf_text(&text), &program->note));
  tt_strbuf_deinitialize(&text);
}

static tt_status_t build_program(tt_frame_t* frame, uint32_t value_args, int phase, uint32_t sized_count,
                                 const int64_t* sized, tt_eager_program_t** out) {
  int64_t begin = tt_clock_ns();
  tt_build_t build;
  tt_status_t status = tt_build_begin(&build, frame);
  if (tt_status_is_ok(status)) status = lower_call(&build, phase, sized_count, sized);
  if (tt_status_is_ok(status))
    status = tt_build_finish(&build, tt_eager_op_name(frame->call->op, frame->call->variant), out);
  tt_build_end(&build);
  if (tt_status_is_ok(status)) note_program(frame, value_args, *out);
  atomic_fetch_add_explicit(&build_ns, tt_clock_ns() - begin, memory_order_relaxed);
  return status;
}

// The program of the frame's call, from the cache or built. Retained.
static tt_status_t find_program(tt_frame_t* frame, uint32_t value_args, int phase, uint32_t sized_count,
                                const int64_t* sized, tt_eager_program_t** out_program) {
  frame->key_count = 0;
  TT_RETURN_IF_ERROR(tt_signature_build(frame, value_args, sized_count, sized));
  uint64_t hash = tt_signature_hash(frame);
  tt_eager_program_t* program =
      tt_lru_find(frame->engine->programs, hash, frame->key, frame->key_count * sizeof(uint64_t));
  if (TT_LIKELY(program != NULL)) {
    atomic_fetch_add_explicit(&hits, 1, memory_order_relaxed);
    *out_program = program;
    return TT_OK_STATUS;
  }
  // where sizes are rounded a new one may find its program compiled: build.c sees
  bool is_forbidden = tt_setting_get(TT_SETTING_FORBID_RECOMPILES) != 0;
  bool may_be_known = frame->engine->target.slow_compiles && tt_setting_get(TT_SETTING_ROUNDING);
  if (is_forbidden && !may_be_known) return tt_reasons_forbidden(frame);
  tt_status_t built = build_program(frame, value_args, phase, sized_count, sized, &program);
  if (is_forbidden && tt_status_code(built) == TT_FAILED_PRECONDITION) {
    tt_status_free(built);
    return tt_reasons_forbidden(frame);
  }
  TT_RETURN_IF_ERROR(built);
  atomic_fetch_add_explicit(&misses, 1, memory_order_relaxed);
  if (program->is_rounded) atomic_fetch_add_explicit(&rounded, 1, memory_order_relaxed);
  tt_reasons_record(frame, program->is_rounded);
  tt_status_t status =
      tt_lru_insert(frame->engine->programs, hash, frame->key, frame->key_count * sizeof(uint64_t), program);
  if (!tt_status_is_ok(status)) {
    tt_eager_program_release(program);
    return status;
  }
  *out_program = program;
  return TT_OK_STATUS;
}

// Phase 0 of an op whose result size depends on data: runs the size program and reads its answer.
static tt_status_t read_sizes(tt_frame_t* frame, uint32_t value_args, uint32_t* out_count,
                              const int64_t** out_sizes) {
  tt_eager_program_t* program = NULL;
  *out_count = 0;
  *out_sizes = NULL;
  TT_RETURN_IF_ERROR(find_program(frame, value_args, 0, 0, NULL, &program));
  tt_result_t result = {.kind = TT_RESULT_NONE};
  tt_status_t status = TT_OK_STATUS;
  if (program->result_count > 1)
    status = tt_status_create(TT_INTERNAL, "a size program has %u results", program->result_count);
  if (tt_status_is_ok(status)) status = tt_eager_program_run(program, frame, &result);
  tt_eager_program_release(program);
  TT_RETURN_IF_ERROR(status);
  if (result.kind != TT_RESULT_TENSOR) return TT_OK_STATUS;
  size_t bytes = tt_storage_bytes(result.storage);
  int64_t* sizes = tt_arena_alloc(&frame->scratch, bytes + sizeof(int64_t));
  if (!sizes) status = tt_status_create(TT_RESOURCE_EXHAUSTED, "out of host memory reading sizes");
  if (tt_status_is_ok(status) && bytes) status = tt_padded_read(result.storage, sizes);
  tt_storage_release(result.storage);
  *out_count = (uint32_t)(bytes / sizeof(int64_t));
  *out_sizes = sizes;
  return status;
}

static _Atomic(tt_warn_t) warn_callback;

void tt_set_warn(tt_warn_t warn) {
  // release: what the callback reads was written before it was set
  atomic_store_explicit(&warn_callback, warn, memory_order_release);
}

void tt_warn(const char* message) {
  tt_warn_t warn = atomic_load_explicit(&warn_callback, memory_order_acquire);
  if (warn) warn(message);
}

static tt_status_t execute(tt_frame_t* frame, tt_result_t* results, uint32_t capacity, uint32_t* out_count,
                           const char** out_warning) {
  const tt_call_t* call = frame->call;
  const tt_aten_entry_t* entry = call->op == TT_EAGER_OP_COPY ? NULL : tt_aten_entry(call->op);
  if (TT_UNLIKELY(!entry && call->op != TT_EAGER_OP_COPY)) {
    return tt_status_create(TT_INVALID_ARGUMENT, "op number %zu is not in the table of %zu", call->op,
                            tt_aten_count());
  }
  uint32_t value_args = entry ? entry->value_args : 0, sized_count = 0;
  const int64_t* sized = NULL;
  bool is_sized = entry && (entry->info.flags & TT_ATEN_SIZED);
  if (value_args && (entry->info.flags & TT_ATEN_RANDOM))
    TT_RETURN_IF_ERROR(tt_l_random_check_call(entry, call->args, call->arg_count));
  TT_RETURN_IF_ERROR(tt_frame_lock(frame));
  if (is_sized) TT_RETURN_IF_ERROR(read_sizes(frame, value_args, &sized_count, &sized));
  tt_eager_program_t* program = NULL;
  TT_RETURN_IF_ERROR(find_program(frame, value_args, is_sized ? 1 : 0, sized_count, sized, &program));
  tt_status_t status = TT_OK_STATUS;
  if (TT_UNLIKELY(program->result_count > capacity)) {
    status = tt_status_create(TT_INVALID_ARGUMENT, "room for %u results, the op has %u", capacity,
                              program->result_count);
  }
  if (tt_status_is_ok(status)) status = tt_eager_program_run(program, frame, results);
  if (tt_status_is_ok(status)) {
    *out_count = program->result_count;
    *out_warning = program->warning;
  }
  tt_eager_program_release(program);
  return status;
}

tt_status_t tt_call_execute(const tt_call_t* call, tt_result_t* results, uint32_t capacity,
                            uint32_t* out_count) {
  tt_engine_t* engine = NULL;
  tt_engine_device_t* device = NULL;
  tt_frame_t* frame = NULL;
  const char* warning = NULL;
  *out_count = 0;
  TT_RETURN_IF_ERROR(tt_engine_device(call->device, &engine, &device));
  TT_RETURN_IF_ERROR(tt_frame_begin(engine, call->device, &frame));
  tt_status_t status = tt_frame_gather_call(frame, call);
  if (tt_status_is_ok(status)) status = execute(frame, results, capacity, out_count, &warning);
  tt_frame_end(frame);
  if (TT_UNLIKELY(warning != NULL)) tt_warn(warning);
  if (TT_UNLIKELY(!tt_status_is_ok(status))) status = tt_describe_error(status, call);
  return status;
}

tt_status_t tt_call_explain(const tt_call_t* call) {
  tt_engine_t* engine = NULL;
  tt_engine_device_t* device = NULL;
  tt_frame_t* frame = NULL;
  TT_RETURN_IF_ERROR(tt_engine_device(call->device, &engine, &device));
  if (!tt_aten_entry(call->op)) {
    return tt_status_create(TT_INVALID_ARGUMENT, "op number %zu is not in the table of %zu", call->op,
                            tt_aten_count());
  }
  TT_RETURN_IF_ERROR(tt_frame_begin(engine, call->device, &frame));
  tt_status_t status = tt_frame_gather_call(frame, call);
  if (tt_status_is_ok(status)) status = tt_frame_lock(frame);
  if (tt_status_is_ok(status)) {
    tt_build_t build;
    status = tt_build_begin(&build, frame);
    if (tt_status_is_ok(status)) status = lower_call(&build, 0, 0, NULL);
    tt_build_end(&build);
  }
  tt_frame_end(frame);
  if (TT_UNLIKELY(!tt_status_is_ok(status))) status = tt_describe_error(status, call);
  return status;
}

// ---- statistics --------------------------------------------------------------------------------
void tt_compile_stats(tt_compile_stats_t* out_stats) {
  tt_program_stats_t programs;
  tt_program_stats(&programs);
  *out_stats = (tt_compile_stats_t){.hits = atomic_load_explicit(&hits, memory_order_relaxed),
                                    .misses = atomic_load_explicit(&misses, memory_order_relaxed),
                                    .plans = programs.compiles,
                                    .compile_ns = atomic_load_explicit(&build_ns, memory_order_relaxed),
                                    .executions = tt_eager_executions(),
                                    .plugin_ns = programs.compile_ns,
                                    .rounded = atomic_load_explicit(&rounded, memory_order_relaxed)};
  tt_engine_t* engine = tt_engine_any();
  if (!engine) return;
  tt_lru_stats_t lru;
  tt_lru_stats(engine->programs, &lru);
  out_stats->evictions = lru.evictions;
  out_stats->entries = lru.entries;
}

void tt_call_count(bool is_hit, int64_t built_ns) {
  atomic_fetch_add_explicit(is_hit ? &hits : &misses, 1, memory_order_relaxed);
  atomic_fetch_add_explicit(&build_ns, built_ns, memory_order_relaxed);
}

void tt_compile_cache_clear(void) {
  tt_engine_t* engine = tt_engine_any();
  if (engine) tt_lru_clear(engine->programs);
  tt_program_cache_clear();
  tt_reasons_clear();
  tt_growth_clear();
}
