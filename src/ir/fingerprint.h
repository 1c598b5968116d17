// Identity of the in-memory IR: a core and a plugin that agree on it may hand modules over unprinted.
#ifndef TT_IR_FINGERPRINT_H_
#define TT_IR_FINGERPRINT_H_

#include "base/base.h"

#define TT_IR_FINGERPRINT_BYTES 24
// "tt1-<16 hex digits>": a hash of the op, attribute and dtype lists, of the layout of every IR struct, of
// the compiler and of the build id (TT_BUILD_ID, where the build sets one). Constant within a process.
const char* tt_ir_fingerprint(void);

#endif  // TT_IR_FINGERPRINT_H_
