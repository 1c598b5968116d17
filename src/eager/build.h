// One program under construction: reads of views as prefixes, writes as new bases, parameters, results.
// Used by eager calls and by whole graphs (design D2: both go through the same view model).
//
// Invariants:
//  B1 a storage becomes a parameter on its first read, at most once; an unbound one is a constant of zeros;
//  B2 reads see the storages as they were at the call's start: the builder does all reads before the
//    first write;
//  B3 writes to one storage compose in order into one new base (`current`), the program's only output for it;
//  B4 an output that replaces a parameter of the same type is marked tf.aliasing_output and may be donated.
#ifndef TT_EAGER_BUILD_H_
#define TT_EAGER_BUILD_H_

#include "eager/executable.h"
#include "ir/builder.h"
#include "lower/lower.h"

typedef struct tt_build_storage_s {
  const tt_storage_t* cell;  // its canonical form; locked
  int32_t param;  // index, -1: none
  tt_value_t* base;  // parameter or zeros; NULL before the first read
  tt_value_t* current;  // after writes; NULL: unwritten
} tt_build_storage_t;

typedef struct tt_build_s {
  tt_frame_t* frame;
  tt_target_t target;  // with this call's matmul_passes
  tt_module_t* module;
  tt_builder_t b;
  tt_func_t* func;
  tt_arena_t* scratch;  // the frame's
  tt_build_storage_t* storages;  // [frame->storage_count]
  tt_param_t* params;
  uint32_t param_count, param_capacity;
  tt_eager_result_t* results;
  tt_value_t** result_values;  // physical form; NULL: no output
  uint32_t result_count, result_capacity;
  tt_value_t *seed, *offset;
  uint64_t random_words;
  const char* warning;  // of every call of the program; NULL: none
} tt_build_t;

tt_status_t tt_build_begin(tt_build_t* build, tt_frame_t* frame) TT_MUST_USE;
void tt_build_end(tt_build_t* build);
// Sticky errors as in builder.h: NULL after a failure, status from build->b.
tt_value_t* tt_build_read(tt_build_t* build, size_t view);  // any view of the frame, also CPU scalars
void tt_build_write(tt_build_t* build, size_t view, tt_value_t* value);  // value: the view's sizes and dtype
// A parameter of a graph's own module (text, checks): never executed.
tt_value_t* tt_build_input(tt_build_t* build, tt_dtype_t dtype, size_t rank, const int64_t* sizes);
tt_value_t* tt_build_scalar(tt_build_t* build, uint32_t index, tt_dtype_t dtype);
void tt_build_random(tt_build_t* build, uint64_t words, tt_value_t** out_seed, tt_value_t** out_offset);
// A fresh storage of value's sizes; strides NULL: contiguous.
void tt_build_result(tt_build_t* build, tt_value_t* value, const int64_t* strides);
void tt_build_result_other(tt_build_t* build, tt_result_kind_t kind, int64_t integer);  // INT, NONE, WRITTEN
// A parameter of the program behind the module's arguments so far; false: the error is set.
bool tt_build_add_param(tt_build_t* build, tt_param_kind_t kind, uint32_t index, tt_dtype_t dtype);
// Outputs, aliases, rounding of growing dimensions (padded.h), compile.
tt_status_t tt_build_finish(tt_build_t* build, const char* name,
                            tt_eager_program_t** out_program) TT_MUST_USE;
// Conversion with PyTorch's meaning of bool.
tt_value_t* tt_build_convert(tt_build_t* build, tt_value_t* value, tt_dtype_t dtype);

#endif  // TT_EAGER_BUILD_H_
