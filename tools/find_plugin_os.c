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

const char* tt_find_plugin(char* path, size_t capacity) {
  const char* given = getenv("TORCH_TPU_PLUGIN");
  if (given && *given && strcmp(given, "vtpu") != 0) {
    snprintf(path, capacity, "%s", given);
    return path;
  }
  return tt_find_vtpu(path, capacity);
}
