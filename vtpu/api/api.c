// The table, the plugin's own slots, and the one exported symbol.
#include <string.h>

#include "api/api.h"
#include "api/extension.h"
#include "exec/pool.h"
#include "ir/fingerprint.h"

PJRT_Error* tt_api_Plugin_Initialize(PJRT_Plugin_Initialize_Args* args) {
  (void)args;
  tt_fork_guard_initialize();
  return NULL;
}

PJRT_Error* tt_api_Plugin_Attributes(PJRT_Plugin_Attributes_Args* args) {
  TT_API_CHECK_ARGS(args, Plugin_Attributes, num_attributes);
  // StableHLO 1.0.0 is the one version that the reader of serialized programs will know.
  static const int64_t stablehlo[3] = {1, 0, 0};
  static PJRT_NamedValue values[3] = {
      {.struct_size = sizeof(PJRT_NamedValue),
       .name = "stablehlo_current_version",
       .name_size = 25,
       .type = PJRT_NamedValue_kInt64List,
       .int64_array_value = stablehlo,
       .value_size = 3},
      {.struct_size = sizeof(PJRT_NamedValue),
       .name = "stablehlo_minimum_version",
       .name_size = 25,
       .type = PJRT_NamedValue_kInt64List,
       .int64_array_value = stablehlo,
       .value_size = 3},
      {.struct_size = sizeof(PJRT_NamedValue),
       .name = "tt_ir",
       .name_size = 5,
       .type = PJRT_NamedValue_kString},
  };
  values[2].string_value = tt_ir_fingerprint();  // the same bytes whoever writes them
  values[2].value_size = strlen(tt_ir_fingerprint());
  args->attributes = values;
  args->num_attributes = TT_ARRAY_LENGTH(values);
  return NULL;
}

static PJRT_Api api = {
    .struct_size = sizeof(PJRT_Api),
    .pjrt_api_version = {sizeof(PJRT_Api_Version), NULL, PJRT_API_MAJOR, PJRT_API_MINOR},
#define PJRT_SLOT(name, result) .name = tt_api_##name,
#include "pjrt/pjrt_slots.def"
#undef PJRT_SLOT
};

TT_EXPORT const PJRT_Api* GetPjrtApi(void) {
  api.extension_start = &tt_api_extension()->base;
  return &api;
}
