// PJRT_Error is tt_status_t (A1): codes are the same numbers.
#include <string.h>

#include "api/api.h"

void tt_api_Error_Destroy(PJRT_Error_Destroy_Args* args) { tt_status_free((tt_status_t)args->error); }

void tt_api_Error_Message(PJRT_Error_Message_Args* args) {
  args->message = tt_status_message((tt_status_t)(uintptr_t)args->error);
  args->message_size = strlen(args->message);
}

PJRT_Error* tt_api_Error_GetCode(PJRT_Error_GetCode_Args* args) {
  args->code = (PJRT_Error_Code)tt_status_code((tt_status_t)(uintptr_t)args->error);
  return NULL;
}

// Our errors carry no payloads.
PJRT_Error* tt_api_Error_ForEachPayload(PJRT_Error_ForEachPayload_Args* args) {
  (void)args;
  return NULL;
}

tt_status_t tt_api_short_args(const char* function, size_t given, size_t needed) {
  return tt_status_create(
      TT_INVALID_ARGUMENT,
      "%s: the argument struct has %zu bytes, at least %zu are needed; the caller's PJRT header is "
      "too old (this plugin is %d.%d)",
      function, given, needed, PJRT_API_MAJOR, PJRT_API_MINOR);
}
