// Slices at run-time starts. Starts are clamped so that the slice fits (StableHLO).
#include "kernels/loops.h"

static int64_t clamped_offset(const tt_k_tensor_t* starts, const int64_t* dims, const int64_t* sizes,
                              const int64_t* strides, uint32_t rank) {
  int64_t offset = 0;
  for (uint32_t i = 0; i < rank; ++i) {
    offset += tt_k_clamp_i64(tt_k_load_index(starts[i].dtype, starts[i].data), 0, dims[i] - sizes[i]) * strides[i];
  }
  return offset;
}

static tt_status_t dynamic_slice_run(const tt_k_env_t* env, const void* blob, const tt_k_tensor_t* x, size_t nx,
                                     const tt_k_tensor_t* y, size_t ny) {
  (void)blob, (void)nx, (void)ny;
  tt_k_copy_t c = {.element_bytes = tt_dtype_bytes(y->dtype), .rank = y->rank};
  memcpy(c.dims, y->dims, y->rank * sizeof c.dims[0]);
  tt_k_dense_strides(y->dims, y->rank, c.dst);
  tt_k_strides(x, c.src);
  int64_t offset = clamped_offset(x + 1, x->dims, y->dims, c.src, x->rank);
  tt_k_copy(env->pool, c, y->data, (char*)x->data + offset * (int64_t)c.element_bytes);
  return TT_OK_STATUS;
}

static tt_status_t dynamic_update_slice_run(const tt_k_env_t* env, const void* blob, const tt_k_tensor_t* x, size_t nx,
                                            const tt_k_tensor_t* y, size_t ny) {
  (void)blob, (void)nx, (void)ny;
  tt_k_memcpy(env->pool, y->data, x->data, tt_k_bytes(x));
  tt_k_copy_t c = {.element_bytes = tt_dtype_bytes(y->dtype), .rank = y->rank};
  memcpy(c.dims, x[1].dims, y->rank * sizeof c.dims[0]);
  tt_k_dense_strides(y->dims, y->rank, c.dst);
  tt_k_strides(x + 1, c.src);
  int64_t offset = clamped_offset(x + 2, y->dims, x[1].dims, c.dst, y->rank);
  tt_k_copy(env->pool, c, (char*)y->data + offset * (int64_t)c.element_bytes, x[1].data);
  return TT_OK_STATUS;
}

const tt_k_op_t tt_k_move_dynamic_table[] = {
    {.name = "tt_k_any_dynamic_slice__generic", .kind = TT_OP_DYNAMIC_SLICE, .strided_operands = 1,
     .run = dynamic_slice_run},
    {.name = "tt_k_any_dynamic_update_slice__generic", .kind = TT_OP_DYNAMIC_UPDATE_SLICE, .strided_operands = 2,
     .run = dynamic_update_slice_run, .inplace = 1},
    {0},
};
