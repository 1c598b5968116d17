// ATen -> StableHLO: the context that a lowering sees, and the table.
//
// One entry an op in aten.def, one builder function, used by eager and by whole graphs. A lowering is
// straight-line code over builder.h: errors are sticky, checked once by the caller. It sees only values with
// logical shapes (views, strides, out= and in-place are the engine's business) and never the runtime; what a
// device can do stands in L->target.
//
// Rules:
//  - arguments are numbered as the functional schema numbers them;
//  - results in schema order by tt_l_return*; the engine converts to the dtype of an out= / in-place target and
//    broadcasts nothing: a result has the op's result shape;
//  - do the type promotion yourself (tt_l_result_type) unless the op has none;
//  - error texts are PyTorch's where a user may match them ("The size of tensor a (3) must match ...");
//  - a case that is not written says tt_builder_fail(b, TT_UNIMPLEMENTED, "<op>: <what>").
#ifndef TT_LOWER_LOWER_H_
#define TT_LOWER_LOWER_H_

#include "ir/builder.h"
#include "ir/target.h"
#include "tt/op.h"

typedef struct tt_lower_s tt_lower_t;
typedef void (*tt_lower_fn_t)(tt_lower_t* L);

typedef struct tt_aten_entry_s {
  tt_aten_info_t info;
  // Bit i: Scalar/float argument i is a *value* (run-time input, not in the key) unless it equals one of the
  // special values -2 -1 -0.5 0 0.5 1 2 3, which fold. All other scalars are structural (design D10).
  uint32_t value_args;
  tt_lower_fn_t lower;
} tt_aten_entry_t;
const tt_aten_entry_t* tt_aten_entry(size_t op);

typedef struct tt_ltensor_s {
  tt_value_t* value;           // NULL: None / undefined
  bool is_wrapped_number;      // 0-d from a Python number: weakest in promotion
  bool is_strided;             // eager: the tensor is not contiguous (a few formulas of PyTorch depend on it)
} tt_ltensor_t;

typedef struct tt_larg_s {
  tt_arg_kind_t kind;
  uint32_t count;
  union {
    tt_ltensor_t tensor;
    const tt_ltensor_t* tensors;
    const int64_t* ints;
    const double* floats;
    const bool* bools;
    const tt_scalar_t* scalars;
    tt_scalar_t scalar;        // value scalars: kind is right, the number is right only if `is_special`
    int64_t integer;
    const char* text;
  };
  bool is_value;               // scalar known only at run time
} tt_larg_t;

typedef struct tt_lresult_s {
  tt_result_kind_t kind;       // TENSOR, INT, NONE
  tt_value_t* value;
  int64_t integer;
} tt_lresult_t;
typedef struct tt_lwrite_s { uint32_t arg, element; tt_value_t* value; } tt_lwrite_t;

#define TT_LOWER_MAX_RESULTS 16

struct tt_lower_s {
  tt_builder_t* b;
  const tt_target_t* target;
  const char* op;              // "add.Tensor", for messages
  const tt_larg_t* args;
  uint32_t arg_count;
  tt_variant_t variant;
  uint32_t out_count;          // OUT, INPLACE: dtypes of the targets
  tt_dtype_t out_dtypes[8];
  bool out_casts;              // set by a lowering whose out= converts here in spite of its flags
  tt_lresult_t results[TT_LOWER_MAX_RESULTS];
  uint32_t result_count;
  tt_arena_t* scratch;
  const char* warning;  // set by a lowering whose call warns: a constant; the last wins
  // Mutated arguments, in any order (tt_l_write).
  tt_lwrite_t* writes;
  uint32_t write_count, write_capacity;
  // Run-time scalar `arg` as a 0-d value of `dtype` (the engine adds a parameter; a graph gives its value).
  tt_value_t* (*scalar_parameter)(tt_lower_t* L, uint32_t arg, tt_dtype_t dtype);
  // 0-d u64 seed and offset for `words` words (rounded up to 4 by the callee); successive calls get successive offsets.
  void (*random)(tt_lower_t* L, uint64_t words, tt_value_t** out_seed, tt_value_t** out_offset);
  // TT_ATEN_SIZED: phase 0 returns one 1-d i64 tensor of the sizes it needs; phase 1 finds them here.
  int sized_phase;
  const int64_t* sized;        // phase 1
  uint32_t sized_count;
  void* self;                  // of the callbacks
};

// ---- arguments ---------------------------------------------------------------------------------
bool tt_l_is_none(const tt_lower_t* L, uint32_t arg);             // absent, None or undefined tensor
tt_value_t* tt_l_tensor(tt_lower_t* L, uint32_t arg);             // INVALID_ARGUMENT if none
tt_value_t* tt_l_tensor_or_null(tt_lower_t* L, uint32_t arg);
tt_value_t** tt_l_tensors(tt_lower_t* L, uint32_t arg, size_t* out_count);   // scratch array; NULLs for undefined
int64_t tt_l_int(tt_lower_t* L, uint32_t arg, int64_t if_none);
double tt_l_float(tt_lower_t* L, uint32_t arg, double if_none);   // structural
bool tt_l_bool(tt_lower_t* L, uint32_t arg, bool if_none);
tt_i64s_t tt_l_ints(tt_lower_t* L, uint32_t arg);                 // a single INT gives one element; none: empty
const char* tt_l_text(tt_lower_t* L, uint32_t arg, const char* if_none);
tt_dtype_t tt_l_dtype(tt_lower_t* L, uint32_t arg, tt_dtype_t if_none);
tt_dtype_t tt_l_out_dtype(const tt_lower_t* L, uint32_t k);       // INVALID for functional calls
// A Scalar as a 0-d value of dtype: constant if special or structural, else a run-time parameter.
tt_value_t* tt_l_scalar(tt_lower_t* L, uint32_t arg, tt_dtype_t dtype);
// INVALID_ARGUMENT where torch refuses the number for that dtype ("value cannot be converted to type ..."). `op`:
// the functional name; ops that take their number as a 0-d tensor wrap it instead.
tt_status_t tt_l_scalar_check(const char* op, const tt_scalar_t* scalar, tt_dtype_t dtype) TT_MUST_USE;
// INVALID_ARGUMENT where torch refuses a random op's numbers (random_numbers.c): of a call, and those that the
// lowering of a graph knows (false: failed).
tt_status_t tt_l_random_check_call(const tt_aten_entry_t* entry, const tt_arg_t* args,
                                   uint32_t count) TT_MUST_USE;
bool tt_l_random_check(tt_lower_t* L, tt_lower_fn_t lower);
tt_value_t* tt_l_scalar_splat(tt_lower_t* L, uint32_t arg, tt_value_t* like);   // broadcast to like's type
bool tt_l_scalar_is(const tt_lower_t* L, uint32_t arg, double value);           // known and equal
int64_t tt_l_dim(tt_lower_t* L, int64_t dim, int64_t rank);       // wraps; OUT_OF_RANGE with PyTorch's text

// ---- types -------------------------------------------------------------------------------------
// torch.result_type over tensor and scalar arguments (categories: dimensioned, 0-d, wrapped / Scalar).
tt_dtype_t tt_l_result_type(tt_lower_t* L, size_t count, const uint32_t* args);
tt_dtype_t tt_l_promote(tt_dtype_t a, tt_dtype_t b);              // torch.promote_types
tt_dtype_t tt_l_default_float(const tt_lower_t* L, tt_dtype_t dtype);   // ints and bool -> the default dtype, else itself
tt_dtype_t tt_l_accumulate(tt_dtype_t dtype);                     // F16, BF16 -> F32, else itself
void tt_l_broadcast_shape(tt_lower_t* L, size_t count, tt_value_t* const* values, size_t* out_rank, int64_t* out_dims);

// Conversion as PyTorch does it on x86: to bool by `!= 0`; a float goes to a narrow integer through int32 and its low
// bits, and what int32 or int64 cannot hold becomes their lowest value (StableHLO leaves both open).
tt_value_t* tt_l_cast(tt_builder_t* b, tt_value_t* v, tt_dtype_t dtype);

// ---- results -----------------------------------------------------------------------------------
void tt_l_return(tt_lower_t* L, tt_value_t* value);
void tt_l_return_none(tt_lower_t* L);
void tt_l_return_int(tt_lower_t* L, int64_t value);
void tt_l_write(tt_lower_t* L, uint32_t arg, uint32_t element, tt_value_t* value);   // element 0 for a plain tensor

// Runs the entry's builder; the builder's sticky status says what went wrong (with the op's name in front).
tt_status_t tt_lower_run(size_t op, tt_lower_t* L) TT_MUST_USE;

// Replaces composites of ir/composites.def in `module` by StableHLO bodies, for plugins other than vtpu
// (expand.c); UNIMPLEMENTED names what has none. kept: names that stay, NULL-terminated; NULL: none stays.
tt_status_t tt_lower_expand(const tt_module_t* module, const char* const* kept,
                            tt_module_t** out_module) TT_MUST_USE;

#endif  // TT_LOWER_LOWER_H_
