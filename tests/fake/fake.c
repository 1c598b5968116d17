#define _GNU_SOURCE
#include "fake/fake.h"

#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "pjrt/pjrt_c_api.h"

#define EXPORT __attribute__((visibility("default")))

typedef enum slot_e {
#define PJRT_SLOT(name, result) SLOT_##name,
#include "pjrt/pjrt_slots.def"
#undef PJRT_SLOT
  SLOT_COUNT,
} slot_t;
static const char* const slot_names[] = {
#define PJRT_SLOT(name, result) #name,
#include "pjrt/pjrt_slots.def"
#undef PJRT_SLOT
};

// ---- state -------------------------------------------------------------------------------------
typedef struct failure_s {
  int code;  // 0: none
  char message[200];
} failure_t;
typedef struct error_s {
  PJRT_Error* inner;  // or NULL: `own`
  failure_t own;
} error_t;
typedef struct event_s {
  PJRT_Event* inner;  // NULL: ready by itself
  failure_t failure;
  int64_t ready_ns;
} event_t;
typedef struct buffer_s {
  PJRT_Buffer* inner;
  failure_t failure;
  int64_t ready_ns;
} buffer_t;

static const PJRT_Api* inner;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;  // guards all below
static uint64_t calls[SLOT_COUNT];
static tt_fake_live_t alive;
static struct {
  slot_t slot;
  uint64_t left;  // 0: not armed
  tt_fake_kind_t kind;
  failure_t failure;
  int fired;
} armed;
static int64_t delay_ns;

static int64_t now_ns(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

static void count(int64_t* field, int64_t amount) {
  pthread_mutex_lock(&mutex);
  *field += amount;
  pthread_mutex_unlock(&mutex);
}

static int64_t ready_time(void) {
  pthread_mutex_lock(&mutex);
  int64_t delay = delay_ns;
  pthread_mutex_unlock(&mutex);
  return delay ? now_ns() + delay : 0;
}

static void wait_until(int64_t time_ns) {
  for (int64_t left = time_ns - now_ns(); time_ns && left > 0; left = time_ns - now_ns()) {
    nanosleep(&(struct timespec){left / 1000000000, left % 1000000000}, NULL);
  }
}

static void* make(size_t size) {
  void* memory = calloc(1, size);
  if (!memory) {  // a test tool: without memory there is nothing to test
    fputs("fake plugin: out of memory\n", stderr);
    _Exit(3);
  }
  return memory;
}

// ---- errors ------------------------------------------------------------------------------------
static PJRT_Error* wrap_error(PJRT_Error* error) {
  if (!error) return NULL;
  error_t* wrapped = make(sizeof(*wrapped));
  wrapped->inner = error;
  count(&alive.errors, 1);
  return (PJRT_Error*)wrapped;
}

static PJRT_Error* own_error(const failure_t* failure) {
  if (!failure->code) return NULL;
  error_t* made = make(sizeof(*made));
  made->own = *failure;
  count(&alive.errors, 1);
  return (PJRT_Error*)made;
}

static void f_Error_Destroy(PJRT_Error_Destroy_Args* args) {
  error_t* error = (error_t*)args->error;
  count((int64_t*)&calls[SLOT_Error_Destroy], 1);
  if (!error) return;
  if (error->inner) {
    PJRT_Error_Destroy_Args destroy = {.struct_size = sizeof(destroy), .error = error->inner};
    inner->Error_Destroy(&destroy);
  }
  free(error);
  count(&alive.errors, -1);
}
static void f_Error_Message(PJRT_Error_Message_Args* args) {
  const error_t* error = (const error_t*)args->error;
  count((int64_t*)&calls[SLOT_Error_Message], 1);
  if (error->inner) {
    PJRT_Error_Message_Args message = {.struct_size = sizeof(message), .error = error->inner};
    inner->Error_Message(&message);
    args->message = message.message;
    args->message_size = message.message_size;
  } else {
    args->message = error->own.message;
    args->message_size = strlen(error->own.message);
  }
}

// ---- calls -------------------------------------------------------------------------------------
// Counts the call; what is to go wrong with it, code 0: nothing.
static failure_t enter(slot_t slot, tt_fake_kind_t* out_kind) {
  failure_t failure = {0, ""};
  pthread_mutex_lock(&mutex);
  ++calls[slot];
  if (armed.left && armed.slot == slot && --armed.left == 0) {
    failure = armed.failure;
    *out_kind = armed.kind;
    armed.fired = 1;
  }
  pthread_mutex_unlock(&mutex);
  return failure;
}

#define ENTER(slot)                              \
  tt_fake_kind_t kind = TT_FAKE_SYNC;            \
  failure_t failure = enter(SLOT_##slot, &kind); \
  if (failure.code && kind == TT_FAKE_SYNC) return own_error(&failure)
// The end of a call without results to take back: the armed failure comes before the plugin's own.
static PJRT_Error* leave(PJRT_Error* error, const failure_t* failure) {
  if (!error || !failure->code) return error ? wrap_error(error) : own_error(failure);
  PJRT_Error_Destroy_Args destroy = {.struct_size = sizeof(destroy), .error = error};
  inner->Error_Destroy(&destroy);
  return own_error(failure);
}
#define LEAVE(expr) return leave((expr), &failure)

// A slot that passes everything on. ASYNC and AFTER: the work is done and the error comes.
#define PASS(slot)                                        \
  static PJRT_Error* f_##slot(PJRT_##slot##_Args* args) { \
    ENTER(slot);                                          \
    LEAVE(inner->slot(args));                             \
  }
// One with a buffer among its arguments.
#define BUFFER(slot, field)                               \
  static PJRT_Error* f_##slot(PJRT_##slot##_Args* args) { \
    ENTER(slot);                                          \
    PJRT_Buffer* outer = args->field;                     \
    args->field = ((buffer_t*)outer)->inner;              \
    PJRT_Error* done = inner->slot(args);                 \
    args->field = outer;                                  \
    LEAVE(done);                                          \
  }
// One that gives an object; `destroy` takes it back when the call fails after its work.
#define GIVES(slot, field, counter, destroyer, owner)                                           \
  static PJRT_Error* f_##slot(PJRT_##slot##_Args* args) {                                       \
    ENTER(slot);                                                                                \
    PJRT_Error* done = inner->slot(args);                                                       \
    if (done) return leave(done, &failure);                                                     \
    if (failure.code) {                                                                         \
      PJRT_##destroyer##_Args destroy = {.struct_size = sizeof(destroy), .owner = args->field}; \
      inner->destroyer(&destroy);                                                               \
      args->field = NULL;                                                                       \
      return own_error(&failure);                                                               \
    }                                                                                           \
    count(&alive.counter, 1);                                                                   \
    return NULL;                                                                                \
  }
// One that takes an object back: it is gone whatever the call says.
#define TAKES(slot, counter)                              \
  static PJRT_Error* f_##slot(PJRT_##slot##_Args* args) { \
    tt_fake_kind_t kind = TT_FAKE_SYNC;                   \
    failure_t failure = enter(SLOT_##slot, &kind);        \
    PJRT_Error* done = inner->slot(args);                 \
    count(&alive.counter, -1);                            \
    LEAVE(done);                                          \
  }

static PJRT_Error* f_Error_GetCode(PJRT_Error_GetCode_Args* args) {
  const error_t* error = (const error_t*)args->error;
  ENTER(Error_GetCode);
  if (!error->inner) {
    args->code = (PJRT_Error_Code)error->own.code;
    return own_error(&failure);
  }
  PJRT_Error_GetCode_Args code = {.struct_size = sizeof(code), .error = error->inner};
  PJRT_Error* done = inner->Error_GetCode(&code);
  args->code = code.code;
  LEAVE(done);
}
static PJRT_Error* f_Error_ForEachPayload(PJRT_Error_ForEachPayload_Args* args) {
  (void)args;
  ENTER(Error_ForEachPayload);
  return own_error(&failure);  // no payloads
}

// ---- events ------------------------------------------------------------------------------------
static PJRT_Event* wrap_event(PJRT_Event* event, const failure_t* failure, int64_t ready_ns) {
  event_t* wrapped = make(sizeof(*wrapped));
  wrapped->inner = event;
  wrapped->failure = *failure;
  wrapped->ready_ns = ready_ns;
  count(&alive.events, 1);
  return (PJRT_Event*)wrapped;
}

static void destroy_inner_event(PJRT_Event* event) {
  if (!event) return;
  PJRT_Event_Destroy_Args destroy = {.struct_size = sizeof(destroy), .event = event};
  inner->Event_Destroy(&destroy);
}

static PJRT_Error* f_Event_Destroy(PJRT_Event_Destroy_Args* args) {
  tt_fake_kind_t kind = TT_FAKE_SYNC;
  failure_t failure = enter(SLOT_Event_Destroy, &kind);
  event_t* event = (event_t*)args->event;
  destroy_inner_event(event->inner);
  free(event);
  count(&alive.events, -1);
  return own_error(&failure);
}
static PJRT_Error* f_Event_IsReady(PJRT_Event_IsReady_Args* args) {
  ENTER(Event_IsReady);
  event_t* event = (event_t*)args->event;
  args->is_ready = !event->ready_ns || now_ns() >= event->ready_ns;
  return own_error(&failure);
}
// What it became: waits for the inner one as well.
static PJRT_Error* outcome(event_t* event) {
  wait_until(event->ready_ns);
  if (event->failure.code) return own_error(&event->failure);
  if (!event->inner) return NULL;
  PJRT_Event_Await_Args await = {.struct_size = sizeof(await), .event = event->inner};
  return wrap_error(inner->Event_Await(&await));
}
static PJRT_Error* f_Event_Await(PJRT_Event_Await_Args* args) {
  ENTER(Event_Await);
  PJRT_Error* error = outcome((event_t*)args->event);
  return error ? error : own_error(&failure);
}
static PJRT_Error* f_Event_Error(PJRT_Event_Error_Args* args) {
  ENTER(Event_Error);
  PJRT_Error* error = outcome((event_t*)args->event);
  return error ? error : own_error(&failure);
}
static PJRT_Error* f_Event_OnReady(PJRT_Event_OnReady_Args* args) {
  ENTER(Event_OnReady);
  args->callback(outcome((event_t*)args->event), args->user_arg);
  return own_error(&failure);
}
static PJRT_Error* f_Event_Create(PJRT_Event_Create_Args* args) {
  ENTER(Event_Create);
  PJRT_Error* done = inner->Event_Create(args);
  if (done) return leave(done, &failure);
  args->event = wrap_event(args->event, &failure, ready_time());
  return NULL;
}
static PJRT_Error* f_Event_Set(PJRT_Event_Set_Args* args) {
  ENTER(Event_Set);
  PJRT_Event* outer = args->event;
  args->event = ((event_t*)outer)->inner;
  PJRT_Error* done = inner->Event_Set(args);
  args->event = outer;
  LEAVE(done);
}

// ---- buffers -----------------------------------------------------------------------------------
static PJRT_Buffer* wrap_buffer(PJRT_Buffer* buffer, const failure_t* failure) {
  buffer_t* wrapped = make(sizeof(*wrapped));
  wrapped->inner = buffer;
  wrapped->failure = *failure;
  wrapped->ready_ns = ready_time();
  count(&alive.buffers, 1);
  return (PJRT_Buffer*)wrapped;
}

static void destroy_inner_buffer(PJRT_Buffer* buffer) {
  PJRT_Buffer_Destroy_Args destroy = {.struct_size = sizeof(destroy), .buffer = buffer};
  if (buffer) inner->Buffer_Destroy(&destroy);
}

static PJRT_Error* f_Buffer_Destroy(PJRT_Buffer_Destroy_Args* args) {
  tt_fake_kind_t kind = TT_FAKE_SYNC;
  failure_t failure = enter(SLOT_Buffer_Destroy, &kind);
  buffer_t* buffer = (buffer_t*)args->buffer;
  destroy_inner_buffer(buffer->inner);
  free(buffer);
  count(&alive.buffers, -1);
  return own_error(&failure);
}

// The new buffer of a call: taken back, poisoned or given.
static PJRT_Error* give_buffer(PJRT_Buffer** buffer, const failure_t* failure, tt_fake_kind_t kind) {
  if (failure->code && kind == TT_FAKE_AFTER) {
    destroy_inner_buffer(*buffer);
    *buffer = NULL;
    return own_error(failure);
  }
  *buffer = wrap_buffer(*buffer, failure);
  return NULL;
}

static PJRT_Error* f_Client_BufferFromHostBuffer(PJRT_Client_BufferFromHostBuffer_Args* args) {
  ENTER(Client_BufferFromHostBuffer);
  PJRT_Error* done = inner->Client_BufferFromHostBuffer(args);
  if (done) return leave(done, &failure);
  PJRT_Error* error = give_buffer(&args->buffer, &failure, kind);
  if (error) {
    destroy_inner_event(args->done_with_host_buffer);
    args->done_with_host_buffer = NULL;
    return error;
  }
  // the host's memory is free all the same: only the buffer carries the error
  args->done_with_host_buffer = wrap_event(args->done_with_host_buffer, &(failure_t){0, ""}, ready_time());
  return NULL;
}

#define MAKES_BUFFER(slot, field)                         \
  static PJRT_Error* f_##slot(PJRT_##slot##_Args* args) { \
    ENTER(slot);                                          \
    PJRT_Error* done = inner->slot(args);                 \
    if (done) return leave(done, &failure);               \
    return give_buffer(&args->field, &failure, kind);     \
  }
// From a buffer to another: an error goes with it.
#define COPIES_BUFFER(slot, from, to)                     \
  static PJRT_Error* f_##slot(PJRT_##slot##_Args* args) { \
    ENTER(slot);                                          \
    buffer_t* outer = (buffer_t*)args->from;              \
    args->from = outer->inner;                            \
    PJRT_Error* done = inner->slot(args);                 \
    args->from = (PJRT_Buffer*)outer;                     \
    if (done) return leave(done, &failure);               \
    if (!failure.code && outer->failure.code) {           \
      failure = outer->failure;                           \
      kind = TT_FAKE_ASYNC;                               \
    }                                                     \
    return give_buffer(&args->to, &failure, kind);        \
  }

static PJRT_Error* f_Buffer_ToHostBuffer(PJRT_Buffer_ToHostBuffer_Args* args) {
  ENTER(Buffer_ToHostBuffer);
  buffer_t* source = (buffer_t*)args->src;
  wait_until(source->ready_ns);
  args->src = source->inner;
  PJRT_Error* done = inner->Buffer_ToHostBuffer(args);
  args->src = (PJRT_Buffer*)source;
  if (done) return leave(done, &failure);
  if (!args->dst) return own_error(&failure);  // only the size was asked for
  if (failure.code && kind == TT_FAKE_AFTER) {
    destroy_inner_event(args->event);
    args->event = NULL;
    return own_error(&failure);
  }
  args->event = wrap_event(args->event, source->failure.code ? &source->failure : &failure, ready_time());
  return NULL;
}
static PJRT_Error* f_Buffer_CopyRawToHost(PJRT_Buffer_CopyRawToHost_Args* args) {
  ENTER(Buffer_CopyRawToHost);
  buffer_t* source = (buffer_t*)args->buffer;
  args->buffer = source->inner;
  PJRT_Error* done = inner->Buffer_CopyRawToHost(args);
  args->buffer = (PJRT_Buffer*)source;
  if (done) return leave(done, &failure);
  args->event = wrap_event(args->event, source->failure.code ? &source->failure : &failure, ready_time());
  return NULL;
}
static PJRT_Error* f_Buffer_ReadyEvent(PJRT_Buffer_ReadyEvent_Args* args) {
  ENTER(Buffer_ReadyEvent);
  buffer_t* buffer = (buffer_t*)args->buffer;
  args->buffer = buffer->inner;
  PJRT_Error* done = inner->Buffer_ReadyEvent(args);
  args->buffer = (PJRT_Buffer*)buffer;
  if (done) return leave(done, &failure);
  if (failure.code && kind == TT_FAKE_AFTER) {
    destroy_inner_event(args->event);
    args->event = NULL;
    return own_error(&failure);
  }
  args->event = wrap_event(args->event, buffer->failure.code ? &buffer->failure : &failure, buffer->ready_ns);
  return NULL;
}

// ---- execution ---------------------------------------------------------------------------------
static size_t output_count(PJRT_LoadedExecutable* loaded) {
  PJRT_LoadedExecutable_GetExecutable_Args get = {.struct_size = sizeof(get), .loaded_executable = loaded};
  if (inner->LoadedExecutable_GetExecutable(&get)) return 0;
  PJRT_Executable_NumOutputs_Args outputs = {.struct_size = sizeof(outputs), .executable = get.executable};
  size_t found = inner->Executable_NumOutputs(&outputs) ? 0 : outputs.num_outputs;
  PJRT_Executable_Destroy_Args destroy = {.struct_size = sizeof(destroy), .executable = get.executable};
  inner->Executable_Destroy(&destroy);
  return found;
}

static PJRT_Error* f_LoadedExecutable_Execute(PJRT_LoadedExecutable_Execute_Args* args) {
  ENTER(LoadedExecutable_Execute);
  size_t devices = args->num_devices, inputs = args->num_args, outputs = output_count(args->executable);
  PJRT_Buffer** handles = make((devices * inputs + 1) * sizeof(*handles));
  PJRT_Buffer*** lists = make((devices + 1) * sizeof(*lists));
  failure_t carried = {0, ""};
  for (size_t d = 0; d < devices; ++d) {
    lists[d] = handles + d * inputs;
    for (size_t i = 0; i < inputs; ++i) {
      buffer_t* buffer = (buffer_t*)args->argument_lists[d][i];
      lists[d][i] = buffer->inner;
      if (buffer->failure.code && !carried.code) carried = buffer->failure;
    }
  }
  PJRT_Buffer* const* const* outer = args->argument_lists;
  args->argument_lists = (PJRT_Buffer* const* const*)lists;
  PJRT_Error* done = inner->LoadedExecutable_Execute(args);
  args->argument_lists = outer;
  free(handles);
  free(lists);
  if (done) return leave(done, &failure);
  if (!failure.code && carried.code) {  // what comes of an error is that error
    failure = carried;
    kind = TT_FAKE_ASYNC;
  }
  PJRT_Error* error = NULL;
  for (size_t d = 0; d < devices; ++d) {
    for (size_t i = 0; i < outputs; ++i) {
      PJRT_Error* one = give_buffer(&args->output_lists[d][i], &failure, kind);
      if (one && error) f_Error_Destroy(&(PJRT_Error_Destroy_Args){.error = one});
      else if (one) error = one;
    }
    if (args->device_complete_events) {
      args->device_complete_events[d] = wrap_event(args->device_complete_events[d], &failure, ready_time());
    }
  }
  if (!error && failure.code && kind == TT_FAKE_AFTER) error = own_error(&failure);  // no outputs
  return error;
}

static PJRT_Error* f_Executable_Serialize(PJRT_Executable_Serialize_Args* args) {
  ENTER(Executable_Serialize);
  PJRT_Error* done = inner->Executable_Serialize(args);
  if (done) return leave(done, &failure);
  if (failure.code && args->serialized_executable_deleter) {
    args->serialized_executable_deleter(args->serialized_executable);
  }
  return own_error(&failure);
}

// ---- the rest ----------------------------------------------------------------------------------
static PJRT_Error* f_Plugin_Attributes(PJRT_Plugin_Attributes_Args* args) {
  ENTER(Plugin_Attributes);
  args->attributes = NULL;
  args->num_attributes = 0;
  return own_error(&failure);
}
static PJRT_Error* f_Client_PlatformName(PJRT_Client_PlatformName_Args* args) {
  ENTER(Client_PlatformName);
  args->platform_name = "fake";
  args->platform_name_size = 4;
  return own_error(&failure);
}

// A program may ask for what a compiler should not do: end the process, or never return.
static bool asks_for(const PJRT_Program* program, const char* what) {
  return memmem(program->code, program->code_size, what, strlen(what)) != NULL;
}
static PJRT_Error* f_Compile(PJRT_Compile_Args* args) {
  ENTER(Compile);
  pthread_mutex_lock(&mutex);
  bool is_first = calls[SLOT_Compile] == 1;
  pthread_mutex_unlock(&mutex);
  if (asks_for(args->program, "@fake_abort") ||
      (!is_first && asks_for(args->program, "@fake_second_abort"))) {
    fputs("F0000 00:00:00.000000 1 fake.cc:1] Check failed: the fake was asked to\n", stderr);
    abort();
  }
  while (asks_for(args->program, "@fake_hang")) nanosleep(&(struct timespec){1, 0}, NULL);
  PJRT_Error* done = inner->Compile(args);
  if (done) return leave(done, &failure);
  if (failure.code) {
    PJRT_Executable_Destroy_Args destroy = {.struct_size = sizeof(destroy), .executable = args->executable};
    inner->Executable_Destroy(&destroy);
    args->executable = NULL;
    return own_error(&failure);
  }
  count(&alive.executables, 1);
  return NULL;
}

GIVES(Client_Create, client, clients, Client_Destroy, client)
TAKES(Client_Destroy, clients)
GIVES(Client_Compile, executable, loaded, LoadedExecutable_Destroy, executable)
GIVES(Client_Load, loaded_executable, loaded, LoadedExecutable_Destroy, executable)
GIVES(Executable_DeserializeAndLoad, loaded_executable, loaded, LoadedExecutable_Destroy, executable)
TAKES(LoadedExecutable_Destroy, loaded)
GIVES(LoadedExecutable_GetExecutable, executable, executables, Executable_Destroy, executable)
TAKES(Executable_Destroy, executables)
GIVES(TopologyDescription_Create, topology, topologies, TopologyDescription_Destroy, topology)
GIVES(TopologyDescription_Deserialize, topology, topologies, TopologyDescription_Destroy, topology)
TAKES(TopologyDescription_Destroy, topologies)
MAKES_BUFFER(Client_CreateViewOfDeviceBuffer, buffer)
MAKES_BUFFER(Client_CreateUninitializedBuffer, buffer)
MAKES_BUFFER(Client_CreateErrorBuffer, buffer)
MAKES_BUFFER(Client_CreateAliasBuffer, alias_buffer)
COPIES_BUFFER(Buffer_CopyToDevice, buffer, dst_buffer)
COPIES_BUFFER(Buffer_CopyToMemory, buffer, dst_buffer)
COPIES_BUFFER(Buffer_Bitcast, buffer, out_buffer)
BUFFER(Buffer_ElementType, buffer)
BUFFER(Buffer_Dimensions, buffer)
BUFFER(Buffer_UnpaddedDimensions, buffer)
BUFFER(Buffer_DynamicDimensionIndices, buffer)
BUFFER(Buffer_GetMemoryLayout, buffer)
BUFFER(Buffer_OnDeviceSizeInBytes, buffer)
BUFFER(Buffer_Device, buffer)
BUFFER(Buffer_Memory, buffer)
BUFFER(Buffer_Delete, buffer)
BUFFER(Buffer_IsDeleted, buffer)
BUFFER(Buffer_IsOnCpu, buffer)
BUFFER(Buffer_UnsafePointer, buffer)
BUFFER(Buffer_IncreaseExternalReferenceCount, buffer)
BUFFER(Buffer_DecreaseExternalReferenceCount, buffer)
BUFFER(Buffer_OpaqueDeviceMemoryDataPointer, buffer)
BUFFER(Buffer_CopyRawToHostFuture, buffer)
BUFFER(Buffer_DonateWithControlDependency, buffer)
PASS(Plugin_Initialize)
PASS(Client_ProcessIndex)
PASS(Client_PlatformVersion)
PASS(Client_Devices)
PASS(Client_AddressableDevices)
PASS(Client_LookupDevice)
PASS(Client_LookupAddressableDevice)
PASS(Client_AddressableMemories)
PASS(Client_DefaultDeviceAssignment)
PASS(Client_TopologyDescription)
PASS(Client_CreateBuffersForAsyncHostToDevice)
PASS(Client_DmaMap)
PASS(Client_DmaUnmap)
PASS(Client_UpdateGlobalProcessInfo)
PASS(Client_FulfillAliasBuffer)
PASS(DeviceDescription_Id)
PASS(DeviceDescription_ProcessIndex)
PASS(DeviceDescription_Attributes)
PASS(DeviceDescription_Kind)
PASS(DeviceDescription_DebugString)
PASS(DeviceDescription_ToString)
PASS(Device_GetDescription)
PASS(Device_IsAddressable)
PASS(Device_LocalHardwareId)
PASS(Device_AddressableMemories)
PASS(Device_DefaultMemory)
PASS(Device_MemoryStats)
PASS(Device_PoisonExecution)
PASS(Device_CreateAsyncTrackingEvent)
PASS(Device_GetAttributes)
PASS(AsyncTrackingEvent_Destroy)
PASS(Memory_Id)
PASS(Memory_Kind)
PASS(Memory_DebugString)
PASS(Memory_ToString)
PASS(Memory_AddressableByDevices)
PASS(Memory_Kind_Id)
PASS(Executable_Name)
PASS(Executable_NumReplicas)
PASS(Executable_NumPartitions)
PASS(Executable_NumOutputs)
PASS(Executable_SizeOfGeneratedCodeInBytes)
PASS(Executable_GetCostAnalysis)
PASS(Executable_OutputMemoryKinds)
PASS(Executable_OptimizedProgram)
PASS(Executable_OutputElementTypes)
PASS(Executable_OutputDimensions)
PASS(Executable_Fingerprint)
PASS(Executable_GetCompiledMemoryStats)
PASS(Executable_GetCompileOptions)
PASS(Executable_ParameterMemoryKinds)
PASS(LoadedExecutable_AddressableDevices)
PASS(LoadedExecutable_Delete)
PASS(LoadedExecutable_IsDeleted)
PASS(LoadedExecutable_Fingerprint)
PASS(LoadedExecutable_GetDeviceAssignment)
PASS(LoadedExecutable_AddressableDeviceLogicalIds)
PASS(CopyToDeviceStream_Destroy)
PASS(CopyToDeviceStream_AddChunk)
PASS(CopyToDeviceStream_TotalBytes)
PASS(CopyToDeviceStream_GranuleSize)
PASS(CopyToDeviceStream_CurrentBytes)
PASS(TopologyDescription_PlatformName)
PASS(TopologyDescription_PlatformVersion)
PASS(TopologyDescription_GetDeviceDescriptions)
PASS(TopologyDescription_Serialize)
PASS(TopologyDescription_Attributes)
PASS(TopologyDescription_Fingerprint)
PASS(ExecuteContext_Create)
PASS(ExecuteContext_Destroy)
PASS(AsyncHostToDeviceTransferManager_Destroy)
PASS(AsyncHostToDeviceTransferManager_TransferData)
PASS(AsyncHostToDeviceTransferManager_RetrieveBuffer)
PASS(AsyncHostToDeviceTransferManager_Device)
PASS(AsyncHostToDeviceTransferManager_BufferCount)
PASS(AsyncHostToDeviceTransferManager_BufferSize)
PASS(AsyncHostToDeviceTransferManager_SetBufferError)
PASS(AsyncHostToDeviceTransferManager_AddMetadata)
PASS(AsyncHostToDeviceTransferManager_TransferLiteral)

// ---- the table ---------------------------------------------------------------------------------
static void fill(PJRT_Api* api) {
  memset(api, 0, sizeof(*api));
  api->struct_size = sizeof(*api);
  api->pjrt_api_version.struct_size = sizeof(api->pjrt_api_version);
  api->pjrt_api_version.major_version = PJRT_API_MAJOR;
  api->pjrt_api_version.minor_version = PJRT_API_MINOR;
#define PJRT_SLOT(name, result) api->name = f_##name;
#include "pjrt/pjrt_slots.def"
#undef PJRT_SLOT
}

static void load_inner(void) {
  char path[PATH_MAX];
  const char* given = getenv("TT_FAKE_INNER");
  Dl_info self;
  if (given && given[0]) {
    snprintf(path, sizeof(path), "%s", given);
  } else {
    if (!dladdr((void*)(uintptr_t)&load_inner, &self) || !self.dli_fname) return;
    const char* slash = strrchr(self.dli_fname, '/');
    int size = slash ? (int)(slash - self.dli_fname) : 1;
    snprintf(path, sizeof(path), "%.*s/libvtpu.so", size, slash ? self.dli_fname : ".");
  }
  void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  const PJRT_Api* (*get)(void) = NULL;
  void* symbol = library ? dlsym(library, "GetPjrtApi") : NULL;
  if (!symbol) {
    fprintf(stderr, "fake plugin: no plugin in %s\n", path);
    return;
  }
  memcpy(&get, &symbol, sizeof(get));
  inner = get();
}

EXPORT const PJRT_Api* GetPjrtApi(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  static PJRT_Api api;
  pthread_once(&once, load_inner);
  if (!inner) return NULL;
  pthread_mutex_lock(&mutex);
  if (!api.struct_size) fill(&api);
  pthread_mutex_unlock(&mutex);
  return &api;
}

// ---- control -----------------------------------------------------------------------------------
static const char* slot_name(size_t slot) { return slot < SLOT_COUNT ? slot_names[slot] : ""; }
static uint64_t slot_calls(size_t slot) {
  pthread_mutex_lock(&mutex);
  uint64_t found = slot < SLOT_COUNT ? calls[slot] : 0;
  pthread_mutex_unlock(&mutex);
  return found;
}
static int is_asynchronous(size_t slot) {
  return slot == SLOT_Client_BufferFromHostBuffer || slot == SLOT_LoadedExecutable_Execute ||
         slot == SLOT_Buffer_ToHostBuffer || slot == SLOT_Buffer_CopyRawToHost ||
         slot == SLOT_Buffer_ReadyEvent || slot == SLOT_Buffer_CopyToDevice ||
         slot == SLOT_Buffer_CopyToMemory || slot == SLOT_Buffer_Bitcast ||
         slot == SLOT_Client_CreateUninitializedBuffer || slot == SLOT_Event_Create;
}
static void arm(size_t slot, uint64_t nth, tt_fake_kind_t kind, int code, const char* message) {
  pthread_mutex_lock(&mutex);
  armed.slot = (slot_t)slot;
  armed.left = nth;
  armed.kind = kind;
  armed.failure.code = code;
  snprintf(armed.failure.message, sizeof(armed.failure.message), "%s", message);
  armed.fired = 0;
  pthread_mutex_unlock(&mutex);
}
static int fired(void) {
  pthread_mutex_lock(&mutex);
  int found = armed.fired;
  pthread_mutex_unlock(&mutex);
  return found;
}
static void disarm(void) {
  pthread_mutex_lock(&mutex);
  armed.left = 0;
  pthread_mutex_unlock(&mutex);
}
static void set_delay(int64_t ns) {
  pthread_mutex_lock(&mutex);
  delay_ns = ns;
  pthread_mutex_unlock(&mutex);
}
static void live(tt_fake_live_t* out) {
  pthread_mutex_lock(&mutex);
  *out = alive;
  pthread_mutex_unlock(&mutex);
}
static const void* table(int major, int minor, size_t size, size_t missing) {
  if (!GetPjrtApi()) return NULL;
  static struct kept_s {  // the client keeps them for ever
    struct kept_s* next;
    PJRT_Api api;
  }* kept;
  size_t more = size > sizeof(PJRT_Api) ? size - sizeof(PJRT_Api) : 0;
  struct kept_s* entry = make(sizeof(*entry) + more);
  pthread_mutex_lock(&mutex);
  entry->next = kept;
  kept = entry;
  pthread_mutex_unlock(&mutex);
  PJRT_Api* api = &entry->api;
  fill(api);
  api->pjrt_api_version.major_version = major;
  api->pjrt_api_version.minor_version = minor;
  api->struct_size = size;
  if (missing < SLOT_COUNT) memset((char*)&api->Error_Destroy + missing * sizeof(void*), 0, sizeof(void*));
  // an older table ends before the later slots
  if (size < sizeof(*api)) memset((char*)api + size, 0, sizeof(*api) - size);
  return api;
}

EXPORT const tt_fake_control_t* tt_fake_control(void) {
  static const tt_fake_control_t control = {
      SLOT_COUNT, slot_name, slot_calls, is_asynchronous, arm, fired, disarm, set_delay, live, table,
  };
  return &control;
}
