// The command line of tt-run.
#ifndef TT_TOOLS_RUN_OPTIONS_H_
#define TT_TOOLS_RUN_OPTIONS_H_

#include "base/base.h"
#include "base/status.h"

typedef struct tt_run_options_s {
  const char *plugin, *topology, *output_dir, *program;
  size_t device;
  const char** inputs;   // owned
  size_t input_count;
  bool random, print, handover;
  uint64_t seed;
  long repeat, threads;
} tt_run_options_t;

// Strings are borrowed from argv. INVALID_ARGUMENT names what is wrong; *out is to be released then as well.
tt_status_t tt_run_options_read(int argc, char** argv, tt_run_options_t* out) TT_MUST_USE;
void tt_run_options_deinitialize(tt_run_options_t* options);

#endif  // TT_TOOLS_RUN_OPTIONS_H_
