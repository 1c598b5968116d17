#include "run_options.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/format.h"

static tt_status_t read_number(const char* name, const char* text, uint64_t limit, uint64_t* out) {
  uint64_t value = 0;
  const char* at = text;
  for (; tt_is_digit(*at); ++at) {
    if (__builtin_mul_overflow(value, (uint64_t)10, &value)) break;
    if (__builtin_add_overflow(value, (uint64_t)(*at - '0'), &value)) break;
  }
  if (at == text || *at || value > limit) {
    return tt_status_create(TT_INVALID_ARGUMENT, "%.100s is not a number that %s takes (0 to %llu)", text, name,
                            (unsigned long long)limit);
  }
  *out = value;
  return TT_OK_STATUS;
}

static tt_status_t read_value(const char* name, const char* value, tt_run_options_t* out) {
  static const struct { const char* name; size_t place; } texts[] = {
      {"--plugin", offsetof(tt_run_options_t, plugin)},
      {"--topology", offsetof(tt_run_options_t, topology)},
      {"--output-dir", offsetof(tt_run_options_t, output_dir)},
  };
  for (size_t i = 0; i < TT_ARRAY_LENGTH(texts); ++i) {
    if (strcmp(name, texts[i].name) != 0) continue;
    memcpy((char*)out + texts[i].place, &value, sizeof(value));
    return TT_OK_STATUS;
  }
  uint64_t number = 0;
  if (strcmp(name, "--input") == 0) {
    out->inputs[out->input_count++] = value;
  } else if (strcmp(name, "--device") == 0) {
    TT_RETURN_IF_ERROR(read_number(name, value, 4096, &number));
    out->device = (size_t)number;
  } else if (strcmp(name, "--repeat") == 0) {
    TT_RETURN_IF_ERROR(read_number(name, value, 1000000, &number));
    out->repeat = (long)number;
  } else if (strcmp(name, "--threads") == 0) {
    TT_RETURN_IF_ERROR(read_number(name, value, 64, &number));
    out->threads = (long)number;
  } else if (strcmp(name, "--random") == 0) {
    TT_RETURN_IF_ERROR(read_number(name, value, UINT64_MAX, &out->seed));
    out->random = true;
  } else {
    return tt_status_create(TT_INVALID_ARGUMENT, "unknown option %.100s", name);
  }
  return TT_OK_STATUS;
}

tt_status_t tt_run_options_read(int argc, char** argv, tt_run_options_t* out) {
  memset(out, 0, sizeof(*out));
  TT_RETURN_IF_ERROR(tt_alloc_array((size_t)argc + 1, sizeof(char*), (void**)&out->inputs));
  for (int i = 1; i < argc; ++i) {
    const char* name = argv[i];
    if (strcmp(name, "--print") == 0) {
      out->print = true;
    } else if (strcmp(name, "--handover") == 0) {
      out->handover = true;
    } else if (strncmp(name, "--", 2) != 0) {
      if (out->program) {
        return tt_status_create(TT_INVALID_ARGUMENT, "two programs, '%.100s' and '%.100s'", out->program, name);
      }
      out->program = name;
    } else if (i + 1 == argc) {
      return tt_status_create(TT_INVALID_ARGUMENT, "%.100s needs a value", name);
    } else {
      TT_RETURN_IF_ERROR(read_value(name, argv[++i], out));
    }
  }
  return out->program ? TT_OK_STATUS : tt_status_create(TT_INVALID_ARGUMENT, "no program");
}

void tt_run_options_deinitialize(tt_run_options_t* options) {
  tt_free(options->inputs);
  options->inputs = NULL;
}
