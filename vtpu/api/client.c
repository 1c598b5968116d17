// Clients: options, devices, memories, compile.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/api.h"
#include "exec/pool.h"
#include "kernels/work.h"

static const char* const memory_kinds[2] = {"device", "pinned_host"};

// ---- options -----------------------------------------------------------------------------------
typedef struct settings_s {
  const char* topology;
  size_t topology_size;
  int64_t budget_bytes;
  int64_t threads;
  int64_t matmul_passes;
  bool reference_kernels;
  double memory_fraction;       // of the default budget; 0: all of it
} settings_t;

static bool name_is(const PJRT_NamedValue* value, const char* name) {
  return value->name_size == strlen(name) && memcmp(value->name, name, value->name_size) == 0;
}

static tt_status_t wrong_type(const PJRT_NamedValue* value, const char* wanted) {
  return tt_status_create(TT_INVALID_ARGUMENT, "client option '%.*s' must be %s", (int)value->name_size,
                          value->name, wanted);
}

static tt_status_t read_int(const PJRT_NamedValue* value, int64_t* out) {
  if (value->type == PJRT_NamedValue_kBool) *out = value->bool_value;
  else if (value->type == PJRT_NamedValue_kInt64) *out = value->int64_value;
  else return wrong_type(value, "an integer");
  return TT_OK_STATUS;
}

static tt_status_t check_passes(int64_t passes) {
  if (passes == 0 || passes == 1 || passes == 3 || passes == 6) return TT_OK_STATUS;
  return tt_status_create(TT_INVALID_ARGUMENT, "matmul_passes is %lld; allowed: 0, 1, 3, 6",
                          (long long)passes);
}

static tt_status_t read_options(const PJRT_NamedValue* values, size_t count, settings_t* out) {
  memset(out, 0, sizeof(*out));
  for (size_t i = 0; i < count; ++i) {
    const PJRT_NamedValue* value = &values[i];
    int64_t integer = 0;
    if (name_is(value, "topology") || name_is(value, "virtual")) {
      if (value->type != PJRT_NamedValue_kString) return wrong_type(value, "a string");
      out->topology = value->string_value;
      out->topology_size = value->value_size;
    } else if (name_is(value, "memory_budget_bytes")) {
      TT_RETURN_IF_ERROR(read_int(value, &out->budget_bytes));
    } else if (name_is(value, "threads")) {
      TT_RETURN_IF_ERROR(read_int(value, &out->threads));
    } else if (name_is(value, "matmul_passes")) {
      TT_RETURN_IF_ERROR(read_int(value, &out->matmul_passes));
      TT_RETURN_IF_ERROR(check_passes(out->matmul_passes));
    } else if (name_is(value, "reference_kernels")) {
      TT_RETURN_IF_ERROR(read_int(value, &integer));
      out->reference_kernels = integer != 0;
    } else if (name_is(value, "memory_fraction")) {
      if (value->type != PJRT_NamedValue_kFloat || !(value->float_value > 0 && value->float_value <= 1)) {
        return wrong_type(value, "a float above 0 and at most 1");
      }
      out->memory_fraction = (double)value->float_value;
    } else if (name_is(value, "preallocate")) {
      // accepted for clients that set it on every plugin; the pool grows by need either way
      TT_RETURN_IF_ERROR(read_int(value, &integer));
    } else {
      return tt_status_create(
          TT_INVALID_ARGUMENT,
          "unknown client option '%.*s'; allowed: topology, memory_budget_bytes, memory_fraction, "
          "preallocate, threads, matmul_passes, reference_kernels",
          (int)TT_MIN(value->name_size, 100), value->name);
    }
  }
  if (!out->topology) {
    const char* text = getenv("TORCH_TPU_VIRTUAL");
    if (text) {
      out->topology = text;
      out->topology_size = strlen(text);
    }
  }
  return TT_OK_STATUS;
}

// ---- creation ----------------------------------------------------------------------------------
static tt_status_t make_memory(PJRT_Device* device, int kind) {
  PJRT_Client* client = device->client;
  PJRT_Memory* memory = &device->memories[kind];
  memory->client = client;
  memory->device = device;
  memory->id = device->description->id * 2 + kind;
  memory->kind_id = kind;
  memory->kind = memory_kinds[kind];
  snprintf(memory->debug_string, sizeof(memory->debug_string), "VTPU_%d %s memory (id=%d)",
           device->description->id, memory->kind, memory->id);
  snprintf(memory->to_string, sizeof(memory->to_string), "VTPU_%d(%s)", device->description->id,
           memory->kind);
  device->memory_list[kind] = memory;
  client->memory_list[memory->id] = memory;
  int64_t budget = client->topology->budget_bytes;
  if (kind == 1) {
    budget = (int64_t)(0.9 * (double)tt_host_memory_limit_bytes() / (double)client->device_count);
  }
  char name[64];
  snprintf(name, sizeof(name), "tpu:%d %s memory", device->description->id, memory->kind);
  return tt_vmem_pool_create(name, budget, &memory->pool);
}

static void client_free(PJRT_Client* client) {
  tt_freelist_deinitialize(&client->free_buffers);
  for (size_t i = 0; client->devices && i < client->device_count; ++i) {
    for (int kind = 0; kind < 2; ++kind) tt_vmem_pool_release(client->devices[i].memories[kind].pool);
  }
  tt_free(client->devices);
  tt_free(client->device_list);
  tt_free(client->memory_list);
  tt_api_topology_free(client->topology);
  tt_free(client);
}

static tt_status_t client_create(const settings_t* settings, PJRT_Client** out_client) {
  void* memory;
  TT_RETURN_IF_ERROR(tt_alloc(sizeof(PJRT_Client), &memory));
  PJRT_Client* client = memory;
  client->references = 1;
  TT_FREELIST_INITIALIZE(&client->free_buffers, PJRT_Buffer, next_free);
  client->matmul_passes = (int)settings->matmul_passes;
  client->reference_kernels = settings->reference_kernels;
  tt_status_t status = tt_api_topology_create(settings->topology, settings->topology_size,
                                              settings->budget_bytes, &client->topology);
  if (!tt_status_is_ok(status)) goto cleanup;
  if (settings->memory_fraction > 0 && !settings->budget_bytes) {
    client->topology->budget_bytes =
        (int64_t)((double)client->topology->budget_bytes * settings->memory_fraction);
  }
  client->device_count = client->topology->device_count;
  status = tt_alloc_array(client->device_count, sizeof(PJRT_Device), (void**)&client->devices);
  if (!tt_status_is_ok(status)) goto cleanup;
  status = tt_alloc_array(client->device_count, sizeof(void*), (void**)&client->device_list);
  if (!tt_status_is_ok(status)) goto cleanup;
  status = tt_alloc_array(client->device_count * 2, sizeof(void*), (void**)&client->memory_list);
  if (!tt_status_is_ok(status)) goto cleanup;
  for (size_t i = 0; i < client->device_count; ++i) {
    PJRT_Device* device = &client->devices[i];
    device->client = client;
    device->description = &client->topology->descriptions[i];
    device->local_id = (int)i;
    device->self[0] = device;
    client->device_list[i] = device;
    for (int kind = 0; kind < 2; ++kind) {
      status = make_memory(device, kind);
      if (!tt_status_is_ok(status)) goto cleanup;
    }
  }
  if (settings->threads > 0) tt_pool_set_threads(tt_pool_get(), (int)TT_MIN(settings->threads, 64));
  *out_client = client;
  return TT_OK_STATUS;
cleanup:
  client_free(client);
  return status;
}

void tt_api_client_retain(PJRT_Client* client) {
  __atomic_fetch_add(&client->references, 1, __ATOMIC_RELAXED);
}

void tt_api_client_release(PJRT_Client* client) {
  if (!client) return;
  // acq_rel: all uses come before the free
  if (__atomic_sub_fetch(&client->references, 1, __ATOMIC_ACQ_REL) == 0) client_free(client);
}

// ---- slots -------------------------------------------------------------------------------------
PJRT_Error* tt_api_Client_Create(PJRT_Client_Create_Args* args) {
  TT_API_CHECK_ARGS(args, Client_Create, client);
  settings_t settings;
  TT_API_RETURN_IF_ERROR(read_options(args->create_options, args->num_options, &settings));
  return tt_api_error(client_create(&settings, &args->client));
}

PJRT_Error* tt_api_Client_Destroy(PJRT_Client_Destroy_Args* args) {
  tt_api_client_release(args->client);
  tt_k_work_trim();
  return NULL;
}

PJRT_Error* tt_api_Client_PlatformName(PJRT_Client_PlatformName_Args* args) {
  TT_API_CHECK_ARGS(args, Client_PlatformName, platform_name_size);
  args->platform_name = TT_API_PLATFORM;
  args->platform_name_size = strlen(TT_API_PLATFORM);
  return NULL;
}

PJRT_Error* tt_api_Client_PlatformVersion(PJRT_Client_PlatformVersion_Args* args) {
  TT_API_CHECK_ARGS(args, Client_PlatformVersion, platform_version_size);
  args->platform_version = "vtpu " TT_API_VERSION;
  args->platform_version_size = strlen("vtpu " TT_API_VERSION);
  return NULL;
}

PJRT_Error* tt_api_Client_ProcessIndex(PJRT_Client_ProcessIndex_Args* args) {
  TT_API_CHECK_ARGS(args, Client_ProcessIndex, process_index);
  args->process_index = 0;
  return NULL;
}

PJRT_Error* tt_api_Client_Devices(PJRT_Client_Devices_Args* args) {
  TT_API_CHECK_ARGS(args, Client_Devices, num_devices);
  args->devices = args->client->device_list;
  args->num_devices = args->client->device_count;
  return NULL;
}

PJRT_Error* tt_api_Client_AddressableDevices(PJRT_Client_AddressableDevices_Args* args) {
  TT_API_CHECK_ARGS(args, Client_AddressableDevices, num_addressable_devices);
  args->addressable_devices = args->client->device_list;
  args->num_addressable_devices = args->client->device_count;
  return NULL;
}

static tt_status_t lookup(PJRT_Client* client, int id, PJRT_Device** out_device) {
  *out_device = NULL;
  if (id < 0 || (size_t)id >= client->device_count) {
    return tt_status_create(TT_INVALID_ARGUMENT, "no device with id %d; this client has %zu (%s)", id,
                            client->device_count, client->topology->name);
  }
  *out_device = client->device_list[id];
  return TT_OK_STATUS;
}

PJRT_Error* tt_api_Client_LookupDevice(PJRT_Client_LookupDevice_Args* args) {
  TT_API_CHECK_ARGS(args, Client_LookupDevice, device);
  return tt_api_error(lookup(args->client, args->id, &args->device));
}

PJRT_Error* tt_api_Client_LookupAddressableDevice(PJRT_Client_LookupAddressableDevice_Args* args) {
  TT_API_CHECK_ARGS(args, Client_LookupAddressableDevice, addressable_device);
  return tt_api_error(lookup(args->client, args->local_hardware_id, &args->addressable_device));
}

PJRT_Error* tt_api_Client_AddressableMemories(PJRT_Client_AddressableMemories_Args* args) {
  TT_API_CHECK_ARGS(args, Client_AddressableMemories, num_addressable_memories);
  args->addressable_memories = args->client->memory_list;
  args->num_addressable_memories = args->client->device_count * 2;
  return NULL;
}

PJRT_Error* tt_api_Client_TopologyDescription(PJRT_Client_TopologyDescription_Args* args) {
  TT_API_CHECK_ARGS(args, Client_TopologyDescription, topology);
  args->topology = args->client->topology;  // lent, as the published API has it
  return NULL;
}

PJRT_Error* tt_api_Client_DefaultDeviceAssignment(PJRT_Client_DefaultDeviceAssignment_Args* args) {
  TT_API_CHECK_ARGS(args, Client_DefaultDeviceAssignment, default_assignment);
  int64_t count = (int64_t)args->num_replicas * args->num_partitions;
  if (args->num_replicas < 1 || args->num_partitions < 1 || count > (int64_t)args->client->device_count) {
    TT_API_RETURN_ERROR(TT_INVALID_ARGUMENT, "%d replicas x %d partitions do not fit on %zu devices (%s)",
                        args->num_replicas, args->num_partitions, args->client->device_count,
                        args->client->topology->name);
  }
  if (args->default_assignment_size < (size_t)count) {
    TT_API_RETURN_ERROR(TT_INVALID_ARGUMENT, "room for %zu device ids, %lld are needed",
                        args->default_assignment_size, (long long)count);
  }
  for (int64_t i = 0; i < count; ++i) args->default_assignment[i] = (int)i;
  return NULL;
}

// Host memory needs no registration here, and no other process takes part.
PJRT_Error* tt_api_Client_DmaMap(PJRT_Client_DmaMap_Args* args) {
  (void)args;
  return NULL;
}
PJRT_Error* tt_api_Client_DmaUnmap(PJRT_Client_DmaUnmap_Args* args) {
  (void)args;
  return NULL;
}
PJRT_Error* tt_api_Client_UpdateGlobalProcessInfo(PJRT_Client_UpdateGlobalProcessInfo_Args* args) {
  (void)args;
  return NULL;
}

// ---- compile -----------------------------------------------------------------------------------
PJRT_Error* tt_api_client_compile(PJRT_Client_Compile_Args* args, int matmul_passes, bool reference_kernels) {
  TT_API_CHECK_ARGS(args, Client_Compile, executable);
  args->executable = NULL;
  PJRT_Executable* executable;
  TT_API_RETURN_IF_ERROR(tt_api_executable_create(args->program, args->compile_options,
                                                  args->compile_options_size, matmul_passes,
                                                  reference_kernels, &executable));
  tt_api_options_t options;
  tt_status_t status = tt_api_options_parse(args->compile_options, args->compile_options_size, &options);
  if (tt_status_is_ok(status)) {
    status = tt_api_executable_load(args->client, executable, &options, &args->executable);
    tt_api_options_deinitialize(&options);
  }
  tt_api_executable_release(executable);
  return tt_api_error(status);
}

PJRT_Error* tt_api_Client_Compile(PJRT_Client_Compile_Args* args) {
  TT_API_CHECK_ARGS(args, Client_Compile, executable);
  PJRT_Client* client = args->client;
  return tt_api_client_compile(args, __atomic_load_n(&client->matmul_passes, __ATOMIC_RELAXED),
                               __atomic_load_n(&client->reference_kernels, __ATOMIC_RELAXED));
}

PJRT_Error* tt_api_Compile(PJRT_Compile_Args* args) {
  TT_API_CHECK_ARGS(args, Compile, executable);
  int passes = args->client ? __atomic_load_n(&args->client->matmul_passes, __ATOMIC_RELAXED) : 0;
  return tt_api_error(tt_api_executable_create(args->program, args->compile_options,
                                               args->compile_options_size, passes, false, &args->executable));
}

PJRT_Error* tt_api_Client_Load(PJRT_Client_Load_Args* args) {
  TT_API_CHECK_ARGS(args, Client_Load, loaded_executable);
  const char* bytes = args->compile_options;
  size_t size = args->compile_options_size;
  if (size == 0) {
    bytes = args->executable->options;
    size = args->executable->options_size;
  }
  tt_api_options_t options;
  TT_API_RETURN_IF_ERROR(tt_api_options_parse(bytes, size, &options));
  tt_status_t status =
      tt_api_executable_load(args->client, args->executable, &options, &args->loaded_executable);
  tt_api_options_deinitialize(&options);
  return tt_api_error(status);
}
