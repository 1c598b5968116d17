// Events of the plugin, and notes: what errors that come late are about.
#include <string.h>

#include "runtime/internal.h"

static void destroy(const tt_rt_plugin_t* plugin, PJRT_Event* event) {
  TT_RT_ARGS(Event_Destroy, args);
  args.event = event;
  // a fault injected here must not leak, and its own error has no consequence
  TT_RT_RELEASE(plugin, Event_Destroy, &args);
}

static tt_status_t await_event(const tt_rt_plugin_t* plugin, PJRT_Event* event) {
  TT_RT_ARGS(Event_Await, args);
  args.event = event;
  return TT_RT_CALL(plugin, Event_Await, &args);
}

tt_status_t tt_rt_event_await(const tt_rt_plugin_t* plugin, PJRT_Event* event) {
  if (!event) return TT_OK_STATUS;
  tt_status_t status = await_event(plugin, event);
  destroy(plugin, event);
  return status;
}

tt_status_t tt_rt_event_wrap(tt_rt_client_t* client, PJRT_Event* handle, tt_rt_note_t* note,
                             tt_rt_event_t** out_event) {
  *out_event = NULL;
  if (!handle) return TT_OK_STATUS;
  void* block = NULL;
  tt_status_t status = tt_alloc(sizeof(tt_rt_event_t), &block);
  if (!tt_status_is_ok(status)) {
    destroy(client->plugin, handle);
    return status;
  }
  tt_rt_event_t* event = block;
  tt_rt_client_retain(client);
  tt_rt_note_retain(note);
  *event = (tt_rt_event_t){.references = 1, .client = client, .handle = handle, .note = note};
  *out_event = event;
  return TT_OK_STATUS;
}

void tt_rt_event_retain(tt_rt_event_t* event) {
  if (event) __atomic_fetch_add(&event->references, 1, __ATOMIC_RELAXED);
}

void tt_rt_event_release(tt_rt_event_t* event) {
  // acq_rel: every use comes before the destruction
  if (!event || __atomic_sub_fetch(&event->references, 1, __ATOMIC_ACQ_REL) != 0) return;
  tt_rt_client_t* client = event->client;
  destroy(client->plugin, event->handle);
  tt_rt_note_release(event->note);
  tt_free(event);
  tt_rt_client_release(client);
}

tt_status_t tt_rt_event_wait(tt_rt_event_t* event) {
  return tt_rt_note_annotate(event->note, await_event(event->client->plugin, event->handle));
}

tt_status_t tt_rt_event_poll(tt_rt_event_t* event, bool* out_done) {
  const tt_rt_plugin_t* plugin = event->client->plugin;
  *out_done = false;
  TT_RT_ARGS(Event_IsReady, args);
  args.event = event->handle;
  TT_RETURN_IF_ERROR(TT_RT_CALL(plugin, Event_IsReady, &args));
  if (!args.is_ready) return TT_OK_STATUS;
  *out_done = true;
  return tt_rt_event_wait(event);
}

typedef struct watch_s {
  const tt_rt_plugin_t* plugin;
  void (*callback)(void* self);
  void* self;
} watch_t;

static void done(PJRT_Error* error, void* user_arg) {
  watch_t watch = *(watch_t*)user_arg;
  tt_free(user_arg);
  tt_status_ignore(tt_rt_take_error(watch.plugin, "PJRT_Event_OnReady", error));   // whoever waits for the event is told
  watch.callback(watch.self);
}

tt_status_t tt_rt_event_on_done(tt_rt_event_t* event, void (*callback)(void* self), void* self) {
  void* block = NULL;
  TT_RETURN_IF_ERROR(tt_alloc(sizeof(watch_t), &block));
  *(watch_t*)block = (watch_t){event->client->plugin, callback, self};
  TT_RT_ARGS(Event_OnReady, args);
  args.event = event->handle;
  args.callback = done;
  args.user_arg = block;
  tt_status_t status = TT_RT_CALL(event->client->plugin, Event_OnReady, &args);
  if (!tt_status_is_ok(status)) tt_free(block);
  return status;
}

// ---- notes -------------------------------------------------------------------------------------
tt_status_t tt_rt_note_create(const char* text, tt_rt_note_t** out_note) {
  *out_note = NULL;
  size_t size = strlen(text) + 1;
  void* block = NULL;
  TT_RETURN_IF_ERROR(tt_alloc(sizeof(tt_rt_note_t) + size, &block));
  tt_rt_note_t* note = block;
  note->references = 1;
  memcpy(note->text, text, size);
  *out_note = note;
  return TT_OK_STATUS;
}

void tt_rt_note_retain(tt_rt_note_t* note) {
  if (note) __atomic_fetch_add(&note->references, 1, __ATOMIC_RELAXED);
}

void tt_rt_note_release(tt_rt_note_t* note) {
  // acq_rel: every use comes before the free
  if (note && __atomic_sub_fetch(&note->references, 1, __ATOMIC_ACQ_REL) == 0) tt_free(note);
}

const char* tt_rt_note_text(const tt_rt_note_t* note) { return note->text; }

tt_status_t tt_rt_note_annotate(const tt_rt_note_t* note, tt_status_t status) {
  return !note || tt_status_is_ok(status) ? status : tt_status_annotate(status, "%s", note->text);
}
