// The plugin's objects, shared by the files of this folder (one file per PJRT object).
//
// Invariants:
//  A1 an error is a tt_status_t itself: PJRT_Error* and tt_status_t are one pointer;
//  A2 work is done inside the call that asks for it, so an event is ready when it is given out; only events
//     made by PJRT_Event_Create wait for somebody;
//  A3 a buffer's block is reference-counted: several buffers may share one (an unchanged parameter that is
//     also a result); nothing writes a block that has more than one reference;
//  A4 a buffer's `state` word (buffer.c) says who may use its block: readers count themselves in it, a
//     donation holds it exclusively, a deletion waits for the last reader;
//  A5 a client lives until its last buffer, executable and reference are gone; its devices, memories and
//     topology are part of it;
//  A6 no slot of the table is empty: what we cannot do says so by name.
#ifndef TT_VTPU_API_API_H_
#define TT_VTPU_API_API_H_

#include "base/alloc.h"
#include "base/base.h"
#include "base/freelist.h"
#include "base/status.h"
#include "base/thread.h"
#include "compile/plan.h"
#include "exec/exec.h"
#include "exec/memory.h"
#include "ir/ir.h"
#include "pjrt/pjrt_c_api.h"
#include "pjrt/pjrt_tt_extension.h"

#define TT_API_PLATFORM "vtpu"
#define TT_API_VERSION "0.1.0"

// Every slot of the table, in whichever file its object lives.
#define PJRT_SLOT(name, result) result tt_api_##name(PJRT_##name##_Args* args);
#include "pjrt/pjrt_slots.def"
#undef PJRT_SLOT

// ---- errors ------------------------------------------------------------------------------------
static inline PJRT_Error* tt_api_error(tt_status_t status) { return (PJRT_Error*)status; }
#define TT_API_RETURN_ERROR(code, ...) return tt_api_error(tt_status_create(code, __VA_ARGS__))
#define TT_API_RETURN_IF_ERROR(expr)                                            \
  do {                                                                          \
    tt_status_t tt_status_ = (expr);                                            \
    if (TT_UNLIKELY(tt_status_ != TT_OK_STATUS)) return tt_api_error(tt_status_); \
  } while (0)
// Refuses a caller whose struct ends before `field`.
#define TT_API_CHECK_ARGS(args, name, field)                                                          \
  do {                                                                                                \
    if (TT_UNLIKELY((args)->struct_size < PJRT_SIZE_THROUGH(PJRT_##name##_Args, field))) {            \
      return tt_api_error(tt_api_short_args("PJRT_" #name, (args)->struct_size,                       \
                                            PJRT_SIZE_THROUGH(PJRT_##name##_Args, field)));           \
    }                                                                                                 \
  } while (0)
#define TT_API_HAS_FIELD(args, type, field) ((args)->struct_size >= PJRT_SIZE_THROUGH(type, field))
tt_status_t tt_api_short_args(const char* function, size_t given, size_t needed);

// ---- events ------------------------------------------------------------------------------------
// A ready event; consumes `error` (OK: success). Success needs no memory; when memory is short for an error
// event NULL is returned and the error is freed (callers report their own then).
PJRT_Event* tt_api_event_done(tt_status_t error);

// ---- topology ----------------------------------------------------------------------------------
typedef struct tt_api_attributes_s {      // named values with their storage
  PJRT_NamedValue values[16];
  size_t count;
  int64_t lists[2][4];
} tt_api_attributes_t;

struct PJRT_DeviceDescription {
  int id;
  int process_index;
  int64_t coords[3];
  int64_t core_on_chip;
  char kind[48], debug_string[96], to_string[96];
  tt_api_attributes_t attributes;
};

struct PJRT_TopologyDescription {
  char name[48];                // canonical: "v6e:2x2"
  char generation[16];          // "v6e"
  char kind[48];                // "TPU v6e (virtual, CPU)"
  int64_t shape[3];             // chips along x, y, z
  int rank;                     // axes written in the name
  int devices_per_chip;
  int64_t hbm_bytes;            // of one device, as on the chip
  int64_t budget_bytes;         // of one device, here
  double bf16_flops;            // of one device, per second
  size_t device_count;
  PJRT_DeviceDescription* descriptions;        // [device_count]
  PJRT_DeviceDescription** description_list;   // [device_count]
  tt_api_attributes_t attributes;
};
// `name` "" means one v6e device. budget_bytes 0: the default rule (design D13).
tt_status_t tt_api_topology_create(const char* name, size_t name_size, int64_t budget_bytes,
                                   PJRT_TopologyDescription** out_topology) TT_MUST_USE;
void tt_api_topology_free(PJRT_TopologyDescription* topology);

void tt_api_attribute_int(tt_api_attributes_t* list, const char* name, int64_t value);
void tt_api_attribute_float(tt_api_attributes_t* list, const char* name, float value);
void tt_api_attribute_text(tt_api_attributes_t* list, const char* name, const char* text);   // text is kept
void tt_api_attribute_ints(tt_api_attributes_t* list, const char* name, size_t slot, size_t count,
                           const int64_t* values);  // copied into lists[slot]
void tt_api_attribute_lent(tt_api_attributes_t* list, const char* name, size_t count,
                           const int64_t* values);  // kept

// ---- client, devices, memories -----------------------------------------------------------------
struct PJRT_Memory {
  PJRT_Client* client;
  PJRT_Device* device;
  int id;
  int kind_id;                  // 0 device, 1 pinned_host
  const char* kind;
  tt_vmem_pool_t* pool;
  char debug_string[96], to_string[64];
};

struct PJRT_Device {
  PJRT_Client* client;
  PJRT_DeviceDescription* description;
  int local_id;
  PJRT_Memory memories[2];      // device, pinned_host
  PJRT_Memory* memory_list[2];
  PJRT_Device* self[1];         // for Memory_AddressableByDevices
};

struct PJRT_Client {
  int32_t references;           // atomic: the caller, buffers, executables
  PJRT_TopologyDescription* topology;
  PJRT_Device* devices;         // [device_count], id = index
  PJRT_Device** device_list;
  PJRT_Memory** memory_list;    // [2 * device_count]
  size_t device_count;
  int matmul_passes;            // atomic
  bool reference_kernels;       // atomic
  tt_freelist_t free_buffers;   // of PJRT_Buffer
};
void tt_api_client_retain(PJRT_Client* client);
void tt_api_client_release(PJRT_Client* client);

// ---- buffers -----------------------------------------------------------------------------------
struct PJRT_Buffer {
  uint32_t state;               // atomic; see buffer.c
  int32_t external_references;  // atomic
  PJRT_Client* client;
  PJRT_Memory* memory;
  tt_vmem_t* block;             // NULL: an error buffer
  tt_status_t error;            // owned; what reading it gives
  tt_dtype_t dtype;
  uint32_t rank;
  size_t bytes;
  int64_t dims[TT_MAX_RANK];
  PJRT_Buffer* next_free;
};
// Takes over `block` (also on failure).
tt_status_t tt_api_buffer_create(PJRT_Memory* memory, tt_dtype_t dtype, size_t rank, const int64_t* dims,
                                 tt_vmem_t* block, PJRT_Buffer** out_buffer) TT_MUST_USE;
void tt_api_buffer_destroy(PJRT_Buffer* buffer);
// A reader between hold and unhold; FAILED_PRECONDITION if deleted or being donated, else the buffer's error.
tt_status_t tt_api_buffer_hold(PJRT_Buffer* buffer) TT_MUST_USE;
void tt_api_buffer_unhold(PJRT_Buffer* buffer);
// Exclusive use: false if anybody reads it or it is deleted. Ends by commit (deleted) or cancel.
bool tt_api_buffer_donate_begin(PJRT_Buffer* buffer);
void tt_api_buffer_donate_commit(PJRT_Buffer* buffer);
void tt_api_buffer_donate_cancel(PJRT_Buffer* buffer);
void tt_api_buffer_delete(PJRT_Buffer* buffer);
bool tt_api_buffer_is_deleted(const PJRT_Buffer* buffer);
// Bytes of a dense array; false on overflow or a negative extent.
bool tt_api_dense_bytes(tt_dtype_t dtype, size_t rank, const int64_t* dims, size_t* out_bytes);

// ---- programs ----------------------------------------------------------------------------------
typedef struct tt_api_options_s {         // of CompileOptionsProto
  int num_replicas, num_partitions;
  int device_ordinal;                     // -1: none
  int64_t* assignment;                    // [num_replicas * num_partitions], replica-major; NULL: default
} tt_api_options_t;
tt_status_t tt_api_options_parse(const char* bytes, size_t size, tt_api_options_t* out_options) TT_MUST_USE;
void tt_api_options_deinitialize(tt_api_options_t* options);
// DeviceAssignmentProto: writes at most `capacity` bytes and returns the size needed.
size_t tt_api_assignment_encode(int num_replicas, int num_partitions, const int64_t* ids, char* bytes,
                                size_t capacity);

struct PJRT_Executable {
  int32_t references;           // atomic: each PJRT_Executable* given out is this object, retained
  tt_plan_t* plan;
  const tt_plan_info_t* info;
  char* name;
  int num_replicas, num_partitions;
  char* options;                // CompileOptionsProto as given
  size_t options_size;
  char fingerprint[24];
  // per result, for the getters
  PJRT_Buffer_Type* output_types;
  int64_t* output_dims;
  size_t* output_ranks;
  const char** memory_kinds;    // [max(parameters, results)]
  size_t* memory_kind_sizes;
  tt_api_attributes_t costs;
};
tt_status_t tt_api_executable_create(const PJRT_Program* program, const char* options, size_t options_size,
                                     int matmul_passes, bool reference_kernels,
                                     PJRT_Executable** out_executable) TT_MUST_USE;
void tt_api_executable_release(PJRT_Executable* executable);
tt_status_t tt_api_executable_deserialise(const char* bytes, size_t size,
                                          PJRT_Executable** out_executable) TT_MUST_USE;

struct PJRT_LoadedExecutable {
  int32_t references;           // atomic: the caller and running executions
  uint32_t deleted;             // atomic
  PJRT_Client* client;
  PJRT_Executable* executable;
  size_t device_count;          // num_replicas * num_partitions
  PJRT_Device** devices;        // [device_count]
  PJRT_LogicalDeviceIds* logical_ids;
  int64_t* assignment;
};
// Takes a reference of `executable`. `options` names the devices.
tt_status_t tt_api_executable_load(PJRT_Client* client, PJRT_Executable* executable,
                                   const tt_api_options_t* options,
                                   PJRT_LoadedExecutable** out_executable) TT_MUST_USE;
PJRT_Error* tt_api_client_compile(PJRT_Client_Compile_Args* args, int matmul_passes, bool reference_kernels);
// One device; `donate` NULL: every aliased parameter may be consumed. Outputs are set only on success.
tt_status_t tt_api_execute_one(PJRT_LoadedExecutable* executable, PJRT_Device* device, size_t arg_count,
                               PJRT_Buffer* const* args, const bool* donate,
                               PJRT_Buffer** outputs) TT_MUST_USE;

#endif  // TT_VTPU_API_API_H_
