// Which plugin this process uses, and which TPUs the machine has. Nothing here opens a plugin.
//
// Invariants:
//  Y1 the choice is the first of: torch.tpu.select_plugin(); TORCH_TPU_PLUGIN; TORCH_TPU_VIRTUAL (the
//     embedded plugin, by a topology); an entry `tpu` of PJRT_NAMES_AND_LIBRARY_PATHS; TPU hardware; the
//     embedded plugin;
//  Y2 hardware is a PCI device of vendor 0x1ae0 whose device id is in ir/chips.def: neither the vendor
//     (network and disk devices carry it) nor a /dev/vfio node (any passed-through device has one) is enough;
//  Y3 hardware without a libtpu, of two generations, or with contradicting variables is an error, never the
//     embedded plugin: what the user has and cannot use is said;
//  Y4 every answer depends on the system alone (files below its root, its environment) and on the arguments.
#ifndef TT_RUNTIME_DISCOVERY_H_
#define TT_RUNTIME_DISCOVERY_H_

#include "base/base.h"
#include "base/status.h"
#include "ir/chip.h"

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

// ---- hardware ----------------------------------------------------------------------------------
typedef struct tt_rt_hardware_s {
  const tt_chip_t* chip;        // NULL: no TPU
  int chips;                    // on the bus
  int visible_chips;            // TPU_VISIBLE_CHIPS or _DEVICES, else a process's bounds, else all
  int devices;                  // of this process: visible chips x devices a chip
  int nodes;                    // /dev/accelN and /dev/vfio/N: without one, the chips cannot be opened
  int process_count, process_index;   // of the slice: 1 and 0 for one machine that is used by one process
  char address[24];             // of the first chip, "0000:00:04.0"
} tt_rt_hardware_t;
// *out holds what the bus says also when the variables are wrong (INVALID_ARGUMENT: variable, value, limit).
tt_status_t tt_rt_hardware(const tt_rt_system_t* system, tt_rt_hardware_t* out) TT_MUST_USE;

// ---- the choice --------------------------------------------------------------------------------
typedef struct tt_rt_discovery_s {
  const char* source;           // static: "select_plugin", "TORCH_TPU_PLUGIN", ..., "hardware", "embedded"
  bool is_embedded;             // the caller knows where its own plugin lies; else `path` is one
  char path[512];
  char reason[128];
  tt_rt_hardware_t hardware;
} tt_rt_discovery_t;
// `selected`: what the program chose, or NULL; `start`: a folder to look for libtpu from, or NULL. A name
// without a slash and without ".so" is a plugin by name: "vtpu" the embedded one, "tpu" and "libtpu" the
// installed libtpu, others lib<name>.so on the loader's path. With an error, *out holds what was found out.
tt_status_t tt_rt_discover(const tt_rt_system_t* system, const char* selected, const char* start,
                           tt_rt_discovery_t* out) TT_MUST_USE;

// ---- discovery_os.c ----------------------------------------------------------------------------
typedef struct tt_rt_pci_s {
  char address[24];
  unsigned device;
} tt_rt_pci_t;
// The PCI devices of a vendor by address, at most `capacity`; returns how many there are.
size_t tt_rt_os_pci(const tt_rt_system_t* system, unsigned vendor, tt_rt_pci_t* out, size_t capacity);
// Device nodes that a TPU may have: /dev/accelN, /dev/accel/accelN, /dev/vfio/N.
int tt_rt_os_nodes(const tt_rt_system_t* system);
const char* tt_rt_os_variable(const tt_rt_system_t* system, const char* name);   // "" when not set

#endif  // TT_RUNTIME_DISCOVERY_H_
