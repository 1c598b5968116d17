// Compilation and execution.
#include <stdio.h>
#include <string.h>

#include "ir/text.h"
#include "runtime/internal.h"

#define INLINE_ARGS 64

// ---- results of a program ----------------------------------------------------------------------
static void executable_free(tt_rt_executable_t* executable) {
  if (executable->handle) {
    TT_RT_ARGS(LoadedExecutable_Destroy, args);
    args.executable = executable->handle;
    const tt_rt_plugin_t* plugin = executable->client->plugin;
    // nothing can be done about an executable that does not want to go
    TT_RT_RELEASE(plugin, LoadedExecutable_Destroy, &args);
  }
  tt_rt_client_release(executable->client);
  tt_free(executable->devices);
  tt_free(executable->output_dtypes);
  tt_free(executable->output_ranks);
  tt_free(executable->output_dims);
  tt_free(executable->extents);
  tt_free(executable);
}

// Types and shapes of the results, where the plugin tells them.
static tt_status_t read_results(tt_rt_executable_t* executable, PJRT_Executable* inner) {
  const tt_rt_plugin_t* plugin = executable->client->plugin;
  TT_RT_ARGS(Executable_NumOutputs, outputs);
  outputs.executable = inner;
  TT_RETURN_IF_ERROR(TT_RT_CALL(plugin, Executable_NumOutputs, &outputs));
  size_t count = executable->output_count = outputs.num_outputs;
  TT_RT_ARGS(Executable_OutputElementTypes, types);
  types.executable = inner;
  TT_RT_ARGS(Executable_OutputDimensions, dims);
  dims.executable = inner;
  tt_status_t status = TT_RT_CALL(plugin, Executable_OutputElementTypes, &types);
  if (tt_status_is_ok(status)) status = TT_RT_CALL(plugin, Executable_OutputDimensions, &dims);
  if (tt_status_code(status) == TT_UNIMPLEMENTED) {
    tt_status_ignore(status);  // every buffer is asked then
    return TT_OK_STATUS;
  }
  if (!tt_status_is_ok(status)) return status;
  if (types.num_output_types != count || dims.num_outputs != count) return TT_OK_STATUS;
  size_t extents = 0;
  for (size_t i = 0; i < count; ++i) {
    // a type or rank that we do not know is an error only when such a buffer comes
    if (tt_dtype_from_pjrt((int)types.output_types[i]) == TT_DTYPE_INVALID ||
        dims.dim_sizes[i] > TT_MAX_RANK) {
      return TT_OK_STATUS;
    }
    extents += dims.dim_sizes[i];
  }
  TT_RETURN_IF_ERROR(tt_alloc_array(count, sizeof(tt_dtype_t), (void**)&executable->output_dtypes));
  TT_RETURN_IF_ERROR(tt_alloc_array(count, sizeof(uint32_t), (void**)&executable->output_ranks));
  TT_RETURN_IF_ERROR(tt_alloc_array(extents, sizeof(int64_t), (void**)&executable->extents));
  const int64_t** starts;
  TT_RETURN_IF_ERROR(tt_alloc_array(count, sizeof(int64_t*), (void**)&starts));
  size_t at = 0;
  for (size_t i = 0; i < count; ++i) {
    executable->output_dtypes[i] = tt_dtype_from_pjrt((int)types.output_types[i]);
    executable->output_ranks[i] = (uint32_t)dims.dim_sizes[i];
    starts[i] = executable->extents + at;
    for (size_t d = 0; d < dims.dim_sizes[i]; ++d) {
      int64_t extent = dims.dims[at];
      if (extent < 0) {  // dynamic: every buffer is asked
        tt_free(starts);
        return TT_OK_STATUS;
      }
      executable->extents[at++] = extent;
    }
  }
  executable->output_dims = starts;  // set last: it says that all of them are known
  return TT_OK_STATUS;
}

static tt_status_t inspect(tt_rt_executable_t* executable) {
  const tt_rt_plugin_t* plugin = executable->client->plugin;
  TT_RT_ARGS(LoadedExecutable_GetExecutable, get);
  get.loaded_executable = executable->handle;
  TT_RETURN_IF_ERROR(TT_RT_CALL(plugin, LoadedExecutable_GetExecutable, &get));
  tt_status_t status = read_results(executable, get.executable);
  TT_RT_ARGS(Executable_Destroy, destroy);
  destroy.executable = get.executable;
  TT_RT_RELEASE(plugin, Executable_Destroy, &destroy);  // only our reference to it
  return status;
}

// ---- compile -----------------------------------------------------------------------------------
static tt_status_t compile_program(tt_rt_client_t* client, const char* format, const void* code,
                                   size_t code_size, const tt_rt_compile_options_t* options,
                                   tt_rt_executable_t** out_executable) {
  static const tt_rt_compile_options_t defaults;
  if (!options) options = &defaults;
  int replicas = options->num_replicas ? options->num_replicas : 1;
  int partitions = options->num_partitions ? options->num_partitions : 1;
  if (replicas < 1 || partitions < 1 || (int64_t)replicas * partitions > (int64_t)client->device_count) {
    return tt_status_create(TT_INVALID_ARGUMENT, "%d replicas x %d partitions do not fit on %zu devices",
                            replicas, partitions, client->device_count);
  }
  size_t count = (size_t)replicas * (size_t)partitions;
  if (count == 1) TT_RETURN_IF_ERROR(tt_rt_check_device(client, options->device));
  void* memory;
  TT_RETURN_IF_ERROR(tt_alloc(sizeof(tt_rt_executable_t), &memory));
  tt_rt_executable_t* executable = memory;
  executable->references = 1;
  tt_rt_client_retain(client);
  executable->client = client;
  executable->device_count = count;
  int32_t* ids = NULL;
  void* bytes = NULL;
  size_t size = 0;
  tt_status_t status = tt_alloc_array(count, sizeof(uint32_t), (void**)&executable->devices);
  if (tt_status_is_ok(status)) status = tt_alloc_array(count, sizeof(int32_t), (void**)&ids);
  if (!tt_status_is_ok(status)) goto cleanup;
  for (size_t i = 0; i < count; ++i) {
    executable->devices[i] = (uint32_t)(count == 1 ? options->device : i);
    ids[i] = client->devices[executable->devices[i]].info.id;
  }
  status = tt_rt_options_encode(replicas, partitions, ids, &bytes, &size);
  if (!tt_status_is_ok(status)) goto cleanup;
  PJRT_Program program = tt_rt_program(code, code_size, format);
  TT_RT_ARGS(Client_Compile, args);
  args.client = client->handle;
  args.program = &program;
  args.compile_options = bytes;
  args.compile_options_size = size;
  int64_t start = tt_clock_ns();
  const tt_rt_plugin_t* plugin = client->plugin;
  int passes = options->matmul_passes ? options->matmul_passes : client->target.matmul_passes;
  if (plugin->extension && (passes || options->reference_kernels)) {
    status = tt_rt_fault_due()
                 ? tt_rt_injected("PJRT_Client_Compile")
                 : tt_rt_take_error(plugin, "PJRT_Client_Compile",
                                    plugin->extension->compile(&args, passes, options->reference_kernels));
  } else {
    status = TT_RT_CALL(plugin, Client_Compile, &args);
  }
  TT_RT_COUNT(compiles, 1);
  TT_RT_COUNT(compile_ns, tt_clock_ns() - start);
  if (tt_status_is_ok(status)) {
    executable->handle = args.executable;
    status = inspect(executable);
  }
cleanup:
  tt_free(ids);
  tt_free(bytes);
  if (!tt_status_is_ok(status)) {
    executable_free(executable);
    return status;
  }
  *out_executable = executable;
  return TT_OK_STATUS;
}

tt_status_t tt_rt_compile_text(tt_rt_client_t* client, const char* text, size_t size,
                               const tt_rt_compile_options_t* options, tt_rt_executable_t** out_executable) {
  *out_executable = NULL;
  return compile_program(client, "mlir", text, size, options, out_executable);
}

tt_status_t tt_rt_compile(tt_rt_client_t* client, const tt_module_t* module,
                          const tt_rt_compile_options_t* options, tt_rt_executable_t** out_executable) {
  *out_executable = NULL;
  const tt_rt_plugin_t* plugin = client->plugin;
  if (plugin->fingerprint[0] && strcmp(plugin->fingerprint, tt_rt_ir_fingerprint()) == 0 &&
      __atomic_load_n(&client->handover, __ATOMIC_RELAXED)) {
    char format[48];
    snprintf(format, sizeof(format), "tt-ir/%s", plugin->fingerprint);
    return compile_program(client, format, &module, sizeof(module), options, out_executable);
  }
  TT_RETURN_IF_ERROR(tt_rt_check_bounded(module));
  tt_strbuf_t text;
  tt_strbuf_initialize(&text);
  tt_status_t status = tt_module_print(module, TT_PRINT_DEFAULT, &text);
  if (tt_status_is_ok(status)) status = tt_strbuf_status(&text);
  if (tt_status_is_ok(status)) {
    status = compile_program(client, "mlir", text.data, text.size, options, out_executable);
  }
  tt_strbuf_deinitialize(&text);
  return status;
}

void tt_rt_executable_retain(tt_rt_executable_t* executable) {
  __atomic_fetch_add(&executable->references, 1, __ATOMIC_RELAXED);
}

void tt_rt_executable_release(tt_rt_executable_t* executable) {
  if (executable && __atomic_sub_fetch(&executable->references, 1, __ATOMIC_ACQ_REL) == 0) {
    executable_free(executable);
  }
}

size_t tt_rt_executable_output_count(const tt_rt_executable_t* executable) {
  return executable->output_count;
}

// ---- execute -----------------------------------------------------------------------------------
// Fills the reserved outputs of one device; on failure the rest is destroyed and every output is NULL.
static tt_status_t wrap_outputs(tt_rt_executable_t* executable, size_t device, PJRT_Buffer** handles,
                                tt_rt_buffer_t** outputs) {
  size_t count = executable->output_count;
  for (size_t i = 0; i < count; ++i) {
    bool known = executable->output_dims != NULL;
    tt_status_t status = tt_rt_buffer_fill(
        executable->client, device, handles[i], known ? executable->output_dtypes[i] : TT_DTYPE_INVALID,
        known ? executable->output_ranks[i] : 0, known ? executable->output_dims[i] : NULL, &outputs[i]);
    if (TT_UNLIKELY(!tt_status_is_ok(status))) {
      for (size_t k = i + 1; k < count; ++k) tt_rt_buffer_handle_destroy(executable->client, handles[k]);
      tt_rt_buffer_unreserve(executable->client, count - i - 1, outputs + i + 1);
      for (size_t k = 0; k < i; ++k) {
        tt_rt_buffer_release(outputs[k]);
        outputs[k] = NULL;
      }
      return status;
    }
  }
  return TT_OK_STATUS;
}

// The standard way, one or several devices. handles: [devices][inputs]; outputs: [devices][output_count].
static tt_status_t execute_standard(tt_rt_executable_t* executable, size_t devices, size_t inputs,
                                    PJRT_Buffer* const* const* arguments, const bool* donate,
                                    PJRT_Buffer** const* outputs) {
  int64_t inline_kept[INLINE_ARGS];
  int64_t* kept = inline_kept;
  if (inputs > INLINE_ARGS) TT_RETURN_IF_ERROR(tt_alloc_array(inputs, sizeof(int64_t), (void**)&kept));
  PJRT_ExecuteOptions options;
  memset(&options, 0, sizeof(options));
  options.struct_size = sizeof(options);
  options.non_donatable_input_indices = kept;
  for (size_t i = 0; i < inputs; ++i) {
    if (!donate || !donate[i]) kept[options.num_non_donatable_input_indices++] = (int64_t)i;
  }
  TT_RT_ARGS(LoadedExecutable_Execute, args);
  args.executable = executable->handle;
  args.options = &options;
  args.argument_lists = arguments;
  args.num_devices = devices;
  args.num_args = inputs;
  args.output_lists = outputs;
  tt_status_t status = TT_RT_CALL(executable->client->plugin, LoadedExecutable_Execute, &args);
  if (kept != inline_kept) tt_free(kept);
  return status;
}

tt_status_t tt_rt_execute(tt_rt_executable_t* executable, size_t input_count, tt_rt_buffer_t* const* inputs,
                          const bool* donate, size_t output_count, tt_rt_buffer_t** outputs) {
  static const bool nothing_donated[INLINE_ARGS];
  for (size_t i = 0; i < output_count; ++i) outputs[i] = NULL;
  if (TT_UNLIKELY(executable->device_count != 1)) {
    return tt_status_create(TT_INVALID_ARGUMENT,
                            "the program runs on %zu devices: tt_rt_execute_sharded is its call",
                            executable->device_count);
  }
  if (TT_UNLIKELY(output_count != executable->output_count)) {
    return tt_status_create(TT_INVALID_ARGUMENT, "the program has %zu outputs, room for %zu was given",
                            executable->output_count, output_count);
  }
  const tt_rt_plugin_t* plugin = executable->client->plugin;
  PJRT_Buffer *inline_handles[INLINE_ARGS], *inline_outputs[INLINE_ARGS];
  PJRT_Buffer **handles = inline_handles, **results = inline_outputs;
  bool* none = NULL;
  void* heap = NULL;
  if (TT_UNLIKELY(input_count > INLINE_ARGS || output_count > INLINE_ARGS)) {
    TT_RETURN_IF_ERROR(tt_alloc((input_count + output_count) * sizeof(void*) + input_count, &heap));
    handles = heap;
    results = handles + input_count;
    none = (bool*)(results + output_count);
  }
  tt_status_t status = tt_rt_buffer_reserve(executable->client, output_count, outputs);
  if (TT_UNLIKELY(!tt_status_is_ok(status))) {
    tt_free(heap);
    return status;
  }
  for (size_t i = 0; i < input_count; ++i) {
    handles[i] = inputs[i]->handle;
    if (TT_UNLIKELY(inputs[i]->error != NULL) && tt_status_is_ok(status)) {
      status = tt_rt_buffer_check(inputs[i]);
    }
  }
  if (TT_UNLIKELY(!tt_status_is_ok(status))) {
    // nothing was run
  } else if (plugin->extension) {
    const bool* flags = donate ? donate : none ? none : nothing_donated;
    status = tt_rt_fault_due() ? tt_rt_injected("PJRT_LoadedExecutable_Execute")
                               : tt_rt_take_error(plugin, "PJRT_LoadedExecutable_Execute",
                                                  plugin->extension->execute(executable->handle, input_count,
                                                                             handles, flags, results));
  } else {
    PJRT_Buffer* const* argument_lists[1] = {handles};
    PJRT_Buffer** output_lists[1] = {results};
    for (size_t i = 0; i < output_count; ++i) results[i] = NULL;
    status = execute_standard(executable, 1, input_count, argument_lists, donate, output_lists);
  }
  if (TT_LIKELY(tt_status_is_ok(status))) {
    TT_RT_COUNT(executions, 1);
    status = wrap_outputs(executable, executable->devices[0], results, outputs);
  } else {
    tt_rt_buffer_unreserve(executable->client, output_count, outputs);
  }
  if (TT_UNLIKELY(!tt_status_is_ok(status))) tt_rt_buffers_consumed(input_count, inputs, donate, status);
  tt_free(heap);
  return status;
}

tt_status_t tt_rt_execute_sharded(tt_rt_executable_t* executable, size_t device_count, size_t input_count,
                                  tt_rt_buffer_t* const* inputs, size_t output_count,
                                  tt_rt_buffer_t** outputs) {
  for (size_t i = 0; i < device_count * output_count; ++i) outputs[i] = NULL;
  for (size_t i = 0; i < device_count * input_count; ++i) TT_RETURN_IF_ERROR(tt_rt_buffer_check(inputs[i]));
  if (device_count != executable->device_count || output_count != executable->output_count) {
    return tt_status_create(
        TT_INVALID_ARGUMENT,
        "the program runs on %zu devices with %zu outputs each; %zu devices and %zu outputs were given",
        executable->device_count, executable->output_count, device_count, output_count);
  }
  void* memory;
  size_t cells = device_count * (input_count + output_count);
  TT_RETURN_IF_ERROR(tt_alloc((cells + 2 * device_count) * sizeof(void*), &memory));
  PJRT_Buffer** handles = memory;
  PJRT_Buffer** results = handles + device_count * input_count;
  PJRT_Buffer*** output_lists = (PJRT_Buffer***)(results + device_count * output_count);
  PJRT_Buffer* const** argument_lists = (PJRT_Buffer* const**)(output_lists + device_count);
  for (size_t d = 0; d < device_count; ++d) {
    for (size_t i = 0; i < input_count; ++i) {
      handles[d * input_count + i] = inputs[d * input_count + i]->handle;
    }
    argument_lists[d] = handles + d * input_count;
    output_lists[d] = results + d * output_count;
  }
  tt_status_t status = tt_rt_buffer_reserve(executable->client, device_count * output_count, outputs);
  if (!tt_status_is_ok(status)) {
    tt_free(memory);
    return status;
  }
  status = execute_standard(executable, device_count, input_count, argument_lists, NULL, output_lists);
  if (!tt_status_is_ok(status)) {
    tt_rt_buffer_unreserve(executable->client, device_count * output_count, outputs);
  } else {
    TT_RT_COUNT(executions, 1);
    for (size_t d = 0; d < device_count; ++d) {
      if (tt_status_is_ok(status)) {
        status =
            wrap_outputs(executable, executable->devices[d], output_lists[d], outputs + d * output_count);
      } else {  // the first failure decides; what is left is destroyed
        for (size_t i = 0; i < output_count; ++i) {
          tt_rt_buffer_handle_destroy(executable->client, output_lists[d][i]);
        }
        tt_rt_buffer_unreserve(executable->client, output_count, outputs + d * output_count);
      }
    }
    for (size_t i = 0; !tt_status_is_ok(status) && i < device_count * output_count; ++i) {
      tt_rt_buffer_release(outputs[i]);
      outputs[i] = NULL;
    }
  }
  tt_free(memory);
  return status;
}
