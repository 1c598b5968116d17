// Inside of a graph: the recorded calls, and the module that they make when every input is a plain parameter.
//
// Invariants:
//  G1 a call is lowered when it is recorded, so errors and shapes come at once; replaying the records
//    gives the
//     same values in the same order whatever the inputs' layout;
//  G2 value ids are dense: inputs, scalars and results in order of creation;
//  G3 after tt_graph_compile or tt_graph_text the graph is closed: it is read-only and may be shared;
//  G4 records are copies; nothing points to the caller's memory.
#ifndef TT_GRAPH_GRAPH_H_
#define TT_GRAPH_GRAPH_H_

#include "eager/build.h"
#include "tt/graph.h"

typedef enum tt_graph_value_kind_e { TT_GRAPH_INPUT, TT_GRAPH_SCALAR, TT_GRAPH_RESULT } tt_graph_value_kind_t;
typedef struct tt_graph_value_s {
  tt_graph_value_kind_t kind;
  uint32_t index;  // input or scalar number
  tt_value_t* value;  // in the graph's own module
  bool is_named;  // by a call or an output, be it only for its shape: replays need it
} tt_graph_value_t;

typedef struct tt_graph_record_s {
  size_t op;
  uint32_t arg_count;
  tt_arg_t* args;
  const tt_loc_t* loc;
} tt_graph_record_t;

typedef struct tt_graph_output_s {
  int32_t value, into;
} tt_graph_output_t;  // into: input number or -1

struct tt_graph_s {
  _Atomic int32_t references;
  int device;
  char name[64];
  tt_arena_t arena;  // records, locations
  tt_frame_t* frame;  // of `build`
  tt_build_t build;  // the graph's own module
  const tt_loc_t* loc;
  tt_graph_value_t* values;
  tt_value_t** flat;  // values[i].value, as tt_graph_lower wants them
  tt_graph_record_t* records;
  tt_graph_output_t* outputs;
  int32_t* inputs;  // value ids
  tt_dtype_t* scalar_dtypes;
  size_t value_count, record_count, output_count, input_count, scalar_count;
  size_t value_capacity, flat_capacity, record_capacity, output_capacity, input_capacity, scalar_capacity;
  bool is_closed, has_failed;
};

// Lowers one record into `build`; `values` (by id) is read for arguments, *out_results receives the results.
tt_status_t tt_graph_lower(const tt_graph_t* graph, const tt_graph_record_t* record, tt_build_t* build,
                           tt_value_t* const* values, tt_lower_t* L) TT_MUST_USE;
tt_status_t tt_graph_close(tt_graph_t* graph) TT_MUST_USE;
void tt_graph_retain(tt_graph_t* graph);

#endif  // TT_GRAPH_GRAPH_H_
