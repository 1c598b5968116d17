// Bodies of the composites of ir/composites.def in plain StableHLO, for plugins other than vtpu.
#include "lower/lower.h"

tt_status_t tt_lower_expand(const tt_module_t* module, tt_module_t** out_module) {
  (void)module;
  *out_module = NULL;
  return tt_status_create(TT_UNIMPLEMENTED, "composites have no StableHLO bodies yet");
}
