// The bytes of a plan. Plain structs at 8-byte aligned offsets from the start of the block; a field named
// *_at is such an offset. The compiler writes them (write.c), load.c checks every one of them, exec/ runs them.
//
//   header | values | buffers | lanes | kernel names | blocks -> steps -> loops, regions, ... | constants
//
// A loop is a tile program over a small iteration space. Registers hold one tile each; a register is either a
// slot of the worker's stack or, for a `direct` access, the address in the buffer itself.
#ifndef TT_VTPU_COMPILE_PLAN_DATA_H_
#define TT_VTPU_COMPILE_PLAN_DATA_H_

#include "base/base.h"

#define PD_MAGIC 0x6e6c7074u          // "tpln"
#define PD_VERSION 4u
#define PD_NONE UINT32_MAX
#define PD_NO_REG 0xffffu
#define PD_MAX_REGS 192u              // of one loop or region
#define PD_MAX_ACCESSES 64u
#define PD_SLOT_BYTES 65536u          // slots of one worker, on its stack
#define PD_MAX_DEPTH 32u              // nesting of control flow
#define PD_REGION_LANES 512u
#define PD_MAX_OPERANDS 1024u

typedef enum pd_buffer_kind_e { PD_PARAM, PD_CONST, PD_TEMP, PD_RESULT, PD_BUFFER_KINDS } pd_buffer_kind_t;
typedef struct pd_buffer_s {
  uint32_t kind, index;               // index: parameter or result
  int64_t offset, bytes;              // offset: in the temporaries or the constants
} pd_buffer_t;

typedef struct pd_value_s {
  uint32_t dtype, rank, dims_at;
  int32_t alias;
  int64_t bytes;
  int32_t passthrough;                // result: the parameter whose block it is, or -1
  int32_t donor;                      // result: parameter whose block it takes over when donated, or -1
} pd_value_t;

typedef enum pd_lane_class_e {
  PD_LANE_UNARY, PD_LANE_BINARY, PD_LANE_COMPARE, PD_LANE_CONVERT, PD_LANE_SELECT, PD_LANE_CLAMP, PD_LANE_FOLD,
  PD_LANE_ARGMAX, PD_LANE_ARGMIN, PD_LANE_COMPOUND, PD_LANE_CLASSES,
} pd_lane_class_t;
typedef struct pd_lane_s {            // a lane kernel by name
  uint8_t cls, dtype, dtype2, extra;  // dtype2: of CONVERT; extra: total order, element bytes
  uint32_t kind;                      // op kind, direction of a comparison, or compound
} pd_lane_t;

typedef struct pd_access_s {
  uint32_t buffer;
  uint16_t reg;
  uint8_t store, esize;
  uint8_t direct, pad[3];
  uint32_t strides_at;                // int64[rank], bytes
  int64_t offset;                     // bytes
} pd_access_t;

typedef enum pd_instr_op_e {
  PD_I_LOAD, PD_I_STORE, PD_I_MOVE, PD_I_FILL, PD_I_IOTA, PD_I_UNARY, PD_I_BINARY, PD_I_TERNARY, PD_I_RPREC,
  PD_I_COMPOUND, PD_I_OPS,
} pd_instr_op_t;
typedef struct pd_instr_s {
  uint8_t op, esize, dtype, pad;
  uint16_t dst, src[3];
  uint32_t fn;                        // lane number; LOAD, STORE: access number
  uint32_t strides_at;                // IOTA: int64[rank] in values
  uint32_t pad2;
  int64_t imm[2];                     // FILL: the element; IOTA: first value; RPREC: exponent and mantissa bits; COMPOUND: float[4]
} pd_instr_t;

typedef enum pd_mode_e {
  PD_MODE_ROW,                        // a tile lies in one row of the innermost dimension
  PD_MODE_ROWS,                       // a tile is several whole rows
  PD_MODE_BLOCK,                      // a tile is tile_rows of dimension row_dim times tile_cols of the innermost one
} pd_mode_t;
typedef struct pd_loop_s {
  uint32_t rank, dims_at;             // innermost last; rank >= 1
  uint32_t mode, row_dim;
  uint32_t tile_rows, tile_cols;      // most of one tile
  uint32_t access_count, accesses_at;
  uint32_t instr_count, instrs_at;
  uint32_t hoist_count, row_count;    // the first hoist_count run once a worker, the next row_count once a row (mode ROW)
  uint32_t reg_count, slots_at;       // uint16[reg_count]: slot or PD_NO_REG
  uint32_t slot_count, slot_bytes;
  uint32_t work;                      // relative cost of one element, for the split
  int64_t elems;
  int64_t tiles, col_tiles;           // of the whole loop; of one row
} pd_loop_t;

typedef struct pd_region_s {          // scalar program over lanes; registers 0..arg_count-1 are the arguments
  uint32_t arg_count, result_count, instr_count, instrs_at, reg_count, slots_at, slot_count, slot_bytes;
  uint32_t results_at;                // uint16[result_count]
  uint32_t capture_count, captures_at;   // pd_access (register, buffer, offset): enclosing scalars
  uint32_t types_at;                  // uint8 element bytes [arg_count + result_count]
} pd_region_t;

typedef enum pd_step_kind_e {
  PD_S_NOP, PD_S_LOOP, PD_S_COPY, PD_S_REDUCE, PD_S_OP, PD_S_WHILE, PD_S_CASE, PD_S_CHECK, PD_S_COLLECTIVE, PD_S_DEVICE_ID,
  PD_S_KINDS,
} pd_step_kind_t;
typedef struct pd_step_s { uint32_t kind, data_at; } pd_step_t;
typedef struct pd_block_s { uint32_t step_count, steps_at; } pd_block_t;

typedef struct pd_copy_s { uint32_t from, to; int64_t bytes; } pd_copy_t;   // nothing if the addresses are equal

typedef enum pd_reduce_layout_e {
  PD_R_INNER,                         // dimensions: kept..., reduced...
  PD_R_OUTER,                         // dimensions: kept..., reduced..., kept (innermost)
} pd_reduce_layout_t;
typedef struct pd_reduce_s {
  uint32_t loop_at, layout;
  int64_t kept, reduced, inner;       // INNER: kept x reduced; OUTER: kept (outer) x reduced x inner
  uint32_t reduced_rows;              // INNER: reduced / extent of the innermost dimension
  int64_t chunk;                      // reduced elements (INNER) or rows (OUTER) of one partial result
  uint32_t chunks;
  uint32_t count, operands_at;        // pd_reduce_operand
  uint32_t region;                    // region number, or PD_NONE: fold / combine below
  uint32_t fold, combine;             // lane numbers on the accumulator's dtype
  uint32_t scratch;                   // buffer of partial results, or PD_NONE
} pd_reduce_t;
typedef struct pd_reduce_operand_s {
  uint32_t init;                      // buffer, or PD_NONE: the identity, already neutral
  uint32_t out;
  uint16_t reg;
  uint8_t acc_dtype, acc_esize, out_esize, pad[3];
  uint32_t narrow;                    // lane: accumulator to result dtype, or PD_NONE
  uint32_t widen;                     // lane: result dtype to accumulator (for init), or PD_NONE
  int64_t identity[2];                // of the accumulator's dtype; unused with a region
} pd_reduce_operand_t;

typedef struct pd_tensor_s {
  uint32_t buffer, dtype, rank, dims_at, strides_at, pad;   // strides in elements
  int64_t offset;                     // bytes
} pd_tensor_t;
typedef struct pd_op_s {
  uint32_t kernel;                    // kernel number
  uint32_t operand_count, result_count, tensors_at;          // pd_tensor: operands, results
  uint32_t blob_at, blob_bytes;
  uint32_t region_count, regions_at;                         // uint32 region numbers
  uint32_t scratch;                   // buffer or PD_NONE
  uint32_t epilogue_at;               // pd_loop over the elements of the one result, or 0
  int64_t scratch_bytes;
} pd_op_t;

typedef struct pd_while_s {           // body's last steps write the carried buffers
  uint32_t cond_block, body_block, pred;
} pd_while_t;
typedef struct pd_case_s {            // index buffer: i1 (is_if: true runs block 0) or s32
  uint32_t index, is_if, block_count, blocks_at;
} pd_case_t;
typedef struct pd_check_s {
  uint32_t pred, code, message_at, message_bytes, value_count, values_at;   // pd_tensor, 0-d or any (first element)
} pd_check_t;
typedef struct pd_device_id_s { uint32_t buffer, is_partition; } pd_device_id_t;

typedef enum pd_collective_e {
  PD_C_ALL_REDUCE, PD_C_ALL_GATHER, PD_C_REDUCE_SCATTER, PD_C_ALL_TO_ALL, PD_C_PERMUTE, PD_C_BROADCAST, PD_C_KINDS,
} pd_collective_t;
typedef struct pd_collective_step_s {
  uint32_t kind, number;              // number: of the collective in the plan
  uint32_t count, tensors_at;         // pd_tensor: operands, results
  uint32_t region, combine, dtype;    // region number or PD_NONE with lane `combine`
  uint32_t dim, split_dim, split_count;
  uint32_t group_count, group_size, groups_at;    // int64[group_count * group_size], -1: none; PERMUTE: pairs
  uint32_t by;                        // pd_by_t
} pd_collective_step_t;
typedef enum pd_by_e { PD_BY_REPLICA, PD_BY_PARTITION, PD_BY_BOTH, PD_BY_GLOBAL } pd_by_t;

typedef struct pd_header_s {
  uint32_t magic, version, fingerprint, isa;
  uint64_t size;                      // whole block
  uint64_t checksum;                  // of everything after the header, in a serialised plan
  uint32_t param_count, params_at, result_count, results_at;
  uint32_t buffer_count, buffers_at, lane_count, lanes_at;
  uint32_t kernel_count, kernels_at;              // uint32[] offsets of NUL-terminated names
  uint32_t block_count, blocks_at, region_count, regions_at;   // regions: uint32[] offsets
  uint32_t step_count, collective_count;
  uint32_t threads, flags;                        // threads: scratch of op steps was sized for
  int64_t temp_bytes, constants_at, constant_bytes;
  double flops, bytes_accessed;
} pd_header_t;
#define PD_FLAG_CAN_FAIL 1u
#define PD_FLAG_TINY 2u

#define PD_AT(base, at, type) ((const type*)((const char*)(base) + (at)))

#endif  // TT_VTPU_COMPILE_PLAN_DATA_H_
