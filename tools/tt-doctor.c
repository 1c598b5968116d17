// tt-doctor: what this machine and installation can do, for bug reports. --no-plugin opens no plugin.
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
  char path[4096];
  const char* plugin = tt_find_plugin(path, sizeof(path));
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
  printf("plugin:           %s\n", plugin ? plugin : "none found (--plugin or TORCH_TPU_PLUGIN names one)");
  if (!plugin) return 1;
  return open ? print_plugin(plugin) : 0;
}
