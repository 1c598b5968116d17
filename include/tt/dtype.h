// Element types, numbered as tt/dtypes.def lists them.
#ifndef TT_DTYPE_H_
#define TT_DTYPE_H_

typedef enum tt_dtype_e {
  TT_DTYPE_INVALID = 0,
#define TT_DTYPE(ENUM, name, bits, cls, pjrt) TT_DTYPE_##ENUM,
#include "tt/dtypes.def"
#undef TT_DTYPE
  TT_DTYPE_COUNT,
} tt_dtype_t;

#endif  // TT_DTYPE_H_
