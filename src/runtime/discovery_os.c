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

const char* tt_rt_os_variable(const tt_rt_system_t* system, const char* name) {
  const char* value = system->environment ? system->environment(system->self, name) : getenv(name);
  return value ? value : "";
}

// ---- the bus -----------------------------------------------------------------------------------
// A hexadecimal number in a file of one line.
static bool read_hex(const char* path, unsigned* out) {
  char line[32];
  FILE* stream = fopen(path, "r");
  if (!stream) return false;
  bool ok = fgets(line, sizeof(line), stream) != NULL;
  fclose(stream);
  char* end;
  if (ok) *out = (unsigned)strtoul(line, &end, 16);
  return ok && end != line;
}

size_t tt_rt_os_pci(const tt_rt_system_t* system, unsigned vendor, tt_rt_pci_t* out, size_t capacity) {
  char path[PATH_CAPACITY];
  snprintf(path, sizeof(path), "%s/sys/bus/pci/devices/*", system->root);
  glob_t found;
  size_t count = 0;
  if (glob(path, 0, NULL, &found) == 0) {  // sorted by address
    for (size_t i = 0; i < found.gl_pathc; ++i) {
      unsigned of = 0, device = 0;
      snprintf(path, sizeof(path), "%s/vendor", found.gl_pathv[i]);
      if (!read_hex(path, &of) || of != vendor) continue;
      snprintf(path, sizeof(path), "%s/device", found.gl_pathv[i]);
      if (!read_hex(path, &device)) continue;
      if (count < capacity) {
        const char* slash = strrchr(found.gl_pathv[i], '/');
        snprintf(out[count].address, sizeof(out[count].address), "%s", slash ? slash + 1 : found.gl_pathv[i]);
        out[count].device = device;
      }
      ++count;
    }
  }
  globfree(&found);
  return count;
}

int tt_rt_os_nodes(const tt_rt_system_t* system) {
  static const char* const patterns[] = {"/dev/accel[0-9]*", "/dev/accel/accel[0-9]*", "/dev/vfio/[0-9]*"};
  int count = 0;
  for (size_t i = 0; i < TT_ARRAY_LENGTH(patterns); ++i) {
    char path[PATH_CAPACITY];
    snprintf(path, sizeof(path), "%s%s", system->root, patterns[i]);
    glob_t found;
    if (glob(path, 0, NULL, &found) == 0) count += (int)found.gl_pathc;
    globfree(&found);
  }
  return count;
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
  const char* given = tt_rt_os_variable(system, "TPU_LIBRARY_PATH");
  if (given[0]) return snprintf(out, capacity, "%s", given) < (int)capacity;
  const char* environment = tt_rt_os_variable(system, "VIRTUAL_ENV");
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
