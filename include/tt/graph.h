// Whole graphs: building calls for torch.compile and torch.export, and the call path of the compiled program.
//
// A graph is built by one thread from static shapes (a symbolic FX graph is walked once a binding of its symbols);
// values are numbers. The executable may be called from any thread.
#ifndef TT_GRAPH_H_
#define TT_GRAPH_H_

#include "tt/op.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tt_graph_s tt_graph_t;
typedef struct tt_graph_executable_s tt_graph_executable_t;

TT_API_MUST_USE tt_status_t tt_graph_create(int device, const char* name, tt_graph_t** out_graph);
TT_API void tt_graph_release(tt_graph_t* graph);
// A tensor input (dense logical values; any strides at the call).
TT_API_MUST_USE tt_status_t tt_graph_input(tt_graph_t* graph, tt_dtype_t dtype, size_t rank, const int64_t* sizes,
                                           int32_t* out_value);
// A run-time number as a 0-d value: dtype S64 or F64 (learning rates, SymInts used as data). It may stand for a tensor
// (weak in promotion) and for a Scalar that tt_graph_value_args allows.
TT_API_MUST_USE tt_status_t tt_graph_scalar(tt_graph_t* graph, tt_dtype_t dtype, int32_t* out_value);
// One op; tensors in args carry graph_value. Results are TENSOR (integer = value id, dtype, rank, sizes), INT or NONE.
// Mutated arguments (WRITTEN) are not allowed: graphs are functional.
TT_API_MUST_USE tt_status_t tt_graph_call(tt_graph_t* graph, size_t op, uint32_t arg_count, const tt_arg_t* args,
                                          tt_result_t* results, uint32_t capacity, uint32_t* out_count);
// Bit i: Scalar argument i of the op may be a run-time number. The special numbers -2 -1 -0.5 0 0.5 1 2 3 should still
// be given as constants: some ops mean something else by them (beta 0 ignores a NaN).
TT_API uint32_t tt_graph_value_args(size_t op);
TT_API_MUST_USE tt_status_t tt_graph_output(tt_graph_t* graph, int32_t value);
// The value is written into the tensor passed as input `input_value` (its buffer is donated where allowed).
TT_API_MUST_USE tt_status_t tt_graph_output_into(tt_graph_t* graph, int32_t value, int32_t input_value);
// Source position for the following calls (messages, profiles); copied.
TT_API void tt_graph_location(tt_graph_t* graph, const char* file, int line, const char* name);
// StableHLO text; free with tt_text_free.
TT_API_MUST_USE tt_status_t tt_graph_text(tt_graph_t* graph, char** out_text);
// Compiles through the same program cache as eager (equal graphs share). The graph can be released after. A program is of
// one layout of the inputs: vtpu gets that of dense ones here, plugins with slow compiles the first run's, at that run.
TT_API_MUST_USE tt_status_t tt_graph_compile(tt_graph_t* graph, tt_graph_executable_t** out_executable);
TT_API void tt_graph_executable_release(tt_graph_executable_t* executable);
// Whether a run writes into input number `input` (tt_graph_output_into).
TT_API bool tt_graph_executable_writes(const tt_graph_executable_t* executable, uint32_t input);
// Outputs in order of tt_graph_output; those "into" an input are written there. `generator`: for random ops.
TT_API_MUST_USE tt_status_t tt_graph_run(tt_graph_executable_t* executable, uint32_t input_count, const tt_tensor_t* inputs,
                                         uint32_t scalar_count, const tt_scalar_t* scalars, void* generator,
                                         tt_result_t* results, uint32_t capacity, uint32_t* out_count);

#ifdef __cplusplus
}
#endif
#endif  // TT_GRAPH_H_
