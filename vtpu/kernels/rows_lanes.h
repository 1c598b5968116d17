// Loops over one row that softmax and layer norm are made of, for each ISA, in f32 and f64. Results depend on the
// row alone.
#ifndef TT_VTPU_KERNELS_ROWS_LANES_H_
#define TT_VTPU_KERNELS_ROWS_LANES_H_

#include "kernels/elementwise_isa.h"

// Scalars travel as double and hold a value of the row's type. `out` may be an input.
typedef struct tt_row_lanes_s {
  void (*scale)(void* out, const void* x, double a, size_t n);                       // x a
  void (*shift2)(void* out, const void* x, double a, double b, size_t n);            // (x - a) - b
  void (*norm)(void* out, const void* x, double a, double r, const void* w, const void* b, size_t n);  // (x - a) r w + b
  void (*back)(void* out, const void* g, const void* y, double total, size_t n);     // y (g - total)
  void (*back_log)(void* out, const void* g, const void* e, double total, size_t n); // g - e total
  double (*dot)(const void* x, const void* y, size_t n);                             // sum x y
  double (*square)(const void* x, double a, size_t n, const void* next);             // sum (x - a)^2; fetches n of next
} tt_row_lanes_t;
extern const tt_row_lanes_t tt_k_row_lanes__generic[2], tt_k_row_lanes__avx2[2], tt_k_row_lanes__avx512[2];  // f32, f64

#endif  // TT_VTPU_KERNELS_ROWS_LANES_H_
