// The plugin that a tool uses when none is named.
#ifndef TT_TOOLS_FIND_PLUGIN_H_
#define TT_TOOLS_FIND_PLUGIN_H_

#include <stddef.h>

// TORCH_TPU_PLUGIN, else libvtpu.so. NULL if there is none; the text is written into `path`.
const char* tt_find_plugin(char* path, size_t capacity);
// libvtpu.so beside the tool, in its parent folder or the parent's lib folder; NULL: none.
const char* tt_find_vtpu(char* path, size_t capacity);
// The folder of the running tool; NULL: unknown.
const char* tt_own_folder(char* path, size_t capacity);

#endif  // TT_TOOLS_FIND_PLUGIN_H_
