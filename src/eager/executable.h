// A compiled signature: the executable and how its parameters and results map to storages, scalars and
// results.
//
// Invariants:
//  X1 immutable after creation, shared by reference count; the maps are valid for every call of the
//    signature;
//  X2 a storage is at most one parameter and at most one output ("one storage is one parameter");
//  X3 a parameter may be donated only if an output of the same type replaces its storage's buffer;
//  X4 running reserves everything (result storages, scalars, random words) before it executes, and publishes
//     afterwards by steps that cannot fail; with an error nothing is rebound.
#ifndef TT_EAGER_EXECUTABLE_H_
#define TT_EAGER_EXECUTABLE_H_

#include "eager/frame.h"
#include "ir/pad.h"

typedef enum tt_param_kind_e {
  TT_PARAM_STORAGE,  // index: storage of the partition
  TT_PARAM_SCALAR,  // index: argument (eager) or scalar (graph)
  TT_PARAM_HOST,  // index: view of the frame, a 0-d CPU tensor
  TT_PARAM_SEED,
  TT_PARAM_OFFSET,
  TT_PARAM_NUMBER,  // index: number of the program (sizes of padded dimensions and what follows from them)
} tt_param_kind_t;
typedef struct tt_param_s {
  uint8_t kind, dtype;
  bool may_donate;
  bool is_unread;  // foreign plugins: a storage that is overwritten whole; its values do not matter
  uint32_t index;
} tt_param_t;

typedef struct tt_output_s {
  bool is_storage;  // rebinds storage `index`; else binds result `index`
  uint8_t dtype, rank;
  uint16_t padded;  // cell.h E10
  uint32_t index;
  int64_t dims[TT_MAX_RANK];
} tt_output_t;

typedef struct tt_eager_result_s {
  uint8_t kind;  // tt_result_kind_t
  uint8_t dtype, rank;
  int64_t integer;
  size_t bytes;
  int64_t sizes[TT_MAX_RANK], strides[TT_MAX_RANK];
} tt_eager_result_t;

typedef struct tt_eager_program_s {
  _Atomic int32_t references;
  const char* name;  // "aten::add.Tensor"; interned, lives as long as the process
  tt_rt_executable_t* executable;  // NULL: nothing to run
  uint32_t param_count, output_count, result_count;
  tt_param_t* params;
  tt_output_t* outputs;
  tt_eager_result_t* results;
  tt_pad_number_t* numbers;
  uint64_t random_words;
  bool is_rounded;  // at rounded sizes (padded.h)
  const char* warning;  // a constant; NULL: none
  tt_rt_note_t* note;  // foreign plugins: what errors of the results are about; NULL: nothing to say
} tt_eager_program_t;

void tt_eager_program_retain(void* program);
void tt_eager_program_release(void* program);
// Under the locks of the frame's storages. results: [result_count], filled whole or not at all.
tt_status_t tt_eager_program_run(tt_eager_program_t* program, tt_frame_t* frame,
                                 tt_result_t* results) TT_MUST_USE;
// Reserves words of a generator through the callback of tt_set_reserve_random.
void tt_random_reserve(void* generator, int device, uint64_t words, uint64_t* out_seed, uint64_t* out_offset);
int64_t tt_eager_executions(void);
// "aten::<name>" of an op's variant, formatted once.
const char* tt_eager_op_name(size_t op, tt_variant_t variant);

#endif  // TT_EAGER_EXECUTABLE_H_
