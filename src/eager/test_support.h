// Helpers of the engine's tests: tensors from C arrays, calls by name.
#ifndef TT_EAGER_TEST_SUPPORT_H_
#define TT_EAGER_TEST_SUPPORT_H_

#include "base/test.h"
#include "ir/ir.h"
#include "tt/device.h"
#include "tt/op.h"

typedef struct fixture_s {      // a tensor with its own sizes and strides
  tt_tensor_t view;
  int64_t sizes[8], strides[8];
} fixture_t;

static inline void fix(fixture_t* f) {
  f->view.sizes = f->sizes;
  f->view.strides = f->strides;
}

static inline size_t fixture_elems(const fixture_t* f) {
  size_t n = 1;
  for (size_t i = 0; i < f->view.rank; ++i) n *= (size_t)f->sizes[i];
  return n;
}

// Empty dense tensor.
static inline tt_status_t fixture_empty(fixture_t* f, tt_dtype_t dtype, size_t rank, const int64_t* sizes) {
  memset(f, 0, sizeof(*f));
  f->view =
      (tt_tensor_t){.graph_value = -1, .dtype = (uint8_t)dtype, .rank = (uint8_t)rank, .is_defined = true};
  int64_t stride = 1;
  for (size_t i = rank; i-- > 0;) {
    f->sizes[i] = sizes[i];
    f->strides[i] = stride;
    stride *= sizes[i] > 1 ? sizes[i] : 1;
  }
  fix(f);
  return tt_storage_allocate(0, fixture_elems(f) * tt_dtype_bytes(dtype), &f->view.storage);
}

static inline tt_status_t fixture_make(fixture_t* f, tt_dtype_t dtype, size_t rank, const int64_t* sizes,
                                       const void* data) {
  tt_status_t status = fixture_empty(f, dtype, rank, sizes);
  if (tt_status_is_ok(status)) status = tt_tensor_from_host(&f->view, data, dtype);
  return status;
}

// Another view of the same storage (borrowed).
static inline fixture_t fixture_view(const fixture_t* f, size_t rank, const int64_t* sizes,
                                     const int64_t* strides, int64_t offset) {
  fixture_t v = *f;
  v.view.rank = (uint8_t)rank;
  v.view.offset = offset;
  for (size_t i = 0; i < rank; ++i) {
    v.sizes[i] = sizes[i];
    v.strides[i] = strides[i];
  }
  return v;
}

static inline tt_arg_t tensor_arg(fixture_t* f) {
  fix(f);
  return (tt_arg_t){.kind = TT_ARG_TENSOR, .tensor = f->view};
}
static inline tt_arg_t int_arg(int64_t v) {
  return (tt_arg_t){.kind = TT_ARG_INT, .scalar = {.kind = TT_ARG_INT, .i = v}};
}
static inline tt_arg_t float_arg(double v) {
  return (tt_arg_t){.kind = TT_ARG_FLOAT, .scalar = {.kind = TT_ARG_FLOAT, .c = {v, 0}}};
}
static inline tt_arg_t none_arg(void) { return (tt_arg_t){.kind = TT_ARG_NONE}; }

// Calls by any of an op's names; the variant follows from which name it is.
static inline tt_status_t call_op(const char* name, uint32_t arg_count, const tt_arg_t* args,
                                  uint32_t out_count, const tt_tensor_t* outs, tt_result_t* results,
                                  uint32_t* out_results) {
  size_t op = tt_aten_find(name);
  *out_results = 0;
  if (op == SIZE_MAX) return tt_status_create(TT_NOT_FOUND, "no op %s", name);
  const tt_aten_info_t* info = tt_aten_info(op);
  tt_call_t call = {.op = op, .arg_count = arg_count, .args = args, .out_count = out_count, .outs = outs};
  call.variant = !strcmp(info->inplace, name) ? TT_VARIANT_INPLACE
                 : !strcmp(info->out, name)   ? TT_VARIANT_OUT
                                              : TT_VARIANT_FUNCTIONAL;
  return tt_call_execute(&call, results, 16, out_results);
}

// One fresh tensor result.
static inline tt_status_t call_one(const char* name, uint32_t arg_count, const tt_arg_t* args,
                                   fixture_t* out) {
  tt_result_t results[16];
  uint32_t count = 0;
  tt_status_t status = call_op(name, arg_count, args, 0, NULL, results, &count);
  if (!tt_status_is_ok(status)) return status;
  if (count != 1 || results[0].kind != TT_RESULT_TENSOR)
    return tt_status_create(TT_INTERNAL, "%s: %u results", name, count);
  memset(out, 0, sizeof(*out));
  out->view = (tt_tensor_t){.storage = results[0].storage,
                            .graph_value = -1,
                            .dtype = results[0].dtype,
                            .rank = results[0].rank,
                            .is_defined = true};
  memcpy(out->sizes, results[0].sizes, sizeof(out->sizes));
  memcpy(out->strides, results[0].strides, sizeof(out->strides));
  fix(out);
  return TT_OK_STATUS;
}

static inline tt_status_t call_inplace(const char* name, uint32_t arg_count, const tt_arg_t* args) {
  tt_result_t results[16];
  uint32_t count = 0;
  tt_status_t status = call_op(name, arg_count, args, 0, NULL, results, &count);
  if (tt_status_is_ok(status) && (count < 1 || results[0].kind != TT_RESULT_WRITTEN))
    return tt_status_create(TT_INTERNAL, "%s: not written", name);
  return status;
}

static inline void drop(fixture_t* f) {
  tt_storage_release(f->view.storage);
  f->view.storage = NULL;
}

#define SIZES(...) \
  (sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), (const int64_t[]) { __VA_ARGS__ }
#define EXPECT_F32(fixture, ...)                                             \
  do {                                                                       \
    const float tt_expected_[] = {__VA_ARGS__};                              \
    float tt_got_[sizeof(tt_expected_) / sizeof(float)];                     \
    fix(fixture);                                                            \
    TT_EXPECT_EQ(fixture_elems(fixture), TT_ARRAY_LENGTH(tt_expected_));     \
    TT_EXPECT_OK(tt_tensor_to_host(&(fixture)->view, tt_got_));              \
    for (size_t tt_i_ = 0; tt_i_ < TT_ARRAY_LENGTH(tt_expected_); ++tt_i_) { \
      TT_EXPECT_NEAR(tt_got_[tt_i_], tt_expected_[tt_i_], 1e-5);             \
    }                                                                        \
  } while (0)

#endif  // TT_EAGER_TEST_SUPPORT_H_
