// The private extension: what our client uses beyond PJRT.
#include "api/api.h"
#include "api/extension.h"
#include "exec/pool.h"
#include "exec/queue.h"
#include "ir/fingerprint.h"
#include "kernels/work.h"

static void trim(PJRT_Device* device) {
  for (int kind = 0; kind < 2; ++kind) tt_vmem_trim(device->memories[kind].pool);
  tt_k_work_trim();
}
static void reset_peak(PJRT_Device* device) {
  for (int kind = 0; kind < 2; ++kind) tt_vmem_reset_peak(device->memories[kind].pool);
}
static void set_threads(PJRT_Client* client, int threads) {
  (void)client;  // one pool a process
  tt_queue_drain();
  tt_pool_set_threads(tt_pool_get(), threads);
}
static int threads(PJRT_Client* client) {
  (void)client;
  return tt_pool_size(tt_pool_get());
}
static void set_matmul_passes(PJRT_Client* client, int passes) {
  if (passes == 0 || passes == 1 || passes == 3 || passes == 6) {
    __atomic_store_n(&client->matmul_passes, passes, __ATOMIC_RELAXED);
  }
}
static void set_reference_kernels(PJRT_Client* client, bool reference) {
  __atomic_store_n(&client->reference_kernels, reference, __ATOMIC_RELAXED);
}
static void* host_pointer(PJRT_Buffer* buffer) {
  tt_status_t status = tt_api_buffer_hold(buffer);
  if (!tt_status_is_ok(status)) {
    tt_status_ignore(status);  // NULL says it
    return NULL;
  }
  tt_queue_drain();
  void* data = buffer->block->data;
  tt_api_buffer_unhold(buffer);
  return data;
}
static char* plan_text(PJRT_Executable* executable) {
  tt_strbuf_t text;
  tt_strbuf_initialize(&text);
  tt_plan_print(executable->plan, &text);
  char* copy = NULL;
  tt_status_t status = tt_strbuf_status(&text);
  if (tt_status_is_ok(status)) status = tt_strdup(tt_strbuf_text(&text), &copy);
  tt_status_ignore(status);  // NULL says it
  tt_strbuf_deinitialize(&text);
  return copy;
}
static void free_text(char* text) { tt_free(text); }
static PJRT_Error* execute(PJRT_LoadedExecutable* executable, size_t num_args, PJRT_Buffer* const* args,
                           const bool* donate, PJRT_Buffer** outputs) {
  if (executable->device_count != 1) {
    TT_API_RETURN_ERROR(TT_INVALID_ARGUMENT, "'%s' runs on %zu devices", executable->executable->name,
                        executable->device_count);
  }
  return tt_api_error(
      tt_api_execute_one(executable, executable->devices[0], num_args, args, donate, outputs));
}
static uint64_t position(PJRT_Client* client) {
  (void)client;  // one queue a process
  return tt_queue_position();
}
static bool is_done(PJRT_Client* client, uint64_t at) {
  (void)client;
  return tt_queue_is_done(at);
}
static void wait(PJRT_Client* client, uint64_t at) {
  (void)client;
  tt_queue_wait(at);
}
static void allocations(int64_t* out_allocations, int64_t* out_live_blocks) {
  tt_alloc_stats_t stats = tt_alloc_stats();
  *out_allocations = (int64_t)stats.allocations;
  *out_live_blocks = stats.live_blocks;
}

tt_pjrt_extension_t* tt_api_extension(void) {
  static tt_pjrt_extension_t extension = {
      .base = {sizeof(tt_pjrt_extension_t), PJRT_Extension_Type_TtVtpu, NULL},
      .trim = trim,
      .reset_peak = reset_peak,
      .set_threads = set_threads,
      .threads = threads,
      .limit_threads = tt_pool_limit,
      .set_matmul_passes = set_matmul_passes,
      .set_reference_kernels = set_reference_kernels,
      .host_pointer = host_pointer,
      .plan_text = plan_text,
      .free_text = free_text,
      .execute = execute,
      .compile = tt_api_client_compile,
      .allocations = allocations,
      .position = position,
      .is_done = is_done,
      .wait = wait,
  };
  extension.fingerprint = tt_ir_fingerprint();  // the same pointer whoever writes it
  return &extension;
}
