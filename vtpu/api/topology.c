// Virtual topologies: names, shapes, coordinates, memory budgets.
//
// Names are those of ir/chip.h. Device ids follow the chips with x fastest, then the cores of a chip.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/api.h"
#include "ir/chip.h"

#define MAX_DEVICES 256

static const char allowed[] =
    "v5e:AxB, v6e:AxB, v5p:AxBxC, tpu7x:AxBxC (chips an axis), or a Cloud type: v5litepod-N, v6e-N, v5p-N, "
    "tpu7x-N with N a power of two";

static tt_status_t parse_name(const char* name, size_t size, tt_slice_t* out) {
  const char* why = tt_slice_parse(name, size, out);
  if (!why && !out->chip->is_virtual) why = "unknown TPU generation";
  if (!why && out->devices > MAX_DEVICES) why = "more than 256 virtual devices";
  if (!why) return TT_OK_STATUS;
  return tt_status_create(TT_INVALID_ARGUMENT, "virtual topology '%.*s': %s; allowed: %s",
                          (int)TT_MIN(size, 100), name, why, allowed);
}

// ---- attributes --------------------------------------------------------------------------------
static PJRT_NamedValue* next_attribute(tt_api_attributes_t* list, const char* name) {
  if (list->count == TT_ARRAY_LENGTH(list->values)) return NULL;  // our own bug; the attribute is left out
  PJRT_NamedValue* value = &list->values[list->count++];
  memset(value, 0, sizeof(*value));
  value->struct_size = sizeof(*value);
  value->name = name;
  value->name_size = strlen(name);
  value->value_size = 1;
  return value;
}
void tt_api_attribute_int(tt_api_attributes_t* list, const char* name, int64_t integer) {
  PJRT_NamedValue* value = next_attribute(list, name);
  if (!value) return;
  value->type = PJRT_NamedValue_kInt64;
  value->int64_value = integer;
}
void tt_api_attribute_float(tt_api_attributes_t* list, const char* name, float number) {
  PJRT_NamedValue* value = next_attribute(list, name);
  if (!value) return;
  value->type = PJRT_NamedValue_kFloat;
  value->float_value = number;
}
void tt_api_attribute_text(tt_api_attributes_t* list, const char* name, const char* text) {
  PJRT_NamedValue* value = next_attribute(list, name);
  if (!value) return;
  value->type = PJRT_NamedValue_kString;
  value->string_value = text;
  value->value_size = strlen(text);
}
void tt_api_attribute_ints(tt_api_attributes_t* list, const char* name, size_t slot, size_t count,
                           const int64_t* values) {
  PJRT_NamedValue* value = next_attribute(list, name);
  if (!value || slot >= TT_ARRAY_LENGTH(list->lists) || count > TT_ARRAY_LENGTH(list->lists[0])) return;
  memcpy(list->lists[slot], values, count * sizeof(int64_t));
  value->type = PJRT_NamedValue_kInt64List;
  value->int64_array_value = list->lists[slot];
  value->value_size = count;
}
void tt_api_attribute_lent(tt_api_attributes_t* list, const char* name, size_t count, const int64_t* values) {
  PJRT_NamedValue* value = next_attribute(list, name);
  if (!value) return;
  value->type = PJRT_NamedValue_kInt64List;
  value->int64_array_value = values;
  value->value_size = count;
}

// ---- creation ----------------------------------------------------------------------------------
static void describe_device(const PJRT_TopologyDescription* topology, int id,
                            PJRT_DeviceDescription* device) {
  int64_t chip = id / topology->devices_per_chip;
  device->id = id;
  device->coords[0] = chip % topology->shape[0];
  device->coords[1] = chip / topology->shape[0] % topology->shape[1];
  device->coords[2] = chip / (topology->shape[0] * topology->shape[1]);
  device->core_on_chip = id % topology->devices_per_chip;
  snprintf(device->kind, sizeof(device->kind), "%s", topology->kind);
  snprintf(device->debug_string, sizeof(device->debug_string), "VTPU_%d(process=0,(%d,%d,%d,%d))", id,
           (int)device->coords[0], (int)device->coords[1], (int)device->coords[2], (int)device->core_on_chip);
  snprintf(device->to_string, sizeof(device->to_string),
           "VtpuDevice(id=%d, process_index=0, coords=(%d,%d,%d))", id, (int)device->coords[0],
           (int)device->coords[1], (int)device->coords[2]);
  tt_api_attributes_t* list = &device->attributes;
  tt_api_attribute_ints(list, "coords", 0, 3, device->coords);
  tt_api_attribute_int(list, "core_on_chip", device->core_on_chip);
  tt_api_attribute_int(list, "slice_index", 0);
  tt_api_attribute_int(list, "num_cores", 1);
  tt_api_attribute_text(list, "generation", topology->generation);
  tt_api_attribute_int(list, "hbm_bytes", topology->hbm_bytes);
  tt_api_attribute_int(list, "memory_budget_bytes", topology->budget_bytes);
  // an integer: jaxlib 0.10.2 ends the process on a float among device attributes
  tt_api_attribute_int(list, "bf16_gflops", (int64_t)(topology->bf16_flops / 1e9));
}

tt_status_t tt_api_topology_create(const char* name, size_t name_size, int64_t budget_bytes,
                                   PJRT_TopologyDescription** out_topology) {
  *out_topology = NULL;
  if (name_size == 0) {
    name = "v6e:1x1";
    name_size = 7;
  }
  tt_slice_t slice;
  TT_RETURN_IF_ERROR(parse_name(name, name_size, &slice));
  if (budget_bytes < 0) {
    return tt_status_create(TT_INVALID_ARGUMENT, "memory budget of %lld bytes: it cannot be negative",
                            (long long)budget_bytes);
  }
  const tt_chip_t* chip = slice.chip;
  size_t count = (size_t)slice.devices;
  void* memory;
  TT_RETURN_IF_ERROR(tt_alloc(sizeof(PJRT_TopologyDescription), &memory));
  PJRT_TopologyDescription* topology = memory;
  tt_status_t status = tt_alloc_array(count, sizeof(PJRT_DeviceDescription), (void**)&topology->descriptions);
  if (tt_status_is_ok(status)) {
    status = tt_alloc_array(count, sizeof(void*), (void**)&topology->description_list);
  }
  if (!tt_status_is_ok(status)) {
    tt_api_topology_free(topology);
    return status;
  }
  memcpy(topology->shape, slice.shape, sizeof(topology->shape));
  topology->rank = chip->axes;
  topology->devices_per_chip = chip->devices_per_chip;
  topology->device_count = count;
  topology->hbm_bytes = chip->hbm_bytes / chip->devices_per_chip;
  topology->bf16_flops = chip->bf16_flops / chip->devices_per_chip;
  int64_t host = (int64_t)(0.9 * (double)tt_host_memory_limit_bytes() / (double)count);
  topology->budget_bytes = budget_bytes ? budget_bytes : TT_MIN(topology->hbm_bytes, host);
  snprintf(topology->generation, sizeof(topology->generation), "%s", chip->name);
  // "TPU v7x", not "TPU tpu7x": the chip's public name
  snprintf(topology->kind, sizeof(topology->kind), "TPU %s (virtual, CPU)",
           strcmp(chip->name, "tpu7x") == 0 ? "v7x" : chip->name);
  tt_slice_name(&slice, topology->name);
  for (size_t i = 0; i < count; ++i) {
    topology->description_list[i] = &topology->descriptions[i];
    describe_device(topology, (int)i, &topology->descriptions[i]);
  }
  tt_api_attribute_text(&topology->attributes, "topology", topology->name);
  tt_api_attribute_text(&topology->attributes, "generation", topology->generation);
  tt_api_attribute_ints(&topology->attributes, "shape", 0, 3, topology->shape);
  tt_api_attribute_int(&topology->attributes, "devices_per_chip", topology->devices_per_chip);
  *out_topology = topology;
  return TT_OK_STATUS;
}

void tt_api_topology_free(PJRT_TopologyDescription* topology) {
  if (!topology) return;
  tt_free(topology->descriptions);
  tt_free(topology->description_list);
  tt_free(topology);
}

// ---- slots -------------------------------------------------------------------------------------
PJRT_Error* tt_api_TopologyDescription_Create(PJRT_TopologyDescription_Create_Args* args) {
  TT_API_CHECK_ARGS(args, TopologyDescription_Create, topology);
  return tt_api_error(
      tt_api_topology_create(args->topology_name, args->topology_name_size, 0, &args->topology));
}

PJRT_Error* tt_api_TopologyDescription_Destroy(PJRT_TopologyDescription_Destroy_Args* args) {
  tt_api_topology_free(args->topology);
  return NULL;
}

PJRT_Error* tt_api_TopologyDescription_PlatformName(PJRT_TopologyDescription_PlatformName_Args* args) {
  args->platform_name = TT_API_PLATFORM;
  args->platform_name_size = strlen(TT_API_PLATFORM);
  return NULL;
}

PJRT_Error* tt_api_TopologyDescription_PlatformVersion(PJRT_TopologyDescription_PlatformVersion_Args* args) {
  args->platform_version = TT_API_VERSION;
  args->platform_version_size = strlen(TT_API_VERSION);
  return NULL;
}

PJRT_Error* tt_api_TopologyDescription_GetDeviceDescriptions(
    PJRT_TopologyDescription_GetDeviceDescriptions_Args* args) {
  TT_API_CHECK_ARGS(args, TopologyDescription_GetDeviceDescriptions, num_descriptions);
  args->descriptions = args->topology->description_list;
  args->num_descriptions = args->topology->device_count;
  return NULL;
}

PJRT_Error* tt_api_TopologyDescription_Attributes(PJRT_TopologyDescription_Attributes_Args* args) {
  TT_API_CHECK_ARGS(args, TopologyDescription_Attributes, num_attributes);
  args->attributes = args->topology->attributes.values;
  args->num_attributes = args->topology->attributes.count;
  return NULL;
}

PJRT_Error* tt_api_TopologyDescription_Fingerprint(PJRT_TopologyDescription_Fingerprint_Args* args) {
  TT_API_CHECK_ARGS(args, TopologyDescription_Fingerprint, fingerprint);
  uint64_t hash = 14695981039346656037ull;  // FNV-1a over the canonical name
  for (const char* p = args->topology->name; *p; ++p) hash = (hash ^ (uint8_t)*p) * 1099511628211ull;
  args->fingerprint = hash;
  return NULL;
}

// The serialized form is the canonical name.
static void delete_nothing(PJRT_SerializedTopology* topology) { (void)topology; }

PJRT_Error* tt_api_TopologyDescription_Serialize(PJRT_TopologyDescription_Serialize_Args* args) {
  TT_API_CHECK_ARGS(args, TopologyDescription_Serialize, serialized_topology_deleter);
  args->serialized_bytes = args->topology->name;
  args->serialized_bytes_size = strlen(args->topology->name);
  args->serialized_topology = (PJRT_SerializedTopology*)args->topology;
  args->serialized_topology_deleter = delete_nothing;
  return NULL;
}

PJRT_Error* tt_api_TopologyDescription_Deserialize(PJRT_TopologyDescription_Deserialize_Args* args) {
  TT_API_CHECK_ARGS(args, TopologyDescription_Deserialize, topology);
  if (args->serialized_topology_size == 0) {
    TT_API_RETURN_ERROR(TT_INVALID_ARGUMENT, "a serialized topology of 0 bytes");
  }
  return tt_api_error(
      tt_api_topology_create(args->serialized_topology, args->serialized_topology_size, 0, &args->topology));
}
