// Padded dimensions through a reshape: groups of dimensions with equal products.
//
//   one to one                    the class goes along
//   outermost on both sides       elements lie first in memory before and after: the flat group is cut or padded
//   any other                     a gather along the flat group, its places computed from run-time sizes
#include "ir/pad_internal.h"

typedef struct group_s {
  uint32_t a0, a1, b0, b1;
} group_t;  // dimensions [a0, a1) become [b0, b1)

// The next group behind *at; false at the end. Dimensions of size 1 without a partner are groups of their own.
static bool next_group(const tt_type_t* a, const tt_type_t* b, group_t* at) {
  group_t g = {at->a1, at->a1, at->b1, at->b1};
  bool has_a = g.a0 < a->rank, has_b = g.b0 < b->rank;
  if (!has_a && !has_b) return false;
  int64_t x = has_a ? a->dims[g.a1] : 1, y = has_b ? b->dims[g.b1] : 1;
  if (x == y) {
    g.a1 += has_a;
    g.b1 += has_b;
  } else if (x == 1) {
    g.a1 += has_a;
    g.b1 += !has_a;
  } else if (y == 1) {
    g.b1 += has_b;
    g.a1 += !has_b;
  } else {
    ++g.a1;
    ++g.b1;
    while (x != y && (g.a1 < a->rank || g.b1 < b->rank)) {
      if (x < y && g.a1 < a->rank) x *= a->dims[g.a1++];
      else if (g.b1 < b->rank) y *= b->dims[g.b1++];
      else break;
    }
  }
  *at = g;
  return true;
}

static bool is_one_to_one(const group_t* g) { return g->a1 == g->a0 + 1 && g->b1 == g->b0 + 1; }

// The dimension of [from, to) that grows if one does: the one whose size is known to, the only one that is not 1,
// the one of that size, else the outermost.
static uint32_t partner(tt_pad_t* p, const tt_type_t* type, uint32_t from, uint32_t to, int64_t size) {
  uint32_t first = to, same = to, known = to, count = 0;
  for (uint32_t d = from; d < to; ++d) {
    if (type->dims[d] == 1) continue;
    if (first == to) first = d;
    if (type->dims[d] == size && same == to) same = d;
    for (uint32_t i = 0; i < p->request->growing_count && known == to; ++i)
      if (p->request->growing[i] == type->dims[d]) known = d;
    ++count;
  }
  if (known != to) return known;
  return count > 1 && same != to ? same : first;
}

static uint32_t growing_count(tt_pad_t* p, const tt_value_t* v, uint32_t from, uint32_t to) {
  uint32_t count = 0;
  for (uint32_t d = from; d < to; ++d) count += tt_pad_grows(p, v, d);
  return count;
}

// Where dimensions [from, to) of v hold the elements of a growing dimension of `size`, one of them grows.
static void spread(tt_pad_t* p, const tt_value_t* v, uint32_t from, uint32_t to, int64_t size) {
  if (size == 1 || growing_count(p, v, from, to)) return;
  uint32_t d = partner(p, v->type, from, to, size);
  if (d < to) tt_pad_grow(p, v, d);
}

// Both ways: what grows may be known by an operand or by a result (a constant that becomes an image).
void tt_pad_relate_reshape(tt_pad_t* p, const tt_op_t* op) {
  const tt_value_t *x = op->operands[0], *y = &op->results[0];
  if (tt_type_elems(x->type) == 0) return;
  for (group_t g = {0}; next_group(x->type, y->type, &g);) {
    if (is_one_to_one(&g)) {
      tt_pad_unite(p, x, g.a0, y, g.b0);
      continue;
    }
    for (uint32_t d = g.a0; d < g.a1; ++d)
      if (tt_pad_grows(p, x, d)) spread(p, y, g.b0, g.b1, x->type->dims[d]);
    for (uint32_t d = g.b0; d < g.b1; ++d)
      if (tt_pad_grows(p, y, d)) spread(p, x, g.a0, g.a1, y->type->dims[d]);
  }
}

// Only the first dimension of [from, to) grows, or none.
static bool grows_outside(tt_pad_t* p, const tt_value_t* v, uint32_t from, uint32_t to) {
  bool seen = false;
  for (uint32_t d = from; d < to; ++d) {
    if (tt_pad_grows(p, v, d) && seen) return false;
    seen |= v->type->dims[d] != 1 || tt_pad_grows(p, v, d);
  }
  return true;
}

static int64_t form_product(tt_pad_t* p, const tt_value_t* v, uint32_t from, uint32_t to) {
  int64_t product = 1;
  for (uint32_t d = from; d < to; ++d) product *= tt_pad_form_size(p, v, d);
  return product;
}

// Logical elements that a step of dimension d of v jumps over inside its group, as s32 of x's shape.
static tt_value_t* logical_step(tt_pad_t* p, const tt_value_t* v, uint32_t d, uint32_t to, int64_t length) {
  tt_builder_t* b = &p->clone.builder;
  int64_t step = 1;
  bool grows = false;
  for (uint32_t k = d + 1; k < to; ++k) {
    step *= v->type->dims[k];
    grows |= tt_pad_grows(p, v, k);
  }
  tt_value_t* value = grows ? tt_pad_number(p, TT_DTYPE_S32, step) : tt_b_scalar_i64(b, TT_DTYPE_S32, step);
  return tt_b_broadcast_to(b, value, 1, &length);
}

static tt_value_t* splat(tt_pad_t* p, int64_t length, int64_t value) {
  tt_builder_t* b = &p->clone.builder;
  return tt_b_splat_i64(b, tt_b_type(b, TT_DTYPE_S32, 1, &length), value);
}

// For each place of the new flat group the place in the old one.
static tt_value_t* places(tt_pad_t* p, const tt_value_t* x, const tt_value_t* y, const group_t* g) {
  tt_builder_t* b = &p->clone.builder;
  int64_t length = form_product(p, y, g->b0, g->b1);
  tt_value_t* at = tt_b_iota(b, tt_b_type(b, TT_DTYPE_S32, 1, &length), 0);
  tt_value_t* element = splat(p, length, 0);
  for (uint32_t d = g->b0; d < g->b1; ++d) {  // logical number of the element
    tt_value_t* inner = splat(p, length, form_product(p, y, d + 1, g->b1));
    tt_value_t* index = tt_b_binary(b, TT_OP_DIVIDE, at, inner);
    at = tt_b_binary(b, TT_OP_SUBTRACT, at, tt_b_binary(b, TT_OP_MULTIPLY, index, inner));
    element = tt_b_binary(b, TT_OP_ADD, element,
                          tt_b_binary(b, TT_OP_MULTIPLY, index, logical_step(p, y, d, g->b1, length)));
  }
  tt_value_t* place = splat(p, length, 0);
  for (uint32_t d = g->a0; d < g->a1; ++d) {
    tt_value_t* step = logical_step(p, x, d, g->a1, length);
    tt_value_t* index = tt_b_binary(b, TT_OP_DIVIDE, element, step);
    element = tt_b_binary(b, TT_OP_SUBTRACT, element, tt_b_binary(b, TT_OP_MULTIPLY, index, step));
    tt_value_t* inner = splat(p, length, form_product(p, x, d + 1, g->a1));
    place = tt_b_binary(b, TT_OP_ADD, place, tt_b_binary(b, TT_OP_MULTIPLY, index, inner));
  }
  int64_t column[2] = {length, 1};
  return tt_b_reshape(b, place, 2, column);
}

// value [outer, old group, inner] -> [outer, new group, inner]
static tt_value_t* move_group(tt_pad_t* p, const tt_value_t* x, const tt_value_t* y, const group_t* g,
                              tt_value_t* value) {
  tt_builder_t* b = &p->clone.builder;
  bool fast = grows_outside(p, x, g->a0, g->a1) && grows_outside(p, y, g->b0, g->b1);
  if (fast) return tt_pad_resize_dim(p, value, 1, form_product(p, y, g->b0, g->b1));
  if (!value) return NULL;
  int64_t offsets[2] = {0, 2}, one = 1, sizes[3] = {value->type->dims[0], 1, value->type->dims[2]};
  tt_gather_dims_t dims = {.offset_dims = {offsets, 2},
                           .collapsed_slice_dims = {&one, 1},
                           .start_index_map = {&one, 1},
                           .index_vector_dim = 1};
  return tt_b_gather(b, value, places(p, x, y, g), &dims, sizes, false);
}

void tt_pad_emit_reshape(tt_pad_t* p, const tt_op_t* op) {
  tt_builder_t* b = &p->clone.builder;
  const tt_value_t *x = op->operands[0], *y = &op->results[0];
  int64_t dims[TT_MAX_RANK];
  if (tt_type_elems(x->type) == 0) {
    tt_pad_emit_exact(p, op);
    return;
  }
  tt_value_t* value = tt_pad_value(p, x);
  for (group_t g = {0}; tt_builder_ok(b) && next_group(x->type, y->type, &g);) {
    if (is_one_to_one(&g)) continue;
    if (!growing_count(p, x, g.a0, g.a1) && !growing_count(p, y, g.b0, g.b1)) continue;
    dims[0] = form_product(p, y, 0, g.b0);
    dims[1] = form_product(p, x, g.a0, g.a1);
    dims[2] = form_product(p, x, g.a1, x->type->rank);
    value = move_group(p, x, y, &g, tt_b_reshape(b, value, 3, dims));
  }
  tt_pad_form_dims(p, y, dims);
  p->clone.values[y->id] = tt_b_reshape(b, value, y->type->rank, dims);
}
