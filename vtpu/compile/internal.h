// The compiler's own structures; all in one arena that dies with the compilation.
//
//   graph.c  module -> nodes: calls, composites and maps inlined, constants folded, views as index weights
//   uses.c   what lives, what becomes a value in memory, what is recomputed inside its consumer
//   emit.c   nodes -> steps (loop.c builds the tile programs)
//   fuse.c   loops with several results, epilogues of products; then loops get their tiles and registers
//   place.c  removes copies, decides donation, lays the temporaries out
//   write.c  steps -> plan bytes
#ifndef TT_VTPU_COMPILE_INTERNAL_H_
#define TT_VTPU_COMPILE_INTERNAL_H_

#include "base/arena.h"
#include "compile/plan.h"
#include "compile/plan_data.h"
#include "kernels/elementwise.h"
#include "kernels/kernel.h"

typedef struct tc_node_s tc_node_t;
typedef struct tc_block_s tc_block_t;
typedef struct tc_value_s tc_value_t;
typedef struct tc_step_s tc_step_t;

struct tc_value_s {
  tt_dtype_t dtype;
  uint32_t rank;
  const int64_t* dims;
  int64_t elems;
  int64_t bytes;
  tc_node_t* def;                     // NULL: argument of a block or parameter
  tc_block_t* block;
  uint32_t buffer;                    // where it lies in memory, or PD_NONE
  bool ready;                         // buffer holds it at this point of the emission
  uint32_t uses;                      // live ones
  // uses.c: the one place that computes it inline
  bool dense;                         // needed in memory
  bool expanded;                      // read through a broadcast that repeats it
  bool conflict;
  tc_node_t* root;
  uint32_t path;
  // constants
  const void* data;                   // NULL: not a constant
  bool splat;
  tc_value_t** tuple;
};

typedef enum tc_class_e {
  TC_CONSTANT, TC_IOTA, TC_ELEMENTWISE, TC_VIEW, TC_RESHAPE, TC_STRIDED_READ, TC_STRIDED_WRITE, TC_CONCAT, TC_PAD,
  TC_REDUCE, TC_OP, TC_WHILE, TC_CASE, TC_CHECK, TC_COLLECTIVE, TC_DEVICE_ID,
} tc_class_t;

struct tc_node_s {
  tc_class_t cls;
  tt_op_kind_t kind;
  const tt_op_t* op;
  uint32_t in_count, out_count, block_count;
  tc_value_t** in;
  tc_value_t* out;
  tc_block_t* block;
  tc_block_t** blocks;                // WHILE: cond, body; CASE: branches
  tc_node_t *prev, *next;
  uint32_t id;
  bool live, effect;
  uint32_t group;                     // nodes computed inline in this one
  // VIEW, STRIDED_READ: element of in[0] at coordinate c of out is base + sum weights[d] * c[d]
  int64_t base;
  int64_t* weights;
  // ELEMENTWISE
  uint8_t instr;                      // pd_instr_op_t
  pd_lane_t lane;
  int64_t imm[2];
  bool cheap;
  int64_t dim;                        // IOTA, CONCAT
  const tt_k_op_t* kernel;
  // enclosing values that the regions of REDUCE, OP and COLLECTIVE read
  tc_value_t** captures;
  const tt_value_t** capture_from;
  uint32_t capture_count;
};

struct tc_block_s {
  tc_block_t* parent;
  tc_node_t* owner;
  tc_node_t *first, *last;
  tc_value_t** args;
  uint32_t arg_count;
  tc_value_t** results;
  uint32_t result_count;
  uint32_t depth;
  bool effect;
  // emission
  tc_step_t *first_step, *last_step;
  uint32_t step_count;
  uint32_t number;                    // in the plan
  tc_step_t* step;                    // the control step it belongs to; NULL: main
};

typedef struct tc_buffer_s {
  pd_buffer_kind_t kind;
  uint32_t index;
  int64_t bytes;
  const void* data;                   // CONST
  uint32_t merged;                    // is that buffer instead, or PD_NONE
  tc_block_t* block;                  // TEMP: where it is first written
  uint32_t begin, end;                // step numbers of its life
  int64_t offset;
  bool used, pinned;                  // pinned: carried by a loop
} tc_buffer_t;

typedef struct tc_access_s {
  uint32_t buffer;
  bool store;
  uint8_t esize;
  uint16_t reg;
  bool direct;
  int64_t offset;                     // bytes
  int64_t strides[TT_MAX_RANK];       // bytes, of the loop's dimensions
} tc_access_t;

typedef struct tc_instr_s {
  pd_instr_t data;
  int64_t strides[TT_MAX_RANK];       // IOTA
} tc_instr_t;

typedef struct tc_loop_s {
  uint32_t rank;
  int64_t dims[TT_MAX_RANK];
  bool reduced[TT_MAX_RANK];
  pd_mode_t mode;
  uint32_t row_dim, tile_rows, tile_cols;
  tc_access_t* accesses;
  uint32_t access_count, access_capacity;
  tc_instr_t* instrs;
  uint32_t instr_count, instr_capacity, hoist_count, row_count;
  uint8_t* reg_esize;
  uint16_t* slots;
  uint32_t reg_count, slot_count, slot_bytes, work;
  int64_t elems;
} tc_loop_t;

typedef struct tc_region_s {
  pd_region_t data;
  tc_instr_t* instrs;
  uint16_t* slots;
  uint16_t* results;
  pd_access_t* captures;
  uint8_t* types;
  struct tc_region_s* next;
  uint32_t number;
} tc_region_t;

typedef struct tc_tensor_s {
  uint32_t buffer;
  tt_dtype_t dtype;
  uint32_t rank;
  const int64_t* dims;
  const int64_t* strides;
  int64_t offset;                     // bytes
} tc_tensor_t;

struct tc_step_s {
  pd_step_kind_t kind;
  uint32_t number, last;              // last: of the steps nested in it
  tc_block_t* block;
  tc_step_t *prev, *next;
  tc_loop_t* loop;                    // LOOP, REDUCE; OP: run on the result's elements, or NULL
  tc_tensor_t* tensors;               // OP, COLLECTIVE, CHECK
  uint32_t operand_count, result_count;
  uint32_t inplace;                   // OP: operand whose buffer the first result may take, plus 1
  union {
    pd_copy_t copy;
    struct { pd_reduce_t data; pd_reduce_operand_t* operands; } reduce;
    struct { const tt_k_op_t* kernel; tt_k_blob_t blob; uint32_t scratch; int64_t scratch_bytes; tc_region_t** regions; uint32_t region_count; } op;
    struct { uint32_t pred; tc_block_t *cond, *body; } loop_while;
    struct { uint32_t index; bool is_if; tc_block_t** blocks; uint32_t block_count; } select;
    struct { uint32_t pred, code; const char* message; size_t message_bytes; } check;
    struct { pd_collective_step_t data; const int64_t* groups; } collective;
    pd_device_id_t device_id;
  };
};

typedef struct tc_s {
  tt_arena_t arena;
  const tt_module_t* module;
  tt_plan_options_t options;
  tt_status_t status;                 // sticky
  tc_value_t** values;                // by tt_value_t.id
  uint32_t depth;                     // of inlining
  uint32_t next_id, next_path, next_number, blocks, collectives;
  tc_block_t* main;
  const tt_func_t* func;
  const int64_t* lift_dims;           // inside stablehlo.map
  uint32_t lift_rank;
  bool lifting;
  tc_node_t* cse[64];
  tc_buffer_t* buffers;
  uint32_t buffer_count;
  size_t buffer_capacity;
  pd_lane_t* lanes;
  uint32_t lane_count;
  size_t lane_capacity;
  tc_region_t *first_region, *last_region;
  uint32_t region_count;
  tc_block_t** block_list;            // by number
  size_t block_capacity;
  pd_value_t *params, *results;
  int64_t temp_bytes;
  double flops, bytes_accessed;
  bool can_fail;
  struct tc_mark_s* marks;            // values made ready in the current block
  int threads;
} tc_t;

// Sticky error; returns NULL.
void* tc_fail(tc_t* c, tt_status_code_t code, const char* format, ...) TT_PRINTF(3, 4);
static inline bool tc_ok(const tc_t* c) { return c->status == TT_OK_STATUS; }
void* tc_alloc(tc_t* c, size_t count, size_t size);   // NULL after a sticky error
#define TC_NEW(c, type) ((type*)tc_alloc((c), 1, sizeof(type)))
#define TC_ARRAY(c, type, count) ((type*)tc_alloc((c), (count), sizeof(type)))
// Room for one more element of an arena array; false: out of memory.
bool tc_push(tc_t* c, void** array, size_t* capacity, size_t count, size_t size);

// graph.c
void tc_graph_build(tc_t* c);
// Result value of `kind` on 0-d types for regions: fills lane, instr, imm; false (no error) if not elementwise.
bool tc_elementwise_describe(tc_t* c, const tt_op_t* op, tc_node_t* node);
void tc_row_strides(const int64_t* dims, uint32_t rank, int64_t* out_strides);
// uses.c
void tc_uses_decide(tc_t* c);
// emit.c
void tc_emit(tc_t* c);
tc_step_t* tc_step_add(tc_t* c, tc_block_t* block, pd_step_kind_t kind);
uint32_t tc_buffer_add(tc_t* c, pd_buffer_kind_t kind, int64_t bytes, tc_block_t* block);
uint32_t tc_lane_add(tc_t* c, pd_lane_t lane);
// Buffer that holds `value` row-major, made now if it is not there yet.
uint32_t tc_dense(tc_t* c, tc_block_t* block, tc_value_t* value);
void tc_mark_ready(tc_t* c, tc_value_t* value);
bool tc_is_identity(tt_op_kind_t kind, const tc_value_t* value);
void tc_identity(tt_op_kind_t kind, tt_dtype_t dtype, void* out);

// loop.c. `load_base`, `load_weights`: where in `value` the loop's coordinates lie (NULL: row-major, same dims);
// `store`: likewise in `buffer`, in units of the value's dtype.
void tc_loop_store(tc_t* c, tc_block_t* block, uint32_t rank, const int64_t* dims, tc_value_t* value,
                   int64_t load_base, const int64_t* load_weights, uint32_t buffer, int64_t store_base,
                   const int64_t* store_weights, bool by_definition);
// A loop over the operands' space that leaves the values in registers (out_regs); `widen`: dtype to convert to.
tc_loop_t* tc_loop_reduce(tc_t* c, tc_block_t* block, uint32_t count, tc_value_t* const* values, const bool* reduced,
                          const tt_dtype_t* widen, pd_reduce_layout_t* out_layout, uint16_t* out_regs);
// Where `value` (a view of something in memory) lies; false: not expressible, materialise it.
bool tc_view_resolve(tc_t* c, tc_value_t* value, tc_value_t** out_source, int64_t* out_base, int64_t* out_strides);
// Loops of steps stay without tiles, register slots and hoisting until then.
void tc_loop_finish(tc_t* c, tc_loop_t* loop);
void tc_loop_collapse(tc_loop_t* loop);   // to the fewest dimensions
bool tc_loop_transposes(tc_loop_t* loop);
// compound.c. `keep`: registers that outlive the loop.
void tc_compound_join(tc_t* c, tc_loop_t* loop, const uint16_t* keep, uint32_t keep_count);
// fuse.c
void tc_fuse(tc_t* c);
// region.c
tc_region_t* tc_region_compile(tc_t* c, tc_block_t* block, const tc_node_t* node, const tt_region_t* region);
// place.c, write.c
// Each element is read before the same element is written and no other one is touched: reading `load` and
// writing `store` in one memory is safe in any order of the tiles.
bool tc_access_safe(const tc_loop_t* loop, const tc_access_t* load, const tc_access_t* store);
void tc_step_remove(tc_step_t* step);
// Every buffer that the step and the steps nested in it touch.
typedef void (*tc_visit_fn_t)(void* self, tc_t* c, tc_step_t* step, uint32_t buffer, bool write);
void tc_step_visit(tc_t* c, tc_step_t* step, tc_visit_fn_t fn, void* self);
bool tc_step_can_fail(tc_step_t* step);
void tc_place(tc_t* c);
uint32_t tc_buffer_find(const tc_t* c, uint32_t buffer);
void tc_write(tc_t* c, void** out_bytes, size_t* out_size);
// plan.c: takes the bytes over.
tt_status_t tt_plan_load(void* bytes, size_t size, bool trusted, tt_plan_t** out_plan) TT_MUST_USE;
uint32_t tt_plan_fingerprint(void);

#endif  // TT_VTPU_COMPILE_INTERNAL_H_
