// Running ATen ops.
//
// The table (lower/aten.def) has one entry an op: its functional schema name, and those of its out= and in-place
// forms, which share the arguments' order (out= adds outputs behind). Calls pass arguments in the functional
// schema's order.
#ifndef TT_OP_H_
#define TT_OP_H_

#include "tt/storage.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum tt_aten_flags_e {
  TT_ATEN_FAST = 1 << 0,         // register functional and in-place directly too (else only out=, where there is one)
  TT_ATEN_POINTWISE = 1 << 1,    // result strides by TensorIterator's rule
  TT_ATEN_GRAPH_ONLY = 1 << 2,   // views and prims that only whole graphs use: never registered
  TT_ATEN_SIZED = 1 << 3,        // result size depends on data: eager runs a size program first
  TT_ATEN_RANDOM = 1 << 4,       // draws random words
  TT_ATEN_VTPU_ONLY = 1 << 5,    // not portable
  TT_ATEN_MIXED_DEVICE = 1 << 6, // some tensor arguments may be on the CPU (indices): the shim copies them over
  TT_ATEN_COMPOSITE = 1 << 7,    // CompositeImplicitAutograd with an Autograd kernel of its own: safe to register
  TT_ATEN_ONE_VALUE = 1 << 8,    // writes one value everywhere: the target may overlap itself
  // Pointwise ops convert into the dtype of out=, others want their own there. Not so:
  TT_ATEN_OUT_EXACT = 1 << 9,    // pointwise, wants its own
  TT_ATEN_OUT_CASTS = 1 << 10,   // not pointwise, converts
  TT_ATEN_LINALG = 1 << 11,      // a check inside the program that fails (ABORTED) is a LinAlgError
  TT_ATEN_LIKE = 1 << 12,        // not pointwise, but results of the first argument's sizes have its strides
} tt_aten_flags_t;

typedef struct tt_aten_info_s {
  const char* functional;        // "add.Tensor"; "" if none
  const char* out;               // "add.out"; "" if none
  const char* inplace;           // "add_.Tensor"; "" if none
  uint32_t flags;
} tt_aten_info_t;
TT_API size_t tt_aten_count(void);
TT_API const tt_aten_info_t* tt_aten_info(size_t op);
// By any of its three names ("add_.Tensor"); SIZE_MAX if absent.
TT_API size_t tt_aten_find(const char* name);

typedef enum tt_arg_kind_e {
  TT_ARG_NONE, TT_ARG_TENSOR, TT_ARG_TENSORS, TT_ARG_BOOL, TT_ARG_INT, TT_ARG_FLOAT, TT_ARG_COMPLEX,
  TT_ARG_INTS, TT_ARG_FLOATS, TT_ARG_BOOLS,
  TT_ARG_SCALARS,                // list of Scalar: scalars
  TT_ARG_DTYPE,                  // integer = tt_dtype_t
  TT_ARG_STRING, TT_ARG_GENERATOR, TT_ARG_IGNORED   // layout, device, memory format, pin_memory
} tt_arg_kind_t;

typedef struct tt_scalar_s {
  tt_arg_kind_t kind;            // BOOL, INT, FLOAT, COMPLEX
  union { int64_t i; double c[2]; };  // BOOL, INT: i; FLOAT: c[0]; COMPLEX: c
} tt_scalar_t;

typedef struct tt_arg_s {
  tt_arg_kind_t kind;
  uint32_t count;                // of the lists
  union {
    tt_tensor_t tensor;
    const tt_tensor_t* tensors;  // undefined elements allowed where the schema has Tensor?[]
    const int64_t* ints;
    const double* floats;
    const bool* bools;
    const tt_scalar_t* scalars;
    tt_scalar_t scalar;          // BOOL, INT, FLOAT, COMPLEX
    int64_t integer;             // DTYPE
    const char* text;
    void* generator;             // passed to reserve_random; NULL: the device's default
  };
} tt_arg_t;

typedef enum tt_variant_e { TT_VARIANT_FUNCTIONAL, TT_VARIANT_OUT, TT_VARIANT_INPLACE } tt_variant_t;

// Reserves `words` 32-bit random words (a multiple of 4) of a generator: seed and offset to use (design D11).
typedef void (*tt_reserve_random_t)(void* generator, int device, uint64_t words, uint64_t* out_seed, uint64_t* out_offset);

typedef struct tt_call_s {
  size_t op;
  tt_variant_t variant;
  int device;
  uint32_t arg_count;
  const tt_arg_t* args;
  uint32_t out_count;            // OUT: the output tensors
  const tt_tensor_t* outs;
} tt_call_t;

typedef enum tt_result_kind_e { TT_RESULT_NONE, TT_RESULT_TENSOR, TT_RESULT_INT, TT_RESULT_WRITTEN } tt_result_kind_t;
typedef struct tt_result_s {
  tt_result_kind_t kind;         // WRITTEN: out= / in-place target was written, nothing to take
  tt_storage_t* storage;         // TENSOR: owned
  int64_t integer;               // INT
  uint8_t dtype;
  uint8_t rank;
  int64_t sizes[TT_TENSOR_MAX_RANK], strides[TT_TENSOR_MAX_RANK];
} tt_result_t;

// Runs one op. FUNCTIONAL: one result a schema result. OUT: results[k] is WRITTEN when outs[k] had the right
// sizes; else it is a TENSOR that the caller copies after resizing. INPLACE: results[0] is WRITTEN. Tensors
// that an op mutates besides (running statistics, _foreach_, _fused_) are written before it returns.
// Errors: INVALID_ARGUMENT (RuntimeError), OUT_OF_RANGE (IndexError), UNIMPLEMENTED (NotImplementedError names op
// and dtypes), RESOURCE_EXHAUSTED (OutOfMemoryError); nothing was written then (vtpu).
TT_API_MUST_USE tt_status_t tt_call_execute(const tt_call_t* call, tt_result_t* results, uint32_t capacity,
                                            uint32_t* out_count);
TT_API void tt_set_reserve_random(tt_reserve_random_t reserve);
// Called when an entry says UNIMPLEMENTED only for these arguments: whether any lowering exists (no plugin call).
TT_API_MUST_USE tt_status_t tt_call_explain(const tt_call_t* call);
// Source positions, in the messages of errors while locations are on. What a thread has set (copied; NULL: nothing)
// comes first, else the callback is asked: on the thread of the call, without locks, when there is something to say.
typedef bool (*tt_locate_t)(char* out_file, size_t capacity, int* out_line);   // false: not known
TT_API void tt_set_location(const char* file, int line);
TT_API void tt_set_locate(tt_locate_t locate);
// " (file:line)" of this thread; "" if locations are off or it is not known.
TT_API void tt_location_describe(char* out_text, size_t capacity);

// ---- streams and events ------------------------------------------------------------------------
typedef struct tt_event_s tt_event_t;
TT_API_MUST_USE tt_status_t tt_event_create(int device, bool timing, tt_event_t** out_event);
TT_API void tt_event_release(tt_event_t* event);
TT_API_MUST_USE tt_status_t tt_event_record(tt_event_t* event, int64_t stream);
TT_API_MUST_USE tt_status_t tt_event_query(tt_event_t* event, bool* out_done);
TT_API_MUST_USE tt_status_t tt_event_synchronize(tt_event_t* event);
TT_API_MUST_USE tt_status_t tt_event_elapsed_ms(tt_event_t* begin, tt_event_t* end, double* out_ms);
TT_API_MUST_USE tt_status_t tt_stream_create(int device, int priority, int64_t* out_stream);   // 0 is the default stream
TT_API_MUST_USE tt_status_t tt_stream_query(int device, int64_t stream, bool* out_done);
TT_API_MUST_USE tt_status_t tt_stream_synchronize(int device, int64_t stream);
TT_API_MUST_USE tt_status_t tt_stream_wait_event(int device, int64_t stream, tt_event_t* event);
TT_API void tt_stream_set_current(int device, int64_t stream);   // of this thread
TT_API int64_t tt_stream_current(int device);

#ifdef __cplusplus
}
#endif
#endif  // TT_OP_H_
