// Static data movement: transpose, broadcast, slice, reverse, reshape, pad, concatenate, iota, bitcast, and the
// strided views. Every op becomes one strided copy. Operand 0 may have any strides.
#include "kernels/loops.h"

static tt_k_copy_t copy_of(const tt_k_tensor_t* shape) {   // dims and dense dst strides of `shape`
  tt_k_copy_t c = {.element_bytes = tt_dtype_bytes(shape->dtype), .rank = shape->rank};
  memcpy(c.dims, shape->dims, shape->rank * sizeof c.dims[0]);
  tt_k_dense_strides(shape->dims, shape->rank, c.dst);
  return c;
}
static void* at(const tt_k_tensor_t* t, int64_t offset) {
  return (char*)t->data + offset * (int64_t)tt_dtype_bytes(t->dtype);
}

typedef struct dims_blob_s {
  int64_t count;
  int64_t v[TT_MAX_RANK];
} dims_blob_t;
static tt_status_t dims_encode(const tt_op_t* op, tt_attr_name_t name, tt_arena_t* arena, tt_k_blob_t* out) {
  dims_blob_t* blob = tt_k_blob_new(arena, out, sizeof *blob);
  if (!blob) return tt_k_no_memory();
  blob->count = (int64_t)tt_k_attr_i64s(tt_op_attr(op, name), blob->v, TT_MAX_RANK);
  return TT_OK_STATUS;
}

// ---- transpose, reverse, broadcasts ------------------------------------------------------------
static tt_status_t transpose_encode(const tt_op_t* op, tt_arena_t* arena, tt_k_blob_t* out) {
  return dims_encode(op, TT_ATTR_PERMUTATION, arena, out);
}
static tt_status_t transpose_run(const tt_k_env_t* env, const void* blob, const tt_k_tensor_t* x, size_t nx,
                                 const tt_k_tensor_t* y, size_t ny) {
  (void)nx, (void)ny;
  const dims_blob_t* permutation = blob;
  int64_t strides[TT_MAX_RANK];
  tt_k_strides(x, strides);
  tt_k_copy_t c = copy_of(y);
  for (uint32_t i = 0; i < y->rank; ++i) c.src[i] = strides[permutation->v[i]];
  tt_k_copy(env->pool, c, y->data, x->data);
  return TT_OK_STATUS;
}

static tt_status_t reverse_encode(const tt_op_t* op, tt_arena_t* arena, tt_k_blob_t* out) {
  return dims_encode(op, TT_ATTR_DIMENSIONS, arena, out);
}
static tt_status_t reverse_run(const tt_k_env_t* env, const void* blob, const tt_k_tensor_t* x, size_t nx,
                               const tt_k_tensor_t* y, size_t ny) {
  (void)nx, (void)ny;
  const dims_blob_t* dims = blob;
  tt_k_copy_t c = copy_of(y);
  tt_k_strides(x, c.src);
  int64_t offset = 0;
  if (tt_k_elems(y) == 0) return TT_OK_STATUS;
  for (int64_t i = 0; i < dims->count; ++i) {
    int64_t d = dims->v[i];
    offset += (x->dims[d] - 1) * c.src[d];
    c.src[d] = -c.src[d];
  }
  tt_k_copy(env->pool, c, y->data, at(x, offset));
  return TT_OK_STATUS;
}

static tt_status_t broadcast_in_dim_encode(const tt_op_t* op, tt_arena_t* arena, tt_k_blob_t* out) {
  return dims_encode(op, TT_ATTR_BROADCAST_DIMENSIONS, arena, out);
}
static tt_status_t broadcast_in_dim_run(const tt_k_env_t* env, const void* blob, const tt_k_tensor_t* x, size_t nx,
                                        const tt_k_tensor_t* y, size_t ny) {
  (void)nx, (void)ny;
  const dims_blob_t* dims = blob;
  int64_t strides[TT_MAX_RANK];
  tt_k_strides(x, strides);
  tt_k_copy_t c = copy_of(y);
  for (uint32_t i = 0; i < x->rank; ++i) {
    if (x->dims[i] != 1) c.src[dims->v[i]] = strides[i];
  }
  tt_k_copy(env->pool, c, y->data, x->data);
  return TT_OK_STATUS;
}
static tt_status_t broadcast_run(const tt_k_env_t* env, const void* blob, const tt_k_tensor_t* x, size_t nx,
                                 const tt_k_tensor_t* y, size_t ny) {
  (void)nx, (void)ny, (void)blob;
  tt_k_copy_t c = copy_of(y);
  tt_k_strides(x, c.src + (y->rank - x->rank));
  tt_k_copy(env->pool, c, y->data, x->data);
  return TT_OK_STATUS;
}

// ---- reshape, bitcast, sizes -------------------------------------------------------------------
static tt_status_t reshape_run(const tt_k_env_t* env, const void* blob, const tt_k_tensor_t* x, size_t nx,
                               const tt_k_tensor_t* y, size_t ny) {
  (void)nx, (void)ny, (void)blob;
  if (tt_k_is_dense(x)) {
    tt_k_memcpy(env->pool, y->data, x->data, tt_k_bytes(x));
  } else {
    tt_k_pack(env->pool, x, y->data);
  }
  return TT_OK_STATUS;
}
static bool bitcast_supports(const tt_op_t* op, const char** why) {
  *why = "2- and 4-bit elements lie one a byte: their bits are not adjacent";
  return tt_type_bytes(op->operands[0]->type) == tt_type_bytes(op->results[0].type);
}
static tt_status_t dimension_encode(const tt_op_t* op, tt_arena_t* arena, tt_k_blob_t* out) {
  return dims_encode(op, TT_ATTR_DIMENSION, arena, out);
}
static tt_status_t get_dimension_size_run(const tt_k_env_t* env, const void* blob, const tt_k_tensor_t* x, size_t nx,
                                          const tt_k_tensor_t* y, size_t ny) {
  (void)env, (void)nx, (void)ny;
  tt_scalar_store_i64(y->dtype, x->dims[((const dims_blob_t*)blob)->v[0]], y->data);
  return TT_OK_STATUS;
}

// ---- slice -------------------------------------------------------------------------------------
typedef struct slice_blob_s {
  int64_t start[TT_MAX_RANK], stride[TT_MAX_RANK];
} slice_blob_t;
static tt_status_t slice_encode(const tt_op_t* op, tt_arena_t* arena, tt_k_blob_t* out) {
  slice_blob_t* blob = tt_k_blob_new(arena, out, sizeof *blob);
  if (!blob) return tt_k_no_memory();
  tt_k_op_i64s(op, TT_ATTR_START_INDICES, blob->start, TT_MAX_RANK, 0);
  tt_k_op_i64s(op, TT_ATTR_STRIDES, blob->stride, TT_MAX_RANK, 1);
  return TT_OK_STATUS;
}
static tt_status_t slice_run(const tt_k_env_t* env, const void* blob, const tt_k_tensor_t* x, size_t nx,
                             const tt_k_tensor_t* y, size_t ny) {
  (void)nx, (void)ny;
  const slice_blob_t* p = blob;
  tt_k_copy_t c = copy_of(y);
  int64_t strides[TT_MAX_RANK], offset = 0;
  tt_k_strides(x, strides);
  for (uint32_t i = 0; i < y->rank; ++i) {
    offset += p->start[i] * strides[i];
    c.src[i] = strides[i] * p->stride[i];
  }
  tt_k_copy(env->pool, c, y->data, at(x, offset));
  return TT_OK_STATUS;
}

// ---- pad ---------------------------------------------------------------------------------------
typedef struct pad_blob_s {
  int64_t low[TT_MAX_RANK], interior[TT_MAX_RANK];
} pad_blob_t;
static tt_status_t pad_encode(const tt_op_t* op, tt_arena_t* arena, tt_k_blob_t* out) {
  pad_blob_t* blob = tt_k_blob_new(arena, out, sizeof *blob);
  if (!blob) return tt_k_no_memory();
  tt_k_op_i64s(op, TT_ATTR_EDGE_PADDING_LOW, blob->low, TT_MAX_RANK, 0);
  tt_k_op_i64s(op, TT_ATTR_INTERIOR_PADDING, blob->interior, TT_MAX_RANK, 0);
  return TT_OK_STATUS;
}
static void pad(const tt_k_env_t* env, const int64_t* low, const int64_t* interior, const tt_k_tensor_t* x,
                const void* value, const tt_k_tensor_t* y) {
  int64_t total = tt_k_elems(y);
  if (total == 0) return;
  tt_k_copy_t c = copy_of(y);
  int64_t strides[TT_MAX_RANK], from = 0, to = 0;
  tt_k_strides(x, strides);
  bool empty = false;
  for (uint32_t i = 0; i < y->rank; ++i) {
    // element j of x lands on low + j * step; negative low or high cut elements off
    int64_t step = interior[i] + 1;
    int64_t first = low[i] < 0 ? (-low[i] + step - 1) / step : 0;
    int64_t room = y->dims[i] - 1 - low[i];
    int64_t last = room < 0 ? -1 : TT_MIN(x->dims[i] - 1, room / step);
    if (last < first) {
      empty = true;
      break;
    }
    from += first * strides[i];
    to += (low[i] + first * step) * c.dst[i];
    c.dims[i] = last - first + 1;
    c.src[i] = strides[i];
    c.dst[i] *= step;
  }
  if (empty || tt_k_product(c.dims, 0, c.rank) != total) {
    tt_k_fill_parallel(env->pool, y->data, value, c.element_bytes, total);
  }
  if (!empty) tt_k_copy(env->pool, c, at(y, to), at(x, from));
}
static tt_status_t pad_run(const tt_k_env_t* env, const void* blob, const tt_k_tensor_t* x, size_t nx,
                           const tt_k_tensor_t* y, size_t ny) {
  (void)nx, (void)ny;
  const pad_blob_t* p = blob;
  pad(env, p->low, p->interior, x, x[1].data, y);
  return TT_OK_STATUS;
}
static tt_status_t dynamic_pad_run(const tt_k_env_t* env, const void* blob, const tt_k_tensor_t* x, size_t nx,
                                   const tt_k_tensor_t* y, size_t ny) {
  (void)nx, (void)ny, (void)blob;   // operands: x, value, low, high, interior
  int64_t low[TT_MAX_RANK], interior[TT_MAX_RANK];
  for (uint32_t i = 0; i < x->rank; ++i) {
    low[i] = tt_k_load_index(x[2].dtype, at(x + 2, i));
    interior[i] = tt_k_load_index(x[4].dtype, at(x + 4, i));
    int64_t high = tt_k_load_index(x[3].dtype, at(x + 3, i));
    int64_t size = x->dims[i] + TT_MAX(0, x->dims[i] - 1) * interior[i] + low[i] + high;
    if (interior[i] < 0 || size != y->dims[i]) {
      return tt_status_create(TT_INVALID_ARGUMENT, "dynamic_pad: dimension %u gives %lld, the type says %lld", i,
                              (long long)size, (long long)y->dims[i]);
    }
  }
  pad(env, low, interior, x, x[1].data, y);
  return TT_OK_STATUS;
}

// ---- concatenate -------------------------------------------------------------------------------
static tt_status_t concatenate_run(const tt_k_env_t* env, const void* blob, const tt_k_tensor_t* x, size_t nx,
                                   const tt_k_tensor_t* y, size_t ny) {
  (void)ny;
  int64_t dim = ((const dims_blob_t*)blob)->v[0], offset = 0;
  for (size_t k = 0; k < nx; ++k) {
    tt_k_copy_t c = copy_of(y);
    c.dims[dim] = x[k].dims[dim];
    tt_k_strides(x + k, c.src);
    tt_k_copy(env->pool, c, at(y, offset * c.dst[dim]), x[k].data);
    offset += x[k].dims[dim];
  }
  return TT_OK_STATUS;
}

// ---- iota --------------------------------------------------------------------------------------
static tt_status_t iota_encode(const tt_op_t* op, tt_arena_t* arena, tt_k_blob_t* out) {
  return dims_encode(op, TT_ATTR_IOTA_DIMENSION, arena, out);
}
static tt_status_t iota_run(const tt_k_env_t* env, const void* blob, const tt_k_tensor_t* x, size_t nx,
                            const tt_k_tensor_t* y, size_t ny) {
  (void)nx, (void)ny, (void)x;
  uint32_t dim = (uint32_t)((const dims_blob_t*)blob)->v[0];
  size_t eb = tt_dtype_bytes(y->dtype);
  int64_t total = tt_k_elems(y);
  if (total == 0) return TT_OK_STATUS;
  int64_t n = y->dims[dim], inner = tt_k_product(y->dims, dim + 1, y->rank), outer = total / (n * inner);
  char* data = y->data;
  if (inner == 1) {
    tt_k_iota(y->dtype, data, 0, 1, (size_t)n);
  } else {
    for (int64_t i = 0; i < n; ++i) {
      char value[16];
      tt_k_iota(y->dtype, value, i, 0, 1);
      tt_k_fill_parallel(env->pool, data + (size_t)(i * inner) * eb, value, eb, inner);
    }
  }
  tt_k_copy_t c = {.element_bytes = eb, .rank = 2, .dims = {outer - 1, n * inner}, .dst = {n * inner, 1}, .src = {0, 1}};
  tt_k_copy(env->pool, c, data + (size_t)(n * inner) * eb, data);
  return TT_OK_STATUS;
}

// ---- strided views -----------------------------------------------------------------------------
typedef struct strided_blob_s {
  int64_t offset;
  int64_t strides[TT_MAX_RANK];
} strided_blob_t;
static tt_status_t strided_encode(const tt_op_t* op, tt_arena_t* arena, tt_k_blob_t* out) {
  strided_blob_t* blob = tt_k_blob_new(arena, out, sizeof *blob);
  if (!blob) return tt_k_no_memory();
  bool read = op->operand_count == 1;
  const tt_type_t* base = op->operands[0]->type;
  const tt_type_t* view = read ? op->results[0].type : op->operands[1]->type;
  size_t rank = tt_k_attr_i64s(tt_k_own_attr(op, TT_ATTR_STRIDES), blob->strides, TT_MAX_RANK);
  tt_k_attr_i64s(tt_k_own_attr(op, TT_ATTR_OFFSET), &blob->offset, 1);
  int64_t last = blob->offset;
  if (rank != view->rank || blob->offset < 0) {
    return tt_status_create(TT_INVALID_ARGUMENT, "strided view: %zu strides for rank %u, offset %lld", rank, view->rank,
                            (long long)blob->offset);
  }
  for (size_t i = 0; i < rank; ++i) {
    if (view->dims[i] == 0) return TT_OK_STATUS;
    if (blob->strides[i] < 0) {
      return tt_status_create(TT_INVALID_ARGUMENT, "strided view: stride %lld", (long long)blob->strides[i]);
    }
    last += (view->dims[i] - 1) * blob->strides[i];
  }
  int64_t bytes = (last + 1) * (int64_t)tt_dtype_bytes(view->dtype);
  if (bytes > tt_type_bytes(base)) {
    return tt_status_create(TT_INVALID_ARGUMENT, "strided view reaches byte %lld of a base of %lld", (long long)bytes,
                            (long long)tt_type_bytes(base));
  }
  return TT_OK_STATUS;
}
static tt_status_t strided_read_run(const tt_k_env_t* env, const void* blob, const tt_k_tensor_t* x, size_t nx,
                                    const tt_k_tensor_t* y, size_t ny) {
  (void)nx, (void)ny;
  const strided_blob_t* p = blob;
  tt_k_copy_t c = copy_of(y);
  memcpy(c.src, p->strides, y->rank * sizeof c.src[0]);
  tt_k_copy(env->pool, c, y->data, (char*)x->data + p->offset * (int64_t)c.element_bytes);
  return TT_OK_STATUS;
}
static tt_status_t strided_write_run(const tt_k_env_t* env, const void* blob, const tt_k_tensor_t* x, size_t nx,
                                     const tt_k_tensor_t* y, size_t ny) {
  (void)nx, (void)ny;
  const strided_blob_t* p = blob;
  tt_k_memcpy(env->pool, y->data, x->data, tt_k_bytes(x));
  tt_k_copy_t c = copy_of(x + 1);
  tt_k_strides(x + 1, c.src);
  memcpy(c.dst, p->strides, x[1].rank * sizeof c.dst[0]);
  tt_k_copy(env->pool, c, (char*)y->data + p->offset * (int64_t)c.element_bytes, x[1].data);
  return TT_OK_STATUS;
}

const tt_k_op_t tt_k_move_table[] = {
    {.name = "tt_k_any_transpose__generic", .kind = TT_OP_TRANSPOSE, .strided_operands = 1, .encode = transpose_encode,
     .run = transpose_run},
    {.name = "tt_k_any_reverse__generic", .kind = TT_OP_REVERSE, .strided_operands = 1, .encode = reverse_encode,
     .run = reverse_run},
    {.name = "tt_k_any_broadcast_in_dim__generic", .kind = TT_OP_BROADCAST_IN_DIM, .strided_operands = 1,
     .encode = broadcast_in_dim_encode, .run = broadcast_in_dim_run},
    {.name = "tt_k_any_dynamic_broadcast_in_dim__generic", .kind = TT_OP_DYNAMIC_BROADCAST_IN_DIM,
     .strided_operands = 1, .encode = broadcast_in_dim_encode, .run = broadcast_in_dim_run},
    {.name = "tt_k_any_broadcast__generic", .kind = TT_OP_BROADCAST, .strided_operands = 1, .run = broadcast_run},
    {.name = "tt_k_any_reshape__generic", .kind = TT_OP_RESHAPE, .strided_operands = 1, .run = reshape_run},
    {.name = "tt_k_any_dynamic_reshape__generic", .kind = TT_OP_DYNAMIC_RESHAPE, .strided_operands = 1,
     .run = reshape_run},
    {.name = "tt_k_any_bitcast_convert__generic", .kind = TT_OP_BITCAST_CONVERT, .strided_operands = 1,
     .supports = bitcast_supports, .run = reshape_run},
    {.name = "tt_k_any_get_dimension_size__generic", .kind = TT_OP_GET_DIMENSION_SIZE, .strided_operands = 1,
     .encode = dimension_encode, .run = get_dimension_size_run},
    {.name = "tt_k_any_set_dimension_size__generic", .kind = TT_OP_SET_DIMENSION_SIZE, .strided_operands = 1,
     .run = reshape_run},
    {.name = "tt_k_any_slice__generic", .kind = TT_OP_SLICE, .strided_operands = 1, .encode = slice_encode,
     .run = slice_run},
    {.name = "tt_k_any_pad__generic", .kind = TT_OP_PAD, .strided_operands = 1, .encode = pad_encode, .run = pad_run},
    {.name = "tt_k_any_dynamic_pad__generic", .kind = TT_OP_DYNAMIC_PAD, .strided_operands = 1, .run = dynamic_pad_run},
    {.name = "tt_k_any_concatenate__generic", .kind = TT_OP_CONCATENATE, .strided_operands = ~0u,
     .encode = dimension_encode, .run = concatenate_run},
    {.name = "tt_k_any_iota__generic", .kind = TT_OP_IOTA, .encode = iota_encode, .run = iota_run},
    {.name = "tt_k_any_dynamic_iota__generic", .kind = TT_OP_DYNAMIC_IOTA, .encode = iota_encode, .run = iota_run},
    {.name = "tt_k_any_strided_read__generic", .kind = TT_OP_COMPOSITE, .target = "tt.strided_read",
     .encode = strided_encode, .run = strided_read_run},
    {.name = "tt_k_any_strided_write__generic", .kind = TT_OP_COMPOSITE, .target = "tt.strided_write",
     .strided_operands = 2, .encode = strided_encode, .run = strided_write_run, .inplace = 1},
    {0},
};
