// PJRT's key-value callbacks over the caller's store.
#include <string.h>

#include "runtime/internal.h"

// A status of ours as an error of the plugin's.
static PJRT_Error* give_error(PJRT_CallbackError* callback_error, tt_status_t status) {
  if (tt_status_is_ok(status)) return NULL;
  const char* message = tt_status_message(status);
  PJRT_Error* error = (*callback_error)((PJRT_Error_Code)tt_status_code(status), message, strlen(message));
  tt_status_free(status);
  return error;
}

static void free_value(char* value) { tt_free(value); }

static PJRT_Error* get(PJRT_KeyValueGetCallback_Args* args) {
  const tt_rt_store_t* store = args->user_arg;
  char* value = NULL;
  size_t size = 0;
  tt_status_t status = store->get(store->self, args->key, args->key_size, args->timeout_in_ms, &value, &size);
  args->value = value;
  args->value_size = size;
  args->value_deleter_callback = free_value;
  return give_error(args->callback_error, status);
}

static PJRT_Error* try_get(PJRT_KeyValueTryGetCallback_Args* args) {
  const tt_rt_store_t* store = args->user_arg;
  char* value = NULL;
  size_t size = 0;
  tt_status_t status = store->get(store->self, args->key, args->key_size, 0, &value, &size);
  args->value = value;
  args->value_size = size;
  args->value_deleter_callback = free_value;
  return give_error(args->callback_error, status);
}

static PJRT_Error* put(PJRT_KeyValuePutCallback_Args* args) {
  const tt_rt_store_t* store = args->user_arg;
  return give_error(args->callback_error,
                    store->put(store->self, args->key, args->key_size, args->value, args->value_size));
}

void tt_rt_store_attach(tt_rt_client_t* client, PJRT_Client_Create_Args* args) {
  if (!client->store.get) return;
  args->kv_get_callback = get;
  args->kv_get_user_arg = &client->store;
  args->kv_put_callback = put;
  args->kv_put_user_arg = &client->store;
  args->kv_try_get_callback = try_get;
  args->kv_try_get_user_arg = &client->store;
}
