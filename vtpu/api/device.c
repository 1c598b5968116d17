// Devices and their descriptions.
#include <string.h>

#include "api/api.h"

PJRT_Error* tt_api_DeviceDescription_Id(PJRT_DeviceDescription_Id_Args* args) {
  TT_API_CHECK_ARGS(args, DeviceDescription_Id, id);
  args->id = args->device_description->id;
  return NULL;
}

PJRT_Error* tt_api_DeviceDescription_ProcessIndex(PJRT_DeviceDescription_ProcessIndex_Args* args) {
  TT_API_CHECK_ARGS(args, DeviceDescription_ProcessIndex, process_index);
  args->process_index = args->device_description->process_index;
  return NULL;
}

PJRT_Error* tt_api_DeviceDescription_Attributes(PJRT_DeviceDescription_Attributes_Args* args) {
  TT_API_CHECK_ARGS(args, DeviceDescription_Attributes, attributes);
  args->attributes = args->device_description->attributes.values;
  args->num_attributes = args->device_description->attributes.count;
  return NULL;
}

PJRT_Error* tt_api_DeviceDescription_Kind(PJRT_DeviceDescription_Kind_Args* args) {
  TT_API_CHECK_ARGS(args, DeviceDescription_Kind, device_kind_size);
  args->device_kind = args->device_description->kind;
  args->device_kind_size = strlen(args->device_kind);
  return NULL;
}

PJRT_Error* tt_api_DeviceDescription_DebugString(PJRT_DeviceDescription_DebugString_Args* args) {
  TT_API_CHECK_ARGS(args, DeviceDescription_DebugString, debug_string_size);
  args->debug_string = args->device_description->debug_string;
  args->debug_string_size = strlen(args->debug_string);
  return NULL;
}

PJRT_Error* tt_api_DeviceDescription_ToString(PJRT_DeviceDescription_ToString_Args* args) {
  TT_API_CHECK_ARGS(args, DeviceDescription_ToString, to_string_size);
  args->to_string = args->device_description->to_string;
  args->to_string_size = strlen(args->to_string);
  return NULL;
}

PJRT_Error* tt_api_Device_GetDescription(PJRT_Device_GetDescription_Args* args) {
  TT_API_CHECK_ARGS(args, Device_GetDescription, device_description);
  args->device_description = args->device->description;
  return NULL;
}

PJRT_Error* tt_api_Device_IsAddressable(PJRT_Device_IsAddressable_Args* args) {
  TT_API_CHECK_ARGS(args, Device_IsAddressable, is_addressable);
  args->is_addressable = true;
  return NULL;
}

PJRT_Error* tt_api_Device_LocalHardwareId(PJRT_Device_LocalHardwareId_Args* args) {
  TT_API_CHECK_ARGS(args, Device_LocalHardwareId, local_hardware_id);
  args->local_hardware_id = args->device->local_id;
  return NULL;
}

PJRT_Error* tt_api_Device_AddressableMemories(PJRT_Device_AddressableMemories_Args* args) {
  TT_API_CHECK_ARGS(args, Device_AddressableMemories, num_memories);
  args->memories = args->device->memory_list;
  args->num_memories = 2;
  return NULL;
}

PJRT_Error* tt_api_Device_DefaultMemory(PJRT_Device_DefaultMemory_Args* args) {
  TT_API_CHECK_ARGS(args, Device_DefaultMemory, memory);
  args->memory = args->device->memory_list[0];
  return NULL;
}

PJRT_Error* tt_api_Device_MemoryStats(PJRT_Device_MemoryStats_Args* args) {
  TT_API_CHECK_ARGS(args, Device_MemoryStats, peak_bytes_reserved_is_set);
  tt_vmem_stats_t stats;
  tt_vmem_stats(args->device->memories[0].pool, &stats);
  args->bytes_in_use = stats.bytes_in_use;
  args->peak_bytes_in_use = stats.peak_bytes_in_use;
  args->peak_bytes_in_use_is_set = true;
  args->num_allocs = stats.num_allocs;
  args->num_allocs_is_set = true;
  args->largest_alloc_size = stats.largest_alloc_bytes;
  args->largest_alloc_size_is_set = true;
  args->bytes_limit = stats.bytes_limit;
  args->bytes_limit_is_set = true;
  args->bytes_reserved = stats.bytes_reserved;
  args->bytes_reserved_is_set = true;
  args->peak_bytes_reserved = stats.peak_bytes_reserved;
  args->peak_bytes_reserved_is_set = true;
  if (TT_API_HAS_FIELD(args, PJRT_Device_MemoryStats_Args, bytes_reservable_limit_is_set)) {
    args->bytes_reservable_limit = stats.bytes_limit;
    args->bytes_reservable_limit_is_set = true;
  }
  if (TT_API_HAS_FIELD(args, PJRT_Device_MemoryStats_Args, largest_free_block_bytes_is_set)) {
    args->largest_free_block_bytes_is_set = false;
  }
  if (TT_API_HAS_FIELD(args, PJRT_Device_MemoryStats_Args, peak_pool_bytes_is_set)) {
    args->pool_bytes = stats.bytes_reserved;
    args->pool_bytes_is_set = true;
    args->peak_pool_bytes = stats.peak_bytes_reserved;
    args->peak_pool_bytes_is_set = true;
  }
  return NULL;
}

static void attributes_deleter(PJRT_Device_Attributes* attributes) { (void)attributes; }

PJRT_Error* tt_api_Device_GetAttributes(PJRT_Device_GetAttributes_Args* args) {
  TT_API_CHECK_ARGS(args, Device_GetAttributes, attributes_deleter);
  args->attributes = args->device->description->attributes.values;
  args->num_attributes = args->device->description->attributes.count;
  args->device_attributes = (PJRT_Device_Attributes*)args->device->description;
  args->attributes_deleter = attributes_deleter;
  return NULL;
}
