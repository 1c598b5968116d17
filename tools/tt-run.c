// tt-run: runs a StableHLO text file through a PJRT plugin.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/thread.h"
#include "find_plugin.h"
#include "ir/text.h"
#include "npy.h"
#include "run_options.h"
#include "runtime/runtime.h"

enum { EXIT_RUN = 1, EXIT_USAGE = 2, EXIT_INPUT = 3 };

static const char usage[] =
    "usage: tt-run [options] program.mlir\n"
    "  --plugin PATH       PJRT plugin (default: as tt-doctor shows)\n"
    "  --topology NAME     virtual topology, e.g. v6e:2x2 (vtpu)\n"
    "  --device N          device to run on (default 0)\n"
    "  --input FILE.npy    one for each argument of @main, in order\n"
    "  --random SEED       make the inputs instead: floats in [-1, 1), integers in [0, 8)\n"
    "  --output-dir DIR    write output0.npy, output1.npy, ...\n"
    "  --print             print the outputs\n"
    "  --repeat N          run N times and print the times\n"
    "  --threads N         threads (vtpu)\n"
    "  --handover          parse here and hand the program over in memory (vtpu)\n"
    "exit code: 0 done, 1 the plugin refused or failed, 2 wrong usage, 3 a file is missing or wrong\n";

static int complain(tt_status_t status, const char* what, int code) {
  fprintf(stderr, "tt-run: %s: %s: %s\n", what, tt_status_code_name(tt_status_code(status)),
          tt_status_message(status));
  tt_status_free(status);
  return code;
}

// ---- inputs ------------------------------------------------------------------------------------
static uint64_t next_random(uint64_t* state) {   // splitmix64
  uint64_t z = *state += 0x9e3779b97f4a7c15ull;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ z >> 27) * 0x94d049bb133111ebull;
  return z ^ z >> 31;
}

static tt_status_t random_input(tt_rt_client_t* client, size_t device, const tt_type_t* type, uint64_t* state,
                                tt_rt_buffer_t** out) {
  int64_t bytes = tt_type_bytes(type), elems = tt_type_elems(type);
  if (type->kind != TT_TYPE_TENSOR || bytes < 0) {
    return tt_status_create(TT_INVALID_ARGUMENT, "only static tensors can be made at random");
  }
  void* data;
  TT_RETURN_IF_ERROR(tt_alloc((size_t)bytes, &data));
  size_t elem = tt_dtype_bytes(type->dtype);
  for (int64_t i = 0; i < elems; ++i) {
    char* at = (char*)data + (size_t)i * elem;
    uint64_t word = next_random(state);
    if (tt_dtype_is_complex(type->dtype)) {
      double value[2] = {(double)(int32_t)word * 0x1p-31, (double)(int32_t)(word >> 32) * 0x1p-31};
      tt_scalar_store_complex(type->dtype, value, at);
    } else if (tt_dtype_is_float(type->dtype)) {
      tt_scalar_store_f64(type->dtype, (double)(int32_t)(word >> 32) * 0x1p-31, at);
    } else {
      tt_scalar_store_i64(type->dtype,
                          type->dtype == TT_DTYPE_PRED ? (int64_t)(word >> 63) : (int64_t)(word >> 61), at);
    }
  }
  tt_status_t status = tt_rt_buffer_from_host(client, device, type->dtype, type->rank, type->dims, data, out);
  tt_free(data);
  return status;
}

static tt_status_t file_input(tt_rt_client_t* client, size_t device, const char* path, const tt_type_t* type,
                              tt_rt_buffer_t** out) {
  tt_npy_t array;
  TT_RETURN_IF_ERROR(tt_npy_read(path, &array));
  tt_dtype_t dtype = tt_npy_dtype(array.descr);
  // raw bytes get the program's type; so do integers of the right width for types that NumPy does not have
  if (type && type->kind == TT_TYPE_TENSOR && tt_dtype_bytes(type->dtype) == array.elem_bytes &&
      (array.descr[1] == 'V' || (array.descr[1] == 'u' && tt_dtype_is_float(type->dtype)))) {
    dtype = type->dtype;
  }
  int64_t strides[TT_MAX_RANK];
  tt_npy_strides(&array, strides);
  tt_status_t status =
      dtype == TT_DTYPE_INVALID
          ? tt_status_create(TT_INVALID_ARGUMENT, "'%s' has the type '%s', which no element type stands for",
                             path, array.descr)
          : tt_rt_buffer_from_host_strided(client, device, dtype, array.rank, array.dims, strides, array.data,
                                           out);
  tt_npy_deinitialize(&array);
  return status;
}

// ---- outputs -----------------------------------------------------------------------------------
static void print_value(tt_dtype_t dtype, const void* at) {
  if (tt_dtype_is_complex(dtype)) {
    double value[2];
    tt_scalar_load_complex(dtype, at, value);
    printf("(%.9g,%.9g)", value[0], value[1]);
  } else if (tt_dtype_is_float(dtype)) {
    printf(dtype == TT_DTYPE_F64 ? "%.17g" : "%.9g", tt_scalar_load_f64(dtype, at));
  } else if (dtype == TT_DTYPE_PRED) {
    printf("%s", tt_scalar_load_i64(dtype, at) ? "true" : "false");
  } else if (dtype == TT_DTYPE_U64) {
    printf("%" PRIu64, (uint64_t)tt_scalar_load_i64(dtype, at));
  } else {
    printf("%" PRId64, tt_scalar_load_i64(dtype, at));
  }
}

static void print_array(tt_dtype_t dtype, size_t rank, const int64_t* dims, const char** at) {
  if (rank == 0) {
    print_value(dtype, *at);
    *at += tt_dtype_bytes(dtype);
    return;
  }
  printf("[");
  for (int64_t i = 0; i < dims[0]; ++i) {
    if (i) printf(rank > 1 ? ",\n" : ", ");
    print_array(dtype, rank - 1, dims + 1, at);
  }
  printf("]");
}

static tt_status_t give_output(const tt_run_options_t* options, size_t index, tt_rt_buffer_t* buffer) {
  size_t bytes = tt_rt_buffer_bytes(buffer);
  void* data;
  TT_RETURN_IF_ERROR(tt_alloc(bytes, &data));
  tt_status_t status = tt_rt_buffer_to_host(buffer, data, bytes);
  tt_dtype_t dtype = tt_rt_buffer_dtype(buffer);
  size_t rank = tt_rt_buffer_rank(buffer);
  const int64_t* dims = tt_rt_buffer_dims(buffer);
  if (tt_status_is_ok(status) && options->print) {
    printf("output %zu: tensor<", index);
    for (size_t i = 0; i < rank; ++i) printf("%" PRId64 "x", dims[i]);
    printf("%s>\n", tt_dtype_name(dtype));
    const char* at = data;
    if (bytes == 0) printf("[]");   // however many empty rows
    else print_array(dtype, rank, dims, &at);
    printf("\n");
  }
  if (tt_status_is_ok(status) && options->output_dir) {
    char path[4096];
    snprintf(path, sizeof(path), "%s/output%zu.npy", options->output_dir, index);
    status = tt_npy_write(path, dtype, rank, dims, data);
  }
  tt_free(data);
  return status;
}

// ---- run ---------------------------------------------------------------------------------------
static int by_value(const void* a, const void* b) {
  int64_t x = *(const int64_t*)a, y = *(const int64_t*)b;
  return x < y ? -1 : x > y;
}

static tt_status_t run_all(const tt_run_options_t* options, tt_rt_executable_t* executable, size_t input_count,
                           tt_rt_buffer_t** inputs, size_t output_count, tt_rt_buffer_t** outputs) {
  long count = options->repeat > 0 ? options->repeat : 1;
  int64_t* times;
  TT_RETURN_IF_ERROR(tt_alloc_array((size_t)count, sizeof(int64_t), (void**)&times));
  tt_status_t status = TT_OK_STATUS;
  for (long run = 0; run < count && tt_status_is_ok(status); ++run) {
    for (size_t i = 0; i < output_count; ++i) {
      tt_rt_buffer_release(outputs[i]);
      outputs[i] = NULL;
    }
    int64_t start = tt_clock_ns();
    status = tt_rt_execute(executable, input_count, inputs, NULL, output_count, outputs);
    for (size_t i = 0; i < output_count && tt_status_is_ok(status); ++i) {
      status = tt_rt_buffer_await(outputs[i]);
    }
    times[run] = tt_clock_ns() - start;
  }
  if (tt_status_is_ok(status) && options->repeat > 0) {
    int64_t first = times[0];
    qsort(times, (size_t)count, sizeof(int64_t), by_value);
    printf("%ld runs: first %.3f us, best %.3f us, median %.3f us\n", count, (double)first / 1e3,
           (double)times[0] / 1e3, (double)times[count / 2] / 1e3);
  }
  tt_free(times);
  return status;
}

static int run_program(const tt_run_options_t* options, tt_rt_client_t* client, const char* text, size_t text_size) {
  tt_module_t* module = NULL;
  tt_rt_executable_t* executable = NULL;
  tt_rt_buffer_t **inputs = NULL, **outputs = NULL;
  size_t input_count = options->input_count, output_count = 0;
  int code = 0;
  // Our reader gives the argument types; a program that only the plugin can read runs without them.
  tt_status_t status = tt_module_parse(text, text_size, &module);
  if (!tt_status_is_ok(status) && (options->random || options->handover)) {
    return complain(status, options->program, EXIT_RUN);
  }
  tt_status_free(status);
  tt_func_t* func = module ? tt_module_main(module) : NULL;
  if (func) {
    size_t wanted = func->body.block.arg_count;
    if (options->random) input_count = wanted;
    if (input_count != wanted) {
      fprintf(stderr, "tt-run: @%s takes %zu arguments, %zu inputs were given (--input or --random)\n",
              func->name, wanted, input_count);
      tt_module_release(module);
      return EXIT_USAGE;
    }
  }
  tt_rt_compile_options_t compile = {.device = options->device};
  int64_t start = tt_clock_ns();
  status = options->handover ? tt_rt_compile(client, module, &compile, &executable)
                             : tt_rt_compile_text(client, text, text_size, &compile, &executable);
  if (!tt_status_is_ok(status)) {
    code = complain(status, options->program, EXIT_RUN);
    goto cleanup;
  }
  if (options->repeat > 0) printf("compiled in %.3f ms\n", (double)(tt_clock_ns() - start) / 1e6);
  output_count = tt_rt_executable_output_count(executable);
  inputs = calloc(input_count + 1, sizeof(*inputs));
  outputs = calloc(output_count + 1, sizeof(*outputs));
  if (!inputs || !outputs) {
    code = complain(tt_status_create(TT_RESOURCE_EXHAUSTED, "no memory"), options->program, EXIT_RUN);
    goto cleanup;
  }
  uint64_t state = options->seed;
  for (size_t i = 0; i < input_count; ++i) {
    const tt_type_t* type = func ? func->body.block.args[i].type : NULL;
    status = options->random ? random_input(client, options->device, type, &state, &inputs[i])
                             : file_input(client, options->device, options->inputs[i], type, &inputs[i]);
    if (!tt_status_is_ok(status)) {
      code = complain(status, options->random ? "random input" : options->inputs[i], EXIT_INPUT);
      goto cleanup;
    }
  }
  status = run_all(options, executable, input_count, inputs, output_count, outputs);
  for (size_t i = 0; i < output_count && tt_status_is_ok(status); ++i) {
    status = give_output(options, i, outputs[i]);
  }
  if (!tt_status_is_ok(status)) code = complain(status, options->program, EXIT_RUN);
cleanup:
  for (size_t i = 0; inputs && i < input_count; ++i) tt_rt_buffer_release(inputs[i]);
  for (size_t i = 0; outputs && i < output_count; ++i) tt_rt_buffer_release(outputs[i]);
  free(inputs);
  free(outputs);
  tt_rt_executable_release(executable);
  if (module) tt_module_release(module);
  return code;
}

int main(int argc, char** argv) {
  tt_run_options_t options;
  if (argc == 2 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)) {
    fputs(usage, stdout);
    return 0;
  }
  tt_status_t status = tt_run_options_read(argc, argv, &options);
  if (!tt_status_is_ok(status)) {
    fprintf(stderr, "tt-run: %s\n%s", tt_status_message(status), usage);
    tt_status_free(status);
    tt_run_options_deinitialize(&options);
    return EXIT_USAGE;
  }
  char* text = NULL;
  size_t text_size = 0;
  tt_rt_plugin_t* plugin = NULL;
  tt_rt_client_t* client = NULL;
  int code = EXIT_RUN;
  tt_rt_discovery_t choice;
  status = tt_file_read(options.program, &text, &text_size);
  if (!tt_status_is_ok(status)) {
    code = complain(status, "program", EXIT_INPUT);
    goto cleanup;
  }
  if (!options.plugin) status = tt_find_plugin(&choice);
  if (tt_status_is_ok(status)) {
    status = tt_rt_plugin_load(options.plugin ? options.plugin : choice.path, &plugin);
  }
  tt_rt_option_t client_options[1] = {{"topology", options.topology, 0}};
  if (tt_status_is_ok(status)) {
    status = tt_rt_client_create(plugin, client_options, options.topology ? 1 : 0, &client);
  }
  if (!tt_status_is_ok(status)) {
    code = complain(status, "plugin", EXIT_RUN);
    goto cleanup;
  }
  if (options.threads) tt_rt_client_set_threads(client, (int)options.threads);
  code = run_program(&options, client, text, text_size);
cleanup:
  tt_rt_client_release(client);
  tt_free(text);
  tt_run_options_deinitialize(&options);
  return code;
}
