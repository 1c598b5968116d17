#include <string.h>

#include "runtime/internal.h"

tt_status_t tt_rt_event_await(const tt_rt_plugin_t* plugin, PJRT_Event* event) {
  if (!event) return TT_OK_STATUS;
  TT_RT_ARGS(Event_Await, await);
  await.event = event;
  tt_status_t status = TT_RT_CALL(plugin, Event_Await, &await);
  TT_RT_ARGS(Event_Destroy, destroy);
  destroy.event = event;
  // always destroyed: a fault injected here must not leak, and its own error has no consequence
  TT_RT_RELEASE(plugin, Event_Destroy, &destroy);
  return status;
}
