// Plugins: loading, versions, attributes; the way every call goes.
//
// Invariants: the registry only grows; a plugin in it is initialised and immutable.
#include <stdio.h>
#include <string.h>

#include "ir/fingerprint.h"
#include "runtime/internal.h"

// Older tables lack slots that this client cannot do without.
#define MIN_MINOR 40

static tt_mutex_t registry_mutex = {PTHREAD_MUTEX_INITIALIZER, TT_RANK_RUNTIME};
static tt_rt_plugin_t* registry;   // guarded by registry_mutex

// ---- errors ------------------------------------------------------------------------------------
tt_status_t tt_rt_absent(const tt_rt_plugin_t* plugin, const char* slot) {
  return tt_status_create(TT_UNIMPLEMENTED, "the plugin '%s' (PJRT %d.%d) has no %s", plugin->path,
                          plugin->api->pjrt_api_version.major_version,
                          plugin->api->pjrt_api_version.minor_version, slot);
}

tt_status_t tt_rt_error_to_status(const tt_rt_plugin_t* plugin, const char* slot, PJRT_Error* error) {
  const PJRT_Api* api = plugin->api;
  TT_RT_ARGS(Error_GetCode, code);
  code.error = error;
  code.code = PJRT_Error_Code_UNKNOWN;
  PJRT_Error* failed = api->Error_GetCode(&code);
  if (failed) {  // an error about an error: only its memory matters
    TT_RT_ARGS(Error_Destroy, nested);
    nested.error = failed;
    api->Error_Destroy(&nested);
  }
  TT_RT_ARGS(Error_Message, message);
  message.error = error;
  api->Error_Message(&message);
  int number = (int)code.code;
  if (number < 1 || number > 16) number = TT_UNKNOWN;
  int size = message.message ? (int)TT_MIN(message.message_size, 1u << 20) : 0;
  const char* text = size ? message.message : "";
  tt_status_t status = plugin->extension
                           ? tt_status_create((tt_status_code_t)number, "%.*s", size, text)
                           : tt_status_create((tt_status_code_t)number, "%s: %.*s", slot, size, text);
  TT_RT_ARGS(Error_Destroy, destroy);
  destroy.error = error;
  api->Error_Destroy(&destroy);
  return status;
}

// ---- fault injection ---------------------------------------------------------------------------
int64_t tt_rt_fault_countdown;
static uint32_t fault_fired;

bool tt_rt_fault_step(void) {
  int64_t left = __atomic_load_n(&tt_rt_fault_countdown, __ATOMIC_RELAXED);
  do {
    if (left <= 0) return false;
  } while (!__atomic_compare_exchange_n(&tt_rt_fault_countdown, &left, left - 1, true, __ATOMIC_RELAXED,
                                        __ATOMIC_RELAXED));
  if (left != 1) return false;
  __atomic_store_n(&fault_fired, 1, __ATOMIC_RELAXED);
  return true;
}

void tt_rt_fault_arm(uint64_t nth) {
  __atomic_store_n(&fault_fired, 0, __ATOMIC_RELAXED);
  __atomic_store_n(&tt_rt_fault_countdown, (int64_t)nth, __ATOMIC_RELAXED);
}
bool tt_rt_fault_fired(void) { return __atomic_load_n(&fault_fired, __ATOMIC_RELAXED) != 0; }

tt_status_t tt_rt_injected(const char* slot) {
  return tt_status_create(TT_INTERNAL, "injected: %s fails", slot);
}

// ---- loading -----------------------------------------------------------------------------------
static tt_status_t check_api(const PJRT_Api* api, const char* name) {
  if (!api) return tt_status_create(TT_FAILED_PRECONDITION, "the plugin '%s' gives no PJRT table", name);
  if (api->struct_size < PJRT_SIZE_THROUGH(PJRT_Api, Buffer_OpaqueDeviceMemoryDataPointer)) {
    return tt_status_create(TT_FAILED_PRECONDITION, "the PJRT table of '%s' has only %zu bytes", name,
                            api->struct_size);
  }
  int major = api->pjrt_api_version.major_version, minor = api->pjrt_api_version.minor_version;
  if (major != PJRT_API_MAJOR || minor < MIN_MINOR) {
    return tt_status_create(
        TT_FAILED_PRECONDITION,
        "the plugin '%s' speaks PJRT %d.%d; this client speaks %d.%d and needs at least %d.%d", name, major,
        minor, PJRT_API_MAJOR, PJRT_API_MINOR, PJRT_API_MAJOR, MIN_MINOR);
  }
  // what gives errors and objects back
  const struct {
    const char* name;
    bool is_there;
  } needed[] = {
#define NEED(slot) {"PJRT_" #slot, api->slot != NULL}
      NEED(Error_Destroy),        NEED(Error_Message),      NEED(Error_GetCode),
      NEED(Event_Destroy),        NEED(Client_Destroy),     NEED(Buffer_Destroy),
      NEED(Executable_Destroy),   NEED(LoadedExecutable_Destroy),
#undef NEED
  };
  for (size_t i = 0; i < TT_ARRAY_LENGTH(needed); ++i) {
    if (needed[i].is_there) continue;
    return tt_status_create(TT_FAILED_PRECONDITION, "the PJRT table of '%s' has no %s", name, needed[i].name);
  }
  return TT_OK_STATUS;
}

static tt_status_t read_fingerprint(tt_rt_plugin_t* plugin) {
  TT_RT_ARGS(Plugin_Attributes, args);
  tt_status_t status = TT_RT_CALL(plugin, Plugin_Attributes, &args);
  if (!tt_status_is_ok(status)) {
    if (tt_status_code(status) != TT_UNIMPLEMENTED) return status;
    tt_status_ignore(status);  // a plugin without attributes is not ours
    return TT_OK_STATUS;
  }
  for (size_t i = 0; i < args.num_attributes; ++i) {
    const PJRT_NamedValue* value = &args.attributes[i];
    if (value->type == PJRT_NamedValue_kString && value->name_size == 5 &&
        memcmp(value->name, "tt_ir", 5) == 0) {
      snprintf(plugin->fingerprint, sizeof(plugin->fingerprint), "%.*s", (int)value->value_size,
               value->string_value);
    }
  }
  return TT_OK_STATUS;
}

static void read_extension(tt_rt_plugin_t* plugin) {
  int hops = 0;
  for (const PJRT_Extension_Base* e = plugin->api->extension_start; e && hops < 64; e = e->next, ++hops) {
    if (e->type != PJRT_Extension_Type_TtVtpu) continue;
    const tt_pjrt_extension_t* extension = (const tt_pjrt_extension_t*)e;
    // private: only the very same layout is used
    if (e->struct_size == sizeof(*extension) && strcmp(extension->fingerprint, tt_ir_fingerprint()) == 0) {
      plugin->extension = extension;
    }
  }
}

static tt_rt_plugin_t* find_locked(const char* path) {
  for (tt_rt_plugin_t* plugin = registry; plugin; plugin = plugin->next) {
    if (strcmp(plugin->path, path) == 0) return plugin;
  }
  return NULL;
}

// Holds registry_mutex. Plugin_Initialize runs once a plugin.
static tt_status_t add_locked(const PJRT_Api* api, const char* path, tt_rt_plugin_t** out_plugin) {
  TT_RETURN_IF_ERROR(check_api(api, path));
  for (tt_rt_plugin_t* plugin = registry; plugin; plugin = plugin->next) {
    if (plugin->api == api) {  // the same library by another path
      *out_plugin = plugin;
      return TT_OK_STATUS;
    }
  }
  void* memory;
  TT_RETURN_IF_ERROR(tt_alloc(sizeof(tt_rt_plugin_t), &memory));
  tt_rt_plugin_t* plugin = memory;
  plugin->api = api;
  tt_status_t status = tt_strdup(path, &plugin->path);
  if (tt_status_is_ok(status)) {
    TT_RT_ARGS(Plugin_Initialize, args);
    status = TT_RT_CALL(plugin, Plugin_Initialize, &args);
  }
  if (tt_status_is_ok(status)) status = read_fingerprint(plugin);
  if (!tt_status_is_ok(status)) {
    status = tt_status_annotate(status, "plugin '%s'", path);
    tt_free(plugin->path);
    tt_free(plugin);
    return status;
  }
  read_extension(plugin);
  plugin->next = registry;
  registry = plugin;
  *out_plugin = plugin;
  return TT_OK_STATUS;
}

tt_status_t tt_rt_plugin_load(const char* path, tt_rt_plugin_t** out_plugin) {
  *out_plugin = NULL;
  tt_mutex_lock(&registry_mutex);
  *out_plugin = find_locked(path);
  tt_status_t status = TT_OK_STATUS;
  if (!*out_plugin) {
    tt_rt_get_api_t get_api;
    status = tt_rt_os_load(path, &get_api);
    if (tt_status_is_ok(status)) status = add_locked(get_api(), path, out_plugin);
  }
  tt_mutex_unlock(&registry_mutex);
  return status;
}

tt_status_t tt_rt_plugin_from_api(const void* pjrt_api, const char* name, tt_rt_plugin_t** out_plugin) {
  *out_plugin = NULL;
  tt_mutex_lock(&registry_mutex);
  tt_status_t status = add_locked(pjrt_api, name, out_plugin);
  tt_mutex_unlock(&registry_mutex);
  return status;
}

const char* tt_rt_plugin_path(const tt_rt_plugin_t* plugin) { return plugin->path; }

void tt_rt_plugin_version(const tt_rt_plugin_t* plugin, int* out_major, int* out_minor) {
  *out_major = plugin->api->pjrt_api_version.major_version;
  *out_minor = plugin->api->pjrt_api_version.minor_version;
}

const char* tt_rt_plugin_ir_fingerprint(const tt_rt_plugin_t* plugin) { return plugin->fingerprint; }
const char* tt_rt_ir_fingerprint(void) { return tt_ir_fingerprint(); }
