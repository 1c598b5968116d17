#include "eager/strides.h"

#include "base/test.h"
#include "eager/overlap.h"
#include "eager/view.h"

#define UNWRAP(...) __VA_ARGS__
#define S(rank, sizes, count, inputs, expected) \
  {rank, {UNWRAP sizes}, count, {UNWRAP inputs}, {UNWRAP expected}},
typedef struct case_s {
  size_t rank;
  int64_t sizes[8];
  size_t count;
  struct {
    size_t rank;
    int64_t sizes[8], strides[8];
  } inputs[3];
  int64_t expected[8];
} case_t;
static const case_t cases[] = {
#include "eager/strides_cases.inc"   // from CPU PyTorch: strides_cases.py
};

TT_TEST(strides, equal_torch) {
  for (size_t i = 0; i < TT_ARRAY_LENGTH(cases); ++i) {
    const case_t* c = &cases[i];
    tt_stride_input_t inputs[3];
    for (size_t k = 0; k < c->count; ++k) {
      inputs[k] = (tt_stride_input_t){c->inputs[k].rank, c->inputs[k].sizes, c->inputs[k].strides};
    }
    int64_t strides[8];
    tt_strides_pointwise(c->rank, c->sizes, c->count, inputs, strides);
    for (size_t d = 0; d < c->rank; ++d) {
      if (strides[d] == c->expected[d]) continue;
      TT_TEST_FAIL("case %zu, dimension %zu: stride %lld, torch has %lld", i, d, (long long)strides[d],
                   (long long)c->expected[d]);
      return;
    }
  }
}

TT_TEST(view, physical_order) {
  int64_t order[4];
  TT_EXPECT(tt_view_physical_order(2, (int64_t[]){3, 4}, (int64_t[]){1, 3}, order));
  TT_EXPECT_EQ(order[0], 1);
  TT_EXPECT_EQ(order[1], 0);
  TT_EXPECT(!tt_view_physical_order(2, (int64_t[]){3, 4}, (int64_t[]){8, 1}, order));
  TT_EXPECT(!tt_view_physical_order(1, (int64_t[]){3}, (int64_t[]){0}, order));
  TT_EXPECT(tt_view_physical_order(2, (int64_t[]){1, 4}, (int64_t[]){77, 1}, order));
  TT_EXPECT(tt_view_physical_order(2, (int64_t[]){0, 4}, (int64_t[]){9, 9}, order));
}

static tt_tensor_t view1(void* storage, int64_t offset, const int64_t* size, const int64_t* stride) {
  return (tt_tensor_t){.storage = storage,
                       .dtype = TT_DTYPE_F32,
                       .rank = 1,
                       .is_defined = true,
                       .sizes = size,
                       .strides = stride,
                       .offset = offset};
}

TT_TEST(view, range) {
  int64_t size = 4, stride = 2;
  tt_tensor_t view = view1(NULL, 1, &size, &stride);
  TT_EXPECT_OK(tt_view_check_range(&view, 4, 32));
  TT_EXPECT_ERROR(tt_view_check_range(&view, 4, 31), TT_OUT_OF_RANGE, "element 7");
  view.offset = INT64_MAX - 2;
  TT_EXPECT_ERROR(tt_view_check_range(&view, 4, 32), TT_OUT_OF_RANGE, "32 bytes");
}

TT_TEST(overlap, as_cpu_pytorch) {
  int storage = 0, other = 0;
  int64_t seven = 7, four = 4, one = 1, two = 2, zero = 0;
  tt_tensor_t tail = view1(&storage, 1, &seven, &one), head = view1(&storage, 0, &seven, &one);
  TT_EXPECT_ERROR(tt_overlap_check_partial(&tail, &head), TT_INVALID_ARGUMENT,
                  "some elements of the input tensor and the written-to tensor");
  TT_EXPECT_OK(tt_overlap_check_partial(&tail, &tail));
  tt_tensor_t even = view1(&storage, 0, &four, &two), odd = view1(&storage, 1, &four, &two);
  TT_EXPECT_OK(tt_overlap_check_partial(&even, &odd));   // x[::2].add_(x[1::2])
  head.storage = (tt_storage_t*)(void*)&other;
  TT_EXPECT_OK(tt_overlap_check_partial(&tail, &head));
  tt_tensor_t expanded = view1(&storage, 0, &four, &zero);
  TT_EXPECT_ERROR(tt_overlap_check_internal(&expanded), TT_INVALID_ARGUMENT,
                  "more than one element of the written-to tensor");
  TT_EXPECT_OK(tt_overlap_check_internal(&tail));
}

int main(int argc, char** argv) { return tt_test_main(argc, argv); }
