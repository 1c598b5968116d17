#define _GNU_SOURCE
#include "find_plugin.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char* tt_own_folder(char* path, size_t capacity) {
  ssize_t size = readlink("/proc/self/exe", path, capacity - 1);
  if (size <= 0) return NULL;
  path[size] = '\0';
  char* slash = strrchr(path, '/');
  if (!slash) return NULL;
  *slash = '\0';
  return path;
}

const char* tt_find_vtpu(char* path, size_t capacity) {
  char self[PATH_MAX];
  if (!tt_own_folder(self, sizeof(self))) return NULL;
  static const char* const places[] = {"", "/..", "/../lib"};
  for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); ++i) {
    snprintf(path, capacity, "%s%s/libvtpu.so", self, places[i]);
    if (access(path, R_OK) == 0) return path;
  }
  return NULL;
}

tt_status_t tt_find_plugin(tt_rt_discovery_t* out) {
  char folder[PATH_MAX];
  tt_rt_system_t system = tt_rt_system();
  TT_RETURN_IF_ERROR(tt_rt_discover(&system, NULL, tt_own_folder(folder, sizeof(folder)), out));
  if (!out->is_embedded || tt_find_vtpu(out->path, sizeof(out->path))) return TT_OK_STATUS;
  out->path[0] = '\0';
  return tt_status_create(TT_NOT_FOUND,
                          "libvtpu.so is not beside this tool: --plugin or TORCH_TPU_PLUGIN names a plugin");
}
