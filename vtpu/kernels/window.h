// One dimension's window arithmetic, and runs of a combine (a reducer applied to strided lanes).
#ifndef TT_VTPU_KERNELS_WINDOW_H_
#define TT_VTPU_KERNELS_WINDOW_H_

#include "kernels/loops.h"

// Output w of a row reads padded place w * stride + shift (shift = window offset * window dilation - low padding);
// that is input u if the place is u * base_dilation. The pairs (w, u) inside both rows form one run.
typedef struct tt_k_span_s {
  int64_t first, u_first, count, step, u_step;
} tt_k_span_t;
static inline tt_k_span_t tt_k_span(int64_t width, int64_t in_width, int64_t stride, int64_t base_dilation, int64_t shift) {
  tt_k_span_t s = {0};
  int64_t a = stride, b = base_dilation;
  while (b) {
    int64_t t = a % b;
    a = b;
    b = t;
  }
  s.step = base_dilation / a;
  s.u_step = stride / a;
  s.first = shift >= 0 ? 0 : (-shift + stride - 1) / stride;
  // the places of a run repeat modulo base_dilation after `step` outputs
  int64_t tries = s.step;
  while (tries-- > 0 && s.first < width && (s.first * stride + shift) % base_dilation != 0) ++s.first;
  if (s.first >= width || (s.first * stride + shift) % base_dilation != 0) return s;
  s.u_first = (s.first * stride + shift) / base_dilation;
  if (s.u_first >= in_width) return s;
  s.count = TT_MIN((width - 1 - s.first) / s.step, (in_width - 1 - s.u_first) / s.u_step) + 1;
  return s;
}

// acc[i * acc_stride] = combine(acc[...], x[i * x_stride]) for `count` operands at once.
typedef struct tt_k_combiner_s {
  const tt_k_env_t* env;
  size_t region;                            // number of the region
  tt_k_combine_t mode;
  tt_op_kind_t kind;
  tt_k_binary_fn_t fn;                      // BINARY: on acc_dtype[0]
  size_t count;
  tt_dtype_t dtype[TT_K_MAX_OPERANDS];      // of the inputs
  tt_dtype_t acc_dtype[TT_K_MAX_OPERANDS];  // wider for sums of small floats
  size_t bytes[TT_K_MAX_OPERANDS], acc_bytes[TT_K_MAX_OPERANDS];
  bool convert;                             // acc_dtype[0] != dtype[0] (BINARY only)
  tt_k_unary_fn_t widen, narrow;
} tt_k_combiner_t;

enum { TT_K_LANES = 256 };   // lanes handled at a time

// False when the dtype has no lane kernel for what the region does (then mode is REGION).
void tt_k_combiner_initialize(tt_k_combiner_t* c, const tt_k_env_t* env, size_t region, tt_k_combine_t mode,
                              tt_op_kind_t kind, size_t count, const tt_k_tensor_t* operands);
// The accumulator's dtype of operand 0 (needs no env).
tt_dtype_t tt_k_combiner_dtype(tt_k_combine_t mode, tt_op_kind_t kind, tt_dtype_t dtype);
// Scratch of one thread, bytes: lane buffers plus the region's.
size_t tt_k_combiner_scratch(const tt_k_env_t* env, size_t count);
void tt_k_combine(const tt_k_combiner_t* c, char* scratch, char* const* acc, int64_t acc_stride, const char* const* x,
                  int64_t x_stride, int64_t n);

#endif  // TT_VTPU_KERNELS_WINDOW_H_
