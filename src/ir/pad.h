// Growing dimensions at rounded sizes: a static program becomes one that serves every size up to the next power of
// two, with the sizes themselves as run-time numbers. For plugins whose compiles are slow.
//
// A padded dimension of logical size n has tt_pad_size(n) places in memory; what lies behind the first n is
// unspecified (may be inf or NaN) and never reaches a logical element of a result. What each operation does about
// it stands in padding.def.
//
// Invariants:
//  G1 dimensions that an operation makes equal form one class; all of a class are padded or none (pad.c unites);
//  G2 a value of the new program has its class's form everywhere: logical size, or padded size;
//  G3 numbers that follow from padded sizes are 0-d parameters behind the program's own, never constants, so equal
//     padded forms give equal programs;
//  G4 an operation without a rule sees exact operands: right for every program, at the price of a compile a size.
#ifndef TT_IR_PAD_H_
#define TT_IR_PAD_H_

#include "ir/ir.h"

enum { TT_PAD_FLOOR = 8 };
// The next power of two, at least TT_PAD_FLOOR; itself above 2^40.
int64_t tt_pad_size(int64_t size);

typedef struct tt_pad_request_s {
  const uint32_t* params;  // [arguments of main]; bit d: dimension d of the buffer is padded
  const uint32_t* results;  // [results of main]; bit d: dimension d is to be padded. More may become so
  const uint8_t* hoisted;  // [constants of tt_shape_key_t]; not 0: becomes a run-time number. NULL: none
  const int64_t* growing;  // [growing_count]: sizes that are known to grow; tells which part of a split does
  uint32_t growing_count;
  bool poison;  // results' padding is filled with NaN and the like: shows who reads it
} tt_pad_request_t;

typedef struct tt_pad_number_s {
  tt_dtype_t dtype;
  unsigned char data[16];  // one element
} tt_pad_number_t;
typedef struct tt_padded_s {
  tt_module_t* module;  // owned
  const uint32_t* results;  // [results]: which dimensions are padded
  const tt_pad_number_t* numbers;  // 0-d parameters behind main's own
  uint32_t number_count;
} tt_padded_t;

// `module` is static, its composites are those that padding.def names, each function but main is called once.
// out: arrays lie in `arena`.
tt_status_t tt_module_pad(const tt_module_t* module, const tt_pad_request_t* request, tt_arena_t* arena,
                          tt_padded_t* out) TT_MUST_USE;

// A program without its sizes, and the sizes and one-valued constants: what may change from call to call.
typedef struct tt_shape_key_s {
  uint64_t skeleton;  // of operations, dtypes, ranks, data flow, structural attributes
  uint32_t size_count, constant_count;
  const int64_t* sizes;  // dimensions of main's arguments in order, then of its results
  const uint64_t* constants;  // first 8 bytes of each splat, in the order of a walk through calls
} tt_shape_key_t;
tt_status_t tt_module_shape_key(const tt_module_t* module, tt_arena_t* arena,
                                tt_shape_key_t* out) TT_MUST_USE;

#endif  // TT_IR_PAD_H_
