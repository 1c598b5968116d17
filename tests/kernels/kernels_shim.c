// What the Python kernel tests call: the lane kernels by name. Test only, never installed.
#include "kernels/elementwise.h"

TT_EXPORT int ks_isa_supported(void);
TT_EXPORT void ks_isa_set(int isa);
TT_EXPORT const char* ks_isa_name(int isa);
TT_EXPORT int ks_unary(const char* op, const char* dtype, void* out, const void* x, size_t n);
TT_EXPORT int ks_binary(const char* op, const char* dtype, void* out, const void* x, const void* y, size_t n);
TT_EXPORT int ks_compare(int direction, const char* dtype, int total_order, void* out, const void* x, const void* y, size_t n);
TT_EXPORT int ks_convert(const char* from, const char* to, void* out, const void* x, size_t n);
TT_EXPORT int ks_select(size_t bytes, void* out, const void* p, const void* x, const void* y, size_t n);
TT_EXPORT int ks_clamp(const char* dtype, void* out, const void* l, const void* x, const void* h, size_t n);
TT_EXPORT int ks_fma(const char* dtype, void* out, const void* x, const void* y, const void* z, size_t n);
TT_EXPORT void ks_reduce_precision(const char* dtype, int e, int m, void* out, const void* x, size_t n);
TT_EXPORT void ks_iota(const char* dtype, void* out, int64_t start, int64_t step, size_t n);
TT_EXPORT void ks_transpose(void* out, int64_t out_row, const void* x, int64_t row, int64_t col, size_t rows, size_t cols, size_t bytes);
TT_EXPORT int ks_fold(const char* op, const char* dtype, void* acc, const void* x, size_t n);
TT_EXPORT int64_t ks_arg(int maximum, const char* dtype, const void* x, size_t n);

#include <string.h>

static tt_op_kind_t op_of(const char* name) { return tt_op_kind_from_name(name, strlen(name)); }
static tt_dtype_t dtype_of(const char* name) { return tt_dtype_from_name(name, strlen(name)); }

int ks_isa_supported(void) { return (int)tt_k_isa_supported(); }
void ks_isa_set(int isa) { tt_k_isa_set((tt_isa_t)isa); }
const char* ks_isa_name(int isa) { return tt_k_isa_name((tt_isa_t)isa); }
int ks_unary(const char* op, const char* dtype, void* out, const void* x, size_t n) {
  tt_k_unary_fn_t fn = tt_k_unary(op_of(op), dtype_of(dtype));
  if (fn) fn(out, x, n);
  return fn ? 0 : -1;
}
int ks_binary(const char* op, const char* dtype, void* out, const void* x, const void* y, size_t n) {
  tt_k_binary_fn_t fn = tt_k_binary(op_of(op), dtype_of(dtype));
  if (fn) fn(out, x, y, n);
  return fn ? 0 : -1;
}
int ks_compare(int direction, const char* dtype, int total_order, void* out, const void* x, const void* y, size_t n) {
  tt_k_binary_fn_t fn = tt_k_compare((tt_k_compare_t)direction, dtype_of(dtype), total_order != 0);
  if (fn) fn(out, x, y, n);
  return fn ? 0 : -1;
}
int ks_convert(const char* from, const char* to, void* out, const void* x, size_t n) {
  tt_k_unary_fn_t fn = tt_k_convert(dtype_of(from), dtype_of(to));
  if (fn) fn(out, x, n);
  return fn ? 0 : -1;
}
int ks_select(size_t bytes, void* out, const void* p, const void* x, const void* y, size_t n) {
  tt_k_ternary_fn_t fn = tt_k_select(bytes);
  if (fn) fn(out, p, x, y, n);
  return fn ? 0 : -1;
}
int ks_clamp(const char* dtype, void* out, const void* l, const void* x, const void* h, size_t n) {
  tt_k_ternary_fn_t fn = tt_k_clamp(dtype_of(dtype));
  if (fn) fn(out, l, x, h, n);
  return fn ? 0 : -1;
}
int ks_fma(const char* dtype, void* out, const void* x, const void* y, const void* z, size_t n) {
  tt_k_ternary_fn_t fn = tt_k_fma(dtype_of(dtype));
  if (fn) fn(out, x, y, z, n);
  return fn ? 0 : -1;
}
void ks_reduce_precision(const char* dtype, int e, int m, void* out, const void* x, size_t n) {
  tt_k_reduce_precision(dtype_of(dtype), e, m, out, x, n);
}
void ks_iota(const char* dtype, void* out, int64_t start, int64_t step, size_t n) { tt_k_iota(dtype_of(dtype), out, start, step, n); }
void ks_transpose(void* out, int64_t out_row, const void* x, int64_t row, int64_t col, size_t rows, size_t cols, size_t bytes) {
  tt_k_transpose_block(out, out_row, x, row, col, rows, cols, bytes);
}
int ks_fold(const char* op, const char* dtype, void* acc, const void* x, size_t n) {
  tt_k_fold_fn_t fn = tt_k_fold(op_of(op), dtype_of(dtype));
  if (fn) fn(acc, x, n);
  return fn ? 0 : -1;
}
int64_t ks_arg(int maximum, const char* dtype, const void* x, size_t n) {
  tt_k_argfold_fn_t fn = maximum ? tt_k_argmax(dtype_of(dtype)) : tt_k_argmin(dtype_of(dtype));
  return fn ? fn(x, n) : -1;
}
