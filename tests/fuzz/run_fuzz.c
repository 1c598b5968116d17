// What tt-run reads from its user: lines up to an empty one are its arguments, the rest is a .npy file.
#include <string.h>

#include "fuzz.h"
#include "npy.h"
#include "run_options.h"

enum { MAX_ARGUMENTS = 64 };

static void read_arguments(char* text) {
  char* argv[MAX_ARGUMENTS + 1] = {"tt-run"};
  int argc = 1;
  for (char* line = text; line && argc < MAX_ARGUMENTS; argv[argc] = NULL) {
    argv[argc++] = line;
    line = strchr(line, '\n');
    if (line) *line++ = 0;
  }
  tt_run_options_t options;
  tt_status_t status = tt_run_options_read(argc, argv, &options);
  if (tt_status_is_ok(status)) {
    FUZZ_REQUIRE(options.program && options.input_count < (size_t)argc && options.device <= 4096 &&
                     options.repeat >= 0 && options.repeat <= 1000000 && options.threads >= 0 &&
                     options.threads <= 64, "%s", options.program);
    for (size_t i = 0; i < options.input_count; ++i) FUZZ_REQUIRE(options.inputs[i], "input %zu", i);
  } else {
    FUZZ_REQUIRE(tt_status_code(status) == TT_INVALID_ARGUMENT && tt_status_message(status)[0], "%s",
                 tt_status_message(status));
  }
  tt_status_free(status);
  tt_run_options_deinitialize(&options);
}

static void read_array(const uint8_t* data, size_t size) {
  void* bytes;   // as long as the file: sanitizers see a read behind its end
  tt_status_t status = tt_alloc(size ? size : 1, &bytes);
  FUZZ_REQUIRE(tt_status_is_ok(status), "%zu bytes", size);
  if (size) memcpy(bytes, data, size);
  tt_npy_t array;
  status = tt_npy_parse("x.npy", bytes, size, &array);
  if (!tt_status_is_ok(status)) {
    FUZZ_REQUIRE(tt_status_code(status) == TT_INVALID_ARGUMENT, "%s", tt_status_message(status));
    tt_status_free(status);
    return;
  }
  int64_t strides[TT_MAX_RANK], elems = 1;
  tt_npy_strides(&array, strides);
  for (size_t i = 0; i < array.rank; ++i) elems = array.dims[i] == 0 ? 0 : elems;
  volatile char seen = 0;
  if (elems) {   // the last element lies at the end of the data
    int64_t last = 0;
    for (size_t i = 0; i < array.rank; ++i) last += (array.dims[i] - 1) * strides[i];
    seen = array.data[last + (int64_t)array.elem_bytes - 1];
  }
  (void)seen;
  (void)tt_npy_dtype(array.descr);
  tt_npy_deinitialize(&array);
}

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  int64_t live = tt_alloc_stats().live_blocks;
  const uint8_t* at = data;
  size_t left = size;
  while (left && !(at[0] == '\n' && (at == data || at[-1] == '\n'))) ++at, --left;
  size_t length = (size_t)(at - data);
  char* text = malloc(length + 1);
  if (length) memcpy(text, data, length);
  text[length && text[length - 1] == '\n' ? length - 1 : length] = 0;
  if (length) read_arguments(text);
  free(text);
  if (left) read_array(at + 1, left - 1);
  FUZZ_REQUIRE(tt_alloc_stats().live_blocks == live, "%lld blocks leaked",
               (long long)(tt_alloc_stats().live_blocks - live));
  return 0;
}
