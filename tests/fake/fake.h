// A PJRT plugin that fails on request: the whole table in front of another plugin (libvtpu.so beside it, or
// the path in TT_FAKE_INNER), which does the work. It hides that plugin's private extension and name, so that
// the client takes it for a foreign one. A module named @fake_abort, @fake_second_abort (not as the process's
// first) or @fake_hang makes PJRT_Compile do that.
//
// Invariants:
//  F1 every call goes through here and is counted by slot; an armed fault fires on the nth call of its slot
//     from then on, once;
//  F2 every error, event, buffer, executable, client and topology that is handed out is counted until the
//     client gives it back: `live` is all zero when nothing leaked;
//  F3 a fault never breaks the plugin itself: what it made for a call that then fails, it takes back.
#ifndef TT_FAKE_FAKE_H_
#define TT_FAKE_FAKE_H_

#include <stddef.h>
#include <stdint.h>

typedef enum tt_fake_kind_e {
  TT_FAKE_SYNC,       // the call returns the error and does nothing
  TT_FAKE_AFTER,      // the call does its work (donated buffers are gone), takes its results back, fails
  TT_FAKE_ASYNC,      // the call succeeds; its events and buffers carry the error
} tt_fake_kind_t;

typedef struct tt_fake_live_s {
  int64_t errors, events, buffers, executables, loaded, clients, topologies;
} tt_fake_live_t;

typedef struct tt_fake_control_s {
  size_t slot_count;
  const char* (*slot_name)(size_t slot);              // "Client_Compile"
  uint64_t (*calls)(size_t slot);
  // Slots with results that can carry an error: where ASYNC means something.
  int (*is_asynchronous)(size_t slot);
  void (*arm)(size_t slot, uint64_t nth, tt_fake_kind_t kind, int code, const char* message);
  int (*fired)(void);                                 // since arm
  void (*disarm)(void);
  void (*set_delay)(int64_t ns);                      // events and buffers become ready so much later
  void (*live)(tt_fake_live_t* out);
  // A PJRT_Api of this plugin as another version or size would have it, without one slot (slot_count: with
  // all). It lives as long as the process. `size` over the real one: what lies behind is there, and zero.
  const void* (*table)(int major, int minor, size_t size, size_t missing);
} tt_fake_control_t;
// The library's second symbol.
const tt_fake_control_t* tt_fake_control(void);

#endif  // TT_FAKE_FAKE_H_
