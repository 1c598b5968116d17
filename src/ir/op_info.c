// The op table: names, arities and traits from ops.def.
#include <string.h>

#include "ir/ir.h"

// Trait letters of ops.def.
enum {
  E = TT_TRAIT_ELEMENTWISE,
  U = TT_TRAIT_UNARY,
  B = TT_TRAIT_BINARY,
  C = TT_TRAIT_COMMUTATIVE,
  P = TT_TRAIT_PURE,
  T = TT_TRAIT_TERMINATOR,
  S = TT_TRAIT_SIDE_EFFECT,
  D = TT_TRAIT_DATA_MOVEMENT,
  R = TT_TRAIT_REDUCER,
  N = 0
};

static const tt_op_info_t op_infos[TT_OP_COUNT] = {
    {"invalid", 0, -1, -1, -1, 0},
#define TT_OP(ENUM, name, omin, omax, results, regions, traits) {name, omin, omax, results, regions, traits},
#include "ir/ops.def"
#undef TT_OP
};
static const uint8_t op_name_sizes[TT_OP_COUNT] = {
    0,
#define TT_OP(ENUM, name, omin, omax, results, regions, traits) sizeof(name) - 1,
#include "ir/ops.def"
#undef TT_OP
};

const tt_op_info_t* tt_op_info(tt_op_kind_t kind) {
  return &op_infos[(unsigned)kind < TT_OP_COUNT ? kind : TT_OP_INVALID];
}

tt_op_kind_t tt_op_kind_from_name(const char* name, size_t size) {
  for (int i = 1; i < TT_OP_COUNT; ++i) {
    if (op_name_sizes[i] == size && memcmp(op_infos[i].name, name, size) == 0) return (tt_op_kind_t)i;
  }
  // `call` and `return` are func's in text.
  if (size == 4 && memcmp(name, "call", 4) == 0) return TT_OP_FUNC_CALL;
  if (size == 6 && memcmp(name, "return", 6) == 0) return TT_OP_FUNC_RETURN;
  return TT_OP_INVALID;
}
