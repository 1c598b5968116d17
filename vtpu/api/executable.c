// Executables (a plan and what clients ask about it) and loaded executables (with their devices).
#include <stdio.h>
#include <string.h>

#include "api/api.h"
#include "base/hash.h"
#include "ir/fingerprint.h"
#include "ir/text.h"

#define MLIR_BYTECODE_MAGIC "ML\xefR"

// ---- creation ----------------------------------------------------------------------------------
static bool text_is(const char* data, size_t size, const char* text) {
  return size == strlen(text) && memcmp(data, text, size) == 0;
}

// The module of a program. A handed-over one is only lent (*out_owned false).
static tt_status_t program_module(const PJRT_Program* program, const tt_module_t** out_module,
                                  tt_module_t** out_owned) {
  *out_owned = NULL;
  const char* format = program->format;
  size_t size = program->format_size;
  if (text_is(format, size, "mlir")) {
    if (program->code_size >= 4 && memcmp(program->code, MLIR_BYTECODE_MAGIC, 4) == 0) {
      return tt_status_create(
          TT_UNIMPLEMENTED,
          "vtpu does not read MLIR bytecode (VHLO) yet: send the program as StableHLO text "
          "(format 'mlir', e.g. the result of jax.jit(f).lower(...).as_text())");
    }
    TT_RETURN_IF_ERROR(tt_module_parse(program->code, program->code_size, out_owned));
    tt_status_t status = tt_module_verify(*out_owned);
    if (!tt_status_is_ok(status)) {
      tt_module_release(*out_owned);
      *out_owned = NULL;
      return status;
    }
    *out_module = *out_owned;
    return TT_OK_STATUS;
  }
  if (size > 6 && memcmp(format, "tt-ir/", 6) == 0) {
    if (!text_is(format + 6, size - 6, tt_ir_fingerprint())) {
      return tt_status_create(TT_FAILED_PRECONDITION,
                              "program format '%.*s' comes from another build; this plugin's is 'tt-ir/%s'",
                              (int)TT_MIN(size, 64), format, tt_ir_fingerprint());
    }
    if (program->code_size != sizeof(void*)) {
      return tt_status_create(TT_INVALID_ARGUMENT, "a handed-over program is %zu bytes, not a pointer",
                              program->code_size);
    }
    memcpy(out_module, program->code, sizeof(void*));
    return TT_OK_STATUS;
  }
  return tt_status_create(TT_UNIMPLEMENTED,
                          "program format '%.*s' is not known; vtpu takes 'mlir' (StableHLO text)",
                          (int)TT_MIN(size, 64), format);
}

// Fills the arrays that getters lend; takes over `plan` (also on failure).
static tt_status_t executable_of_plan(tt_plan_t* plan, const char* name, int num_replicas, int num_partitions,
                                      const char* options, size_t options_size,
                                      PJRT_Executable** out_executable) {
  const tt_plan_info_t* info = tt_plan_info(plan);
  size_t results = info->result_count, kinds = TT_MAX(info->parameter_count, results), extents = 0;
  for (size_t i = 0; i < results; ++i) extents += info->results[i].rank;
  // one block: the struct, then arrays by falling alignment
  size_t bytes = sizeof(PJRT_Executable) + (extents + 2 * results) * sizeof(int64_t) + results * sizeof(size_t) +
                 kinds * (sizeof(char*) + sizeof(size_t)) + results * sizeof(PJRT_Buffer_Type) +
                 options_size + strlen(name) + 1;
  void* memory;
  tt_status_t status = tt_alloc(bytes, &memory);
  if (!tt_status_is_ok(status)) {
    tt_plan_release(plan);
    return status;
  }
  PJRT_Executable* executable = memory;
  executable->references = 1;
  executable->plan = plan;
  executable->info = info;
  executable->num_replicas = num_replicas;
  executable->num_partitions = num_partitions;
  char* at = (char*)(executable + 1);
  executable->output_dims = (int64_t*)at;
  at += extents * sizeof(int64_t);
  int64_t* aliases = (int64_t*)at;
  at += 2 * results * sizeof(int64_t);
  executable->output_ranks = (size_t*)at;
  at += results * sizeof(size_t);
  executable->memory_kinds = (const char**)at;
  at += kinds * sizeof(char*);
  executable->memory_kind_sizes = (size_t*)at;
  at += kinds * sizeof(size_t);
  executable->output_types = (PJRT_Buffer_Type*)at;
  at += results * sizeof(PJRT_Buffer_Type);
  executable->options = at;
  executable->options_size = options_size;
  if (options_size) memcpy(at, options, options_size);
  at += options_size;
  executable->name = at;
  memcpy(at, name, strlen(name) + 1);
  int64_t* dims = executable->output_dims;
  for (size_t i = 0; i < results; ++i) {
    executable->output_types[i] = (PJRT_Buffer_Type)tt_dtype_pjrt(info->results[i].dtype);
    executable->output_ranks[i] = info->results[i].rank;
    for (uint32_t d = 0; d < info->results[i].rank; ++d) *dims++ = info->results[i].dims[d];
  }
  for (size_t i = 0; i < kinds; ++i) {
    executable->memory_kinds[i] = "device";
    executable->memory_kind_sizes[i] = strlen("device");
  }
  tt_api_attribute_float(&executable->costs, "flops", (float)info->flops);
  tt_api_attribute_float(&executable->costs, "bytes accessed", (float)info->bytes_accessed);
  tt_api_attribute_int(&executable->costs, "temp_bytes", info->temp_bytes);
  tt_api_attribute_int(&executable->costs, "constant_bytes", info->constant_bytes);
  tt_api_attribute_int(&executable->costs, "plan_bytes", info->plan_bytes);
  tt_api_attribute_int(&executable->costs, "steps", (int64_t)info->step_count);
  // What tt-compile reads from the optimised program of other compilers: pairs (result, parameter), and
  // collectives by kind, in the order of the plan.
  static const char* const collectives[TT_PLAN_COLLECTIVES] = {
      "all-reduce", "all-gather", "reduce-scatter", "all-to-all", "collective-permute", "collective-broadcast"};
  size_t alias_count = 0;
  for (size_t i = 0; i < results; ++i) {
    if (info->results[i].alias < 0) continue;
    aliases[alias_count++] = (int64_t)i;
    aliases[alias_count++] = info->results[i].alias;
  }
  tt_api_attribute_lent(&executable->costs, "aliases", alias_count, aliases);
  for (int k = 0; k < TT_PLAN_COLLECTIVES; ++k) {
    if (info->collectives[k]) tt_api_attribute_int(&executable->costs, collectives[k], info->collectives[k]);
  }
  *out_executable = executable;
  return TT_OK_STATUS;
}

tt_status_t tt_api_executable_create(const PJRT_Program* program, const char* options_bytes,
                                     size_t options_size, int matmul_passes, bool reference_kernels,
                                     PJRT_Executable** out_executable) {
  *out_executable = NULL;
  if (!program || !program->format || !program->code) {
    return tt_status_create(TT_INVALID_ARGUMENT, "the program to compile is NULL");
  }
  tt_api_options_t options;
  TT_RETURN_IF_ERROR(tt_api_options_parse(options_bytes, options_size, &options));
  tt_plan_options_t plan_options = {.num_replicas = options.num_replicas,
                                    .num_partitions = options.num_partitions,
                                    .reference_kernels = reference_kernels,
                                    .matmul_passes = matmul_passes};
  tt_api_options_deinitialize(&options);
  const tt_module_t* module = NULL;
  tt_module_t* owned;
  TT_RETURN_IF_ERROR(program_module(program, &module, &owned));
  tt_plan_t* plan = NULL;
  tt_status_t status = tt_plan_compile(module, &plan_options, &plan);
  if (tt_status_is_ok(status)) {
    status = executable_of_plan(plan, module->name ? module->name : "main", plan_options.num_replicas,
                                plan_options.num_partitions, options_bytes, options_size, out_executable);
  }
  if (owned) tt_module_release(owned);
  return status;
}

static void executable_retain(PJRT_Executable* executable) {
  __atomic_fetch_add(&executable->references, 1, __ATOMIC_RELAXED);
}

void tt_api_executable_release(PJRT_Executable* executable) {
  if (!executable || __atomic_sub_fetch(&executable->references, 1, __ATOMIC_ACQ_REL) != 0) return;
  tt_plan_release(executable->plan);
  tt_free(executable);
}

// ---- loading -----------------------------------------------------------------------------------
tt_status_t tt_api_executable_load(PJRT_Client* client, PJRT_Executable* executable,
                                   const tt_api_options_t* options, PJRT_LoadedExecutable** out_executable) {
  *out_executable = NULL;
  size_t count = (size_t)executable->num_replicas * (size_t)executable->num_partitions;
  if (count > client->device_count) {
    return tt_status_create(TT_INVALID_ARGUMENT,
                            "the program wants %d replicas x %d partitions, the client has %zu devices (%s)",
                            executable->num_replicas, executable->num_partitions, client->device_count,
                            client->topology->name);
  }
  size_t bytes = sizeof(PJRT_LoadedExecutable) + count * (sizeof(PJRT_Device*) + sizeof(int64_t) +
                                                          sizeof(PJRT_LogicalDeviceIds));
  void* memory;
  TT_RETURN_IF_ERROR(tt_alloc(bytes, &memory));
  PJRT_LoadedExecutable* loaded = memory;
  loaded->devices = (PJRT_Device**)(loaded + 1);
  loaded->assignment = (int64_t*)(loaded->devices + count);
  loaded->logical_ids = (PJRT_LogicalDeviceIds*)(loaded->assignment + count);
  loaded->references = 1;
  loaded->device_count = count;
  for (size_t i = 0; i < count; ++i) {
    int64_t id = options->assignment ? options->assignment[i] : (int64_t)i;
    if (!options->assignment && count == 1 && options->device_ordinal >= 0) id = options->device_ordinal;
    if (id < 0 || id >= (int64_t)client->device_count) {
      tt_free(loaded);
      return tt_status_create(TT_INVALID_ARGUMENT,
                              "device assignment names device %lld; the client has %zu (%s)", (long long)id,
                              client->device_count, client->topology->name);
    }
    for (size_t k = 0; k < i; ++k) {
      if (loaded->assignment[k] == id) {
        tt_free(loaded);
        return tt_status_create(TT_INVALID_ARGUMENT, "device assignment names device %lld twice",
                                (long long)id);
      }
    }
    loaded->assignment[i] = id;
    loaded->devices[i] = client->device_list[id];
    loaded->logical_ids[i].replica = (int)(i / (size_t)executable->num_partitions);
    loaded->logical_ids[i].partition = (int)(i % (size_t)executable->num_partitions);
  }
  executable_retain(executable);
  loaded->executable = executable;
  tt_api_client_retain(client);
  loaded->client = client;
  *out_executable = loaded;
  return TT_OK_STATUS;
}

PJRT_Error* tt_api_LoadedExecutable_Destroy(PJRT_LoadedExecutable_Destroy_Args* args) {
  PJRT_LoadedExecutable* loaded = args->executable;
  if (!loaded) return NULL;
  tt_api_executable_release(loaded->executable);
  tt_api_client_release(loaded->client);
  tt_free(loaded);
  return NULL;
}

PJRT_Error* tt_api_LoadedExecutable_GetExecutable(PJRT_LoadedExecutable_GetExecutable_Args* args) {
  TT_API_CHECK_ARGS(args, LoadedExecutable_GetExecutable, executable);
  executable_retain(args->loaded_executable->executable);
  args->executable = args->loaded_executable->executable;
  return NULL;
}

PJRT_Error* tt_api_LoadedExecutable_AddressableDevices(PJRT_LoadedExecutable_AddressableDevices_Args* args) {
  TT_API_CHECK_ARGS(args, LoadedExecutable_AddressableDevices, num_addressable_devices);
  args->addressable_devices = args->executable->devices;
  args->num_addressable_devices = args->executable->device_count;
  return NULL;
}

PJRT_Error* tt_api_LoadedExecutable_AddressableDeviceLogicalIds(
    PJRT_LoadedExecutable_AddressableDeviceLogicalIds_Args* args) {
  TT_API_CHECK_ARGS(args, LoadedExecutable_AddressableDeviceLogicalIds, num_addressable_device_logical_ids);
  args->addressable_device_logical_ids = args->executable->logical_ids;
  args->num_addressable_device_logical_ids = args->executable->device_count;
  return NULL;
}

PJRT_Error* tt_api_LoadedExecutable_Delete(PJRT_LoadedExecutable_Delete_Args* args) {
  __atomic_store_n(&args->executable->deleted, 1, __ATOMIC_RELEASE);
  return NULL;
}

PJRT_Error* tt_api_LoadedExecutable_IsDeleted(PJRT_LoadedExecutable_IsDeleted_Args* args) {
  TT_API_CHECK_ARGS(args, LoadedExecutable_IsDeleted, is_deleted);
  args->is_deleted = __atomic_load_n(&args->executable->deleted, __ATOMIC_ACQUIRE) != 0;
  return NULL;
}

static void free_assignment(PJRT_DeviceAssignmentSerialized* assignment) { tt_free(assignment); }

PJRT_Error* tt_api_LoadedExecutable_GetDeviceAssignment(
    PJRT_LoadedExecutable_GetDeviceAssignment_Args* args) {
  TT_API_CHECK_ARGS(args, LoadedExecutable_GetDeviceAssignment, serialized_device_assignment_deleter);
  PJRT_LoadedExecutable* loaded = args->executable;
  int replicas = loaded->executable->num_replicas, partitions = loaded->executable->num_partitions;
  size_t size = tt_api_assignment_encode(replicas, partitions, loaded->assignment, NULL, 0);
  void* memory;
  TT_API_RETURN_IF_ERROR(tt_alloc(size, &memory));
  tt_api_assignment_encode(replicas, partitions, loaded->assignment, memory, size);
  args->serialized_bytes = memory;
  args->serialized_bytes_size = size;
  args->serialized_device_assignment = memory;
  args->serialized_device_assignment_deleter = free_assignment;
  return NULL;
}

// ---- getters -----------------------------------------------------------------------------------
PJRT_Error* tt_api_Executable_Destroy(PJRT_Executable_Destroy_Args* args) {
  tt_api_executable_release(args->executable);
  return NULL;
}

PJRT_Error* tt_api_Executable_Name(PJRT_Executable_Name_Args* args) {
  TT_API_CHECK_ARGS(args, Executable_Name, executable_name_size);
  args->executable_name = args->executable->name;
  args->executable_name_size = strlen(args->executable->name);
  return NULL;
}

PJRT_Error* tt_api_Executable_NumReplicas(PJRT_Executable_NumReplicas_Args* args) {
  TT_API_CHECK_ARGS(args, Executable_NumReplicas, num_replicas);
  args->num_replicas = (size_t)args->executable->num_replicas;
  return NULL;
}

PJRT_Error* tt_api_Executable_NumPartitions(PJRT_Executable_NumPartitions_Args* args) {
  TT_API_CHECK_ARGS(args, Executable_NumPartitions, num_partitions);
  args->num_partitions = (size_t)args->executable->num_partitions;
  return NULL;
}

PJRT_Error* tt_api_Executable_NumOutputs(PJRT_Executable_NumOutputs_Args* args) {
  TT_API_CHECK_ARGS(args, Executable_NumOutputs, num_outputs);
  args->num_outputs = args->executable->info->result_count;
  return NULL;
}

PJRT_Error* tt_api_Executable_SizeOfGeneratedCodeInBytes(
    PJRT_Executable_SizeOfGeneratedCodeInBytes_Args* args) {
  TT_API_CHECK_ARGS(args, Executable_SizeOfGeneratedCodeInBytes, size_in_bytes);
  args->size_in_bytes = args->executable->info->plan_bytes;
  return NULL;
}

PJRT_Error* tt_api_Executable_GetCostAnalysis(PJRT_Executable_GetCostAnalysis_Args* args) {
  TT_API_CHECK_ARGS(args, Executable_GetCostAnalysis, properties);
  args->properties = args->executable->costs.values;
  args->num_properties = args->executable->costs.count;
  return NULL;
}

PJRT_Error* tt_api_Executable_OutputElementTypes(PJRT_Executable_OutputElementTypes_Args* args) {
  TT_API_CHECK_ARGS(args, Executable_OutputElementTypes, num_output_types);
  args->output_types = args->executable->output_types;
  args->num_output_types = args->executable->info->result_count;
  return NULL;
}

PJRT_Error* tt_api_Executable_OutputDimensions(PJRT_Executable_OutputDimensions_Args* args) {
  TT_API_CHECK_ARGS(args, Executable_OutputDimensions, dim_sizes);
  args->num_outputs = args->executable->info->result_count;
  args->dims = args->executable->output_dims;
  args->dim_sizes = args->executable->output_ranks;
  return NULL;
}

PJRT_Error* tt_api_Executable_OutputMemoryKinds(PJRT_Executable_OutputMemoryKinds_Args* args) {
  TT_API_CHECK_ARGS(args, Executable_OutputMemoryKinds, memory_kind_sizes);
  args->num_outputs = args->executable->info->result_count;
  args->memory_kinds = args->executable->memory_kinds;
  args->memory_kind_sizes = args->executable->memory_kind_sizes;
  return NULL;
}

PJRT_Error* tt_api_Executable_ParameterMemoryKinds(PJRT_Executable_ParameterMemoryKinds_Args* args) {
  TT_API_CHECK_ARGS(args, Executable_ParameterMemoryKinds, memory_kind_sizes);
  args->num_parameters = args->executable->info->parameter_count;
  args->memory_kinds = args->executable->memory_kinds;
  args->memory_kind_sizes = args->executable->memory_kind_sizes;
  return NULL;
}

PJRT_Error* tt_api_Executable_GetCompiledMemoryStats(PJRT_Executable_GetCompiledMemoryStats_Args* args) {
  TT_API_CHECK_ARGS(args, Executable_GetCompiledMemoryStats, host_temp_size_in_bytes);
  const tt_plan_info_t* info = args->executable->info;
  int64_t arguments = 0, outputs = 0, aliases = 0;
  for (size_t i = 0; i < info->parameter_count; ++i) arguments += info->parameters[i].bytes;
  for (size_t i = 0; i < info->result_count; ++i) {
    outputs += info->results[i].bytes;
    if (info->results[i].alias >= 0) aliases += info->results[i].bytes;
  }
  int64_t total = arguments + outputs - aliases + info->temp_bytes;
  args->generated_code_size_in_bytes = info->plan_bytes;
  args->argument_size_in_bytes = arguments;
  args->output_size_in_bytes = outputs;
  args->alias_size_in_bytes = aliases;
  args->temp_size_in_bytes = info->temp_bytes;
  args->host_generated_code_size_in_bytes = 0;
  args->host_argument_size_in_bytes = 0;
  args->host_output_size_in_bytes = 0;
  args->host_alias_size_in_bytes = 0;
  args->host_temp_size_in_bytes = 0;
#define SET(field, value) \
  if (TT_API_HAS_FIELD(args, PJRT_Executable_GetCompiledMemoryStats_Args, field)) args->field = (value)
  SET(peak_memory_in_bytes, total);
  SET(total_size_in_bytes, total);
  SET(total_allocation_bytes, total);
  SET(indefinite_allocations, 0);
  SET(peak_unpadded_heap_bytes, total);
#undef SET
  return NULL;
}

// Hashing needs the plan's bytes, so it is done when first asked for and not on every compile.
static tt_status_t fill_fingerprint(PJRT_Executable* executable) {
  static tt_mutex_t mutex = {PTHREAD_MUTEX_INITIALIZER, TT_RANK_PLUGIN};
  tt_mutex_lock(&mutex);
  tt_status_t status = TT_OK_STATUS;
  if (!executable->fingerprint[0]) {
    void* bytes;
    size_t size;
    status = tt_plan_serialise(executable->plan, &bytes, &size);
    if (tt_status_is_ok(status)) {
      uint64_t hash = tt_hash_bytes(
          (uint64_t)executable->num_replicas << 32 | (uint32_t)executable->num_partitions, bytes, size);
      snprintf(executable->fingerprint, sizeof(executable->fingerprint), "%016llx", (unsigned long long)hash);
      tt_free(bytes);
    }
  }
  tt_mutex_unlock(&mutex);
  return status;
}

PJRT_Error* tt_api_Executable_Fingerprint(PJRT_Executable_Fingerprint_Args* args) {
  TT_API_CHECK_ARGS(args, Executable_Fingerprint, executable_fingerprint_size);
  TT_API_RETURN_IF_ERROR(fill_fingerprint(args->executable));
  args->executable_fingerprint = args->executable->fingerprint;
  args->executable_fingerprint_size = strlen(args->executable->fingerprint);
  return NULL;
}

PJRT_Error* tt_api_LoadedExecutable_Fingerprint(PJRT_LoadedExecutable_Fingerprint_Args* args) {
  TT_API_CHECK_ARGS(args, LoadedExecutable_Fingerprint, executable_fingerprint_size);
  PJRT_Executable* executable = args->executable->executable;
  TT_API_RETURN_IF_ERROR(fill_fingerprint(executable));
  args->executable_fingerprint = executable->fingerprint;
  args->executable_fingerprint_size = strlen(executable->fingerprint);
  return NULL;
}

static void keep_options(PJRT_SerializedCompileOptions* options) { (void)options; }

PJRT_Error* tt_api_Executable_GetCompileOptions(PJRT_Executable_GetCompileOptions_Args* args) {
  TT_API_CHECK_ARGS(args, Executable_GetCompileOptions, serialized_compile_options_deleter);
  args->serialized_bytes = args->executable->options;
  args->serialized_bytes_size = args->executable->options_size;
  args->serialized_compile_options = (PJRT_SerializedCompileOptions*)args->executable;
  args->serialized_compile_options_deleter = keep_options;
  return NULL;
}

// ---- serialisation -----------------------------------------------------------------------------
// "TTVX" version | fingerprint | replicas, partitions | sizes | checksum of the rest | name options plan
typedef struct header_s {
  char magic[4];
  uint32_t version;
  char ir[TT_IR_FINGERPRINT_BYTES];
  int32_t num_replicas, num_partitions;
  uint64_t name_size, options_size, plan_size;
  uint64_t checksum;
} header_t;
#define FORMAT_VERSION 1

static void free_serialised(PJRT_SerializedExecutable* executable) { tt_free(executable); }

PJRT_Error* tt_api_Executable_Serialize(PJRT_Executable_Serialize_Args* args) {
  TT_API_CHECK_ARGS(args, Executable_Serialize, serialized_executable_deleter);
  const PJRT_Executable* executable = args->executable;
  void* plan;
  size_t plan_size;
  TT_API_RETURN_IF_ERROR(tt_plan_serialise(executable->plan, &plan, &plan_size));
  size_t name_size = strlen(executable->name);
  size_t payload = name_size + executable->options_size + plan_size;
  void* memory;
  tt_status_t status = tt_alloc(sizeof(header_t) + payload, &memory);
  if (tt_status_is_ok(status)) {
    header_t header = {.magic = {'T', 'T', 'V', 'X'},
                       .version = FORMAT_VERSION,
                       .num_replicas = executable->num_replicas,
                       .num_partitions = executable->num_partitions,
                       .name_size = name_size,
                       .options_size = executable->options_size,
                       .plan_size = plan_size};
    snprintf(header.ir, sizeof(header.ir), "%s", tt_ir_fingerprint());
    char* at = (char*)memory + sizeof(header_t);
    memcpy(at, executable->name, name_size);
    memcpy(at + name_size, executable->options, executable->options_size);
    memcpy(at + name_size + executable->options_size, plan, plan_size);
    header.checksum = tt_hash_bytes(FORMAT_VERSION, at, payload);
    memcpy(memory, &header, sizeof(header));
    args->serialized_bytes = memory;
    args->serialized_bytes_size = sizeof(header_t) + payload;
    args->serialized_executable = memory;
    args->serialized_executable_deleter = free_serialised;
  }
  tt_free(plan);
  return tt_api_error(status);
}

tt_status_t tt_api_executable_deserialise(const char* bytes, size_t size, PJRT_Executable** out_executable) {
  *out_executable = NULL;
  header_t header;
  if (size < sizeof(header) || memcmp(bytes, "TTVX", 4) != 0) {
    return tt_status_create(TT_INVALID_ARGUMENT, "%zu bytes that are no serialized vtpu executable", size);
  }
  memcpy(&header, bytes, sizeof(header));
  header.ir[sizeof(header.ir) - 1] = '\0';
  if (header.version != FORMAT_VERSION || strcmp(header.ir, tt_ir_fingerprint()) != 0) {
    return tt_status_create(
        TT_FAILED_PRECONDITION,
        "the serialized executable is of version %u, %s; this plugin reads version %d, %s", header.version,
        header.ir, FORMAT_VERSION, tt_ir_fingerprint());
  }
  size_t payload = size - sizeof(header);
  const char* at = bytes + sizeof(header);
  if (header.name_size > 4096 || header.name_size > payload ||
      header.options_size > payload - header.name_size ||
      header.plan_size != payload - header.name_size - header.options_size || header.num_replicas < 1 ||
      header.num_partitions < 1 || header.num_replicas > 4096 || header.num_partitions > 4096 ||
      header.checksum != tt_hash_bytes(FORMAT_VERSION, at, payload)) {
    return tt_status_create(TT_DATA_LOSS, "the serialized executable of %zu bytes is damaged", size);
  }
  char* name;
  TT_RETURN_IF_ERROR(tt_strndup(at, header.name_size, &name));
  tt_plan_t* plan;
  tt_status_t status =
      tt_plan_deserialise(at + header.name_size + header.options_size, header.plan_size, &plan);
  if (tt_status_is_ok(status)) {
    status = executable_of_plan(plan, name, header.num_replicas, header.num_partitions, at + header.name_size,
                                header.options_size, out_executable);
  }
  tt_free(name);
  return status;
}

PJRT_Error* tt_api_Executable_DeserializeAndLoad(PJRT_Executable_DeserializeAndLoad_Args* args) {
  TT_API_CHECK_ARGS(args, Executable_DeserializeAndLoad, loaded_executable);
  args->loaded_executable = NULL;
  PJRT_Executable* executable;
  TT_API_RETURN_IF_ERROR(tt_api_executable_deserialise(args->serialized_executable,
                                                       args->serialized_executable_size, &executable));
  const char* bytes = executable->options;
  size_t size = executable->options_size;
  if (TT_API_HAS_FIELD(args, PJRT_Executable_DeserializeAndLoad_Args,
                       overridden_serialized_compile_options_size) &&
      args->overridden_serialized_compile_options_size) {
    bytes = args->overridden_serialized_compile_options;
    size = args->overridden_serialized_compile_options_size;
  }
  tt_api_options_t options;
  tt_status_t status = tt_api_options_parse(bytes, size, &options);
  if (tt_status_is_ok(status)) {
    if (options.num_replicas != executable->num_replicas ||
        options.num_partitions != executable->num_partitions) {
      status = tt_status_create(
          TT_INVALID_ARGUMENT, "compiled for %d x %d devices, loaded with options for %d x %d",
          executable->num_replicas, executable->num_partitions, options.num_replicas, options.num_partitions);
    } else {
      status = tt_api_executable_load(args->client, executable, &options, &args->loaded_executable);
    }
    tt_api_options_deinitialize(&options);
  }
  tt_api_executable_release(executable);
  return tt_api_error(status);
}
