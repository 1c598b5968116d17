// Memories: two a device, `device` and `pinned_host`.
#include <string.h>

#include "api/api.h"

PJRT_Error* tt_api_Memory_Id(PJRT_Memory_Id_Args* args) {
  TT_API_CHECK_ARGS(args, Memory_Id, id);
  args->id = args->memory->id;
  return NULL;
}

PJRT_Error* tt_api_Memory_Kind(PJRT_Memory_Kind_Args* args) {
  TT_API_CHECK_ARGS(args, Memory_Kind, kind_size);
  args->kind = args->memory->kind;
  args->kind_size = strlen(args->kind);
  return NULL;
}

PJRT_Error* tt_api_Memory_Kind_Id(PJRT_Memory_Kind_Id_Args* args) {
  TT_API_CHECK_ARGS(args, Memory_Kind_Id, kind_id);
  args->kind_id = args->memory->kind_id;
  return NULL;
}

PJRT_Error* tt_api_Memory_DebugString(PJRT_Memory_DebugString_Args* args) {
  TT_API_CHECK_ARGS(args, Memory_DebugString, debug_string_size);
  args->debug_string = args->memory->debug_string;
  args->debug_string_size = strlen(args->debug_string);
  return NULL;
}

PJRT_Error* tt_api_Memory_ToString(PJRT_Memory_ToString_Args* args) {
  TT_API_CHECK_ARGS(args, Memory_ToString, to_string_size);
  args->to_string = args->memory->to_string;
  args->to_string_size = strlen(args->to_string);
  return NULL;
}

PJRT_Error* tt_api_Memory_AddressableByDevices(PJRT_Memory_AddressableByDevices_Args* args) {
  TT_API_CHECK_ARGS(args, Memory_AddressableByDevices, num_devices);
  args->devices = args->memory->device->self;
  args->num_devices = 1;
  return NULL;
}
