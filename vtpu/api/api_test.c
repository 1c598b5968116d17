// The plugin through its table alone, over a fake executor (fake_plan.h).
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include "api/fake_plan.h"
#include "base/test.h"

static const PJRT_Api* api;

#define ARGS(slot, name) PJRT_##slot##_Args name = {.struct_size = sizeof(name)}
#define EXPECT_CALL(call)                                                              \
  do {                                                                                 \
    PJRT_Error* error_ = (call);                                                       \
    if (error_) TT_TEST_FAIL("%s: %s", #call, message_of(error_));                     \
    if (error_) { destroy_error(error_); return; }                                     \
  } while (0)
#define EXPECT_FAILS(call, wanted_code, part)                                          \
  do {                                                                                 \
    PJRT_Error* error_ = (call);                                                       \
    TT_EXPECT(error_ != NULL);                                                         \
    int code_ = code_of(error_);                                                       \
    if (code_ != (wanted_code) || !strstr(message_of(error_), part)) {                 \
      TT_TEST_FAIL("%s gave %d: %s", #call, code_, message_of(error_));                \
    }                                                                                  \
    destroy_error(error_);                                                             \
  } while (0)

static const char* message_of(PJRT_Error* error) {
  ARGS(Error_Message, args);
  args.error = error;
  api->Error_Message(&args);
  return args.message;
}
static int code_of(PJRT_Error* error) {
  ARGS(Error_GetCode, args);
  args.error = error;
  api->Error_GetCode(&args);
  return (int)args.code;
}
static void destroy_error(PJRT_Error* error) {
  ARGS(Error_Destroy, args);
  args.error = error;
  api->Error_Destroy(&args);
}

static PJRT_Error* make_client(const char* topology, int64_t budget, PJRT_Client** out) {
  PJRT_NamedValue options[2] = {
      {.struct_size = sizeof(PJRT_NamedValue),
       .name = "topology",
       .name_size = 8,
       .type = PJRT_NamedValue_kString,
       .string_value = topology,
       .value_size = strlen(topology)},
      {.struct_size = sizeof(PJRT_NamedValue),
       .name = "memory_budget_bytes",
       .name_size = 19,
       .type = PJRT_NamedValue_kInt64,
       .int64_value = budget,
       .value_size = 1},
  };
  ARGS(Client_Create, args);
  args.create_options = options;
  args.num_options = 2;
  PJRT_Error* error = api->Client_Create(&args);
  *out = args.client;
  return error;
}
static void destroy_client(PJRT_Client* client) {
  ARGS(Client_Destroy, args);
  args.client = client;
  api->Client_Destroy(&args);
}
static PJRT_Device* device_of(PJRT_Client* client, int index) {
  ARGS(Client_AddressableDevices, args);
  args.client = client;
  api->Client_AddressableDevices(&args);
  return args.addressable_devices[index];
}
static PJRT_Error* upload(PJRT_Client* client, int device, size_t rank, const int64_t* dims,
                          const int64_t* strides, const void* data, PJRT_Buffer** out) {
  ARGS(Client_BufferFromHostBuffer, args);
  args.client = client;
  args.data = data;
  args.type = PJRT_Buffer_Type_F32;
  args.dims = dims;
  args.num_dims = rank;
  args.byte_strides = strides;
  args.num_byte_strides = strides ? rank : 0;
  args.device = device_of(client, device);
  PJRT_Error* error = api->Client_BufferFromHostBuffer(&args);
  *out = args.buffer;
  if (!error) {
    ARGS(Event_Destroy, event);
    event.event = args.done_with_host_buffer;
    api->Event_Destroy(&event);
  }
  return error;
}
static PJRT_Error* download(PJRT_Buffer* buffer, void* out, size_t size) {
  ARGS(Buffer_ToHostBuffer, args);
  args.src = buffer;
  args.dst = out;
  args.dst_size = size;
  return api->Buffer_ToHostBuffer(&args);
}
static void destroy_buffer(PJRT_Buffer* buffer) {
  ARGS(Buffer_Destroy, args);
  args.buffer = buffer;
  api->Buffer_Destroy(&args);
}
static bool is_deleted(PJRT_Buffer* buffer) {
  ARGS(Buffer_IsDeleted, args);
  args.buffer = buffer;
  api->Buffer_IsDeleted(&args);
  return args.is_deleted;
}

// A program of `name` with `inputs` f32[4] parameters, in StableHLO text.
static const char* program_text(const char* name, int inputs) {
  static char text[1024];
  snprintf(text, sizeof(text),
           "module @%s {\n  func.func public @main(%s) -> tensor<4xf32> {\n    %%0 = stablehlo.add %%a, %s : "
           "tensor<4xf32>\n"
           "    return %%0 : tensor<4xf32>\n  }\n}\n",
           name, inputs == 2 ? "%a: tensor<4xf32>, %b: tensor<4xf32>" : "%a: tensor<4xf32>",
           inputs == 2 ? "%b" : "%a");
  return text;
}
static const char one_device[6] = {0x1a, 0x04, 0x20, 0x01, 0x28, 0x01};
static PJRT_Error* compile(PJRT_Client* client, const char* text, const char* options, size_t options_size,
                           PJRT_LoadedExecutable** out) {
  PJRT_Program program = {.struct_size = sizeof(program),
                          .code = (char*)(uintptr_t)text,
                          .code_size = strlen(text),
                          .format = "mlir",
                          .format_size = 4};
  ARGS(Client_Compile, args);
  args.client = client;
  args.program = &program;
  args.compile_options = options;
  args.compile_options_size = options_size;
  PJRT_Error* error = api->Client_Compile(&args);
  *out = args.executable;
  return error;
}
static void destroy_loaded(PJRT_LoadedExecutable* executable) {
  ARGS(LoadedExecutable_Destroy, args);
  args.executable = executable;
  api->LoadedExecutable_Destroy(&args);
}
static PJRT_Error* execute(PJRT_LoadedExecutable* executable, size_t count, PJRT_Buffer* const* inputs,
                           const int64_t* kept, size_t kept_count, PJRT_Buffer** output) {
  PJRT_ExecuteOptions options = {.struct_size = sizeof(options), .non_donatable_input_indices = kept,
                                 .num_non_donatable_input_indices = kept_count};
  PJRT_Buffer* const* argument_lists[1] = {inputs};
  PJRT_Buffer** output_lists[1] = {output};
  PJRT_Event* events[1] = {NULL};
  ARGS(LoadedExecutable_Execute, args);
  args.executable = executable;
  args.options = &options;
  args.argument_lists = argument_lists;
  args.num_devices = 1;
  args.num_args = count;
  args.output_lists = output_lists;
  args.device_complete_events = events;
  PJRT_Error* error = api->LoadedExecutable_Execute(&args);
  if (!error) {
    ARGS(Event_Await, await);
    await.event = events[0];
    error = api->Event_Await(&await);
    ARGS(Event_Destroy, destroy);
    destroy.event = events[0];
    api->Event_Destroy(&destroy);
  }
  return error;
}

static const int64_t four[1] = {4};
static const float data_a[4] = {1, 2, 3, 4}, data_b[4] = {10, 20, 30, 40};

TT_TEST(api, no_slot_is_empty) {
  TT_EXPECT_EQ(api->struct_size, 1120);
  TT_EXPECT_EQ(api->pjrt_api_version.minor_version, 104);
#define PJRT_SLOT(name, result) TT_EXPECT(api->name != NULL);
#include "pjrt/pjrt_slots.def"
#undef PJRT_SLOT
  ARGS(Executable_OptimizedProgram, missing);
  EXPECT_FAILS(api->Executable_OptimizedProgram(&missing), TT_UNIMPLEMENTED,
               "PJRT_Executable_OptimizedProgram");
  ARGS(Plugin_Attributes, attributes);
  EXPECT_CALL(api->Plugin_Attributes(&attributes));
  TT_EXPECT_EQ(attributes.num_attributes, 3);
  TT_EXPECT_STR(attributes.attributes[2].name, "tt_ir");
  ARGS(Event_IsReady, small);
  small.struct_size = 8;
  EXPECT_FAILS(api->Event_IsReady(&small), TT_INVALID_ARGUMENT, "PJRT_Event_IsReady");
}

typedef struct row_s { const char* name; const char* canonical; int devices; const char* kind; } row_t;
TT_TEST(api, topologies) {
  static const row_t rows[] = {
      {"v6e", "v6e:1x1", 1, "TPU v6e (virtual, CPU)"},
      {"v6e:2x2", "v6e:2x2", 4, "TPU v6e (virtual, CPU)"},
      {"v5e:2x4", "v5e:2x4", 8, "TPU v5e (virtual, CPU)"},
      {"v5p:2x2x1", "v5p:2x2x1", 4, "TPU v5p (virtual, CPU)"},
      {"v5p:2x2", "v5p:2x2x1", 4, "TPU v5p (virtual, CPU)"},
      {"tpu7x:2x2x1", "tpu7x:2x2x1", 8, "TPU v7x (virtual, CPU)"},
      {"v7x:1x1x1", "tpu7x:1x1x1", 2, "TPU v7x (virtual, CPU)"},
      {"v5litepod-8", "v5e:2x4", 8, "TPU v5e (virtual, CPU)"},
      {"v6e-4", "v6e:2x2", 4, "TPU v6e (virtual, CPU)"},
      {"v5p-8", "v5p:2x2x1", 4, "TPU v5p (virtual, CPU)"},
      {"tpu7x-8", "tpu7x:2x2x1", 8, "TPU v7x (virtual, CPU)"},
      {"v5p-32", "v5p:2x2x4", 16, "TPU v5p (virtual, CPU)"},
  };
  for (size_t i = 0; i < TT_ARRAY_LENGTH(rows); ++i) {
    ARGS(TopologyDescription_Create, args);
    args.topology_name = rows[i].name;
    args.topology_name_size = strlen(rows[i].name);
    EXPECT_CALL(api->TopologyDescription_Create(&args));
    ARGS(TopologyDescription_GetDeviceDescriptions, devices);
    devices.topology = args.topology;
    EXPECT_CALL(api->TopologyDescription_GetDeviceDescriptions(&devices));
    TT_EXPECT_EQ(devices.num_descriptions, rows[i].devices);
    ARGS(DeviceDescription_Kind, kind);
    kind.device_description = devices.descriptions[0];
    EXPECT_CALL(api->DeviceDescription_Kind(&kind));
    TT_EXPECT_STR(kind.device_kind, rows[i].kind);
    ARGS(TopologyDescription_Serialize, text);
    text.topology = args.topology;
    EXPECT_CALL(api->TopologyDescription_Serialize(&text));
    TT_EXPECT_STR(text.serialized_bytes, rows[i].canonical);
    ARGS(TopologyDescription_Destroy, destroy);
    destroy.topology = args.topology;
    api->TopologyDescription_Destroy(&destroy);
  }
  static const char* const bad[] = {"v9e:2x2",     "v6e:2x",     "v6e:0x2", "v6e:2x2x2", "v6e-3",
                                    "v6e:",        "v6e-4x",     "v5p-1",   "v6e:64x64", "v6e:2",
                                    "v6e:99999x1", "v5litepod-", ":",       "-"};
  for (size_t i = 0; i < TT_ARRAY_LENGTH(bad); ++i) {
    PJRT_Client* client;
    PJRT_Error* error = make_client(bad[i], 0, &client);
    if (!error) TT_TEST_FAIL("'%s' was taken", bad[i]);
    TT_EXPECT(error);
    TT_EXPECT_EQ(code_of(error), TT_INVALID_ARGUMENT);
    TT_EXPECT_CONTAINS(message_of(error), bad[i]);
    TT_EXPECT_CONTAINS(message_of(error), "v5litepod-N");
    destroy_error(error);
  }
}

TT_TEST(api, coordinates_run_x_first) {
  PJRT_Client* client;
  EXPECT_CALL(make_client("tpu7x:2x2x1", 1 << 20, &client));
  const int64_t want[8][4] = {{0, 0, 0, 0}, {0, 0, 0, 1}, {1, 0, 0, 0}, {1, 0, 0, 1},
                              {0, 1, 0, 0}, {0, 1, 0, 1}, {1, 1, 0, 0}, {1, 1, 0, 1}};
  for (int d = 0; d < 8; ++d) {
    ARGS(Device_GetAttributes, args);
    args.device = device_of(client, d);
    EXPECT_CALL(api->Device_GetAttributes(&args));
    TT_EXPECT_STR(args.attributes[0].name, "coords");
    for (int k = 0; k < 3; ++k) TT_EXPECT_EQ(args.attributes[0].int64_array_value[k], want[d][k]);
    TT_EXPECT_STR(args.attributes[1].name, "core_on_chip");
    TT_EXPECT_EQ(args.attributes[1].int64_value, want[d][3]);
  }
  destroy_client(client);
}

TT_TEST(api, unknown_options_are_refused) {
  PJRT_NamedValue option = {.struct_size = sizeof(option), .name = "colour", .name_size = 6,
                            .type = PJRT_NamedValue_kInt64, .int64_value = 1, .value_size = 1};
  ARGS(Client_Create, args);
  args.create_options = &option;
  args.num_options = 1;
  EXPECT_FAILS(api->Client_Create(&args), TT_INVALID_ARGUMENT, "colour");
  option.name = "matmul_passes";
  option.name_size = 13;
  option.int64_value = 2;
  EXPECT_FAILS(api->Client_Create(&args), TT_INVALID_ARGUMENT, "0, 1, 3, 6");
}

TT_TEST(api, host_copies_with_strides) {
  PJRT_Client* client;
  EXPECT_CALL(make_client("v6e", 1 << 20, &client));
  const float data[6] = {0, 1, 2, 3, 4, 5};
  const int64_t dims[2] = {3, 2};
  const int64_t transposed[2] = {4, 12}, reversed[2] = {-8, 4}, broadcast[2] = {0, 4};
  static const float want[3][6] = {{0, 3, 1, 4, 2, 5}, {4, 5, 2, 3, 0, 1}, {0, 1, 0, 1, 0, 1}};
  const int64_t* strides[3] = {transposed, reversed, broadcast};
  float out[6];
  for (int i = 0; i < 3; ++i) {
    PJRT_Buffer* buffer;
    EXPECT_CALL(upload(client, 0, 2, dims, strides[i], i == 1 ? data + 4 : data, &buffer));
    EXPECT_CALL(download(buffer, out, sizeof(out)));
    TT_EXPECT(memcmp(out, want[i], sizeof(out)) == 0);
    // back in column-major order: the transposed layout undoes the transposition
    const int64_t order[2] = {0, 1};
    PJRT_Buffer_MemoryLayout layout = {.struct_size = sizeof(layout),
                                       .type = PJRT_Buffer_MemoryLayout_Type_Tiled};
    layout.tiled.minor_to_major = order;
    layout.tiled.minor_to_major_size = 2;
    ARGS(Buffer_ToHostBuffer, args);
    args.src = buffer;
    args.host_layout = &layout;
    EXPECT_CALL(api->Buffer_ToHostBuffer(&args));
    TT_EXPECT_EQ(args.dst_size, 24);
    args.dst = out;
    EXPECT_CALL(api->Buffer_ToHostBuffer(&args));
    if (i == 0) TT_EXPECT(memcmp(out, data, sizeof(out)) == 0);
    EXPECT_FAILS(download(buffer, out, 20), TT_INVALID_ARGUMENT, "24 are needed");
    destroy_buffer(buffer);
  }
  ARGS(Client_BufferFromHostBuffer, odd);
  odd.client = client;
  odd.type = (PJRT_Buffer_Type)30;
  EXPECT_FAILS(api->Client_BufferFromHostBuffer(&odd), TT_UNIMPLEMENTED, "30");
  destroy_client(client);
}

// Large enough for tiles and for several threads; the expected value is computed from the indices.
TT_TEST(api, large_strided_copies) {
  PJRT_Client* client;
  EXPECT_CALL(make_client("v6e", 64 << 20, &client));
  enum { A = 37, B = 331, C = 259 };
  static float data[A * B * C], out[A * B * C];
  for (int i = 0; i < A * B * C; ++i) data[i] = (float)i;
  const int64_t dims[3] = {A, B, C};
  // the host array is stored as [C][B][A] and as [B][C][A]
  const int64_t strides[2][3] = {{4, 4 * A, 4 * A * B}, {4, 4 * A * C, 4 * A}};
  for (int s = 0; s < 2; ++s) {
    PJRT_Buffer* buffer;
    EXPECT_CALL(upload(client, 0, 3, dims, strides[s], data, &buffer));
    EXPECT_CALL(download(buffer, out, sizeof(out)));
    size_t at = 0;
    for (int a = 0; a < A; ++a) {
      for (int b = 0; b < B; ++b) {
        for (int c = 0; c < C; ++c, ++at) {
          TT_EXPECT_EQ(out[at], s == 0 ? c * B * A + b * A + a : b * C * A + c * A + a);
        }
      }
    }
    ARGS(Buffer_ToHostBuffer, args);   // and back into the same strides
    PJRT_Buffer_MemoryLayout layout = {.struct_size = sizeof(layout),
                                       .type = PJRT_Buffer_MemoryLayout_Type_Strides};
    layout.strides.byte_strides = strides[s];
    layout.strides.num_byte_strides = 3;
    args.src = buffer;
    args.host_layout = &layout;
    args.dst = out;
    args.dst_size = sizeof(out);
    EXPECT_CALL(api->Buffer_ToHostBuffer(&args));
    TT_EXPECT(memcmp(out, data, sizeof(out)) == 0);
    destroy_buffer(buffer);
  }
  destroy_client(client);
}

TT_TEST(api, buffers_tell_about_themselves) {
  PJRT_Client* client;
  EXPECT_CALL(make_client("v6e:2x2", 1 << 20, &client));
  PJRT_Buffer *buffer, *copy;
  EXPECT_CALL(upload(client, 0, 1, four, NULL, data_a, &buffer));
  ARGS(Buffer_CopyToDevice, to);
  to.buffer = buffer;
  to.dst_device = device_of(client, 3);
  EXPECT_CALL(api->Buffer_CopyToDevice(&to));
  copy = to.dst_buffer;
  ARGS(Buffer_Device, where);
  where.buffer = copy;
  EXPECT_CALL(api->Buffer_Device(&where));
  TT_EXPECT(where.device == device_of(client, 3));
  float out[4];
  EXPECT_CALL(download(copy, out, sizeof(out)));
  TT_EXPECT(memcmp(out, data_a, sizeof(out)) == 0);
  ARGS(Device_AddressableMemories, memories);
  memories.device = device_of(client, 3);
  EXPECT_CALL(api->Device_AddressableMemories(&memories));
  TT_EXPECT_EQ(memories.num_memories, 2);
  ARGS(Buffer_CopyToMemory, pin);
  pin.buffer = copy;
  pin.dst_memory = memories.memories[1];
  EXPECT_CALL(api->Buffer_CopyToMemory(&pin));
  ARGS(Memory_Kind, kind);
  kind.memory = pin.dst_memory;
  EXPECT_CALL(api->Memory_Kind(&kind));
  TT_EXPECT_STR(kind.kind, "pinned_host");
  ARGS(Buffer_UnsafePointer, pointer);
  pointer.buffer = pin.dst_buffer;
  EXPECT_CALL(api->Buffer_UnsafePointer(&pointer));
  TT_EXPECT(memcmp((void*)pointer.buffer_pointer, data_a, 16) == 0);
  ARGS(Device_MemoryStats, stats);
  stats.device = device_of(client, 3);
  EXPECT_CALL(api->Device_MemoryStats(&stats));
  TT_EXPECT(stats.bytes_in_use >= 16 && stats.bytes_in_use <= 128);
  TT_EXPECT_EQ(stats.bytes_limit, 1 << 20);
  // an external reference keeps the memory past a deletion
  ARGS(Buffer_IncreaseExternalReferenceCount, more);
  more.buffer = buffer;
  EXPECT_CALL(api->Buffer_IncreaseExternalReferenceCount(&more));
  pointer.buffer = buffer;
  EXPECT_CALL(api->Buffer_UnsafePointer(&pointer));
  ARGS(Buffer_Delete, del);
  del.buffer = buffer;
  EXPECT_CALL(api->Buffer_Delete(&del));
  TT_EXPECT(is_deleted(buffer));
  TT_EXPECT(memcmp((void*)pointer.buffer_pointer, data_a, 16) == 0);
  EXPECT_FAILS(download(buffer, out, sizeof(out)), TT_INVALID_ARGUMENT, "deleted");
  stats.device = device_of(client, 0);
  EXPECT_CALL(api->Device_MemoryStats(&stats));
  TT_EXPECT(stats.bytes_in_use > 0);
  ARGS(Buffer_DecreaseExternalReferenceCount, less);
  less.buffer = buffer;
  EXPECT_CALL(api->Buffer_DecreaseExternalReferenceCount(&less));
  EXPECT_CALL(api->Device_MemoryStats(&stats));
  TT_EXPECT_EQ(stats.bytes_in_use, 0);
  EXPECT_FAILS(api->Buffer_DecreaseExternalReferenceCount(&less), TT_INVALID_ARGUMENT,
               "no external reference");
  destroy_buffer(buffer);
  destroy_buffer(copy);
  destroy_buffer(pin.dst_buffer);
  destroy_client(client);
}

TT_TEST(api, compile_and_execute) {
  PJRT_Client* client;
  EXPECT_CALL(make_client("v6e", 1 << 20, &client));
  PJRT_LoadedExecutable* executable;
  EXPECT_CALL(compile(client, program_text("add", 2), one_device, 6, &executable));
  PJRT_Buffer *inputs[2], *output;
  EXPECT_CALL(upload(client, 0, 1, four, NULL, data_a, &inputs[0]));
  EXPECT_CALL(upload(client, 0, 1, four, NULL, data_b, &inputs[1]));
  EXPECT_CALL(execute(executable, 2, inputs, NULL, 0, &output));
  float out[4];
  EXPECT_CALL(download(output, out, sizeof(out)));
  for (int i = 0; i < 4; ++i) TT_EXPECT_EQ(out[i], 11 * (i + 1));
  ARGS(LoadedExecutable_GetExecutable, get);
  get.loaded_executable = executable;
  EXPECT_CALL(api->LoadedExecutable_GetExecutable(&get));
  ARGS(Executable_Name, name);
  name.executable = get.executable;
  EXPECT_CALL(api->Executable_Name(&name));
  TT_EXPECT_STR(name.executable_name, "add");
  ARGS(Executable_OutputDimensions, dims);
  dims.executable = get.executable;
  EXPECT_CALL(api->Executable_OutputDimensions(&dims));
  TT_EXPECT_EQ(dims.dim_sizes[0], 1);
  TT_EXPECT_EQ(dims.dims[0], 4);
  ARGS(Executable_Serialize, bytes);
  bytes.executable = get.executable;
  EXPECT_CALL(api->Executable_Serialize(&bytes));
  ARGS(Executable_Destroy, drop);
  drop.executable = get.executable;
  api->Executable_Destroy(&drop);
  destroy_loaded(executable);
  // a serialized program runs again; a damaged one is refused whichever byte is wrong
  ARGS(Executable_DeserializeAndLoad, load);
  load.client = client;
  load.serialized_executable = bytes.serialized_bytes;
  load.serialized_executable_size = bytes.serialized_bytes_size;
  EXPECT_CALL(api->Executable_DeserializeAndLoad(&load));
  destroy_buffer(output);
  EXPECT_CALL(execute(load.loaded_executable, 2, inputs, NULL, 0, &output));
  EXPECT_CALL(download(output, out, sizeof(out)));
  TT_EXPECT_EQ(out[3], 44);
  destroy_loaded(load.loaded_executable);
  for (size_t at = 0; at < bytes.serialized_bytes_size; at += 7) {
    char* byte = (char*)(uintptr_t)bytes.serialized_bytes + at;
    *byte ^= 0x10;
    PJRT_Error* error = api->Executable_DeserializeAndLoad(&load);
    if (error) destroy_error(error);
    else destroy_loaded(load.loaded_executable);
    bool refused = error != NULL;
    *byte ^= 0x10;
    TT_EXPECT(refused);
  }
  bytes.serialized_executable_deleter(bytes.serialized_executable);
  destroy_buffer(output);
  destroy_buffer(inputs[0]);
  destroy_buffer(inputs[1]);
  destroy_client(client);
}

TT_TEST(api, wrong_programs_and_arguments) {
  PJRT_Client* client;
  EXPECT_CALL(make_client("v6e:2x2", 1 << 20, &client));
  PJRT_LoadedExecutable* executable;
  EXPECT_FAILS(compile(client, "ML\xefR bytecode", one_device, 6, &executable), TT_UNIMPLEMENTED,
               "StableHLO text");
  EXPECT_FAILS(compile(client, "module {", one_device, 6, &executable), TT_INVALID_ARGUMENT, "1:");
  EXPECT_FAILS(compile(client, program_text("add", 2), "\x1a\x7f", 2, &executable), TT_INVALID_ARGUMENT,
               "malformed");
  const char eight[6] = {0x1a, 0x04, 0x20, 0x08, 0x28, 0x01};
  EXPECT_FAILS(compile(client, program_text("add", 2), eight, 6, &executable), TT_INVALID_ARGUMENT,
               "8 replicas");
  EXPECT_CALL(compile(client, program_text("add", 2), one_device, 6, &executable));
  PJRT_Buffer *inputs[2], *other, *output;
  const int64_t two_by_two[2] = {2, 2};
  EXPECT_CALL(upload(client, 0, 1, four, NULL, data_a, &inputs[0]));
  EXPECT_CALL(upload(client, 0, 2, two_by_two, NULL, data_b, &inputs[1]));
  EXPECT_FAILS(execute(executable, 1, inputs, NULL, 0, &output), TT_INVALID_ARGUMENT, "takes 2 arguments, 1");
  EXPECT_FAILS(execute(executable, 2, inputs, NULL, 0, &output), TT_INVALID_ARGUMENT,
               "argument 1 of 'add' is f32[2,2], the program wants f32[4]");
  other = inputs[1];
  EXPECT_CALL(upload(client, 1, 1, four, NULL, data_b, &inputs[1]));
  EXPECT_FAILS(execute(executable, 2, inputs, NULL, 0, &output), TT_INVALID_ARGUMENT, "is on device 1");
  destroy_buffer(other);
  destroy_buffer(inputs[0]);
  destroy_buffer(inputs[1]);
  destroy_loaded(executable);
  destroy_client(client);
}

TT_TEST(api, donation) {
  PJRT_Client* client;
  EXPECT_CALL(make_client("v6e", 1 << 20, &client));
  PJRT_LoadedExecutable *inc, *fail, *same;
  EXPECT_CALL(compile(client, program_text("inc", 1), one_device, 6, &inc));
  EXPECT_CALL(compile(client, program_text("fail", 1), one_device, 6, &fail));
  EXPECT_CALL(compile(client, program_text("same", 1), one_device, 6, &same));
  PJRT_Buffer *x, *y, *z;
  float out[4];
  EXPECT_CALL(upload(client, 0, 1, four, NULL, data_a, &x));
  ARGS(Buffer_UnsafePointer, pointer);
  pointer.buffer = x;
  EXPECT_CALL(api->Buffer_UnsafePointer(&pointer));
  uintptr_t address = pointer.buffer_pointer;
  // kept by the options: neither overwritten nor deleted
  const int64_t keep[1] = {0};
  EXPECT_CALL(execute(inc, 1, &x, keep, 1, &y));
  TT_EXPECT(!is_deleted(x));
  EXPECT_CALL(download(x, out, 16));
  TT_EXPECT_EQ(out[0], 1);
  destroy_buffer(y);
  // a failed run gives the argument back
  EXPECT_FAILS(execute(fail, 1, &x, NULL, 0, &y), TT_OUT_OF_RANGE, "index 7");
  TT_EXPECT(!is_deleted(x));
  EXPECT_CALL(download(x, out, 16));
  TT_EXPECT_EQ(out[3], 4);
  // donated: in place, and deleted
  EXPECT_CALL(execute(inc, 1, &x, NULL, 0, &y));
  TT_EXPECT(is_deleted(x));
  pointer.buffer = y;
  EXPECT_CALL(api->Buffer_UnsafePointer(&pointer));
  TT_EXPECT_EQ(pointer.buffer_pointer, address);
  EXPECT_FAILS(execute(inc, 1, &x, NULL, 0, &z), TT_INVALID_ARGUMENT, "deleted or donated");
  destroy_buffer(x);
  // two buffers on one block: donating one leaves the other's bits
  EXPECT_CALL(execute(same, 1, &y, NULL, 0, &x));
  EXPECT_CALL(execute(inc, 1, &y, NULL, 0, &z));
  TT_EXPECT(is_deleted(y));
  EXPECT_CALL(download(x, out, 16));
  TT_EXPECT_EQ(out[0], 2);
  EXPECT_CALL(download(z, out, 16));
  TT_EXPECT_EQ(out[0], 3);
  destroy_buffer(y);
  destroy_buffer(x);
  destroy_buffer(z);
  destroy_loaded(inc);
  destroy_loaded(fail);
  destroy_loaded(same);
  destroy_client(client);
}

TT_TEST(api, several_devices_meet) {
  PJRT_Client* client;
  EXPECT_CALL(make_client("v6e:2x2", 1 << 20, &client));
  // R = 4, P = 1 with an assignment of devices 3, 2, 1, 0
  const char options[20] = {0x1a, 0x12, 0x20, 0x04, 0x28, 0x01, 0x4a, 0x0c, 0x08, 0x04,
                            0x10, 0x01, 0x1a, 0x06, 0x0a, 0x04, 3,    2,    1,    0};
  PJRT_LoadedExecutable* executable;
  EXPECT_CALL(compile(client, program_text("sum", 1), options, 20, &executable));
  ARGS(LoadedExecutable_AddressableDevices, devices);
  devices.executable = executable;
  EXPECT_CALL(api->LoadedExecutable_AddressableDevices(&devices));
  TT_EXPECT_EQ(devices.num_addressable_devices, 4);
  TT_EXPECT(devices.addressable_devices[0] == device_of(client, 3));
  ARGS(LoadedExecutable_GetDeviceAssignment, assignment);
  assignment.executable = executable;
  EXPECT_CALL(api->LoadedExecutable_GetDeviceAssignment(&assignment));
  TT_EXPECT_EQ(assignment.serialized_bytes_size, 12);
  TT_EXPECT(memcmp(assignment.serialized_bytes, options + 8, 12) == 0);
  assignment.serialized_device_assignment_deleter(assignment.serialized_device_assignment);
  PJRT_Buffer* inputs[4];
  PJRT_Buffer* outputs[4];
  PJRT_Buffer* const* argument_lists[4];
  PJRT_Buffer** output_lists[4];
  PJRT_Event* events[4];
  for (int d = 0; d < 4; ++d) {
    EXPECT_CALL(upload(client, 3 - d, 1, four, NULL, data_a, &inputs[d]));
    argument_lists[d] = &inputs[d];
    output_lists[d] = &outputs[d];
  }
  ARGS(LoadedExecutable_Execute, args);
  args.executable = executable;
  args.argument_lists = argument_lists;
  args.num_devices = 4;
  args.num_args = 1;
  args.output_lists = output_lists;
  args.device_complete_events = events;
  EXPECT_CALL(api->LoadedExecutable_Execute(&args));
  for (int d = 0; d < 4; ++d) {
    float out[4];
    EXPECT_CALL(download(outputs[d], out, 16));
    for (int i = 0; i < 4; ++i) TT_EXPECT_EQ(out[i], 4 * (i + 1));
    destroy_buffer(inputs[d]);
    destroy_buffer(outputs[d]);
  }
  args.num_devices = 2;
  EXPECT_FAILS(api->LoadedExecutable_Execute(&args), TT_INVALID_ARGUMENT, "runs on 4 devices");
  destroy_loaded(executable);
  destroy_client(client);
}

static void count_ready(PJRT_Error* error, void* arg) {
  *(int*)arg += error ? 100 : 1;
  if (error) destroy_error(error);
}
TT_TEST(api, events) {
  ARGS(Event_Create, create);
  EXPECT_CALL(api->Event_Create(&create));
  int seen = 0;
  ARGS(Event_OnReady, on);
  on.event = create.event;
  on.callback = count_ready;
  on.user_arg = &seen;
  EXPECT_CALL(api->Event_OnReady(&on));
  TT_EXPECT_EQ(seen, 0);
  ARGS(Event_Set, set);
  set.event = create.event;
  set.error_code = PJRT_Error_Code_ABORTED;
  set.error_message = "gone";
  set.error_message_size = 4;
  EXPECT_CALL(api->Event_Set(&set));
  TT_EXPECT_EQ(seen, 100);
  EXPECT_CALL(api->Event_OnReady(&on));
  TT_EXPECT_EQ(seen, 200);
  EXPECT_FAILS(api->Event_Set(&set), TT_FAILED_PRECONDITION, "already");
  ARGS(Event_Await, await);
  await.event = create.event;
  EXPECT_FAILS(api->Event_Await(&await), TT_ABORTED, "gone");
  ARGS(Event_Destroy, destroy);
  destroy.event = create.event;
  api->Event_Destroy(&destroy);
}

TT_TEST(api, budget_and_leaks) {
  int64_t live = tt_alloc_stats().live_blocks;
  PJRT_Client* client;
  EXPECT_CALL(make_client("v6e", 1 << 20, &client));
  PJRT_Buffer* buffer;
  const int64_t big[1] = {1 << 20};
  EXPECT_FAILS(upload(client, 0, 1, big, NULL, data_a, &buffer), TT_RESOURCE_EXHAUSTED,
               "tpu:0 device memory");
  const int64_t overflow[2] = {INT64_MAX, 4};
  EXPECT_FAILS(upload(client, 0, 2, overflow, NULL, data_a, &buffer), TT_INVALID_ARGUMENT, "too large");
  // a buffer keeps its client
  EXPECT_CALL(upload(client, 0, 1, four, NULL, data_a, &buffer));
  destroy_client(client);
  float out[4];
  EXPECT_CALL(download(buffer, out, 16));
  destroy_buffer(buffer);
  TT_EXPECT_EQ(tt_alloc_stats().live_blocks, live);
}

TT_TEST(api, every_allocation_may_fail) {
  int64_t live = tt_alloc_stats().live_blocks;
  for (uint64_t nth = 1; nth < 300; ++nth) {
    tt_alloc_fault_arm(nth);
    PJRT_Client* client = NULL;
    PJRT_LoadedExecutable* executable = NULL;
    PJRT_Buffer *x = NULL, *y = NULL;
    PJRT_Error* error = make_client("v6e:1x2", 1 << 20, &client);
    if (!error) error = upload(client, 0, 1, four, NULL, data_a, &x);
    if (!error) error = compile(client, program_text("inc", 1), one_device, 6, &executable);
    if (!error) error = execute(executable, 1, &x, NULL, 0, &y);
    bool fired = tt_alloc_fault_fired();
    tt_alloc_fault_arm(0);
    TT_EXPECT(fired || !error);
    if (error) {
      TT_EXPECT_EQ(code_of(error), TT_RESOURCE_EXHAUSTED);
      destroy_error(error);
    }
    if (y) destroy_buffer(y);
    if (x) destroy_buffer(x);
    if (executable) destroy_loaded(executable);
    if (client) destroy_client(client);
    TT_EXPECT_EQ(tt_alloc_stats().live_blocks, live);
    if (!fired) {
      TT_EXPECT(nth > 10);
      return;
    }
  }
}

// Random bytes as compile options: an error or success, nothing else.
TT_TEST(api, options_survive_anything) {
  uint64_t state = 12345;
  for (int round = 0; round < 20000; ++round) {
    char bytes[32];
    size_t size = (size_t)(round % 32);
    for (size_t i = 0; i < size; ++i) {
      state = state * 6364136223846793005ull + 1442695040888963407ull;
      bytes[i] = (char)(state >> (round % 3 ? 56 : 59));
    }
    if (size > 2 && round % 2) {
      bytes[0] = 0x1a;
      bytes[1] = (char)(size - 2);
    }
    tt_api_options_t options;
    tt_status_t status = tt_api_options_parse(bytes, size, &options);
    if (tt_status_is_ok(status)) TT_EXPECT(options.num_replicas >= 1 && options.num_partitions >= 1);
    tt_status_free(status);
    tt_api_options_deinitialize(&options);
  }
}

// Donors, readers and deleters at one buffer at once: each gets a right result or an error; no leaks. In three rounds of
// eight one role goes before the others, so that each has had its turn however the threads are scheduled.
typedef struct race_s {
  pthread_barrier_t* barrier;
  atomic_int* led;  // the last round whose leader is done
  PJRT_LoadedExecutable *add, *inc;
  PJRT_Buffer** shared;
  int role, wrong, good;
} race_t;
enum { RACE_ROUNDS = 400 };
static void* race_main(void* arg) {
  race_t* race = arg;
  for (int round = 0; round < RACE_ROUNDS; ++round) {
    pthread_barrier_wait(race->barrier);
    PJRT_Buffer *x = *race->shared, *y = NULL, *both[2] = {x, x};
    bool leads = race->role == round % 8;
    while (x && !leads && round % 8 < 3 && atomic_load(race->led) < round) sched_yield();
    PJRT_Error* error = NULL;
    float out[4] = {0}, first = 0;
    if (!x) {
      ++race->wrong;  // the upload failed
    } else if (race->role == 0) {
      error = execute(race->inc, 1, &x, NULL, 0, &y);
      first = 2;
    } else if (race->role == 1) {
      error = execute(race->add, 2, both, NULL, 0, &y);
      first = 2;
    } else if (race->role == 2) {
      error = download(x, out, sizeof(out));
      first = 1;
    } else if (round % 3 == 0) {
      ARGS(Buffer_Delete, args);
      args.buffer = x;
      error = api->Buffer_Delete(&args);
    }
    if (leads) atomic_store(race->led, round);
    if (y && !error) error = download(y, out, sizeof(out));
    if (y) destroy_buffer(y);
    if (error) {
      if (code_of(error) != TT_INVALID_ARGUMENT) ++race->wrong;
      destroy_error(error);
    } else if (x && first > 0) {
      ++race->good;
      if (out[0] != first) ++race->wrong;
    }
    pthread_barrier_wait(race->barrier);
  }
  return NULL;
}
TT_TEST(api, donors_readers_and_deleters_race) {
  PJRT_Client* client;
  EXPECT_CALL(make_client("v6e", 1 << 20, &client));
  PJRT_LoadedExecutable *add, *inc;
  EXPECT_CALL(compile(client, program_text("add", 2), one_device, 6, &add));
  EXPECT_CALL(compile(client, program_text("inc", 1), one_device, 6, &inc));
  pthread_barrier_t barrier;
  pthread_barrier_init(&barrier, NULL, 5);
  PJRT_Buffer* shared = NULL;
  atomic_int led = -1;
  race_t races[4];
  pthread_t threads[4];
  for (int i = 0; i < 4; ++i) {
    races[i] = (race_t){&barrier, &led, add, inc, &shared, i, 0, 0};
    pthread_create(&threads[i], NULL, race_main, &races[i]);
  }
  for (int round = 0; round < RACE_ROUNDS; ++round) {
    PJRT_Error* error = upload(client, 0, 1, four, NULL, data_a, &shared);
    if (error) {
      destroy_error(error);
      shared = NULL;
    }
    pthread_barrier_wait(&barrier);
    pthread_barrier_wait(&barrier);
    if (shared) destroy_buffer(shared);
  }
  for (int i = 0; i < 4; ++i) pthread_join(threads[i], NULL);
  pthread_barrier_destroy(&barrier);
  for (int i = 0; i < 4; ++i) TT_EXPECT_EQ(races[i].wrong, 0);
  TT_EXPECT(races[0].good > 0 && races[1].good > 0 && races[2].good > 0);
  ARGS(Device_MemoryStats, stats);
  stats.device = device_of(client, 0);
  EXPECT_CALL(api->Device_MemoryStats(&stats));
  TT_EXPECT_EQ(stats.bytes_in_use, 0);
  destroy_loaded(add);
  destroy_loaded(inc);
  destroy_client(client);
}

// Printed, not judged: what a call of Execute costs around the program itself.
TT_TEST(api, execute_cost) {
  PJRT_Client* client;
  EXPECT_CALL(make_client("v6e", 1 << 24, &client));
  PJRT_LoadedExecutable* executable;
  EXPECT_CALL(compile(client, program_text("add", 2), one_device, 6, &executable));
  PJRT_Buffer *inputs[2], *output;
  EXPECT_CALL(upload(client, 0, 1, four, NULL, data_a, &inputs[0]));
  EXPECT_CALL(upload(client, 0, 1, four, NULL, data_b, &inputs[1]));
  int64_t best = INT64_MAX, best_plan = INT64_MAX;
  for (int round = 0; round < 7; ++round) {
    int64_t start = tt_clock_ns();
    for (int i = 0; i < 10000; ++i) {
      EXPECT_CALL(execute(executable, 2, inputs, NULL, 0, &output));
      destroy_buffer(output);
    }
    int64_t spent = tt_clock_ns() - start;
    if (spent < best) best = spent;
    tt_vmem_t *parameters[2] = {inputs[0]->block, inputs[1]->block}, *results[1];
    tt_exec_args_t args = {.plan = executable->executable->plan, .memory = inputs[0]->memory->pool,
                           .parameters = parameters, .results = results};
    start = tt_clock_ns();
    for (int i = 0; i < 10000; ++i) {
      TT_EXPECT_OK(tt_exec_run(&args));
      tt_vmem_release(results[0]);
    }
    spent = tt_clock_ns() - start;
    if (spent < best_plan) best_plan = spent;
  }
  printf("Execute + Buffer_Destroy: %.0f ns, of which the plan %.0f ns\n", (double)best / 10000,
         (double)best_plan / 10000);
  destroy_buffer(inputs[0]);
  destroy_buffer(inputs[1]);
  destroy_loaded(executable);
  destroy_client(client);
}

int main(int argc, char** argv) {
  api = GetPjrtApi();
  return tt_test_main(argc, argv);
}
