#include "runtime/discovery.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_PCI 256

// ---- variables ---------------------------------------------------------------------------------
static tt_status_t bad_variable(const char* name, const char* value, const char* why) {
  return tt_status_create(TT_INVALID_ARGUMENT, "%s=%.100s: %s", name, value, why);
}

// A number below a million; false otherwise.
static bool read_number(const char** cursor, int* out) {
  if (**cursor < '0' || **cursor > '9') return false;
  char* end;
  long value = strtol(*cursor, &end, 10);
  if (end - *cursor > 6) return false;
  *cursor = end;
  *out = (int)value;
  return true;
}

// The first of two spellings that is set; "" and the first name when neither is.
static const char* either(const tt_rt_system_t* system, const char* name, const char* older,
                          const char** out_name) {
  const char* value = tt_rt_os_variable(system, name);
  const char* other = tt_rt_os_variable(system, older);
  *out_name = value[0] || !other[0] ? name : older;
  return value[0] ? value : other;
}

// "2,2,1": three numbers of 1 or more; *out is their product, 0 when the variable is not set.
static tt_status_t read_bounds(const char* name, const char* value, int* out) {
  *out = 0;
  if (!value[0]) return TT_OK_STATUS;
  const char* cursor = value;
  int64_t product = 1;
  for (int i = 0; i < 3; ++i) {
    int extent = 0;
    if (!read_number(&cursor, &extent) || extent < 1 || *cursor != (i < 2 ? ',' : '\0')) {
      return bad_variable(name, value, "three numbers of 1 or more are wanted, such as 2,2,1");
    }
    product *= extent;
    if (product > 1 << 20) return bad_variable(name, value, "more than 1048576 in all");
    cursor += i < 2;
  }
  *out = (int)product;
  return TT_OK_STATUS;
}

// "0,2": distinct chips of the machine; *out is their count, -1 when the variable is not set.
static tt_status_t read_visible(const char* name, const char* value, int chips, int* out) {
  *out = -1;
  if (!value[0]) return TT_OK_STATUS;
  bool seen[MAX_PCI] = {false};
  int count = 0;
  for (const char* cursor = value;; ++cursor) {
    int chip = 0;
    char why[96];
    if (!read_number(&cursor, &chip) || (*cursor && *cursor != ',')) {
      return bad_variable(name, value, "numbers of chips with commas between them are wanted, such as 0,1");
    }
    if (chip >= chips || chip >= MAX_PCI) {
      snprintf(why, sizeof(why), "chip %d is not there: the machine has %d (0 to %d)", chip, chips,
               chips - 1);
      return bad_variable(name, value, why);
    }
    if (seen[chip]) {
      snprintf(why, sizeof(why), "chip %d is named twice", chip);
      return bad_variable(name, value, why);
    }
    seen[chip] = true;
    ++count;
    if (!*cursor) break;
  }
  *out = count;
  return TT_OK_STATUS;
}

static int list_length(const char* text) {  // "a,b": 2; "": 0
  int count = text[0] != '\0';
  for (; *text; ++text) count += *text == ',';
  return count;
}

// Which chips are this process's.
static tt_status_t read_chips(const tt_rt_system_t* system, tt_rt_hardware_t* out) {
  const char *name, *bounds_name;
  const char* value = either(system, "TPU_VISIBLE_CHIPS", "TPU_VISIBLE_DEVICES", &name);
  const char* older = tt_rt_os_variable(system, "TPU_VISIBLE_DEVICES");
  if (older[0] && strcmp(older, value) != 0) {
    return bad_variable("TPU_VISIBLE_DEVICES", older,
                        "TPU_VISIBLE_CHIPS, its newer name, says something else");
  }
  int listed, bounds;
  TT_RETURN_IF_ERROR(read_visible(name, value, out->chips, &listed));
  const char* shape =
      either(system, "TPU_CHIPS_PER_PROCESS_BOUNDS", "TPU_CHIPS_PER_HOST_BOUNDS", &bounds_name);
  TT_RETURN_IF_ERROR(read_bounds(bounds_name, shape, &bounds));
  char why[128];
  if (bounds > out->chips) {
    snprintf(why, sizeof(why), "that is %d chips and the machine has %d", bounds, out->chips);
    return bad_variable(bounds_name, shape, why);
  }
  // the bounds of a host may stand in a machine's environment; a list of chips is nearer to the process
  bool is_process = strcmp(bounds_name, "TPU_CHIPS_PER_PROCESS_BOUNDS") == 0;
  if (listed >= 0 && bounds && is_process && listed != bounds) {
    snprintf(why, sizeof(why), "that is %d chips and %s=%.40s names %d", bounds, name, value, listed);
    return bad_variable(bounds_name, shape, why);
  }
  out->visible_chips = listed >= 0 ? listed : bounds ? bounds : out->chips;
  out->devices = out->visible_chips * out->chip->devices_per_chip;
  return TT_OK_STATUS;
}

// Which process of how many.
static tt_status_t read_processes(const tt_rt_system_t* system, tt_rt_hardware_t* out) {
  const char *bounds_name, *index_name = "CLOUD_TPU_TASK_ID";
  const char* bounds = either(system, "TPU_PROCESS_BOUNDS", "TPU_HOST_BOUNDS", &bounds_name);
  const char* addresses = tt_rt_os_variable(system, "TPU_PROCESS_ADDRESSES");
  int count;
  TT_RETURN_IF_ERROR(read_bounds(bounds_name, bounds, &count));
  char why[128];
  if (count && addresses[0] && list_length(addresses) != count) {
    snprintf(why, sizeof(why), "that is %d processes and TPU_PROCESS_ADDRESSES has %d entries", count,
             list_length(addresses));
    return bad_variable(bounds_name, bounds, why);
  }
  if (!count) count = list_length(addresses);
  if (!count) count = list_length(tt_rt_os_variable(system, "TPU_WORKER_HOSTNAMES"));
  out->process_count = count ? count : 1;
  const char* index = tt_rt_os_variable(system, index_name);
  // a worker's number counts machines: it says nothing of a slice of one process
  if (!index[0] && out->process_count > 1) index = tt_rt_os_variable(system, index_name = "TPU_WORKER_ID");
  if (!index[0]) return TT_OK_STATUS;
  const char* cursor = index;
  if (!read_number(&cursor, &out->process_index) || *cursor || out->process_index >= out->process_count) {
    out->process_index = 0;
    snprintf(why, sizeof(why), "a number from 0 to %d is wanted: there %s %d process%s",
             out->process_count - 1, out->process_count == 1 ? "is" : "are", out->process_count,
             out->process_count == 1 ? "" : "es");
    return bad_variable(index_name, index, why);
  }
  return TT_OK_STATUS;
}

// ---- hardware ----------------------------------------------------------------------------------
tt_status_t tt_rt_hardware(const tt_rt_system_t* system, tt_rt_hardware_t* out) {
  memset(out, 0, sizeof(*out));
  out->process_count = 1;
  tt_rt_pci_t devices[MAX_PCI];
  size_t count = TT_MIN(tt_rt_os_pci(system, TT_CHIP_PCI_VENDOR, devices, MAX_PCI), (size_t)MAX_PCI);
  const tt_chip_t* other = NULL;
  for (size_t i = 0; i < count; ++i) {
    const tt_chip_t* chip = tt_chip_by_pci(devices[i].device);
    if (!chip) continue;  // Y2
    if (!out->chip) {
      out->chip = chip;
      memcpy(out->address, devices[i].address, sizeof(out->address));
    }
    if (chip != out->chip) other = chip;
    ++out->chips;
  }
  if (!out->chip) return TT_OK_STATUS;
  out->visible_chips = out->chips;
  out->devices = out->chips * out->chip->devices_per_chip;
  out->nodes = tt_rt_os_nodes(system);
  if (other) {
    return tt_status_create(TT_FAILED_PRECONDITION, "the PCI bus has TPUs of two generations, %s and %s",
                            out->chip->name, other->name);
  }
  TT_RETURN_IF_ERROR(read_chips(system, out));
  return read_processes(system, out);
}

// ---- the choice --------------------------------------------------------------------------------
static tt_status_t take_path(tt_rt_discovery_t* out, const char* path, size_t size) {
  if (size >= sizeof(out->path)) {
    return tt_status_create(TT_INVALID_ARGUMENT, "the plugin path of %s has %zu characters, more than %zu",
                            out->source, size, sizeof(out->path) - 1);
  }
  memcpy(out->path, path, size);
  out->path[size] = '\0';
  return TT_OK_STATUS;
}

// A plugin that a user named, by path or by name.
static tt_status_t take_named(const tt_rt_system_t* system, const char* wanted, const char* start,
                              tt_rt_discovery_t* out) {
  if (strcmp(wanted, "vtpu") == 0) {
    out->is_embedded = true;
    return TT_OK_STATUS;
  }
  if (strchr(wanted, '/') || strstr(wanted, ".so")) return take_path(out, wanted, strlen(wanted));
  if (strcmp(wanted, "tpu") == 0 || strcmp(wanted, "libtpu") == 0) {
    if (tt_rt_find_libtpu(system, start, out->path, sizeof(out->path))) return TT_OK_STATUS;
    return tt_status_create(TT_NOT_FOUND,
                            "%s=%s: libtpu is not installed: pip install libtpu, or name its libtpu.so",
                            out->source, wanted);
  }
  char name[256];
  int size = snprintf(name, sizeof(name), "%s%s.so", strncmp(wanted, "lib", 3) == 0 ? "" : "lib", wanted);
  return take_path(out, name, size < (int)sizeof(name) ? (size_t)size : sizeof(out->path));
}

// "name:path,name:path": the path of `tpu`; NULL when there is none.
static const char* registered_path(const char* list, size_t* out_size) {
  while (*list) {
    size_t size = strcspn(list, ",");
    if (size > 4 && strncmp(list, "tpu:", 4) == 0) {
      *out_size = size - 4;
      return list + 4;
    }
    list += size + (list[size] == ',');
  }
  return NULL;
}

static tt_status_t take_hardware(const tt_rt_system_t* system, const char* start, tt_rt_discovery_t* out) {
  const tt_rt_hardware_t* hardware = &out->hardware;
  out->source = "hardware";
  snprintf(out->reason, sizeof(out->reason), "%d x %s on the PCI bus (%s)", hardware->chips,
           hardware->chip->name, hardware->address);
  if (tt_rt_find_libtpu(system, start, out->path, sizeof(out->path))) return TT_OK_STATUS;
  return tt_status_create(
      TT_FAILED_PRECONDITION,
      "a TPU is present (%s) but libtpu is not installed: pip install libtpu, or set TPU_LIBRARY_PATH to its "
      "libtpu.so; TORCH_TPU_PLUGIN=vtpu or TORCH_TPU_VIRTUAL=v6e:1x1 works on a virtual TPU",
      out->reason);
}

tt_status_t tt_rt_discover(const tt_rt_system_t* system, const char* selected, const char* start,
                           tt_rt_discovery_t* out) {
  memset(out, 0, sizeof(*out));
  out->source = "";
  tt_status_t hardware = tt_rt_hardware(system, &out->hardware);
  const char* wanted = tt_rt_os_variable(system, "TORCH_TPU_PLUGIN");
  const char* topology = tt_rt_os_variable(system, "TORCH_TPU_VIRTUAL");
  size_t size = 0;
  const char* registered = registered_path(tt_rt_os_variable(system, "PJRT_NAMES_AND_LIBRARY_PATHS"), &size);
  tt_status_t status = TT_OK_STATUS;
  bool uses_hardware = false;
  if (selected && selected[0]) {
    out->source = "select_plugin";
    snprintf(out->reason, sizeof(out->reason), "chosen by torch.tpu.select_plugin");
    status = take_named(system, selected, start, out);
  } else if (wanted[0]) {
    out->source = "TORCH_TPU_PLUGIN";
    snprintf(out->reason, sizeof(out->reason), "TORCH_TPU_PLUGIN=%.100s", wanted);
    status = take_named(system, wanted, start, out);
  } else if (topology[0]) {
    out->source = "TORCH_TPU_VIRTUAL";
    snprintf(out->reason, sizeof(out->reason), "TORCH_TPU_VIRTUAL=%.64s", topology);
    out->is_embedded = true;
  } else if (registered) {
    out->source = "PJRT_NAMES_AND_LIBRARY_PATHS";
    snprintf(out->reason, sizeof(out->reason), "the entry tpu of PJRT_NAMES_AND_LIBRARY_PATHS");
    status = take_path(out, registered, size);
  } else if (out->hardware.chip) {
    uses_hardware = true;
    status = take_hardware(system, start, out);
  } else {
    out->source = "embedded";
    snprintf(out->reason, sizeof(out->reason), "no TPU hardware: the embedded virtual TPU");
    out->is_embedded = true;
  }
  if (uses_hardware) return tt_status_join(hardware, status);  // Y3
  tt_status_ignore(hardware);  // of no consequence for a plugin that was named
  return status;
}
