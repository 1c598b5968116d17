// A PJRT plugin that stands in front of another: every call goes through, but the devices claim to be a chip
// of TT_RECORDER_KIND ("TPU v5 lite") and each program given to Client_Compile is kept as <number>.mlir in
// TT_RECORDER_DIR. So the whole stack makes exactly the programs that it would hand to libtpu, and runs them
// by TT_RECORDER_BASE (the path of a plugin: libvtpu.so, or XLA's for the CPU).
#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pjrt/pjrt_c_api.h"

#define EXPORT __attribute__((visibility("default")))

static PJRT_Api table;
static const PJRT_Api* base;
static const char *kind, *directory;
static int count;

// Programs recorded so far; their numbers are 0 .. count - 1.
EXPORT int tt_recorder_count(void);
int tt_recorder_count(void) { return __atomic_load_n(&count, __ATOMIC_SEQ_CST); }

static PJRT_Error* attributes(PJRT_Plugin_Attributes_Args* args) {
  args->attributes = NULL;  // ours would give the virtual TPU away
  args->num_attributes = 0;
  return NULL;
}

static PJRT_Error* description_kind(PJRT_DeviceDescription_Kind_Args* args) {
  PJRT_Error* error = base->DeviceDescription_Kind(args);
  if (!error && kind[0]) {
    args->device_kind = kind;
    args->device_kind_size = strlen(kind);
  }
  return error;
}

static PJRT_Error* compile(PJRT_Client_Compile_Args* args) {
  int number = __atomic_fetch_add(&count, 1, __ATOMIC_SEQ_CST);
  if (directory[0]) {
    char path[4096];
    snprintf(path, sizeof path, "%s/%d.mlir", directory, number);
    FILE* file = fopen(path, "wb");
    bool whole =
        file && fwrite(args->program->code, 1, args->program->code_size, file) == args->program->code_size;
    if (file) whole = !fclose(file) && whole;
    if (!whole) remove(path);  // the reader of the folder misses it
  }
  return base->Client_Compile(args);
}

static const char* environment(const char* name) {
  const char* text = getenv(name);
  return text ? text : "";
}

EXPORT const PJRT_Api* GetPjrtApi(void);
const PJRT_Api* GetPjrtApi(void) {
  if (base) return &table;
  void* library = dlopen(environment("TT_RECORDER_BASE"), RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    fprintf(stderr, "recorder: %s\n", dlerror());
    return NULL;
  }
  const PJRT_Api* (*get)(void) = NULL;
  *(void**)&get = dlsym(library, "GetPjrtApi");
  if (!get || !(base = get())) return NULL;
  kind = environment("TT_RECORDER_KIND");
  directory = environment("TT_RECORDER_DIR");
  size_t size = base->struct_size < sizeof table ? base->struct_size : sizeof table;
  memcpy(&table, base, size);
  table.struct_size = size;
  if (table.pjrt_api_version.minor_version > PJRT_API_MINOR)
    table.pjrt_api_version.minor_version = PJRT_API_MINOR;
  table.extension_start = NULL;
  table.Plugin_Attributes = attributes;
  table.DeviceDescription_Kind = description_kind;
  table.Client_Compile = compile;
  return &table;
}
