// TPU chips and the names of their slices: one table for the compiler's topologies, the virtual ones and the
// hardware on the bus.
//
// A slice is `generation:AxB[xC]` (chips along each axis of the torus), a bare generation (one chip) or a
// Cloud accelerator type: v5litepod-8, v6e-4, v5p-8, tpu7x-8, v4-8.
#ifndef TT_IR_CHIP_H_
#define TT_IR_CHIP_H_

#include "base/base.h"

#define TT_CHIP_PCI_VENDOR 0x1ae0u

typedef struct tt_chip_s {
  const char *name, *cloud;     // "v6e"; the Cloud type's stem
  const char* kind;             // what libtpu calls its devices
  unsigned pci_device;          // 0: not to be told from the bus
  int axes;                     // of the torus
  int devices_per_chip;
  int cloud_units_per_chip;     // what a Cloud type counts
  int64_t hbm_bytes;            // a chip
  double bf16_flops;            // a chip
  int64_t max_chips;
  bool is_virtual;              // vtpu offers it
} tt_chip_t;

size_t tt_chip_count(void);
const tt_chip_t* tt_chip_at(size_t index);
const tt_chip_t* tt_chip_by_name(const char* name);          // NULL: unknown; "v7x" is tpu7x
const tt_chip_t* tt_chip_by_pci(unsigned device);            // NULL: no TPU that we know
// By the kind of a device, real ("TPU v6 lite") or virtual ("TPU v6e (virtual, CPU)"); NULL: unknown.
const tt_chip_t* tt_chip_by_kind(const char* kind);

typedef struct tt_slice_s {
  const tt_chip_t* chip;
  int64_t shape[3];             // chips, 1 where there is no axis
  int64_t chips, devices;
} tt_slice_t;
#define TT_SLICE_NAME_MAX 40
// NULL, or why the name is none (static text).
const char* tt_slice_parse(const char* name, size_t size, tt_slice_t* out_slice);
// "v6e:2x2", "tpu7x:2x2x1": what libtpu and vtpu take.
void tt_slice_name(const tt_slice_t* slice, char out_name[TT_SLICE_NAME_MAX]);

#endif  // TT_IR_CHIP_H_
