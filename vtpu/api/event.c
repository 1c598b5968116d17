// Events. All but the caller-made ones are ready from the start (A2), so success is one shared object.
//
// Invariants:
//  E1 `ready` goes false -> true once; `error` is set before it and fixed after it;
//  E2 callbacks registered before readiness run once, in the thread that sets the event, with no lock held;
//     later ones run at once in the caller's thread.
#include "api/api.h"

typedef struct waiter_s {
  PJRT_Event_OnReadyCallback callback;
  void* user_arg;
  struct waiter_s* next;
} waiter_t;

struct PJRT_Event {
  tt_mutex_t mutex;       // guards everything below; unused once ready
  tt_cond_t cond;
  uint32_t ready;         // atomic
  tt_status_t error;      // owned
  waiter_t* waiters;
};

static PJRT_Event done_event = {.ready = 1};

static tt_status_t event_create(bool ready, tt_status_t error, PJRT_Event** out_event) {
  *out_event = NULL;
  void* memory;
  tt_status_t status = tt_alloc(sizeof(PJRT_Event), &memory);
  if (!tt_status_is_ok(status)) {
    tt_status_free(error);
    return status;
  }
  PJRT_Event* event = memory;
  tt_mutex_initialize(&event->mutex, TT_RANK_PLUGIN);
  tt_cond_initialize(&event->cond);
  event->ready = ready;
  event->error = error;
  *out_event = event;
  return TT_OK_STATUS;
}

PJRT_Event* tt_api_event_done(tt_status_t error) {
  if (tt_status_is_ok(error)) return &done_event;
  PJRT_Event* event;
  tt_status_ignore(event_create(true, error, &event));  // NULL says it
  return event;
}

static bool is_ready(PJRT_Event* event) {
  // acquire: pairs with the release of Event_Set, so `error` is seen
  return __atomic_load_n(&event->ready, __ATOMIC_ACQUIRE) != 0;
}

PJRT_Error* tt_api_Event_Destroy(PJRT_Event_Destroy_Args* args) {
  PJRT_Event* event = args->event;
  if (!event || event == &done_event) return NULL;
  while (event->waiters) {  // never set: they learn that it will not come
    waiter_t* waiter = event->waiters;
    event->waiters = waiter->next;
    waiter->callback(
        tt_api_error(tt_status_create(TT_CANCELLED, "the event was destroyed before it was set")),
        waiter->user_arg);
    tt_free(waiter);
  }
  tt_status_free(event->error);
  tt_cond_deinitialize(&event->cond);
  tt_mutex_deinitialize(&event->mutex);
  tt_free(event);
  return NULL;
}

PJRT_Error* tt_api_Event_IsReady(PJRT_Event_IsReady_Args* args) {
  TT_API_CHECK_ARGS(args, Event_IsReady, is_ready);
  args->is_ready = is_ready(args->event);
  return NULL;
}

PJRT_Error* tt_api_Event_Error(PJRT_Event_Error_Args* args) {
  if (!is_ready(args->event)) {
    TT_API_RETURN_ERROR(TT_FAILED_PRECONDITION, "PJRT_Event_Error: the event is not ready");
  }
  return tt_api_error(tt_status_copy(args->event->error));
}

PJRT_Error* tt_api_Event_Await(PJRT_Event_Await_Args* args) {
  PJRT_Event* event = args->event;
  if (!is_ready(event)) {
    tt_mutex_lock(&event->mutex);
    while (!is_ready(event)) tt_cond_wait(&event->cond, &event->mutex);
    tt_mutex_unlock(&event->mutex);
  }
  return tt_api_error(tt_status_copy(event->error));
}

PJRT_Error* tt_api_Event_OnReady(PJRT_Event_OnReady_Args* args) {
  TT_API_CHECK_ARGS(args, Event_OnReady, user_arg);
  PJRT_Event* event = args->event;
  if (!is_ready(event)) {
    void* memory;
    TT_API_RETURN_IF_ERROR(tt_alloc(sizeof(waiter_t), &memory));
    waiter_t* waiter = memory;
    waiter->callback = args->callback;
    waiter->user_arg = args->user_arg;
    tt_mutex_lock(&event->mutex);
    bool ready = is_ready(event);
    if (!ready) {
      waiter->next = event->waiters;
      event->waiters = waiter;
    }
    tt_mutex_unlock(&event->mutex);
    if (!ready) return NULL;
    tt_free(waiter);
  }
  args->callback(tt_api_error(tt_status_copy(event->error)), args->user_arg);
  return NULL;
}

PJRT_Error* tt_api_Event_Create(PJRT_Event_Create_Args* args) {
  return tt_api_error(event_create(false, TT_OK_STATUS, &args->event));
}

PJRT_Error* tt_api_Event_Set(PJRT_Event_Set_Args* args) {
  TT_API_CHECK_ARGS(args, Event_Set, error_message_size);
  PJRT_Event* event = args->event;
  tt_status_t error = TT_OK_STATUS;
  if (args->error_code != PJRT_Error_Code_OK) {
    error = tt_status_create((tt_status_code_t)args->error_code, "%.*s", (int)args->error_message_size,
                             args->error_message ? args->error_message : "");
  }
  if (event == &done_event || is_ready(event)) {
    tt_status_free(error);
    TT_API_RETURN_ERROR(TT_FAILED_PRECONDITION, "PJRT_Event_Set: the event is set already");
  }
  tt_mutex_lock(&event->mutex);
  event->error = error;
  // release: E1, pairs with is_ready
  __atomic_store_n(&event->ready, 1, __ATOMIC_RELEASE);
  waiter_t* waiters = event->waiters;
  event->waiters = NULL;
  tt_cond_broadcast(&event->cond);
  tt_mutex_unlock(&event->mutex);
  while (waiters) {
    waiter_t* next = waiters->next;
    waiters->callback(tt_api_error(tt_status_copy(event->error)), waiters->user_arg);
    tt_free(waiters);
    waiters = next;
  }
  return NULL;
}
