// Finding the fake beside a test's executable. For C tests.
#ifndef TT_FAKE_OPEN_H_
#define TT_FAKE_OPEN_H_

#include <dlfcn.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "fake/fake.h"

// NULL, or why there is none; *out_path is static.
static inline const char* tt_fake_open(const char** out_path, const tt_fake_control_t** out_control) {
  static char path[PATH_MAX + 32];
  ssize_t size = readlink("/proc/self/exe", path, PATH_MAX - 1);
  path[size > 0 ? size : 0] = '\0';
  char* slash = strrchr(path, '/');
  if (!slash) return "the folder of this test is not known";
  strcpy(slash, "/libvtpu.so");
  if (access(path, R_OK) != 0) return "libvtpu.so is not built beside this test";
  strcpy(slash, "/libtt_fake_pjrt.so");
  void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  void* symbol = library ? dlsym(library, "tt_fake_control") : NULL;
  if (!symbol) return "libtt_fake_pjrt.so is not built beside this test";
  const tt_fake_control_t* (*control)(void);
  memcpy(&control, &symbol, sizeof(control));
  *out_control = control();
  *out_path = path;
  return NULL;
}

// fake->slot_count: none of that name.
static inline size_t tt_fake_slot(const tt_fake_control_t* fake, const char* name) {
  size_t slot = 0;
  while (slot < fake->slot_count && strcmp(fake->slot_name(slot), name) != 0) ++slot;
  return slot;
}

#endif  // TT_FAKE_OPEN_H_
