#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "eager/device.h"

static bool read_hex(const char* folder, const char* name, const char* file, unsigned* out) {
  char path[512], line[32];
  snprintf(path, sizeof(path), "%s/%s/%s", folder, name, file);
  FILE* stream = fopen(path, "r");
  if (!stream) return false;
  bool ok = fgets(line, sizeof(line), stream) != NULL;
  fclose(stream);
  if (!ok) return false;
  *out = (unsigned)strtoul(line, NULL, 16);
  return true;
}

bool tt_device_hardware_present_os(char* detail, size_t size) {
  // Vendor 0x1ae0 alone is not enough: the network and disk devices of Google's machines carry it too.
  static const unsigned tpus[] = {0x0027, 0x005e, 0x0056, 0x0062, 0x0063, 0x006f, 0x0076};
  static const char folder[] = "/sys/bus/pci/devices";
  DIR* devices = opendir(folder);
  if (!devices) return false;
  bool found = false;
  for (struct dirent* entry = readdir(devices); entry && !found; entry = readdir(devices)) {
    unsigned vendor = 0, device = 0;
    if (entry->d_name[0] == '.' || !read_hex(folder, entry->d_name, "vendor", &vendor) || vendor != 0x1ae0)
      continue;
    if (!read_hex(folder, entry->d_name, "device", &device)) continue;
    for (size_t i = 0; i < TT_ARRAY_LENGTH(tpus); ++i) found |= tpus[i] == device;
    if (found) snprintf(detail, size, "PCI device %s (%04x:%04x)", entry->d_name, vendor, device);
  }
  closedir(devices);
  return found;
}

bool tt_device_own_directory_os(char* path, size_t size) {
  Dl_info info;
  if (!dladdr((const void*)(uintptr_t)&tt_device_own_directory_os, &info) || !info.dli_fname) return false;
  const char* slash = strrchr(info.dli_fname, '/');
  size_t length = slash ? (size_t)(slash - info.dli_fname) : 1;
  if (length >= size) return false;
  if (slash)
    memcpy(path, info.dli_fname, length);
  else
    path[0] = '.';
  path[length] = 0;
  return true;
}

bool tt_device_file_exists_os(const char* path) { return access(path, R_OK) == 0; }
