// What the op kernels share: parallel ranges, strided copies, attribute readers, folds by region or op kind.
#ifndef TT_VTPU_KERNELS_LOOPS_H_
#define TT_VTPU_KERNELS_LOOPS_H_

#include <string.h>

#include "kernels/elementwise.h"
#include "kernels/kernel.h"

// ---- parallel ranges ---------------------------------------------------------------------------
typedef void (*tt_k_range_fn_t)(void* self, int64_t begin, int64_t end);
// Splits [0, count) into ranges of at least `grain`, a few a thread. For work whose result does not depend on
// the split.
void tt_k_parallel(tt_pool_t* pool, int64_t count, int64_t grain, tt_k_range_fn_t fn, void* self);

// ---- shapes ------------------------------------------------------------------------------------
static inline int64_t tt_k_product(const int64_t* dims, uint32_t begin, uint32_t end) {
  int64_t product = 1;
  for (uint32_t i = begin; i < end; ++i) product *= dims[i];
  return product;
}
static inline int64_t tt_k_elems(const tt_k_tensor_t* t) { return tt_k_product(t->dims, 0, t->rank); }
static inline size_t tt_k_bytes(const tt_k_tensor_t* t) { return (size_t)tt_k_elems(t) * tt_dtype_bytes(t->dtype); }
// Row-major strides in elements.
static inline void tt_k_dense_strides(const int64_t* dims, uint32_t rank, int64_t* out) {
  int64_t stride = 1;
  for (uint32_t i = rank; i-- > 0;) {
    out[i] = stride;
    stride *= dims[i];
  }
}
static inline void tt_k_strides(const tt_k_tensor_t* t, int64_t* out) {   // the tensor's own, dense when it gives none
  if (t->strides) {
    memcpy(out, t->strides, t->rank * sizeof *out);
  } else {
    tt_k_dense_strides(t->dims, t->rank, out);
  }
}
// Flat row-major index -> sum of index_i * strides_i.
static inline int64_t tt_k_unravel(int64_t flat, const int64_t* dims, const int64_t* strides, uint32_t rank) {
  int64_t offset = 0;
  for (uint32_t i = rank; i-- > 0;) {
    offset += flat % dims[i] * strides[i];
    flat /= dims[i];
  }
  return offset;
}

// ---- strided copies ----------------------------------------------------------------------------
typedef struct tt_k_copy_s {
  size_t element_bytes;
  uint32_t rank;
  int64_t dims[TT_MAX_RANK], dst[TT_MAX_RANK], src[TT_MAX_RANK];   // strides in elements
} tt_k_copy_t;
// dst[sum i*dst] = src[sum i*src]; no two indices share a place of dst. pool NULL: on this thread.
void tt_k_copy(tt_pool_t* pool, tt_k_copy_t copy, void* dst, const void* src);
// Drops dims of 1, orders by falling dst stride, merges neighbours. False when some dim is 0.
bool tt_k_copy_normalise(tt_k_copy_t* copy);
void tt_k_memcpy(tt_pool_t* pool, void* dst, const void* src, size_t bytes);
void tt_k_fill_parallel(tt_pool_t* pool, void* dst, const void* element, size_t element_bytes, int64_t n);
// Copies `t` (any strides) to dense row-major memory.
void tt_k_pack(tt_pool_t* pool, const tt_k_tensor_t* t, void* dst);
bool tt_k_is_dense(const tt_k_tensor_t* t);
// n elements of another dtype, in parallel; equal dtypes are copied.
void tt_k_convert_parallel(tt_pool_t* pool, tt_dtype_t from, tt_dtype_t to, void* out, const void* x, int64_t n);

// ---- parameters --------------------------------------------------------------------------------
// Zeroed parameter memory in *blob; NULL when memory is short.
void* tt_k_blob_new(tt_arena_t* arena, tt_k_blob_t* blob, size_t bytes);
tt_status_t tt_k_no_memory(void);
// Integers of an I64S, DENSE, BOOLS, ARRAY of INT or INT attribute; returns how many (at most max).
size_t tt_k_attr_i64s(const tt_attr_t* attr, int64_t* out, size_t max);
// The op's attribute; absent ones give `count` times `fallback`.
void tt_k_op_i64s(const tt_op_t* op, tt_attr_name_t name, int64_t* out, size_t count, int64_t fallback);
// Rank x 2 padding, interleaved low, high.
void tt_k_op_padding(const tt_op_t* op, int64_t* low, int64_t* high, size_t count);
// Composite attribute, else the op's own (custom calls).
const tt_attr_t* tt_k_own_attr(const tt_op_t* op, tt_attr_name_t name);
const tt_type_t* tt_k_operand_type(const tt_op_t* op, size_t index);

// ---- combining by a region or a single op --------------------------------------------------------
typedef enum tt_k_combine_e {
  TT_K_COMBINE_REGION,   // any region: region_fn
  TT_K_COMBINE_BINARY,   // one operand pair, one op: tt_k_binary(kind)
  TT_K_COMBINE_SECOND,   // every result is the second argument (replace)
} tt_k_combine_t;
// What `region` (2 * count arguments) does; *out_kind for BINARY. Lane kernels must exist for dtype.
tt_k_combine_t tt_k_combine_of(const tt_region_t* region, size_t count, tt_dtype_t dtype, tt_op_kind_t* out_kind);

// Runs env->region_fn on any number of lanes. args/results: contiguous lanes; sizes: bytes an element of each.
// `scratch`: region_scratch_bytes of this thread.
void tt_k_region_run(const tt_k_env_t* env, size_t region, void* scratch, void* const* args, const size_t* arg_bytes,
                     size_t arg_count, void* const* results, const size_t* result_bytes, size_t result_count,
                     int64_t lanes);

#define TT_K_MAX_OPERANDS 32   // of multi-operand reduce, sort, scatter

// Memory a kernel takes while running beyond its scratch (region scratch, whose size encode does not know).
tt_status_t tt_k_region_scratch(const tt_k_env_t* env, size_t tasks, void** out, size_t* out_stride) TT_MUST_USE;
// tasks a range of `count` is split into when each needs its own scratch
size_t tt_k_tasks(tt_pool_t* pool, int64_t count, int64_t grain);

static inline int64_t tt_k_clamp_i64(int64_t x, int64_t lo, int64_t hi) { return x < lo ? lo : x > hi ? hi : x; }
// An index scalar; unsigned values past INT64_MAX saturate.
static inline int64_t tt_k_load_index(tt_dtype_t dtype, const void* p) {
  switch (dtype) {
    case TT_DTYPE_S32: { int32_t v; memcpy(&v, p, 4); return v; }
    case TT_DTYPE_S64: { int64_t v; memcpy(&v, p, 8); return v; }
    case TT_DTYPE_U32: { uint32_t v; memcpy(&v, p, 4); return v; }
    case TT_DTYPE_U64: { uint64_t v; memcpy(&v, p, 8); return v > INT64_MAX ? INT64_MAX : (int64_t)v; }
    case TT_DTYPE_S16: { int16_t v; memcpy(&v, p, 2); return v; }
    case TT_DTYPE_U16: { uint16_t v; memcpy(&v, p, 2); return v; }
    case TT_DTYPE_S8: { int8_t v; memcpy(&v, p, 1); return v; }
    case TT_DTYPE_U8: { uint8_t v; memcpy(&v, p, 1); return v; }
    default: return tt_scalar_load_i64(dtype, p);
  }
}

#endif  // TT_VTPU_KERNELS_LOOPS_H_
