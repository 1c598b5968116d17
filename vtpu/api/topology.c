// Virtual topologies: names, shapes, coordinates, memory budgets.
//
// A name is `generation:AxB[xC]` (chips along each axis of the torus) or a Cloud accelerator type such as
// v5litepod-8, v6e-4, v5p-8, tpu7x-8. Device ids follow the chips with x fastest, then the cores of a chip.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/api.h"

#define GIB ((int64_t)1 << 30)
#define MAX_DEVICES 256

typedef struct generation_s {
  const char *name, *cloud;     // "v6e"; the Cloud type's stem
  const char* kind;
  int rank;                     // axes of the torus
  int devices_per_chip;
  int cloud_units_per_chip;     // what a Cloud type counts
  int64_t hbm_gib;              // a chip
  double bf16_tflops;           // a chip
  int64_t max_chips;
} generation_t;

static const generation_t generations[] = {
    {"v5e", "v5litepod", "TPU v5e (virtual, CPU)", 2, 1, 1, 16, 197, 256},
    {"v5p", "v5p", "TPU v5p (virtual, CPU)", 3, 1, 2, 95, 459, 8960},
    {"v6e", "v6e", "TPU v6e (virtual, CPU)", 2, 1, 1, 32, 918, 256},
    {"tpu7x", "tpu7x", "TPU v7x (virtual, CPU)", 3, 2, 2, 192, 2307, 9216},
};

static const char allowed[] =
    "v5e:AxB, v6e:AxB, v5p:AxBxC, tpu7x:AxBxC (chips an axis), or a Cloud type: v5litepod-N, v6e-N, v5p-N, "
    "tpu7x-N with N a power of two";

static tt_status_t bad_name(const char* name, size_t size, const char* why) {
  return tt_status_create(TT_INVALID_ARGUMENT, "virtual topology '%.*s': %s; allowed: %s",
                          (int)TT_MIN(size, 100), name, why, allowed);
}

// 1-4 digits; false otherwise.
static bool read_number(const char** cursor, const char* end, int64_t* out) {
  const char* p = *cursor;
  int64_t value = 0;
  while (p < end && *p >= '0' && *p <= '9' && p - *cursor < 5) value = value * 10 + (*p++ - '0');
  if (p == *cursor || value == 0 || value > 9999) return false;
  *cursor = p;
  *out = value;
  return true;
}

// Spreads 2^n chips over the axes as Cloud does: 2D 1x1, 2x2, 2x4, 4x4, ...; 3D 1x1x1, 2x2x1, 2x2x2, 2x2x4,
// 2x4x4, 4x4x4, ...
static bool shape_of_count(int rank, int64_t chips, int64_t* shape) {
  if (chips < 1 || (chips & (chips - 1))) return false;
  shape[0] = shape[1] = shape[2] = 1;
  if (rank == 2) {
    int log = __builtin_ctzll((unsigned long long)chips);
    shape[0] = (int64_t)1 << (log / 2);
    shape[1] = chips / shape[0];
    return true;
  }
  if (chips == 2) {
    shape[0] = 2;
    return true;
  }
  if (chips >= 4) {  // a tray is 2x2
    shape[0] = shape[1] = 2;
    chips /= 4;
  }
  if (chips >= 2) {
    shape[2] = 2;
    chips /= 2;
  }
  for (int axis = 2; chips > 1; chips /= 2, axis = (axis + 2) % 3) shape[axis] *= 2;  // z, y, x, z, ...
  return true;
}

typedef struct parsed_s {
  const generation_t* generation;
  int64_t shape[3];
  int rank;
} parsed_t;

static tt_status_t parse_name(const char* name, size_t size, parsed_t* out) {
  const char* end = name + size;
  size_t stem = 0;
  while (stem < size && name[stem] != ':' && name[stem] != '-') ++stem;
  bool cloud = stem < size && name[stem] == '-';
  const generation_t* found = NULL;
  for (size_t i = 0; i < TT_ARRAY_LENGTH(generations); ++i) {
    const generation_t* g = &generations[i];
    const char* text = cloud ? g->cloud : g->name;
    if (strlen(text) == stem && memcmp(text, name, stem) == 0) found = g;
    bool is_v7x = !cloud && stem == 3 && memcmp(name, "v7x", 3) == 0;   // the chip's other name
    if (is_v7x && strcmp(g->name, "tpu7x") == 0) found = g;
  }
  if (!found) return bad_name(name, size, "unknown TPU generation");
  out->generation = found;
  out->shape[0] = out->shape[1] = out->shape[2] = 1;
  out->rank = found->rank;
  if (stem == size) return TT_OK_STATUS;  // one chip
  const char* cursor = name + stem + 1;
  if (cloud) {
    int64_t count;
    if (!read_number(&cursor, end, &count) || cursor != end) {
      return bad_name(name, size, "no count behind the dash");
    }
    int64_t chips = count / found->cloud_units_per_chip;
    if (chips * found->cloud_units_per_chip != count || !shape_of_count(found->rank, chips, out->shape)) {
      return bad_name(name, size, "no slice of that size exists");
    }
  } else {
    int rank = 0;
    for (;;) {
      if (rank == 3 || !read_number(&cursor, end, &out->shape[rank])) {
        return bad_name(name, size, "bad shape");
      }
      ++rank;
      if (cursor == end) break;
      if (*cursor++ != 'x') return bad_name(name, size, "bad shape");
    }
    if (rank > found->rank && out->shape[2] != 1) return bad_name(name, size, "this generation has two axes");
    if (rank == 1) return bad_name(name, size, "the shape needs two or three axes");
    out->rank = TT_MAX(rank, found->rank);
    if (rank > found->rank) out->rank = found->rank;
  }
  int64_t chips;
  if (!tt_checked_product(out->shape, 3, &chips) || chips > found->max_chips ||
      chips * found->devices_per_chip > MAX_DEVICES) {
    return bad_name(name, size, "more than 256 virtual devices");
  }
  return TT_OK_STATUS;
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
  parsed_t parsed;
  TT_RETURN_IF_ERROR(parse_name(name, name_size, &parsed));
  if (budget_bytes < 0) {
    return tt_status_create(TT_INVALID_ARGUMENT, "memory budget of %lld bytes: it cannot be negative",
                            (long long)budget_bytes);
  }
  const generation_t* g = parsed.generation;
  size_t count = (size_t)(parsed.shape[0] * parsed.shape[1] * parsed.shape[2] * g->devices_per_chip);
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
  memcpy(topology->shape, parsed.shape, sizeof(topology->shape));
  topology->rank = parsed.rank;
  topology->devices_per_chip = g->devices_per_chip;
  topology->device_count = count;
  topology->hbm_bytes = g->hbm_gib * GIB / g->devices_per_chip;
  topology->bf16_flops = g->bf16_tflops * 1e12 / g->devices_per_chip;
  int64_t host = (int64_t)(0.9 * (double)tt_host_memory_limit_bytes() / (double)count);
  topology->budget_bytes = budget_bytes ? budget_bytes : TT_MIN(topology->hbm_bytes, host);
  snprintf(topology->generation, sizeof(topology->generation), "%s", g->name);
  snprintf(topology->kind, sizeof(topology->kind), "%s", g->kind);
  int at = snprintf(topology->name, sizeof(topology->name), "%s:%dx%d", g->name, (int)parsed.shape[0],
                    (int)parsed.shape[1]);
  if (parsed.rank == 3) {
    snprintf(topology->name + at, sizeof(topology->name) - (size_t)at, "x%d", (int)parsed.shape[2]);
  }
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
