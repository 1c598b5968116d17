// What fused attention's passes share. Inside attention* only.
#ifndef TT_VTPU_KERNELS_ATTENTION_H_
#define TT_VTPU_KERNELS_ATTENTION_H_

#include "kernels/attention_isa.h"
#include "kernels/gemm_isa.h"
#include "kernels/loops.h"

typedef struct tt_attention_blob_s {
  double scale;
  uint8_t causal, has_bias;
} tt_attention_blob_t;
typedef struct tt_attention_view_s {  // [batch, head, row, column]
  char* data;
  tt_dtype_t dtype;
  int64_t bytes;  // an element
  int64_t stride[4];
} tt_attention_view_t;
typedef struct tt_attention_s {
  int64_t b, h, hk, group, lq, lk, d, dv;
  float scale;
  bool causal;
  tt_attention_view_t q, k, v, bias, out, lse, grad, dq, dk, dv_out;  // bias.data may be NULL: see has_bias
  bool has_bias;
  const tt_gemm_kernel_t* kernel;
  const tt_attention_isa_t* isa;
  // forward over blocks of rows and keys, and backward
  int64_t bq, bk, q_blocks, k_blocks;
  char* scratch;
} tt_attention_t;

static inline char* tt_attention_at(const tt_attention_view_t* v, int64_t b, int64_t h, int64_t row) {
  return v->data + (b * v->stride[0] + h * v->stride[1] + row * v->stride[2]) * v->bytes;
}
// rows x width of a view as dense f32 (any width).
static inline void tt_attention_load(const tt_attention_view_t* v, int64_t b, int64_t h, int64_t row,
                                     int64_t rows, int64_t width, float* out) {
  tt_gemm_pack(v->dtype)(out, width, tt_attention_at(v, b, h, row), v->stride[3], v->stride[2], width, rows);
}
static inline void tt_attention_store(const tt_attention_view_t* v, const float* x, int64_t n,
                                      char* out) {  // contiguous
  if (v->dtype == TT_DTYPE_F32) memcpy(out, x, (size_t)n * 4);
  else tt_k_convert(TT_DTYPE_F32, v->dtype)(out, x, (size_t)n);
}
// The bias of `rows` rows and n keys; returns the distance of rows in `out` (0: one for all), which holds
// rows * ld floats.
int64_t tt_attention_bias(const tt_attention_t* a, int64_t b, int64_t h, int64_t row, int64_t rows,
                          int64_t key, int64_t n, float* out, int64_t ld);

size_t tt_attention_decode_bytes(const tt_attention_t* a, int threads);
bool tt_attention_decodes(const tt_attention_t* a);
void tt_attention_decode(tt_pool_t* pool, tt_attention_t* a);
bool tt_attention_tiles(const tt_attention_t* a);
size_t tt_attention_tile_bytes(const tt_attention_t* a, int threads);
void tt_attention_tile(tt_pool_t* pool, tt_attention_t* a);
size_t tt_attention_backward_bytes(const tt_attention_t* a, int threads);
void tt_attention_backward(tt_pool_t* pool, tt_attention_t* a);

#endif  // TT_VTPU_KERNELS_ATTENTION_H_
