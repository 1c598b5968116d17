#define _GNU_SOURCE
#include <dlfcn.h>
#include <string.h>
#include <unistd.h>

#include "eager/device.h"

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
