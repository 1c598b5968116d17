// What discovery reads from the operating system: files below a root, environment variables.
#define _GNU_SOURCE
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/discovery.h"

#define PATH_CAPACITY 1024

tt_rt_system_t tt_rt_system(void) {
  const char* root = getenv("TORCH_TPU_SYSFS_ROOT");
  return (tt_rt_system_t){root ? root : "", NULL, NULL};
}

static const char* variable(const tt_rt_system_t* system, const char* name) {
  const char* value = system->environment ? system->environment(system->self, name) : getenv(name);
  return value ? value : "";
}

// ---- libtpu ------------------------------------------------------------------------------------
// The first readable file that the pattern `folder` + `rest` fits, below the root; `out` has the root too.
static bool find_file(const tt_rt_system_t* system, const char* folder, const char* rest, char* out,
                      size_t capacity) {
  char pattern[PATH_CAPACITY];
  int size = snprintf(pattern, sizeof(pattern), "%s%s%s", system->root, folder, rest);
  if (size < 0 || (size_t)size >= sizeof(pattern)) return false;
  glob_t found;
  bool ok = false;
  if (glob(pattern, 0, NULL, &found) == 0) {
    for (size_t i = 0; i < found.gl_pathc && !ok; ++i) {
      ok = access(found.gl_pathv[i], R_OK) == 0 && strlen(found.gl_pathv[i]) < capacity;
      if (ok) strcpy(out, found.gl_pathv[i]);
    }
  }
  globfree(&found);
  return ok;
}

bool tt_rt_find_libtpu(const tt_rt_system_t* system, const char* start, char* out, size_t capacity) {
  static const char package[] = "/lib/python3*/site-packages/libtpu/libtpu.so";
  out[0] = '\0';
  const char* given = variable(system, "TPU_LIBRARY_PATH");
  if (given[0]) return snprintf(out, capacity, "%s", given) < (int)capacity;
  const char* environment = variable(system, "VIRTUAL_ENV");
  if (environment[0] && find_file(system, environment, package, out, capacity)) return true;
  char folder[PATH_CAPACITY];
  int size = snprintf(folder, sizeof(folder), "%s", start ? start : "");
  while (size > 0 && (size_t)size < sizeof(folder)) {
    if (find_file(system, folder, "/libtpu/libtpu.so", out, capacity)) return true;  // beside our package
    if (find_file(system, folder, "/.venv/lib/python3*/site-packages/libtpu/libtpu.so", out, capacity)) {
      return true;
    }
    char* slash = strrchr(folder, '/');
    if (!slash) break;
    *slash = '\0';
    size = (int)(slash - folder);
  }
  static const char* const folders[] = {"/usr/local/lib", "/usr/lib", "/usr/lib/x86_64-linux-gnu", "/lib"};
  for (size_t i = 0; i < TT_ARRAY_LENGTH(folders); ++i) {
    if (find_file(system, folders[i], "/libtpu.so", out, capacity)) return true;
  }
  return false;
}
