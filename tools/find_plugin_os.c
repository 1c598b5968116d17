#define _GNU_SOURCE
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "find_plugin.h"

const char* tt_find_plugin(char* path, size_t capacity) {
  const char* given = getenv("TORCH_TPU_PLUGIN");
  if (given && *given && strcmp(given, "vtpu") != 0) {
    snprintf(path, capacity, "%s", given);
    return path;
  }
  char self[PATH_MAX];
  ssize_t size = readlink("/proc/self/exe", self, sizeof(self) - 1);
  if (size <= 0) return NULL;
  self[size] = '\0';
  char* slash = strrchr(self, '/');
  if (!slash) return NULL;
  *slash = '\0';
  static const char* const places[] = {"", "/..", "/../lib"};
  for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); ++i) {
    snprintf(path, capacity, "%s%s/libvtpu.so", self, places[i]);
    if (access(path, R_OK) == 0) return path;
  }
  return NULL;
}
