// Clients and devices.
#include <stdio.h>
#include <string.h>

#include "runtime/internal.h"

// ---- devices -----------------------------------------------------------------------------------
static tt_status_t copy_text(const char* text, size_t size, char** out) {
  return tt_strndup(text ? text : "", text ? size : 0, out);
}

static void read_attributes(const PJRT_NamedValue* values, size_t count, tt_rt_device_info_t* info) {
  for (size_t i = 0; i < count; ++i) {
    const PJRT_NamedValue* value = &values[i];
    if (value->type == PJRT_NamedValue_kInt64List && value->name_size == 6 &&
        memcmp(value->name, "coords", 6) == 0) {
      info->coord_count = (int)TT_MIN(value->value_size, (size_t)3);
      for (int k = 0; k < info->coord_count; ++k) info->coords[k] = value->int64_array_value[k];
    } else if (value->type == PJRT_NamedValue_kInt64 && value->name_size == 12 &&
               memcmp(value->name, "core_on_chip", 12) == 0) {
      info->core_on_chip = value->int64_value;
    }
  }
}

static tt_status_t read_device(tt_rt_client_t* client, PJRT_Device* handle, tt_rt_device_t* device) {
  const tt_rt_plugin_t* plugin = client->plugin;
  device->handle = handle;
  device->info.coords[0] = device->info.coords[1] = device->info.coords[2] = -1;
  device->info.core_on_chip = -1;
  TT_RT_ARGS(Device_GetDescription, description);
  description.device = handle;
  TT_RETURN_IF_ERROR(TT_RT_CALL(plugin, Device_GetDescription, &description));
  TT_RT_ARGS(DeviceDescription_Id, id);
  id.device_description = description.device_description;
  TT_RETURN_IF_ERROR(TT_RT_CALL(plugin, DeviceDescription_Id, &id));
  device->info.id = id.id;
  TT_RT_ARGS(DeviceDescription_Kind, kind);
  kind.device_description = description.device_description;
  TT_RETURN_IF_ERROR(TT_RT_CALL(plugin, DeviceDescription_Kind, &kind));
  TT_RETURN_IF_ERROR(copy_text(kind.device_kind, kind.device_kind_size, &device->kind));
  TT_RT_ARGS(DeviceDescription_DebugString, debug);
  debug.device_description = description.device_description;
  TT_RETURN_IF_ERROR(TT_RT_CALL(plugin, DeviceDescription_DebugString, &debug));
  TT_RETURN_IF_ERROR(copy_text(debug.debug_string, debug.debug_string_size, &device->debug_string));
  device->info.kind = device->kind;
  device->info.debug_string = device->debug_string;
  TT_RT_ARGS(DeviceDescription_Attributes, attributes);
  attributes.device_description = description.device_description;
  tt_status_t status = TT_RT_CALL(plugin, DeviceDescription_Attributes, &attributes);
  if (tt_status_is_ok(status)) {
    read_attributes(attributes.attributes, attributes.num_attributes, &device->info);
  } else if (tt_status_code(status) != TT_UNIMPLEMENTED) {
    return status;
  } else {
    tt_status_ignore(status);  // coordinates are optional
  }
  TT_RT_ARGS(Device_DefaultMemory, memory);
  memory.device = handle;
  status = TT_RT_CALL(plugin, Device_DefaultMemory, &memory);
  if (tt_status_is_ok(status)) {
    device->memory = memory.memory;
  } else if (tt_status_code(status) != TT_UNIMPLEMENTED) {
    return status;
  } else {
    tt_status_ignore(status);  // buffers are placed by device then
  }
  return TT_OK_STATUS;
}

// ---- target ------------------------------------------------------------------------------------
static tt_status_t choose_target(tt_rt_client_t* client) {
  if (client->plugin->fingerprint[0]) {
    tt_target_vtpu(&client->target);
    return TT_OK_STATUS;
  }
  static const struct { const char *kind, *target; } kinds[] = {
      {"TPU v5 lite", "v5e"}, {"TPU v5e", "v5e"}, {"TPU v5", "v5p"}, {"TPU v5p", "v5p"},
      {"TPU v6 lite", "v6e"}, {"TPU v6e", "v6e"}, {"TPU7x", "tpu7x"}, {"TPU v7x", "tpu7x"},
  };
  const char* name = "foreign";
  for (size_t i = 0; client->device_count && i < TT_ARRAY_LENGTH(kinds); ++i) {
    if (strcmp(client->devices[0].kind, kinds[i].kind) == 0) name = kinds[i].target;
  }
  return tt_target_by_name(name, &client->target);
}

// ---- life --------------------------------------------------------------------------------------
static void client_free(tt_rt_client_t* client) {
  tt_freelist_deinitialize(&client->free_buffers);
  for (size_t i = 0; client->devices && i < client->device_count; ++i) {
    tt_free(client->devices[i].kind);
    tt_free(client->devices[i].debug_string);
  }
  tt_free(client->devices);
  tt_free(client->platform);
  if (client->handle) {
    TT_RT_ARGS(Client_Destroy, args);
    args.client = client->handle;
    // nothing can be done about a client that does not want to go
    TT_RT_RELEASE(client->plugin, Client_Destroy, &args);
  }
  tt_free(client);
}

static tt_status_t fill_client(tt_rt_client_t* client) {
  const tt_rt_plugin_t* plugin = client->plugin;
  TT_RT_ARGS(Client_PlatformName, platform);
  platform.client = client->handle;
  TT_RETURN_IF_ERROR(TT_RT_CALL(plugin, Client_PlatformName, &platform));
  TT_RETURN_IF_ERROR(copy_text(platform.platform_name, platform.platform_name_size, &client->platform));
  TT_RT_ARGS(Client_AddressableDevices, devices);
  devices.client = client->handle;
  TT_RETURN_IF_ERROR(TT_RT_CALL(plugin, Client_AddressableDevices, &devices));
  TT_RETURN_IF_ERROR(
      tt_alloc_array(devices.num_addressable_devices, sizeof(tt_rt_device_t), (void**)&client->devices));
  client->device_count = devices.num_addressable_devices;
  for (size_t i = 0; i < client->device_count; ++i) {
    TT_RETURN_IF_ERROR(read_device(client, devices.addressable_devices[i], &client->devices[i]));
  }
  return choose_target(client);
}

tt_status_t tt_rt_client_create(tt_rt_plugin_t* plugin, const tt_rt_option_t* options, size_t option_count,
                                tt_rt_client_t** out_client) {
  return tt_rt_client_create_with_store(plugin, options, option_count, NULL, out_client);
}

tt_status_t tt_rt_client_create_with_store(tt_rt_plugin_t* plugin, const tt_rt_option_t* options,
                                           size_t option_count, const tt_rt_store_t* store,
                                           tt_rt_client_t** out_client) {
  *out_client = NULL;
  void* memory;
  TT_RETURN_IF_ERROR(tt_alloc(sizeof(tt_rt_client_t), &memory));
  tt_rt_client_t* client = memory;
  client->references = 1;
  TT_FREELIST_INITIALIZE(&client->free_buffers, tt_rt_buffer_t, next_free);
  client->plugin = plugin;
  client->handover = 1;
  if (store) client->store = *store;
  PJRT_NamedValue* values = NULL;
  tt_status_t status = TT_OK_STATUS;
  if (option_count) status = tt_alloc_array(option_count, sizeof(PJRT_NamedValue), (void**)&values);
  if (tt_status_is_ok(status)) {
    for (size_t i = 0; i < option_count; ++i) {
      PJRT_NamedValue* value = &values[i];
      value->struct_size = sizeof(*value);
      value->name = options[i].name;
      value->name_size = strlen(options[i].name);
      if (options[i].text) {
        value->type = PJRT_NamedValue_kString;
        value->string_value = options[i].text;
        value->value_size = strlen(options[i].text);
      } else {
        value->type = PJRT_NamedValue_kInt64;
        value->int64_value = options[i].integer;
        value->value_size = 1;
      }
    }
    TT_RT_ARGS(Client_Create, args);
    args.create_options = values;
    args.num_options = option_count;
    tt_rt_store_attach(client, &args);
    status = TT_RT_CALL(plugin, Client_Create, &args);
    client->handle = tt_status_is_ok(status) ? args.client : NULL;
  }
  tt_free(values);
  if (tt_status_is_ok(status)) status = fill_client(client);
  if (!tt_status_is_ok(status)) {
    client_free(client);
    return tt_status_annotate(status, "client of '%s'", plugin->path);
  }
  for (size_t i = 0; i < option_count; ++i) {
    if (strcmp(options[i].name, "matmul_passes") == 0 && !options[i].text) {
      client->target.matmul_passes = (int)options[i].integer;
    }
  }
  *out_client = client;
  return TT_OK_STATUS;
}

void tt_rt_client_retain(tt_rt_client_t* client) {
  __atomic_fetch_add(&client->references, 1, __ATOMIC_RELAXED);
}

void tt_rt_client_release(tt_rt_client_t* client) {
  // acq_rel: every use comes before the free
  if (client && __atomic_sub_fetch(&client->references, 1, __ATOMIC_ACQ_REL) == 0) client_free(client);
}

// ---- accessors ---------------------------------------------------------------------------------
tt_rt_plugin_t* tt_rt_client_plugin(const tt_rt_client_t* client) { return client->plugin; }
const char* tt_rt_client_platform(const tt_rt_client_t* client) { return client->platform; }
const tt_target_t* tt_rt_client_target(const tt_rt_client_t* client) { return &client->target; }
size_t tt_rt_client_device_count(const tt_rt_client_t* client) { return client->device_count; }
void tt_rt_client_set_ir_handover(tt_rt_client_t* client, bool enabled) {
  __atomic_store_n(&client->handover, enabled, __ATOMIC_RELAXED);
}

tt_status_t tt_rt_check_device(const tt_rt_client_t* client, size_t device) {
  if (TT_LIKELY(device < client->device_count)) return TT_OK_STATUS;
  return tt_status_create(TT_INVALID_ARGUMENT, "device %zu does not exist; '%s' has %zu", device,
                          client->platform, client->device_count);
}

tt_status_t tt_rt_device_info(tt_rt_client_t* client, size_t device, tt_rt_device_info_t* out_info) {
  TT_RETURN_IF_ERROR(tt_rt_check_device(client, device));
  *out_info = client->devices[device].info;
  return TT_OK_STATUS;
}

tt_status_t tt_rt_device_memory_stats(tt_rt_client_t* client, size_t device, tt_rt_memory_stats_t* out) {
  memset(out, 0xff, sizeof(*out));  // -1 everywhere
  TT_RETURN_IF_ERROR(tt_rt_check_device(client, device));
  TT_RT_ARGS(Device_MemoryStats, args);
  args.device = client->devices[device].handle;
  TT_RETURN_IF_ERROR(TT_RT_CALL(client->plugin, Device_MemoryStats, &args));
  out->bytes_in_use = args.bytes_in_use;
  if (args.peak_bytes_in_use_is_set) out->peak_bytes_in_use = args.peak_bytes_in_use;
  if (args.bytes_reserved_is_set) out->bytes_reserved = args.bytes_reserved;
  if (args.peak_bytes_reserved_is_set) out->peak_bytes_reserved = args.peak_bytes_reserved;
  if (args.bytes_limit_is_set) out->bytes_limit = args.bytes_limit;
  if (args.num_allocs_is_set) out->num_allocs = args.num_allocs;
  if (args.largest_alloc_size_is_set) out->largest_alloc_bytes = args.largest_alloc_size;
  return TT_OK_STATUS;
}

void tt_rt_device_trim(tt_rt_client_t* client, size_t device) {
  const tt_pjrt_extension_t* extension = client->plugin->extension;
  if (extension && device < client->device_count) extension->trim(client->devices[device].handle);
}

void tt_rt_device_reset_peak(tt_rt_client_t* client, size_t device) {
  const tt_pjrt_extension_t* extension = client->plugin->extension;
  if (extension && device < client->device_count) extension->reset_peak(client->devices[device].handle);
}

void tt_rt_client_allocations(tt_rt_client_t* client, int64_t* out_allocations, int64_t* out_live_blocks) {
  const tt_pjrt_extension_t* extension = client->plugin->extension;
  *out_allocations = *out_live_blocks = 0;
  if (extension) extension->allocations(out_allocations, out_live_blocks);
}

void tt_rt_client_set_threads(tt_rt_client_t* client, int threads) {
  const tt_pjrt_extension_t* extension = client->plugin->extension;
  if (extension) extension->set_threads(client->handle, threads);
}

void tt_rt_client_limit_threads(tt_rt_client_t* client, int threads) {
  const tt_pjrt_extension_t* extension = client->plugin->extension;
  if (extension) extension->limit_threads(threads);
}

uint64_t tt_rt_client_position(tt_rt_client_t* client) {
  const tt_pjrt_extension_t* extension = client->plugin->extension;
  return extension ? extension->position(client->handle) : 0;
}

bool tt_rt_client_is_done(tt_rt_client_t* client, uint64_t position) {
  const tt_pjrt_extension_t* extension = client->plugin->extension;
  return !extension || extension->is_done(client->handle, position);
}

void tt_rt_client_wait(tt_rt_client_t* client, uint64_t position) {
  const tt_pjrt_extension_t* extension = client->plugin->extension;
  if (extension) extension->wait(client->handle, position);
}

void tt_rt_client_synchronize(tt_rt_client_t* client) { tt_rt_client_wait(client, tt_rt_client_position(client)); }
