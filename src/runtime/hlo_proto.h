// What a report reads from a compiler's optimised program: a HloModuleProto (XLA's protobuf form of a
// module), fields by number, everything else skipped. The bytes are another's: each length is checked.
#ifndef TT_RUNTIME_HLO_PROTO_H_
#define TT_RUNTIME_HLO_PROTO_H_

#include "runtime/ahead.h"

// `bytes` is a module, or with `has_config` a message whose field 1 is one. Fills out->aliases and
// out->collectives. DATA_LOSS: not such a message.
tt_status_t tt_rt_hlo_read(const void* bytes, size_t size, bool has_config, tt_rt_ahead_t* out) TT_MUST_USE;

#endif  // TT_RUNTIME_HLO_PROTO_H_
