// dot_general, dot, ragged_dot: operands are brought to [batch, m, k] and [batch, k, n] in the accumulator's dtype
// (f16, bf16, f8: f32; integers: exact modulo the result's width), multiplied, converted to the result's dtype.
#include <stdlib.h>

#include "kernels/dot_ref.h"

typedef struct side_s {        // dims of one operand in canonical order
  int64_t rank, order[TT_MAX_RANK];
} side_t;
typedef enum ragged_mode_e { NOT_RAGGED, RAGGED_ROWS, RAGGED_CONTRACTING, RAGGED_BATCH } ragged_mode_t;
typedef struct dot_blob_s {
  side_t lhs, rhs;             // lhs: batch, free, contracting; rhs: (group,) batch, contracting, free
  int64_t batch_count, contracting_count;
  int64_t ragged;              // ragged_mode_t
} dot_blob_t;

static bool contains(const int64_t* list, size_t count, int64_t value) {
  for (size_t i = 0; i < count; ++i) {
    if (list[i] == value) return true;
  }
  return false;
}
static void push(side_t* side, const int64_t* values, size_t count) {
  for (size_t i = 0; i < count; ++i) side->order[side->rank++] = values[i];
}
static void push_free(side_t* side, uint32_t rank, tt_i64s_t batch, tt_i64s_t contracting, int64_t also) {
  for (int64_t d = 0; d < rank; ++d) {
    if (d != also && !contains(batch.data, batch.size, d) && !contains(contracting.data, contracting.size, d)) {
      push(side, &d, 1);
    }
  }
}
static tt_status_t encode_dims(const tt_op_t* op, const tt_dot_dims_t* d, int64_t group, dot_blob_t* p) {
  p->batch_count = (int64_t)d->lhs_batch.size;
  p->contracting_count = (int64_t)d->lhs_contracting.size;
  push(&p->lhs, d->lhs_batch.data, d->lhs_batch.size);
  push_free(&p->lhs, op->operands[0]->type->rank, d->lhs_batch, d->lhs_contracting, -1);
  push(&p->lhs, d->lhs_contracting.data, d->lhs_contracting.size);
  if (group >= 0) push(&p->rhs, &group, 1);
  push(&p->rhs, d->rhs_batch.data, d->rhs_batch.size);
  push(&p->rhs, d->rhs_contracting.data, d->rhs_contracting.size);
  push_free(&p->rhs, op->operands[1]->type->rank, d->rhs_batch, d->rhs_contracting, group);
  return TT_OK_STATUS;
}
static tt_status_t dot_general_encode(const tt_op_t* op, tt_arena_t* arena, tt_k_blob_t* out) {
  dot_blob_t* p = tt_k_blob_new(arena, out, sizeof *p);
  if (!p) return tt_k_no_memory();
  const tt_attr_t* attr = tt_op_attr(op, TT_ATTR_DOT_DIMENSION_NUMBERS);
  if (!attr || attr->kind != TT_AK_DOT) return tt_status_create(TT_INVALID_ARGUMENT, "dot_general: no dimension numbers");
  return encode_dims(op, attr->dot, -1, p);
}
static tt_status_t dot_encode(const tt_op_t* op, tt_arena_t* arena, tt_k_blob_t* out) {
  dot_blob_t* p = tt_k_blob_new(arena, out, sizeof *p);
  if (!p) return tt_k_no_memory();
  int64_t last = (int64_t)op->operands[0]->type->rank - 1, first = 0;
  tt_dot_dims_t d = {.lhs_contracting = {&last, 1}, .rhs_contracting = {&first, 1}};
  return encode_dims(op, &d, -1, p);
}

// ---- ragged_dot's dimension numbers come as text: "name = [1, 2]" lists ---------------------------
static size_t text_list(const char* text, const char* name, int64_t* out) {
  size_t n = 0;
  const char* at = strstr(text, name);
  if (!at || !(at = strchr(at, '['))) return 0;
  for (++at; *at && *at != ']' && n < TT_MAX_RANK;) {
    char* end;
    long long value = strtoll(at, &end, 10);
    if (end == at) {
      ++at;
      continue;
    }
    out[n++] = value;
    at = end;
  }
  return n;
}
static const char* ragged_text(const tt_op_t* op) {
  for (int i = 0; i < op->attr_count; ++i) {
    const tt_attr_t* attr = &op->attrs[i];
    if (attr->name == TT_ATTR_OTHER && strcmp(attr->other_name, "ragged_dot_dimension_numbers") == 0 &&
        (attr->kind == TT_AK_OPAQUE || attr->kind == TT_AK_STRING)) {
      return attr->text.data;
    }
  }
  return NULL;
}
static tt_status_t ragged_parse(const tt_op_t* op, dot_blob_t* p) {
  const char* text = ragged_text(op);
  if (!text) return tt_status_create(TT_INVALID_ARGUMENT, "ragged_dot: no ragged_dot_dimension_numbers");
  int64_t lists[6][TT_MAX_RANK];
  size_t n[6];
  static const char* const names[] = {"lhs_batching_dim", "rhs_batching_dim", "lhs_contracting_dim",
                                      "rhs_contracting_dim", "lhs_ragged_dim", "rhs_group_dim"};
  for (int i = 0; i < 6; ++i) n[i] = text_list(text, names[i], lists[i]);
  tt_dot_dims_t d = {{lists[0], n[0]}, {lists[1], n[1]}, {lists[2], n[2]}, {lists[3], n[3]}};
  if (n[4] != 1 || n[5] > 1) return tt_status_create(TT_UNIMPLEMENTED, "ragged_dot: %zu ragged dimensions", n[4]);
  int64_t ragged = lists[4][0];
  TT_RETURN_IF_ERROR(encode_dims(op, &d, n[5] ? lists[5][0] : -1, p));
  if (contains(lists[0], n[0], ragged)) {
    p->ragged = RAGGED_BATCH;
  } else if (contains(lists[2], n[2], ragged)) {
    p->ragged = RAGGED_CONTRACTING;
    if (lists[2][0] != ragged) return tt_status_create(TT_UNIMPLEMENTED, "ragged_dot: the ragged contracting dimension is not the first");
  } else {
    p->ragged = RAGGED_ROWS;
    if (n[5] != 1 || p->lhs.order[n[0]] != ragged) {
      return tt_status_create(TT_UNIMPLEMENTED, "ragged_dot: the ragged dimension is not the first free one");
    }
  }
  const tt_type_t* sizes = op->operands[2]->type;
  if (p->ragged != RAGGED_BATCH && sizes->rank != 1 && (int64_t)sizes->rank != p->batch_count + 1) {
    return tt_status_create(TT_UNIMPLEMENTED, "ragged_dot: group sizes of rank %u", sizes->rank);
  }
  return TT_OK_STATUS;
}
static bool ragged_supports(const tt_op_t* op, const char** why) {
  dot_blob_t p = {0};
  tt_status_t status = ragged_parse(op, &p);
  *why = "dimension numbers outside the three modes";
  bool ok = tt_status_is_ok(status);
  tt_status_ignore(status);   // the reason stands in *why
  return ok;
}
static tt_status_t ragged_encode(const tt_op_t* op, tt_arena_t* arena, tt_k_blob_t* out) {
  dot_blob_t* p = tt_k_blob_new(arena, out, sizeof *p);
  if (!p) return tt_k_no_memory();
  return ragged_parse(op, p);
}

// ---- layout of the scratch ---------------------------------------------------------------------
typedef struct dot_layout_s {
  tt_dtype_t acc;
  int64_t batch, m, n, k, groups;
  bool order[2], convert[2];           // operand i needs reordering / conversion
  int64_t elems[2];
  size_t reordered[2], converted[2];   // offsets in the scratch
  bool convert_result;
  size_t product, total;
} dot_layout_t;
static bool in_order(const tt_k_tensor_t* t, const side_t* side) {
  int64_t before = -1;
  for (int64_t i = 0; i < side->rank; ++i) {
    if (t->dims[side->order[i]] == 1) continue;
    if (side->order[i] < before) return false;
    before = side->order[i];
  }
  return true;
}
static dot_layout_t dot_layout(const dot_blob_t* p, const tt_k_tensor_t* x, const tt_k_tensor_t* y) {
  dot_layout_t l = {.acc = tt_k_accumulator(x[0].dtype, x[1].dtype, y->dtype), .batch = 1, .m = 1, .n = 1, .k = 1, .groups = 1};
  const side_t* sides[2] = {&p->lhs, &p->rhs};
  for (int64_t i = 0; i < p->lhs.rank; ++i) {
    int64_t dim = x->dims[p->lhs.order[i]];
    if (i < p->batch_count) l.batch *= dim;
    else if (i < p->lhs.rank - p->contracting_count) l.m *= dim;
    else l.k *= dim;
  }
  int64_t skip = 0;
  if (p->ragged == RAGGED_ROWS) {
    l.groups = x[1].dims[p->rhs.order[0]];
    skip = 1;
  } else if (p->ragged == RAGGED_CONTRACTING) {
    l.groups = x[2].dims[x[2].rank - 1];
  }
  for (int64_t i = skip + p->batch_count + p->contracting_count; i < p->rhs.rank; ++i) {
    l.n *= x[1].dims[p->rhs.order[i]];
  }
  size_t offset = 0, ab = tt_dtype_bytes(l.acc);
  for (int i = 0; i < 2; ++i) {
    l.elems[i] = tt_k_elems(x + i);
    l.order[i] = !in_order(x + i, sides[i]);
    l.convert[i] = x[i].dtype != l.acc;
    if (l.order[i]) {
      l.reordered[i] = offset;
      offset += tt_align_up((size_t)l.elems[i] * tt_dtype_bytes(x[i].dtype), 64);
    }
    if (l.convert[i]) {
      l.converted[i] = offset;
      offset += tt_align_up((size_t)l.elems[i] * ab, 64);
    }
  }
  l.convert_result = y->dtype != l.acc;
  if (l.convert_result) {
    l.product = offset;
    offset += tt_align_up((size_t)tt_k_elems(y) * ab, 64);
  }
  l.total = offset;
  return l;
}
static size_t dot_scratch(const void* blob, int threads, const tt_k_tensor_t* x, size_t nx, const tt_k_tensor_t* y,
                          size_t ny) {
  (void)threads, (void)nx, (void)ny;
  return dot_layout(blob, x, y).total;
}
static const void* prepare(const tt_k_env_t* env, const dot_layout_t* l, int i, const tt_k_tensor_t* t, const side_t* side) {
  char* scratch = env->scratch;
  const void* data = t->data;
  if (l->order[i]) {
    tt_k_copy_t c = {.element_bytes = tt_dtype_bytes(t->dtype), .rank = (uint32_t)side->rank};
    int64_t strides[TT_MAX_RANK];
    tt_k_dense_strides(t->dims, t->rank, strides);
    for (int64_t k = 0; k < side->rank; ++k) {
      c.dims[k] = t->dims[side->order[k]];
      c.src[k] = strides[side->order[k]];
    }
    tt_k_dense_strides(c.dims, c.rank, c.dst);
    tt_k_copy(env->pool, c, scratch + l->reordered[i], data);
    data = scratch + l->reordered[i];
  }
  if (l->convert[i]) {
    tt_k_convert_parallel(env->pool, t->dtype, l->acc, scratch + l->converted[i], data, l->elems[i]);
    data = scratch + l->converted[i];
  }
  return data;
}

static tt_status_t dot_run(const tt_k_env_t* env, const void* blob, const tt_k_tensor_t* x, size_t nx,
                           const tt_k_tensor_t* y, size_t ny) {
  (void)nx, (void)ny;
  const dot_blob_t* p = blob;
  dot_layout_t l = dot_layout(p, x, y);
  int64_t total = tt_k_elems(y), ab = (int64_t)tt_dtype_bytes(l.acc);
  if (total == 0) return TT_OK_STATUS;
  const char* a = prepare(env, &l, 0, x, &p->lhs);
  const char* b = prepare(env, &l, 1, x + 1, &p->rhs);
  char* c = l.convert_result ? (char*)env->scratch + l.product : y->data;
  tt_k_gemm_t g = {.dtype = l.acc, .batch = l.batch, .m = l.m, .n = l.n, .k = l.k, .a = a, .b = b, .c = c,
                   .lda = l.k, .ldb = l.n, .ldc = l.n, .a_batch = l.m * l.k, .b_batch = l.k * l.n, .c_batch = l.m * l.n};
  if (p->ragged == RAGGED_ROWS || p->ragged == RAGGED_CONTRACTING) {
    bool rows = p->ragged == RAGGED_ROWS;
    // elements of the ragged dimension and of what it strides over
    int64_t first = rows ? p->lhs.order[p->batch_count] : p->lhs.order[p->lhs.rank - p->contracting_count];
    int64_t extent = x->dims[first], rest = (rows ? l.m : l.k) / TT_MAX(1, extent);
    bool shared = x[2].rank == 1;
    size_t sb = tt_dtype_bytes(x[2].dtype);
    memset(c, 0, (size_t)(total * ab));   // rows past the last group are 0
    g.batch = 1;
    for (int64_t batch = 0; batch < l.batch; ++batch) {
      int64_t start = 0;
      for (int64_t group = 0; group < l.groups; ++group) {
        int64_t at = (shared ? 0 : batch * l.groups) + group;
        int64_t size = tt_k_load_index(x[2].dtype, (const char*)x[2].data + (size_t)at * sb);
        size = tt_k_clamp_i64(size, 0, extent - start);
        if (rows) {
          g.m = size * rest;
          g.a = a + (batch * l.m * l.k + start * rest * l.k) * ab;
          g.b = b + (group * l.batch + batch) * l.k * l.n * ab;
          g.c = c + (batch * l.m * l.n + start * rest * l.n) * ab;
        } else {
          g.k = size * rest;
          g.a = a + (batch * l.m * l.k + start * rest) * ab;
          g.b = b + (batch * l.k * l.n + start * rest * l.n) * ab;
          g.c = c + (group * l.batch + batch) * l.m * l.n * ab;
        }
        tt_k_gemm(env->pool, &g);
        start += size;
      }
    }
  } else {
    tt_k_gemm(env->pool, &g);
  }
  if (l.convert_result) tt_k_convert_parallel(env->pool, l.acc, y->dtype, y->data, c, total);
  return TT_OK_STATUS;
}

static bool dot_supports(const tt_op_t* op, const char** why) {
  *why = "quantised types";
  return !op->operands[0]->type->quant && !op->operands[1]->type->quant;
}

const tt_k_op_t tt_k_dot_ref_table[] = {
    {.name = "tt_k_any_dot_general__generic", .kind = TT_OP_DOT_GENERAL, .supports = dot_supports,
     .encode = dot_general_encode, .scratch_bytes = dot_scratch, .run = dot_run},
    {.name = "tt_k_any_dot__generic", .kind = TT_OP_DOT, .supports = dot_supports, .encode = dot_encode,
     .scratch_bytes = dot_scratch, .run = dot_run},
    {.name = "tt_k_any_ragged_dot__generic", .kind = TT_OP_CHLO_RAGGED_DOT, .supports = ragged_supports,
     .encode = ragged_encode, .scratch_bytes = dot_scratch, .run = dot_run},
    {0},
};
