// Opens plugin libraries; they are never closed again (R1).
#define _GNU_SOURCE
#include <dlfcn.h>
#include <string.h>

#include "runtime/internal.h"

tt_status_t tt_rt_os_load(const char* path, tt_rt_get_api_t* out_get_api) {
  void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    const char* reason = dlerror();
    return tt_status_create(TT_NOT_FOUND, "cannot load the PJRT plugin '%s': %s", path,
                            reason ? reason : "unknown");
  }
  void* symbol = dlsym(library, "GetPjrtApi");
  if (!symbol) {
    dlclose(library);  // nothing of it was used
    return tt_status_create(TT_UNIMPLEMENTED, "'%s' is no PJRT plugin: it does not export GetPjrtApi", path);
  }
  memcpy(out_get_api, &symbol, sizeof(symbol));
  return TT_OK_STATUS;
}
