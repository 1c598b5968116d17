// Row passes of attention on one vector ISA. Inside attention* only.
#ifndef TT_VTPU_KERNELS_ATTENTION_ISA_H_
#define TT_VTPU_KERNELS_ATTENTION_ISA_H_

#include "base/base.h"

typedef struct tt_attention_rows_s {
  float* s;  // [rows, ld]: raw scores of keys [0, n); probabilities on return
  int64_t ld, rows, n;  // ld a multiple of 16; a row is zeroed from its count up to n, and to whole vectors
  int64_t count, step;  // row i sees the first min(n, count + i * step) keys (causal: step 1)
  float scale;
  const float* bias;  // NULL, or added to row i at bias + i * bias_ld; readable up to whole vectors
  int64_t bias_ld;
} tt_attention_rows_t;

typedef struct tt_attention_isa_s {
  // Online softmax: s becomes exp(scale s + bias - m'), m and l (maximum and sum so far, a row each) go on,
  // and the row of o [rows, o_ld] (dv wide) is scaled from the old maximum to the new. `first`: m, l and o
  // hold nothing yet.
  void (*softmax)(const tt_attention_rows_t* r, bool first, float* m, float* l, float* o, int64_t o_ld,
                  int64_t dv);
  // s becomes p = exp(scale s + bias - lse), dp [rows, ld] becomes scale p (dp - delta).
  void (*gradient)(const tt_attention_rows_t* r, float* dp, const float* lse, const float* delta);
  // out[i] = x[i] * y
  void (*scale_row)(float* out, const float* x, float y, int64_t n);
  // out[i] += x[i] * y
  void (*add_row)(float* out, const float* x, float y, int64_t n);
  float (*dot)(const float* x, const float* y, int64_t n);
  float (*exp)(float x);  // x <= 0
} tt_attention_isa_t;
extern const tt_attention_isa_t tt_attention_isa__avx2, tt_attention_isa__avx512;

#endif  // TT_VTPU_KERNELS_ATTENTION_ISA_H_
