// StableHLO text. The reader takes MLIR's pretty and generic forms of builtin.module, func, stablehlo and
// chlo (as jax 0.10.2 and the StableHLO tools print them; location and attribute aliases included); the
// printer writes text that libtpu, XLA:CPU, jaxlib's parser and this reader accept.
#ifndef TT_IR_TEXT_H_
#define TT_IR_TEXT_H_

#include "base/strbuf.h"
#include "ir/ir.h"

// Errors: INVALID_ARGUMENT "line:column: message". Input is hostile: depth and sizes are bounded (read.h).
// Operations remember their place, so tt_module_verify's errors start with it as well.
tt_status_t tt_module_parse(const char* text, size_t size, tt_module_t** out_module) TT_MUST_USE;

typedef enum tt_print_flags_e {
  TT_PRINT_DEFAULT = 0,
  TT_PRINT_LOCATIONS = 1 << 0,
  TT_PRINT_ELIDE = 1 << 1,      // constants over 16 elements as dense<...>: for messages only, cannot be read back
} tt_print_flags_t;
tt_status_t tt_module_print(const tt_module_t* module, uint32_t flags, tt_strbuf_t* out) TT_MUST_USE;
// One op on one line without its regions, for messages.
void tt_op_print(const tt_op_t* op, tt_strbuf_t* out);
void tt_type_print(const tt_type_t* type, const tt_module_t* module, tt_strbuf_t* out);

#endif  // TT_IR_TEXT_H_
