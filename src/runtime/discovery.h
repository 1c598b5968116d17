// Which machine this is.
#ifndef TT_RUNTIME_DISCOVERY_H_
#define TT_RUNTIME_DISCOVERY_H_

#include "base/base.h"
#include "base/status.h"

// Where facts come from. Tests put a fixture tree and an environment of their own in place.
typedef struct tt_rt_system_s {
  const char* root;                                           // before every path; "": the machine itself
  const char* (*environment)(void* self, const char* name);   // NULL: getenv
  void* self;
} tt_rt_system_t;
// The machine; TORCH_TPU_SYSFS_ROOT puts a root in place.
tt_rt_system_t tt_rt_system(void);

// The path of libtpu.so: TPU_LIBRARY_PATH (not checked), else the `libtpu` package of VIRTUAL_ENV, else of
// the folders from `start` up (may be NULL), else a library folder. False: none, `out` is "".
bool tt_rt_find_libtpu(const tt_rt_system_t* system, const char* start, char* out, size_t capacity);

#endif  // TT_RUNTIME_DISCOVERY_H_
