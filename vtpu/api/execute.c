// Runs a loaded executable on its devices: on several to the end, inside the call; on one it may run on behind the
// caller (exec/queue.h), in the order of the calls.
//
//   hold arguments -> take exclusive hold of donated ones -> make output records -> run -> commit or undo
//
// Invariants:
//  X1 an argument is held from its check to the end of the run; a donated one is overwritten in place only
//     if nobody else reads it and its block has no other owner, else the plan writes a fresh block;
//  X2 outputs and deletions happen only after the run of every device has succeeded; with an error no
//     output is set and every argument stays usable, except what the other devices of the run were
//     overwriting in place;
//  X4 what runs behind cannot fail; whoever looks at a buffer's memory or asks whether it is ready waits for it;
//  X3 no allocation for up to INLINE_ARGS arguments and results besides the blocks of the results.
#include <string.h>

#include "api/api.h"
#include "exec/queue.h"

#define INLINE_ARGS 64
// Rounds in which no device moves before the devices are declared stuck (each takes under 2 us a device).
#define STUCK_ROUNDS 5000000

typedef struct lane_s {          // one device of a run
  PJRT_Device* device;
  PJRT_Buffer* const* args;
  PJRT_Buffer** outputs;         // records made before the run; handed out at the end
  tt_vmem_t** parameters;        // [parameter_count]
  tt_vmem_t** results;           // [result_count]
  bool* donated;                 // [parameter_count] written in place
  uint8_t* holds;                // [parameter_count] 0 none, 1 reader, 2 exclusive, 3 reader, to be deleted
  tt_exec_t* exec;
  bool done;
  bool failed;                   // this device's own run gave the error: its donated blocks are untouched
} lane_t;

static tt_status_t wrong_argument(const PJRT_LoadedExecutable* loaded, size_t index,
                                  const PJRT_Buffer* buffer) {
  tt_strbuf_t text;
  tt_strbuf_initialize(&text);
  const tt_plan_value_t* want = &loaded->executable->info->parameters[index];
  tt_strbuf_printf(&text, "%s[", tt_dtype_name(buffer->dtype));
  for (uint32_t i = 0; i < buffer->rank; ++i) {
    tt_strbuf_printf(&text, i ? ",%lld" : "%lld", (long long)buffer->dims[i]);
  }
  tt_strbuf_printf(&text, "], the program wants %s[", tt_dtype_name(want->dtype));
  for (uint32_t i = 0; i < want->rank; ++i) {
    tt_strbuf_printf(&text, i ? ",%lld" : "%lld", (long long)want->dims[i]);
  }
  tt_strbuf_puts(&text, "]");
  tt_status_t status = tt_status_create(TT_INVALID_ARGUMENT, "argument %zu of '%s' is %s", index,
                                        loaded->executable->name, tt_strbuf_text(&text));
  tt_strbuf_deinitialize(&text);
  return status;
}

static inline bool fits(const PJRT_Buffer* buffer, const tt_plan_value_t* want) {
  if (buffer->dtype != want->dtype || buffer->rank != want->rank) return false;
  for (uint32_t i = 0; i < want->rank; ++i) {
    if (buffer->dims[i] != want->dims[i]) return false;
  }
  return true;
}

// Undoes or completes the holds of a lane.
static void lane_release(lane_t* lane, size_t count, bool success) {
  for (size_t i = 0; i < count; ++i) {
    PJRT_Buffer* buffer = lane->args[i];
    bool overwritten = lane->exec && !lane->failed && lane->donated[i];
    switch (lane->holds[i]) {
      case 1: tt_api_buffer_unhold(buffer); break;
      case 2:
        success || overwritten ? tt_api_buffer_donate_commit(buffer) : tt_api_buffer_donate_cancel(buffer);
        break;
      case 3:
        if (success) tt_api_buffer_delete(buffer);
        tt_api_buffer_unhold(buffer);
        break;
      default: break;
    }
  }
}

// Checks and holds the arguments and makes the output records. holds[] is zero before.
static tt_status_t lane_prepare(const PJRT_LoadedExecutable* loaded, lane_t* lane, const bool* donate,
                                bool* out_any_donated) {
  const tt_plan_info_t* info = loaded->executable->info;
  size_t count = info->parameter_count;
  bool aliased = false;
  for (size_t i = 0; i < count; ++i) {
    PJRT_Buffer* buffer = lane->args[i];
    const tt_plan_value_t* want = &info->parameters[i];
    if (TT_UNLIKELY(!buffer)) {
      return tt_status_create(TT_INVALID_ARGUMENT, "argument %zu of '%s' is NULL", i,
                              loaded->executable->name);
    }
    if (TT_UNLIKELY(!fits(buffer, want))) return wrong_argument(loaded, i, buffer);
    if (TT_UNLIKELY(buffer->memory->device != lane->device)) {
      return tt_status_create(
          TT_INVALID_ARGUMENT, "argument %zu of '%s' is on device %d, the program runs on device %d", i,
          loaded->executable->name, buffer->memory->device->description->id, lane->device->description->id);
    }
    if (want->alias >= 0 && (!donate || donate[i])) {
      aliased = true;  // second pass: an argument given twice must be seen as read first
      continue;
    }
    tt_status_t status = tt_api_buffer_hold(buffer);
    if (TT_UNLIKELY(!tt_status_is_ok(status))) {
      return tt_status_annotate(status, "argument %zu of '%s'", i, loaded->executable->name);
    }
    lane->holds[i] = 1;
    lane->parameters[i] = buffer->block;
    lane->donated[i] = false;
  }
  if (aliased) {
    for (size_t i = 0; i < count; ++i) {
      if (lane->holds[i]) continue;
      PJRT_Buffer* buffer = lane->args[i];
      lane->donated[i] = false;
      if (tt_api_buffer_donate_begin(buffer)) {
        lane->holds[i] = 2;
        lane->donated[i] = __atomic_load_n(&buffer->block->references, __ATOMIC_ACQUIRE) == 1;
        *out_any_donated |= lane->donated[i];
      } else {
        tt_status_t status = tt_api_buffer_hold(buffer);
        if (!tt_status_is_ok(status)) {
          return tt_status_annotate(status, "donated argument %zu of '%s'", i, loaded->executable->name);
        }
        lane->holds[i] = 3;
      }
      lane->parameters[i] = buffer->block;
    }
  }
  for (size_t i = 0; i < info->result_count; ++i) {
    const tt_plan_value_t* value = &info->results[i];
    TT_RETURN_IF_ERROR(tt_api_buffer_create(&lane->device->memories[0], value->dtype, value->rank,
                                            value->dims, NULL, &lane->outputs[i]));
  }
  return TT_OK_STATUS;
}

static void lane_finish(const PJRT_LoadedExecutable* loaded, lane_t* lane, bool success) {
  const tt_plan_info_t* info = loaded->executable->info;
  for (size_t i = 0; i < info->result_count; ++i) {
    if (success) {
      lane->outputs[i]->block = lane->results[i];
      lane->outputs[i]->bytes = lane->results[i]->bytes;
    } else {
      tt_api_buffer_destroy(lane->outputs[i]);
      lane->outputs[i] = NULL;
      tt_vmem_release(lane->results[i]);
    }
  }
  lane_release(lane, info->parameter_count, success);
}

static tt_exec_args_t exec_args(const PJRT_LoadedExecutable* loaded, lane_t* lane, bool any_donated,
                                size_t index, struct tt_rendezvous_s* rendezvous) {
  tt_exec_args_t args = {
      .plan = loaded->executable->plan,
      .memory = lane->device->memories[0].pool,
      .parameters = lane->parameters,
      .donated = any_donated ? lane->donated : NULL,
      .results = lane->results,
      .replica_id = (int32_t)(index / (size_t)loaded->executable->num_partitions),
      .partition_id = (int32_t)(index % (size_t)loaded->executable->num_partitions),
      .rendezvous = rendezvous,
  };
  return args;
}

// Resumes the devices in turn until all are done.
static tt_status_t run_in_turn(lane_t* lanes, size_t count) {
  size_t left = count;
  int64_t idle_rounds = 0;
  while (left) {
    int64_t start = tt_clock_ns();
    size_t before = left;
    for (size_t i = 0; i < count; ++i) {
      if (lanes[i].done) continue;
      tt_exec_state_t state;
      tt_status_t status = tt_exec_resume(lanes[i].exec, &state);
      if (!tt_status_is_ok(status)) {
        lanes[i].failed = true;
        return count > 1 ? tt_status_annotate(status, "device %d", lanes[i].device->description->id) : status;
      }
      if (state == TT_EXEC_DONE) {
        lanes[i].done = true;
        --left;
      }
    }
    bool moved = left != before || tt_clock_ns() - start > 2000 * (int64_t)count;
    idle_rounds = moved ? 0 : idle_rounds + 1;
    if (idle_rounds > STUCK_ROUNDS) {
      return tt_status_create(TT_DEADLINE_EXCEEDED, "%zu of %zu devices wait for each other in a collective",
                              left, count);
    }
  }
  return TT_OK_STATUS;
}

// One device without collectives: the hot path.
tt_status_t tt_api_execute_one(PJRT_LoadedExecutable* loaded, PJRT_Device* device, size_t arg_count,
                               PJRT_Buffer* const* args, const bool* donate, PJRT_Buffer** outputs) {
  const tt_plan_info_t* info = loaded->executable->info;
  if (TT_UNLIKELY(__atomic_load_n(&loaded->deleted, __ATOMIC_ACQUIRE))) {
    return tt_status_create(TT_INVALID_ARGUMENT, "the executable '%s' was deleted", loaded->executable->name);
  }
  if (TT_UNLIKELY(arg_count != info->parameter_count)) {
    return tt_status_create(TT_INVALID_ARGUMENT, "'%s' takes %zu arguments, %zu were given",
                            loaded->executable->name, info->parameter_count, arg_count);
  }
  tt_vmem_t *parameters[INLINE_ARGS], *results[INLINE_ARGS];
  bool donated[INLINE_ARGS];
  uint8_t holds[INLINE_ARGS];
  lane_t lane = {.device = device,
                 .args = args,
                 .outputs = outputs,
                 .parameters = parameters,
                 .results = results,
                 .donated = donated,
                 .holds = holds};
  void* large = NULL;
  size_t result_count = info->result_count;
  if (TT_UNLIKELY(arg_count > INLINE_ARGS || result_count > INLINE_ARGS)) {
    TT_RETURN_IF_ERROR(tt_alloc((arg_count + result_count) * sizeof(void*) + 2 * arg_count, &large));
    lane.parameters = large;
    lane.results = lane.parameters + arg_count;
    lane.donated = (bool*)(lane.results + result_count);
    lane.holds = (uint8_t*)(lane.donated + arg_count);
  }
  if (arg_count) memset(lane.holds, 0, arg_count);
  for (size_t i = 0; i < result_count; ++i) {
    lane.results[i] = NULL;
    outputs[i] = NULL;
  }
  bool any_donated = false;
  struct tt_rendezvous_s* rendezvous = NULL;
  tt_status_t status = lane_prepare(loaded, &lane, donate, &any_donated);
  if (tt_status_is_ok(status)) {
    if (TT_UNLIKELY(info->has_collectives)) {
      status = tt_rendezvous_create(1, 1, &rendezvous);
      if (tt_status_is_ok(status)) {
        tt_exec_args_t exec = exec_args(loaded, &lane, any_donated, 0, rendezvous);
        status = tt_exec_begin(&exec, &lane.exec);
      }
      if (tt_status_is_ok(status)) status = run_in_turn(&lane, 1);
      if (lane.exec) tt_exec_end(lane.exec);
      tt_rendezvous_release(rendezvous);
    } else {
      tt_exec_args_t exec = exec_args(loaded, &lane, any_donated, 0, NULL);
      status = tt_exec_submit(&exec);
    }
  }
  lane_finish(loaded, &lane, tt_status_is_ok(status));
  tt_free(large);
  return status;
}

// All devices of a program, in turn.
static tt_status_t execute_many(PJRT_LoadedExecutable* loaded, size_t arg_count,
                                PJRT_Buffer* const* const* arg_lists, const bool* donate,
                                PJRT_Buffer** const* output_lists) {
  const tt_plan_info_t* info = loaded->executable->info;
  size_t count = loaded->device_count, results = info->result_count;
  if (__atomic_load_n(&loaded->deleted, __ATOMIC_ACQUIRE)) {
    return tt_status_create(TT_INVALID_ARGUMENT, "the executable '%s' was deleted", loaded->executable->name);
  }
  if (arg_count != info->parameter_count) {
    return tt_status_create(TT_INVALID_ARGUMENT, "'%s' takes %zu arguments, %zu were given",
                            loaded->executable->name, info->parameter_count, arg_count);
  }
  void* memory;
  TT_RETURN_IF_ERROR(
      tt_alloc(count * (sizeof(lane_t) + (arg_count + results) * sizeof(void*) + 2 * arg_count), &memory));
  lane_t* lanes = memory;
  tt_vmem_t** pointers = (tt_vmem_t**)(lanes + count);
  uint8_t* flags = (uint8_t*)(pointers + count * (arg_count + results));
  struct tt_rendezvous_s* rendezvous = NULL;
  tt_status_t status = TT_OK_STATUS;
  if (info->has_collectives) {
    status = tt_rendezvous_create(loaded->executable->num_replicas, loaded->executable->num_partitions,
                                  &rendezvous);
  }
  for (size_t d = 0; d < count; ++d) {
    lanes[d].device = loaded->devices[d];
    lanes[d].args = arg_count ? arg_lists[d] : NULL;
    lanes[d].outputs = output_lists[d];
    lanes[d].parameters = pointers + d * (arg_count + results);
    lanes[d].results = lanes[d].parameters + arg_count;
    lanes[d].donated = (bool*)(flags + d * 2 * arg_count);
    lanes[d].holds = flags + d * 2 * arg_count + arg_count;
    for (size_t i = 0; i < results; ++i) lanes[d].outputs[i] = NULL;
  }
  for (size_t d = 0; d < count && tt_status_is_ok(status); ++d) {
    bool any_donated = false;
    status = lane_prepare(loaded, &lanes[d], donate, &any_donated);
    if (!tt_status_is_ok(status)) break;
    tt_exec_args_t exec = exec_args(loaded, &lanes[d], any_donated, d, rendezvous);
    status = tt_exec_begin(&exec, &lanes[d].exec);
  }
  if (tt_status_is_ok(status)) status = run_in_turn(lanes, count);
  for (size_t d = 0; d < count; ++d) {
    if (lanes[d].exec) tt_exec_end(lanes[d].exec);
    lane_finish(loaded, &lanes[d], tt_status_is_ok(status));
  }
  tt_rendezvous_release(rendezvous);
  tt_free(memory);
  return status;
}

// ---- the slot ----------------------------------------------------------------------------------
// donate[i] false for the indices of the options; NULL when there are none. *out_heap is to be freed.
static tt_status_t donation_flags(const PJRT_ExecuteOptions* options, size_t arg_count, bool* inline_flags,
                                  const bool** out_flags, void** out_heap) {
  *out_flags = NULL;
  *out_heap = NULL;
  if (!options || options->struct_size < PJRT_SIZE_THROUGH(PJRT_ExecuteOptions, num_recv_ops)) {
    return TT_OK_STATUS;
  }
  if (options->num_send_ops || options->num_recv_ops) {
    return tt_status_create(TT_UNIMPLEMENTED, "PJRT_LoadedExecutable_Execute: host send/recv callbacks");
  }
  if (options->struct_size < PJRT_SIZE_THROUGH(PJRT_ExecuteOptions, num_non_donatable_input_indices) ||
      options->num_non_donatable_input_indices == 0) {
    return TT_OK_STATUS;
  }
  bool* flags = inline_flags;
  if (arg_count > INLINE_ARGS) {
    TT_RETURN_IF_ERROR(tt_alloc(arg_count, out_heap));
    flags = *out_heap;
  }
  if (arg_count) memset(flags, 1, arg_count);
  for (size_t i = 0; i < options->num_non_donatable_input_indices; ++i) {
    int64_t index = options->non_donatable_input_indices[i];
    if (index >= 0 && (size_t)index < arg_count) flags[index] = false;
  }
  *out_flags = flags;
  return TT_OK_STATUS;
}

PJRT_Error* tt_api_LoadedExecutable_Execute(PJRT_LoadedExecutable_Execute_Args* args) {
  TT_API_CHECK_ARGS(args, LoadedExecutable_Execute, device_complete_events);
  PJRT_LoadedExecutable* loaded = args->executable;
  PJRT_Device* only = TT_API_HAS_FIELD(args, PJRT_LoadedExecutable_Execute_Args, execute_device)
                          ? args->execute_device
                          : NULL;
  size_t wanted = only ? 1 : loaded->device_count;
  if (TT_UNLIKELY(args->num_devices != wanted || (only && loaded->device_count != 1))) {
    TT_API_RETURN_ERROR(TT_INVALID_ARGUMENT, "'%s' runs on %zu devices, arguments for %zu were given",
                        loaded->executable->name, loaded->device_count, args->num_devices);
  }
  bool inline_flags[INLINE_ARGS];
  const bool* donate;
  void* heap;
  TT_API_RETURN_IF_ERROR(donation_flags(args->options, args->num_args, inline_flags, &donate, &heap));
  tt_status_t status;
  if (TT_LIKELY(wanted == 1)) {
    status =
        tt_api_execute_one(loaded, only ? only : loaded->devices[0], args->num_args,
                           args->num_args ? args->argument_lists[0] : NULL, donate, args->output_lists[0]);
  } else {
    status = execute_many(loaded, args->num_args, args->argument_lists, donate, args->output_lists);
  }
  tt_free(heap);
  if (TT_UNLIKELY(!tt_status_is_ok(status))) return tt_api_error(status);
  if (args->device_complete_events) {
    tt_queue_drain();
    for (size_t d = 0; d < wanted; ++d) args->device_complete_events[d] = tt_api_event_done(TT_OK_STATUS);
  }
  return NULL;
}

PJRT_Error* tt_api_ExecuteContext_Create(PJRT_ExecuteContext_Create_Args* args) {
  TT_API_CHECK_ARGS(args, ExecuteContext_Create, context);
  void* memory;
  TT_API_RETURN_IF_ERROR(tt_alloc(1, &memory));  // an identity: custom calls take no user data yet
  args->context = memory;
  return NULL;
}

PJRT_Error* tt_api_ExecuteContext_Destroy(PJRT_ExecuteContext_Destroy_Args* args) {
  tt_free(args->context);
  return NULL;
}
