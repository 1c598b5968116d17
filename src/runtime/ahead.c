#include "runtime/ahead.h"

#include <stdio.h>
#include <string.h>

#include "ir/text.h"
#include "runtime/hlo_proto.h"
#include "runtime/internal.h"

struct tt_rt_topology_s {
  tt_rt_plugin_t* plugin;
  PJRT_TopologyDescription* handle;
  tt_slice_t slice;
  char name[TT_SLICE_NAME_MAX];
  char kind[64];
  size_t device_count;
};

static const char* const collective_names[TT_RT_COLLECTIVE_COUNT] = {
    "all-reduce",        "all-gather",         "reduce-scatter",       "all-to-all",
    "ragged-all-to-all", "collective-permute", "collective-broadcast",
};
const char* tt_rt_collective_name(tt_rt_collective_t collective) { return collective_names[collective]; }

// ---- topologies --------------------------------------------------------------------------------
static tt_status_t read_devices(tt_rt_topology_t* topology) {
  const tt_rt_plugin_t* plugin = topology->plugin;
  TT_RT_ARGS(TopologyDescription_GetDeviceDescriptions, devices);
  devices.topology = topology->handle;
  TT_RETURN_IF_ERROR(TT_RT_CALL(plugin, TopologyDescription_GetDeviceDescriptions, &devices));
  topology->device_count = devices.num_descriptions;
  if (devices.num_descriptions == 0) {
    return tt_status_create(TT_FAILED_PRECONDITION, "the topology has no devices");
  }
  TT_RT_ARGS(DeviceDescription_Kind, kind);
  kind.device_description = devices.descriptions[0];
  TT_RETURN_IF_ERROR(TT_RT_CALL(plugin, DeviceDescription_Kind, &kind));
  snprintf(topology->kind, sizeof(topology->kind), "%.*s", (int)TT_MIN(kind.device_kind_size, (size_t)63),
           kind.device_kind);
  return TT_OK_STATUS;
}

tt_status_t tt_rt_topology_create(tt_rt_plugin_t* plugin, const char* name, tt_rt_topology_t** out_topology) {
  *out_topology = NULL;
  tt_slice_t slice;
  const char* why = tt_slice_parse(name, strlen(name), &slice);
  if (why) {
    return tt_status_create(TT_INVALID_ARGUMENT,
                            "topology '%.100s': %s; names are generation:AxB or generation:AxBxC in chips "
                            "(v2, v3, v4, v5e, v5p, v6e, tpu7x), or Cloud types (v5litepod-8, v6e-4, v5p-8)",
                            name, why);
  }
  // a topology that could not be given back is not asked for
  if (!TT_RT_HAS(plugin, TopologyDescription_Destroy)) {
    return tt_rt_absent(plugin, "PJRT_TopologyDescription_Destroy");
  }
  void* memory;
  TT_RETURN_IF_ERROR(tt_alloc(sizeof(tt_rt_topology_t), &memory));
  tt_rt_topology_t* topology = memory;
  topology->plugin = plugin;
  topology->slice = slice;
  tt_slice_name(&slice, topology->name);
  TT_RT_ARGS(TopologyDescription_Create, args);
  args.topology_name = topology->name;
  args.topology_name_size = strlen(topology->name);
  tt_status_t status = TT_RT_CALL(plugin, TopologyDescription_Create, &args);
  if (tt_status_is_ok(status)) {
    topology->handle = args.topology;
    status = read_devices(topology);
  }
  if (!tt_status_is_ok(status)) {
    status = tt_status_annotate(status, "topology %s of '%s'", topology->name, plugin->path);
    tt_rt_topology_release(topology);
    return status;
  }
  *out_topology = topology;
  return TT_OK_STATUS;
}

void tt_rt_topology_release(tt_rt_topology_t* topology) {
  if (!topology) return;
  if (topology->handle) {
    TT_RT_ARGS(TopologyDescription_Destroy, args);
    args.topology = topology->handle;
    // nothing can be done about a topology that does not want to go
    TT_RT_RELEASE(topology->plugin, TopologyDescription_Destroy, &args);
  }
  tt_free(topology);
}

const char* tt_rt_topology_name(const tt_rt_topology_t* topology) { return topology->name; }
const char* tt_rt_topology_kind(const tt_rt_topology_t* topology) { return topology->kind; }
size_t tt_rt_topology_device_count(const tt_rt_topology_t* topology) { return topology->device_count; }
const tt_slice_t* tt_rt_topology_slice(const tt_rt_topology_t* topology) { return &topology->slice; }

// ---- what the compiler says --------------------------------------------------------------------
// What a plugin does not offer stays unknown; every other failure is one.
static tt_status_t unless_absent(tt_status_t status, bool* out_known) {
  *out_known = tt_status_is_ok(status);
  if (tt_status_code(status) != TT_UNIMPLEMENTED) return status;
  tt_status_ignore(status);
  return TT_OK_STATUS;
}

static tt_status_t read_bytes(const tt_rt_plugin_t* plugin, PJRT_Executable* executable, tt_rt_ahead_t* out) {
  TT_RT_ARGS(Executable_Serialize, args);
  args.executable = executable;
  TT_RETURN_IF_ERROR(TT_RT_CALL(plugin, Executable_Serialize, &args));
  tt_status_t status = tt_alloc(args.serialized_bytes_size, &out->bytes);
  if (tt_status_is_ok(status)) {
    out->size = args.serialized_bytes_size;
    if (out->size) memcpy(out->bytes, args.serialized_bytes, out->size);
  }
  if (args.serialized_executable_deleter) args.serialized_executable_deleter(args.serialized_executable);
  return status;
}

static tt_status_t read_memory(const tt_rt_plugin_t* plugin, PJRT_Executable* executable,
                               tt_rt_ahead_t* out) {
  TT_RT_ARGS(Executable_GetCompiledMemoryStats, args);
  args.executable = executable;
  args.peak_memory_in_bytes = -1;  // an older plugin does not write it
  bool known;
  TT_RETURN_IF_ERROR(unless_absent(TT_RT_CALL(plugin, Executable_GetCompiledMemoryStats, &args), &known));
  if (!known) return TT_OK_STATUS;
  out->code_bytes = args.generated_code_size_in_bytes;
  out->argument_bytes = args.argument_size_in_bytes;
  out->output_bytes = args.output_size_in_bytes;
  out->alias_bytes = args.alias_size_in_bytes;
  out->temp_bytes = args.temp_size_in_bytes;
  out->peak_bytes = args.peak_memory_in_bytes;
  return TT_OK_STATUS;
}

static bool named(const PJRT_NamedValue* value, const char* name) {
  return value->name_size == strlen(name) && memcmp(value->name, name, value->name_size) == 0;
}

// vtpu has no program in another's format: it lists pairs (result, parameter).
static tt_status_t read_aliases(const PJRT_NamedValue* value, tt_rt_ahead_t* out) {
  size_t count = value->value_size / 2;
  void* block = NULL;
  TT_RETURN_IF_ERROR(tt_alloc_array(count ? count : 1, sizeof(tt_rt_alias_t), &block));
  tt_free(out->aliases);
  out->aliases = block;
  out->alias_count = out->alias_capacity = count;
  for (size_t i = 0; i < count; ++i) {
    const int64_t* pair = value->int64_array_value + 2 * i;
    out->aliases[i] = (tt_rt_alias_t){.output = pair[0], .parameter = pair[1]};
  }
  out->has_program = true;
  return TT_OK_STATUS;
}

static tt_status_t read_costs(const tt_rt_plugin_t* plugin, PJRT_Executable* executable, tt_rt_ahead_t* out) {
  TT_RT_ARGS(Executable_GetCostAnalysis, args);
  args.executable = executable;
  bool known;
  TT_RETURN_IF_ERROR(unless_absent(TT_RT_CALL(plugin, Executable_GetCostAnalysis, &args), &known));
  for (size_t i = 0; known && i < args.num_properties; ++i) {
    const PJRT_NamedValue* value = &args.properties[i];
    double number;
    if (value->type == PJRT_NamedValue_kInt64List && named(value, "aliases"))
      TT_RETURN_IF_ERROR(read_aliases(value, out));
    for (int k = 0; value->type == PJRT_NamedValue_kInt64 && k < TT_RT_COLLECTIVE_COUNT; ++k)
      if (named(value, collective_names[k])) out->collectives[k] = value->int64_value;
    if (value->type == PJRT_NamedValue_kFloat) number = value->float_value;
    else if (value->type == PJRT_NamedValue_kInt64) number = (double)value->int64_value;
    else continue;
    if (named(value, "flops")) out->flops = number;
    if (named(value, "bytes accessed")) out->accessed_bytes = number;
  }
  return TT_OK_STATUS;
}

static tt_status_t read_program(const tt_rt_plugin_t* plugin, PJRT_Executable* executable,
                                tt_rt_ahead_t* out) {
  PJRT_Program program;
  memset(&program, 0, sizeof(program));
  program.struct_size = sizeof(program);
  TT_RT_ARGS(Executable_OptimizedProgram, args);
  args.executable = executable;
  args.program = &program;
  bool known;
  TT_RETURN_IF_ERROR(unless_absent(TT_RT_CALL(plugin, Executable_OptimizedProgram, &args), &known));
  if (!known) return TT_OK_STATUS;
  void* code;
  TT_RETURN_IF_ERROR(tt_alloc(program.code_size, &code));
  program.code = code;
  tt_status_t status = TT_RT_CALL(plugin, Executable_OptimizedProgram, &args);
  if (tt_status_is_ok(status)) {
    bool has_config = program.format_size == 15 && memcmp(program.format, "hlo_with_config", 15) == 0;
    bool is_plain = program.format_size == 3 && memcmp(program.format, "hlo", 3) == 0;
    if (has_config || is_plain) {
      status = tt_rt_hlo_read(program.code, program.code_size, has_config, out);
      out->has_program = tt_status_is_ok(status);
    }
  }
  tt_free(code);
  return status;
}

static tt_status_t read_all(const tt_rt_plugin_t* plugin, PJRT_Executable* executable, tt_rt_ahead_t* out) {
  TT_RETURN_IF_ERROR(read_bytes(plugin, executable, out));
  TT_RETURN_IF_ERROR(read_memory(plugin, executable, out));
  TT_RETURN_IF_ERROR(read_costs(plugin, executable, out));
  return read_program(plugin, executable, out);
}

// ---- compile -----------------------------------------------------------------------------------
// A text that our reader does not know (another dialect, bytecode) goes to the plugin as it is.
static tt_status_t check_text(const char* text, size_t size) {
  tt_module_t* module;
  tt_status_t status = tt_module_parse(text, size, &module);
  if (!tt_status_is_ok(status)) {
    if (tt_status_code(status) == TT_RESOURCE_EXHAUSTED) return status;
    tt_status_ignore(status);  // the plugin's parser decides, and words the error
    return TT_OK_STATUS;
  }
  status = tt_rt_check_bounded(module);
  tt_module_release(module);
  return status;
}

static tt_status_t compile(tt_rt_topology_t* topology, const char* text, size_t size, int replicas,
                           int partitions, PJRT_Executable** out_executable) {
  size_t count = (size_t)replicas * (size_t)partitions;
  int32_t* ids;
  TT_RETURN_IF_ERROR(tt_alloc_array(count, sizeof(int32_t), (void**)&ids));
  for (size_t i = 0; i < count; ++i) ids[i] = (int32_t)i;
  void* options;
  size_t options_size;
  tt_status_t status = tt_rt_options_encode(replicas, partitions, ids, &options, &options_size);
  tt_free(ids);
  TT_RETURN_IF_ERROR(status);
  PJRT_Program program = tt_rt_program(text, size, "mlir");
  TT_RT_ARGS(Compile, args);
  args.topology = topology->handle;
  args.program = &program;
  args.compile_options = options;
  args.compile_options_size = options_size;
  int64_t start = tt_clock_ns();
  status = TT_RT_CALL(topology->plugin, Compile, &args);
  TT_RT_COUNT(compiles, 1);
  TT_RT_COUNT(compile_ns, tt_clock_ns() - start);
  tt_free(options);
  *out_executable = args.executable;
  return status;
}

tt_status_t tt_rt_compile_ahead(tt_rt_topology_t* topology, const char* text, size_t size,
                                const tt_rt_compile_options_t* options, tt_rt_ahead_t* out) {
  memset(out, 0, sizeof(*out));
  out->argument_bytes = out->output_bytes = out->alias_bytes = -1;
  out->temp_bytes = out->code_bytes = out->peak_bytes = -1;
  out->flops = out->accessed_bytes = -1;
  int replicas = options && options->num_replicas ? options->num_replicas : 1;
  int partitions = options && options->num_partitions ? options->num_partitions : 1;
  if (replicas < 1 || partitions < 1 || (int64_t)replicas * partitions > (int64_t)topology->device_count) {
    return tt_status_create(TT_INVALID_ARGUMENT,
                            "%d replicas x %d partitions do not fit on the %zu devices of %s", replicas,
                            partitions, topology->device_count, topology->name);
  }
  TT_RETURN_IF_ERROR(check_text(text, size));
  PJRT_Executable* executable = NULL;
  TT_RETURN_IF_ERROR(compile(topology, text, size, replicas, partitions, &executable));
  const tt_rt_plugin_t* plugin = topology->plugin;
  tt_status_t status = read_all(plugin, executable, out);
  TT_RT_ARGS(Executable_Destroy, destroy);
  destroy.executable = executable;
  TT_RT_RELEASE(plugin, Executable_Destroy, &destroy);  // only our reference to it
  if (!tt_status_is_ok(status)) tt_rt_ahead_deinitialize(out);
  return status;
}

void tt_rt_ahead_deinitialize(tt_rt_ahead_t* ahead) {
  tt_free(ahead->bytes);
  tt_free(ahead->aliases);
  memset(ahead, 0, sizeof(*ahead));
}
