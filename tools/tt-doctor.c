// tt-doctor: what this machine and installation can do, which plugin is chosen and why, for bug reports.
// --no-plugin opens no plugin.
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/thread.h"
#include "find_plugin.h"
#include "runtime/runtime.h"

static const char usage[] = "usage: tt-doctor [--plugin PATH] [--no-plugin]\n";

static void print_cpu(void) {
  printf("cpus usable:      %d\n", tt_cpu_count());
  printf("memory limit:     %.1f GiB\n", (double)tt_host_memory_limit_bytes() / 1073741824.0);
#if defined(__x86_64__)
  __builtin_cpu_init();
  printf("cpu features:    ");
#define FEATURE(name) if (__builtin_cpu_supports(name)) printf(" %s", name)
  FEATURE("sse4.2");
  FEATURE("avx");
  FEATURE("avx2");
  FEATURE("fma");
  FEATURE("avx512f");
  FEATURE("avx512bw");
  FEATURE("avx512dq");
  FEATURE("avx512vl");
  FEATURE("avx512vnni");
  FEATURE("avx512bf16");
#undef FEATURE
  printf("\n");
  bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
  bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  printf("kernels can use:  %s\n", avx512 ? "avx512" : avx2 ? "avx2" : "plain C");
#endif
}

static void print_hardware(const tt_rt_hardware_t* hardware) {
  if (!hardware->chip) {
    printf("tpu hardware:     none on the PCI bus\n");
    return;
  }
  printf("tpu hardware:     %d x %s on the PCI bus (first %s), %d device nodes%s\n", hardware->chips,
         hardware->chip->name, hardware->address, hardware->nodes,
         hardware->nodes ? "" : ": the chips cannot be opened without one");
  printf("this process:     %d chips, %d devices; process %d of %d\n", hardware->visible_chips,
         hardware->devices, hardware->process_index, hardware->process_count);
}

// What changes the choice or what libtpu does.
static void print_environment(const tt_rt_system_t* system) {
  static const char* const names[] = {
      "TORCH_TPU_PLUGIN", "TORCH_TPU_VIRTUAL", "TORCH_TPU_SYSFS_ROOT", "PJRT_NAMES_AND_LIBRARY_PATHS",
      "TPU_LIBRARY_PATH", "TPU_VISIBLE_CHIPS", "TPU_VISIBLE_DEVICES", "TPU_CHIPS_PER_PROCESS_BOUNDS",
      "TPU_PROCESS_BOUNDS", "TPU_CHIPS_PER_HOST_BOUNDS", "TPU_HOST_BOUNDS", "TPU_PROCESS_ADDRESSES",
      "CLOUD_TPU_TASK_ID", "TPU_WORKER_ID", "TPU_WORKER_HOSTNAMES", "TPU_ACCELERATOR_TYPE"};
  for (size_t i = 0; i < TT_ARRAY_LENGTH(names); ++i) {
    const char* value = tt_rt_os_variable(system, names[i]);
    if (value[0]) printf("environment:      %s=%s\n", names[i], value);
  }
}

static int print_plugin(const char* path) {
  tt_rt_plugin_t* plugin;
  tt_rt_client_t* client = NULL;
  tt_status_t status = tt_rt_plugin_load(path, &plugin);
  if (tt_status_is_ok(status)) {
    int major, minor;
    tt_rt_plugin_version(plugin, &major, &minor);
    printf("pjrt version:     %d.%d\n", major, minor);
    const char* fingerprint = tt_rt_plugin_ir_fingerprint(plugin);
    if (fingerprint[0]) {
      bool same = strcmp(fingerprint, tt_rt_ir_fingerprint()) == 0;
      printf("program format:   %s (%s)\n", fingerprint,
             same ? "handed over in memory" : "another build: sent as text");
      if (!same) {
        printf("problem:          the plugin is a virtual TPU of another build than this core: threads, profiles\n"
               "                  and programs handed over in memory do not work. Build or install both anew.\n");
      }
    } else {
      printf("program format:   StableHLO text\n");
    }
    status = tt_rt_client_create(plugin, NULL, 0, &client);
  }
  if (!tt_status_is_ok(status)) {
    printf("problem:          %s: %s\n", tt_status_code_name(tt_status_code(status)),
           tt_status_message(status));
    tt_status_free(status);
    return 1;
  }
  printf("platform:         %s, lowering target %s\n", tt_rt_client_platform(client),
         tt_rt_client_target(client)->name);
  size_t count = tt_rt_client_device_count(client);
  for (size_t i = 0; i < count && tt_status_is_ok(status); ++i) {
    tt_rt_device_info_t info;
    tt_rt_memory_stats_t stats;
    status = tt_rt_device_info(client, i, &info);
    if (!tt_status_is_ok(status)) break;
    printf("device %-3zu        %s", i, info.kind);
    if (info.coord_count == 3) {
      printf(" at (%" PRId64 ",%" PRId64 ",%" PRId64 ")", info.coords[0], info.coords[1], info.coords[2]);
    }
    tt_status_t memory = tt_rt_device_memory_stats(client, i, &stats);
    if (tt_status_is_ok(memory) && stats.bytes_limit >= 0) {
      printf(", memory %.1f GiB", (double)stats.bytes_limit / 1073741824.0);
    }
    tt_status_ignore(memory);  // not every plugin tells
    printf("\n");
  }
  tt_rt_client_release(client);
  if (!tt_status_is_ok(status)) {
    printf("problem:          %s\n", tt_status_message(status));
    tt_status_free(status);
    return 1;
  }
  return 0;
}

int main(int argc, char** argv) {
  const char* plugin = NULL;
  bool open = true;
  for (int i = 1; i < argc; ++i) {
    if (strcmp(argv[i], "--no-plugin") == 0) {
      open = false;
    } else if (strcmp(argv[i], "--plugin") == 0 && i + 1 < argc) {
      plugin = argv[++i];
    } else {
      fputs(usage, strcmp(argv[i], "--help") == 0 ? stdout : stderr);
      return strcmp(argv[i], "--help") == 0 ? 0 : 2;
    }
  }
#ifdef TT_VERSION
  printf("torch_tpu:        %s\n", TT_VERSION);
#endif
  printf("core ir:          %s\n", tt_rt_ir_fingerprint());
  print_cpu();
  tt_rt_system_t system = tt_rt_system();
  tt_rt_discovery_t choice;
  tt_status_t status = tt_find_plugin(&choice);
  print_hardware(&choice.hardware);
  char libtpu[1024], folder[4096];
  bool found = tt_rt_find_libtpu(&system, tt_own_folder(folder, sizeof(folder)), libtpu, sizeof(libtpu));
  printf("libtpu:           %s\n", found ? libtpu : "not found");
  print_environment(&system);
  if (plugin) {
    tt_status_ignore(status);   // the choice is not asked for
    printf("plugin:           %s (--plugin)\n", plugin);
  } else {
    printf("plugin:           %s (%s)\n", choice.path[0] ? choice.path : "none",
           choice.reason[0] ? choice.reason : "nothing to choose");
    if (!tt_status_is_ok(status)) {
      printf("problem:          %s: %s\n", tt_status_code_name(tt_status_code(status)),
             tt_status_message(status));
      tt_status_free(status);
      return 1;
    }
    plugin = choice.path;
  }
  return open ? print_plugin(plugin) : 0;
}
