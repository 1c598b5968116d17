// Discovery against machines that are folders: what Cloud's TPU machines, a GPU machine and a plain one have
// on the bus and in their environment. Named after the invariants of discovery.h.
#define _GNU_SOURCE
#include "runtime/discovery.h"

#include <ftw.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/test.h"

// ---- machines ----------------------------------------------------------------------------------
#define MAX_VARIABLES 8
typedef struct machine_s {
  char root[64];
  const char* variables[MAX_VARIABLES][2];
} machine_t;

static const char* variable(void* self, const char* name) {
  const machine_t* machine = self;
  for (int i = 0; i < MAX_VARIABLES && machine->variables[i][0]; ++i) {
    if (strcmp(machine->variables[i][0], name) == 0) return machine->variables[i][1];
  }
  return NULL;
}

static void put_file(const machine_t* machine, const char* path, const char* text) {
  char full[512];
  snprintf(full, sizeof(full), "%s%s", machine->root, path);
  for (char* slash = full + 1; (slash = strchr(slash, '/')); *slash++ = '/') {
    *slash = '\0';
    mkdir(full, 0700);
  }
  FILE* file = fopen(full, "w");
  if (!file) return;  // the test that needs it fails
  fputs(text, file);
  fclose(file);
}

static void put_pci(const machine_t* machine, int slot, const char* vendor, const char* device) {
  char path[128];
  snprintf(path, sizeof(path), "/sys/bus/pci/devices/0000:00:%02x.0/vendor", slot);
  put_file(machine, path, vendor);
  snprintf(path, sizeof(path), "/sys/bus/pci/devices/0000:00:%02x.0/device", slot);
  put_file(machine, path, device);
}

// A machine with Google's network card (vendor 0x1ae0) and `chips` TPUs of a device id, and their vfio nodes.
static void machine_create(machine_t* out, int chips, const char* device) {
  memset(out, 0, sizeof(*out));
  snprintf(out->root, sizeof(out->root), "/tmp/tt_discovery_XXXXXX");
  if (!mkdtemp(out->root)) out->root[0] = '\0';
  put_pci(out, 1, "0x8086\n", "0x7110\n");
  put_pci(out, 2, "0x1ae0\n", "0x0042\n");
  for (int i = 0; i < chips; ++i) {
    put_pci(out, 4 + i, "0x1ae0\n", device);
    char node[32];
    snprintf(node, sizeof(node), "/dev/vfio/%d", i);
    put_file(out, node, "");
  }
  put_file(out, "/dev/vfio/vfio", "");
}

static int remove_entry(const char* path, const struct stat* stat, int flag, struct FTW* at) {
  (void)stat;
  (void)flag;
  (void)at;
  return remove(path);
}
static void machine_remove(machine_t* machine) {
  if (machine->root[0]) nftw(machine->root, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

static void set(machine_t* machine, const char* name, const char* value) {
  int i = 0;
  while (i < MAX_VARIABLES - 1 && machine->variables[i][0] && strcmp(machine->variables[i][0], name) != 0)
    ++i;
  machine->variables[i][0] = name;
  machine->variables[i][1] = value;
}

static tt_status_t hardware(machine_t* machine, tt_rt_hardware_t* out) {
  tt_rt_system_t system = {machine->root, variable, machine};
  return tt_rt_hardware(&system, out);
}
static tt_status_t discover(machine_t* machine, const char* selected, tt_rt_discovery_t* out) {
  tt_rt_system_t system = {machine->root, variable, machine};
  return tt_rt_discover(&system, selected, "/opt/venv/lib/python3.11/site-packages/torch_tpu_c/lib", out);
}
static const char package[] = "/opt/venv/lib/python3.11/site-packages/libtpu/libtpu.so";

// ---- Y2 ----------------------------------------------------------------------------------------
TT_TEST(discovery, y2_generations_and_their_devices) {
  // ids of jax 0.10.2's hardware utilities; devices a chip as libtpu's topologies of one chip have them
  static const struct {
    const char *id, *name;
    int chips, devices;
  } cases[] = {
      {"0x0063\n", "v5e", 1, 1},   {"0x0063\n", "v5e", 4, 4},   {"0x0063\n", "v5e", 8, 8},
      {"0x006f\n", "v6e", 4, 4},   {"0x006f\n", "v6e", 8, 8},   {"0x0062\n", "v5p", 4, 4},
      {"0x0076\n", "tpu7x", 4, 8}, {"0x0076\n", "tpu7x", 1, 2}, {"0x005e\n", "v4", 4, 8},
      {"0x0027\n", "v3", 4, 8},
  };
  for (size_t i = 0; i < TT_ARRAY_LENGTH(cases); ++i) {
    machine_t machine;
    tt_rt_hardware_t found;
    machine_create(&machine, cases[i].chips, cases[i].id);
    tt_status_t status = hardware(&machine, &found);
    machine_remove(&machine);
    TT_EXPECT_OK(status);
    TT_EXPECT(found.chip);
    TT_EXPECT_STR(found.chip->name, cases[i].name);
    TT_EXPECT_EQ(found.chips, cases[i].chips);
    TT_EXPECT_EQ(found.visible_chips, cases[i].chips);
    TT_EXPECT_EQ(found.devices, cases[i].devices);
    TT_EXPECT_EQ(found.nodes, cases[i].chips);
    TT_EXPECT_STR(found.address, "0000:00:04.0");
    TT_EXPECT_EQ(found.process_count, 1);
  }
}

TT_TEST(discovery, y2_vfio_and_the_vendor_alone_are_no_tpu) {
  machine_t machine;
  tt_rt_discovery_t choice;
  machine_create(&machine, 0, "");
  put_pci(&machine, 5, "0x10de\n", "0x2330\n");  // a GPU that is passed through
  put_pci(&machine, 6, "0x1ae0\n", "0x001f\n");  // Google's NVMe
  put_file(&machine, "/dev/vfio/17", "");
  put_file(&machine, "/dev/nvidia0", "");
  put_file(&machine, package, "");  // libtpu is installed, as transformers' users have it
  tt_status_t status = discover(&machine, NULL, &choice);
  machine_remove(&machine);
  TT_EXPECT_OK(status);
  TT_EXPECT_STR(choice.source, "embedded");
  TT_EXPECT(choice.is_embedded);
  TT_EXPECT_EQ(choice.hardware.chips, 0);
  TT_EXPECT(!choice.hardware.chip);
}

TT_TEST(discovery, y2_broken_sysfs_is_no_tpu) {
  machine_t machine;
  tt_rt_hardware_t found;
  machine_create(&machine, 0, "");
  put_pci(&machine, 4, "", "0x0063\n");
  put_pci(&machine, 5, "garbage", "0x0063\n");
  put_pci(&machine, 6, "0x1ae0\n", "");
  put_pci(&machine, 7, "0x1ae0\n", "zz");
  put_file(&machine, "/sys/bus/pci/devices/0000:00:08.0/vendor", "0x1ae0\n");  // no device file
  tt_status_t status = hardware(&machine, &found);
  machine_remove(&machine);
  TT_EXPECT_OK(status);
  TT_EXPECT_EQ(found.chips, 0);
}

// ---- Y1 ----------------------------------------------------------------------------------------
TT_TEST(discovery, y1_order_of_the_rules) {
  machine_t machine;
  tt_rt_discovery_t choice;
  machine_create(&machine, 4, "0x006f\n");
  put_file(&machine, package, "");
  set(&machine, "VIRTUAL_ENV", "/opt/venv");
  char libtpu[600];
  snprintf(libtpu, sizeof(libtpu), "%s%s", machine.root, package);
  // from the last rule that applies to the first
  TT_EXPECT_OK(discover(&machine, NULL, &choice));
  TT_EXPECT_STR(choice.source, "hardware");
  TT_EXPECT_STR(choice.path, libtpu);
  TT_EXPECT_CONTAINS(choice.reason, "4 x v6e on the PCI bus (0000:00:04.0)");
  set(&machine, "PJRT_NAMES_AND_LIBRARY_PATHS", "cuda:/a.so,tpu:/b/libtpu.so");
  TT_EXPECT_OK(discover(&machine, NULL, &choice));
  TT_EXPECT_STR(choice.source, "PJRT_NAMES_AND_LIBRARY_PATHS");
  TT_EXPECT_STR(choice.path, "/b/libtpu.so");
  set(&machine, "TORCH_TPU_VIRTUAL", "v6e:2x2");
  TT_EXPECT_OK(discover(&machine, NULL, &choice));
  TT_EXPECT_STR(choice.source, "TORCH_TPU_VIRTUAL");
  TT_EXPECT(choice.is_embedded);
  set(&machine, "TORCH_TPU_PLUGIN", "/c/plugin.so");
  TT_EXPECT_OK(discover(&machine, NULL, &choice));
  TT_EXPECT_STR(choice.source, "TORCH_TPU_PLUGIN");
  TT_EXPECT_STR(choice.path, "/c/plugin.so");
  TT_EXPECT_OK(discover(&machine, "/d/plugin.so", &choice));
  TT_EXPECT_STR(choice.source, "select_plugin");
  TT_EXPECT_STR(choice.path, "/d/plugin.so");
  TT_EXPECT_EQ(choice.hardware.chips, 4);  // what is there is told whatever was chosen
  machine_remove(&machine);
}

TT_TEST(discovery, y1_names_and_entries) {
  machine_t machine;
  tt_rt_discovery_t choice;
  machine_create(&machine, 0, "");
  TT_EXPECT_OK(discover(&machine, "vtpu", &choice));
  TT_EXPECT(choice.is_embedded);
  TT_EXPECT_OK(discover(&machine, "xla_cpu", &choice));
  TT_EXPECT_STR(choice.path, "libxla_cpu.so");
  TT_EXPECT_OK(discover(&machine, "libother", &choice));
  TT_EXPECT_STR(choice.path, "libother.so");
  TT_EXPECT_ERROR(discover(&machine, "libtpu", &choice), TT_NOT_FOUND, "libtpu is not installed");
  put_file(&machine, package, "");
  TT_EXPECT_OK(discover(&machine, "tpu", &choice));  // found beside our own package, without VIRTUAL_ENV
  TT_EXPECT_CONTAINS(choice.path, package);
  set(&machine, "TPU_LIBRARY_PATH", "/x/libtpu.so");
  TT_EXPECT_OK(discover(&machine, "libtpu", &choice));
  TT_EXPECT_STR(choice.path, "/x/libtpu.so");
  // entries of other names, and what is no entry
  static const char* const lists[] = {"tpux:/a.so", "cuda:/tpu:/a.so", "tpu:", "tpu", ",,", "tp:tpu:/a.so"};
  for (size_t i = 0; i < TT_ARRAY_LENGTH(lists); ++i) {
    set(&machine, "PJRT_NAMES_AND_LIBRARY_PATHS", lists[i]);
    TT_EXPECT_OK(discover(&machine, NULL, &choice));
    TT_EXPECT_STR(choice.source, "embedded");
  }
  char longest[700];
  memset(longest, 'x', sizeof(longest) - 1);
  longest[0] = '/';
  longest[sizeof(longest) - 1] = '\0';
  TT_EXPECT_ERROR(discover(&machine, longest, &choice), TT_INVALID_ARGUMENT, "699 characters");
  machine_remove(&machine);
}

// ---- Y3 ----------------------------------------------------------------------------------------
TT_TEST(discovery, y3_a_tpu_without_libtpu_is_an_error) {
  machine_t machine;
  tt_rt_discovery_t choice;
  machine_create(&machine, 4, "0x0063\n");
  tt_status_t status = discover(&machine, NULL, &choice);
  TT_EXPECT_ERROR(status, TT_FAILED_PRECONDITION, "a TPU is present (4 x v5e on the PCI bus (0000:00:04.0))");
  TT_EXPECT(!choice.is_embedded);
  TT_EXPECT_EQ(choice.hardware.chips, 4);
  set(&machine, "TORCH_TPU_PLUGIN", "vtpu");  // asked for, it is not silent
  TT_EXPECT_OK(discover(&machine, NULL, &choice));
  TT_EXPECT(choice.is_embedded);
  machine_remove(&machine);
}

TT_TEST(discovery, y3_two_generations) {
  machine_t machine;
  tt_rt_hardware_t found;
  machine_create(&machine, 1, "0x0063\n");
  put_pci(&machine, 9, "0x1ae0\n", "0x006f\n");
  TT_EXPECT_ERROR(hardware(&machine, &found), TT_FAILED_PRECONDITION, "v5e and v6e");
  TT_EXPECT_EQ(found.chips, 2);
  machine_remove(&machine);
}

TT_TEST(discovery, visible_chips_and_bounds) {
  static const struct {
    const char* variables[3][2];
    int visible, devices;  // of a machine of four v5p or tpu7x chips, two devices a chip
  } good[] = {
      {{{"TPU_VISIBLE_CHIPS", "0"}}, 1, 2},
      {{{"TPU_VISIBLE_CHIPS", "3,1"}}, 2, 4},
      {{{"TPU_VISIBLE_CHIPS", ""}}, 4, 8},
      {{{"TPU_VISIBLE_DEVICES", "2"}}, 1, 2},
      {{{"TPU_VISIBLE_DEVICES", "2"}, {"TPU_VISIBLE_CHIPS", "2"}}, 1, 2},
      {{{"TPU_CHIPS_PER_PROCESS_BOUNDS", "1,2,1"}}, 2, 4},
      {{{"TPU_CHIPS_PER_PROCESS_BOUNDS", "1,1,1"},
        {"TPU_PROCESS_BOUNDS", "1,1,1"},
        {"TPU_VISIBLE_CHIPS", "3"}},
       1,
       2},
      {{{"TPU_CHIPS_PER_HOST_BOUNDS", "2,2,1"}}, 4, 8},
      {{{"TPU_CHIPS_PER_HOST_BOUNDS", "2,2,1"}, {"TPU_VISIBLE_CHIPS", "0"}}, 1, 2},
  };
  static const struct {
    const char* variables[2][2];
    const char* part;
  } bad[] = {
      {{{"TPU_VISIBLE_CHIPS", "4"}}, "TPU_VISIBLE_CHIPS=4: chip 4 is not there: the machine has 4 (0 to 3)"},
      {{{"TPU_VISIBLE_CHIPS", "0,0"}}, "chip 0 is named twice"},
      {{{"TPU_VISIBLE_CHIPS", "0,"}}, "TPU_VISIBLE_CHIPS=0,: numbers of chips"},
      {{{"TPU_VISIBLE_CHIPS", "all"}}, "TPU_VISIBLE_CHIPS=all: numbers of chips"},
      {{{"TPU_VISIBLE_CHIPS", "-1"}}, "numbers of chips"},
      {{{"TPU_VISIBLE_CHIPS", "99999999999999999999"}}, "numbers of chips"},
      {{{"TPU_VISIBLE_DEVICES", "1"}, {"TPU_VISIBLE_CHIPS", "0"}}, "TPU_VISIBLE_CHIPS, its newer name"},
      {{{"TPU_CHIPS_PER_PROCESS_BOUNDS", "2,4,1"}}, "that is 8 chips and the machine has 4"},
      {{{"TPU_CHIPS_PER_PROCESS_BOUNDS", "2,2"}}, "three numbers"},
      {{{"TPU_CHIPS_PER_PROCESS_BOUNDS", "0,1,1"}}, "three numbers"},
      {{{"TPU_CHIPS_PER_PROCESS_BOUNDS", "1,1,1,1"}}, "three numbers"},
      {{{"TPU_CHIPS_PER_PROCESS_BOUNDS", "2,1,1"}, {"TPU_VISIBLE_CHIPS", "0"}},
       "2 chips and TPU_VISIBLE_CHIPS=0 names 1"},
  };
  for (size_t i = 0; i < TT_ARRAY_LENGTH(good) + TT_ARRAY_LENGTH(bad); ++i) {
    machine_t machine;
    tt_rt_hardware_t found;
    machine_create(&machine, 4, "0x0076\n");
    bool is_good = i < TT_ARRAY_LENGTH(good);
    size_t k = is_good ? i : i - TT_ARRAY_LENGTH(good);
    for (int v = 0; v < (is_good ? 3 : 2); ++v) {
      const char* const* pair = is_good ? good[k].variables[v] : bad[k].variables[v];
      if (pair[0]) set(&machine, pair[0], pair[1]);
    }
    tt_status_t status = hardware(&machine, &found);
    machine_remove(&machine);
    if (is_good) {
      TT_EXPECT_OK(status);
      TT_EXPECT_EQ(found.visible_chips, good[k].visible);
      TT_EXPECT_EQ(found.devices, good[k].devices);
    } else {
      TT_EXPECT_ERROR(status, TT_INVALID_ARGUMENT, bad[k].part);
      TT_EXPECT_EQ(found.chips, 4);
    }
  }
}

TT_TEST(discovery, several_hosts_and_processes) {
  static const struct {
    const char* variables[4][2];
    int count, index;  // count 0: an error
    const char* part;
  } cases[] = {
      {{{"TPU_WORKER_HOSTNAMES", "a,b,c,d"}, {"TPU_WORKER_ID", "2"}}, 4, 2, ""},
      {{{"TPU_WORKER_HOSTNAMES", "localhost"}, {"TPU_WORKER_ID", "0"}}, 1, 0, ""},
      // four processes on one machine, a chip each
      {{{"TPU_PROCESS_BOUNDS", "2,2,1"},
        {"CLOUD_TPU_TASK_ID", "3"},
        {"TPU_CHIPS_PER_PROCESS_BOUNDS", "1,1,1"},
        {"TPU_VISIBLE_CHIPS", "3"}},
       4,
       3,
       ""},
      {{{"TPU_PROCESS_ADDRESSES", "h:8476,h:8477"}, {"CLOUD_TPU_TASK_ID", "1"}}, 2, 1, ""},
      {{{"TPU_HOST_BOUNDS", "1,2,1"}, {"TPU_WORKER_ID", "1"}}, 2, 1, ""},
      // one worker of a slice, used by itself
      {{{"TPU_PROCESS_BOUNDS", "1,1,1"}, {"TPU_WORKER_HOSTNAMES", "a,b"}, {"TPU_WORKER_ID", "1"}}, 1, 0, ""},
      {{{"TPU_PROCESS_BOUNDS", "2,2,1"}, {"TPU_PROCESS_ADDRESSES", "a,b"}},
       0,
       0,
       "4 processes and TPU_PROCESS_ADDRESSES has 2"},
      {{{"TPU_PROCESS_BOUNDS", "2,2,1"}, {"CLOUD_TPU_TASK_ID", "4"}},
       0,
       0,
       "CLOUD_TPU_TASK_ID=4: a number from 0 to 3"},
      {{{"TPU_WORKER_HOSTNAMES", "a,b"}, {"TPU_WORKER_ID", "x"}},
       0,
       0,
       "TPU_WORKER_ID=x: a number from 0 to 1"},
      {{{"CLOUD_TPU_TASK_ID", "1"}}, 0, 0, "a number from 0 to 0 is wanted: there is 1 process"},
      {{{"TPU_PROCESS_BOUNDS", "9999,9999,9999"}}, 0, 0, "more than 1048576"},
  };
  for (size_t i = 0; i < TT_ARRAY_LENGTH(cases); ++i) {
    machine_t machine;
    tt_rt_hardware_t found;
    machine_create(&machine, 4, "0x0062\n");
    for (int v = 0; v < 4 && cases[i].variables[v][0]; ++v) {
      set(&machine, cases[i].variables[v][0], cases[i].variables[v][1]);
    }
    tt_status_t status = hardware(&machine, &found);
    machine_remove(&machine);
    if (cases[i].count) {
      TT_EXPECT_OK(status);
      TT_EXPECT_EQ(found.process_count, cases[i].count);
      TT_EXPECT_EQ(found.process_index, cases[i].index);
    } else {
      TT_EXPECT_ERROR(status, TT_INVALID_ARGUMENT, cases[i].part);
    }
  }
}

TT_TEST(discovery, y3_wrong_variables_of_a_tpu_are_said_and_never_vtpu) {
  machine_t machine;
  tt_rt_discovery_t choice;
  machine_create(&machine, 4, "0x0063\n");
  put_file(&machine, package, "");
  set(&machine, "TPU_VISIBLE_CHIPS", "7");
  TT_EXPECT_ERROR(discover(&machine, NULL, &choice), TT_INVALID_ARGUMENT, "chip 7 is not there");
  TT_EXPECT(!choice.is_embedded);
  machine_remove(&machine);
  // and of no consequence where there is none
  machine_create(&machine, 0, "");
  set(&machine, "TPU_VISIBLE_CHIPS", "7");
  TT_EXPECT_OK(discover(&machine, NULL, &choice));
  machine_remove(&machine);
}

int main(int argc, char** argv) { return tt_test_main(argc, argv); }
