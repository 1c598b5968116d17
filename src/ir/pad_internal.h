// Shared by pad.c and pad_rules*.c only.
#ifndef TT_IR_PAD_INTERNAL_H_
#define TT_IR_PAD_INTERNAL_H_

#include "ir/builder_internal.h"
#include "ir/clone.h"
#include "ir/pad.h"

typedef struct tt_pad_s {
  tt_clone_t clone;  // values: of the new program, in their classes' forms (G2)
  const tt_pad_request_t* request;
  tt_arena_t* arena;
  uint32_t* first;  // [value ids]: the class node of dimension 0
  uint32_t* parent;  // [nodes]: union-find
  bool* grows;  // [nodes], of roots: the class is padded
  tt_value_t** extents;  // [nodes], of roots: its size as 0-d s32; NULL: not asked for yet
  bool* live;  // [value ids]: a result depends on it
  bool changed;  // a class became padded in this round
  uint32_t constants;  // splats met so far
  tt_pad_number_t* numbers;
  uint32_t number_count, number_capacity, own_params;
} tt_pad_t;

typedef struct tt_pad_rule_s {
  // Unites classes and spreads padding; called until nothing changes.
  void (*relate)(tt_pad_t* p, const tt_op_t* op);
  void (*emit)(tt_pad_t* p, const tt_op_t* op);
} tt_pad_rule_t;
const tt_pad_rule_t* tt_pad_rule(const tt_op_t* op);

// ---- classes -----------------------------------------------------------------------------------
static inline uint32_t tt_pad_root(tt_pad_t* p, const tt_value_t* v, uint32_t d) {
  uint32_t node = p->first[v->id] + d;
  while (p->parent[node] != node) node = p->parent[node] = p->parent[p->parent[node]];
  return node;
}
static inline bool tt_pad_grows(tt_pad_t* p, const tt_value_t* v, uint32_t d) {
  return p->grows[tt_pad_root(p, v, d)];
}
void tt_pad_grow(tt_pad_t* p, const tt_value_t* v, uint32_t d);
// Nothing unless the two dimensions have one size.
void tt_pad_unite(tt_pad_t* p, const tt_value_t* a, uint32_t da, const tt_value_t* b, uint32_t db);
void tt_pad_unite_all(tt_pad_t* p, const tt_value_t* a, const tt_value_t* b);  // of equal ranks, else nothing
static inline int64_t tt_pad_form_size(tt_pad_t* p, const tt_value_t* v, uint32_t d) {
  return tt_pad_grows(p, v, d) ? tt_pad_size(v->type->dims[d]) : v->type->dims[d];
}
uint32_t tt_pad_mask(tt_pad_t* p, const tt_value_t* v);  // bit d: dimension d grows

// ---- values of the new program -------------------------------------------------------------------
static inline tt_value_t* tt_pad_value(tt_pad_t* p, const tt_value_t* v) { return p->clone.values[v->id]; }
void tt_pad_form_dims(tt_pad_t* p, const tt_value_t* v, int64_t* out_dims);
const tt_type_t* tt_pad_form(tt_pad_t* p, const tt_value_t* v);
// A type of v's dtype with other dimensions (quantisation and encodings kept).
const tt_type_t* tt_pad_type(tt_pad_t* p, const tt_type_t* like, size_t rank, const int64_t* dims);
// v's new value is x, brought to v's form.
void tt_pad_define(tt_pad_t* p, const tt_value_t* v, tt_value_t* x);
// Cuts or pads (zeros) at the end of each dimension.
tt_value_t* tt_pad_resize(tt_pad_t* p, tt_value_t* x, const int64_t* dims);
tt_value_t* tt_pad_resize_dim(tt_pad_t* p, tt_value_t* x, uint32_t d, int64_t size);
// v's value with the dimensions of `mask` at their logical sizes.
tt_value_t* tt_pad_exact(tt_pad_t* p, const tt_value_t* v, uint32_t mask);
// A fresh run-time number, 0-d.
tt_value_t* tt_pad_number(tt_pad_t* p, tt_dtype_t dtype, int64_t value);
tt_value_t* tt_pad_number_bytes(tt_pad_t* p, tt_dtype_t dtype, const void* data);
// Logical size of dimension d of v, 0-d s32: a run-time number if it grows.
tt_value_t* tt_pad_extent(tt_pad_t* p, const tt_value_t* v, uint32_t d);
// x where the index along dimension d is below `limit` (0-d s32), else `fill` (0-d).
tt_value_t* tt_pad_keep(tt_pad_t* p, tt_value_t* x, uint32_t d, tt_value_t* limit, tt_value_t* fill);
// v's value, in v's form, with `fill` over the padding of the dimensions of `mask` that grow.
tt_value_t* tt_pad_filled(tt_pad_t* p, const tt_value_t* v, tt_value_t* x, uint32_t mask, tt_value_t* fill);
tt_value_t* tt_pad_zero(tt_pad_t* p, tt_dtype_t dtype);
// The op with these operands at these result forms.
void tt_pad_copy(tt_pad_t* p, const tt_op_t* op, tt_value_t* const* operands);
// Room for pointers in the arena; NULL: an error is set.
void* tt_pad_room(tt_pad_t* p, size_t count, size_t size);
bool tt_pad_is_splat(const tt_op_t* op);  // a constant of one value
const tt_func_t* tt_pad_callee(tt_pad_t* p, const tt_op_t* op);  // NULL: none
void tt_pad_relate_block(tt_pad_t* p, const tt_block_t* block);
void tt_pad_emit_block(tt_pad_t* p, const tt_block_t* block);  // without its terminator

// Rules of files of their own.
void tt_pad_relate_reshape(tt_pad_t* p, const tt_op_t* op);
void tt_pad_emit_reshape(tt_pad_t* p, const tt_op_t* op);
void tt_pad_relate_gather(tt_pad_t* p, const tt_op_t* op);
void tt_pad_emit_gather(tt_pad_t* p, const tt_op_t* op);
void tt_pad_relate_scatter(tt_pad_t* p, const tt_op_t* op);
void tt_pad_emit_scatter(tt_pad_t* p, const tt_op_t* op);
void tt_pad_relate_last(tt_pad_t* p, const tt_op_t* op);
void tt_pad_emit_last(tt_pad_t* p, const tt_op_t* op);
void tt_pad_relate_dynamic_slice(tt_pad_t* p, const tt_op_t* op);
void tt_pad_emit_dynamic_slice(tt_pad_t* p, const tt_op_t* op);
void tt_pad_relate_dynamic_update(tt_pad_t* p, const tt_op_t* op);
void tt_pad_emit_dynamic_update(tt_pad_t* p, const tt_op_t* op);
void tt_pad_relate_convolution(tt_pad_t* p, const tt_op_t* op);
void tt_pad_emit_convolution(tt_pad_t* p, const tt_op_t* op);
void tt_pad_relate_window(tt_pad_t* p, const tt_op_t* op);
void tt_pad_emit_window(tt_pad_t* p, const tt_op_t* op);
void tt_pad_emit_exact(tt_pad_t* p, const tt_op_t* op);

#endif  // TT_IR_PAD_INTERNAL_H_
