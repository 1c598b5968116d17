// The plugin that a tool uses when none is named.
#ifndef TT_TOOLS_FIND_PLUGIN_H_
#define TT_TOOLS_FIND_PLUGIN_H_

#include <stddef.h>

#include "runtime/discovery.h"

// By the rules of runtime/discovery.h; out->path is the embedded plugin's where that is chosen. With an
// error, *out holds what was found out.
tt_status_t tt_find_plugin(tt_rt_discovery_t* out) TT_MUST_USE;
// libvtpu.so beside the tool, in its parent folder or the parent's lib folder; NULL: none.
const char* tt_find_vtpu(char* path, size_t capacity);
// The folder of the running tool; NULL: unknown.
const char* tt_own_folder(char* path, size_t capacity);

#endif  // TT_TOOLS_FIND_PLUGIN_H_
