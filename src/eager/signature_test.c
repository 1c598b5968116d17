// Keys in words: what tt_compile_reasons says for each kind of difference. No device is opened.
#include "eager/signature.h"

#include "base/alloc.h"
#include "base/test.h"

typedef struct key_s {
  uint64_t words[256];
  size_t count;
} key_t_;

static tt_engine_t engine = {.is_vtpu = true};  // what a frame asks of it

// The key of a call with storages that look as if they were bound; nothing is executed.
static tt_status_t make_key(const tt_call_t* call, uint32_t value_args, key_t_* out) {
  tt_frame_t* frame = NULL;
  TT_RETURN_IF_ERROR(tt_frame_begin(&engine, 0, &frame));
  tt_status_t status = tt_frame_gather_call(frame, call);
  if (tt_status_is_ok(status)) status = tt_signature_build(frame, value_args, 0, NULL);
  if (tt_status_is_ok(status)) {
    out->count = frame->key_count;
    memcpy(out->words, frame->key, frame->key_count * sizeof(uint64_t));
  }
  tt_frame_end(frame);
  return status;
}

static struct tt_storage_s cells[3];
static tt_tensor_t tensor(int cell, uint8_t dtype, size_t rank, const int64_t* sizes, const int64_t* strides,
                          int64_t offset) {
  tt_storage_t* s = &cells[cell];
  s->bytes = 4096;
  return (tt_tensor_t){.storage = s,
                       .graph_value = -1,
                       .dtype = dtype,
                       .rank = (uint8_t)rank,
                       .is_defined = true,
                       .sizes = sizes,
                       .strides = strides,
                       .offset = offset};
}

typedef struct pair_s {
  tt_arg_t args[3];
  tt_variant_t variant;
  uint32_t count, value_args;
} pair_t;
static const char* explain(const pair_t* a, const pair_t* b) {
  static char text[256];
  key_t_ x, y;
  tt_call_t call = {.op = 1, .variant = a->variant, .arg_count = a->count, .args = a->args};
  tt_status_t status = make_key(&call, a->value_args, &x);
  call.args = b->args, call.arg_count = b->count, call.variant = b->variant;
  status = tt_status_join(status, make_key(&call, b->value_args, &y));
  if (!tt_status_is_ok(status)) snprintf(text, sizeof(text), "%s", tt_status_message(status));
  tt_status_free(status);
  bool same = x.count == y.count && memcmp(x.words, y.words, x.count * sizeof(uint64_t)) == 0;
  if (same) return "same";
  tt_strbuf_t out;
  tt_strbuf_initialize(&out);
  tt_signature_explain(x.words, x.count, y.words, y.count, &out);
  snprintf(text, sizeof(text), "%s", tt_strbuf_text(&out));
  tt_strbuf_deinitialize(&out);
  return text;
}

static const int64_t four_four[] = {4, 4}, eight_four[] = {8, 4}, rows[] = {4, 1}, columns[] = {1, 4};
#define T(...) {.kind = TT_ARG_TENSOR, .tensor = tensor(__VA_ARGS__)}
#define I(v) \
  { .kind = TT_ARG_INT, .scalar = {.kind = TT_ARG_INT, .i = v} }
#define F(v) \
  { .kind = TT_ARG_FLOAT, .scalar = {.kind = TT_ARG_FLOAT, .c = {v}} }
#define PAIR(values, ...) &(pair_t){.args = {__VA_ARGS__}, .count = 3, .value_args = values}

TT_TEST(signature, says_what_changed) {
  tt_arg_t x = T(0, TT_DTYPE_F32, 2, four_four, rows, 0), y = T(1, TT_DTYPE_F32, 2, four_four, rows, 0);
  tt_arg_t tall = T(1, TT_DTYPE_F32, 2, eight_four, rows, 0),
           turned = T(1, TT_DTYPE_F32, 2, four_four, columns, 0);
  tt_arg_t later = T(1, TT_DTYPE_F32, 2, four_four, rows, 4),
           wide = T(1, TT_DTYPE_F64, 2, four_four, rows, 0);
  tt_arg_t shared = T(0, TT_DTYPE_F32, 2, four_four, rows, 0), one = I(1), seven = I(7), half = F(0.5),
           third = F(0.3), other = F(0.4);
  tt_arg_t none = {.kind = TT_ARG_NONE};
  TT_EXPECT_STR(explain(PAIR(4, x, y, one), PAIR(4, x, y, one)), "same");
  TT_EXPECT_STR(explain(PAIR(4, x, y, one), PAIR(4, x, tall, one)), "sizes of argument 1: [4, 4] -> [8, 4]");
  TT_EXPECT_STR(explain(PAIR(4, x, y, one), PAIR(4, x, turned, one)),
                "strides of argument 1: [4, 1] -> [1, 4]");
  TT_EXPECT_STR(explain(PAIR(4, x, y, one), PAIR(4, x, later, one)), "storage offset of argument 1: 0 -> 4");
  TT_EXPECT_STR(explain(PAIR(4, x, y, one), PAIR(4, x, wide, one)), "dtype of argument 1: f32 -> f64");
  TT_EXPECT_CONTAINS(explain(PAIR(4, x, y, one), PAIR(4, x, shared, one)), "argument 1 shares its storage");
  TT_EXPECT_STR(explain(PAIR(4, x, y, one), PAIR(4, x, y, seven)),
                "value of argument 2: 1 -> a run-time value");
  TT_EXPECT_STR(explain(PAIR(4, x, y, third), PAIR(4, x, y, other)),
                "same");   // D10: values are not in the key
  TT_EXPECT_STR(explain(PAIR(0, x, y, third), PAIR(0, x, y, half)),
                "value of argument 2: 0.29999999999999999 -> 0.5");
  TT_EXPECT_STR(explain(PAIR(4, x, y, one), PAIR(4, x, y, none)), "kind of argument 2");
  pair_t in_place = {.args = {x, y, one}, .count = 3, .value_args = 4, .variant = TT_VARIANT_INPLACE};
  TT_EXPECT_CONTAINS(explain(PAIR(4, x, y, one), &in_place), "variant");
  pair_t shorter = {.args = {x, y}, .count = 2, .value_args = 4};
  TT_EXPECT_STR(explain(PAIR(4, x, y, one), &shorter), "number of arguments");
}

TT_TEST(signature, equal_calls_on_other_storages_are_equal_f2) {
  tt_arg_t a = T(0, TT_DTYPE_F32, 2, four_four, rows, 0), b = T(1, TT_DTYPE_F32, 2, four_four, rows, 0),
           c = T(2, TT_DTYPE_F32, 2, four_four, rows, 0);
  tt_arg_t one = I(1);
  TT_EXPECT_STR(explain(PAIR(4, a, b, one), PAIR(4, c, a, one)), "same");
  TT_EXPECT_STR(explain(PAIR(4, a, a, one), PAIR(4, c, c, one)), "same");
}

TT_TEST(signature, long_lists_partition_alike) {
  // 40 tensors over 3 storages: the table and the plain loop must number storages alike.
  tt_tensor_t list[40];
  for (int i = 0; i < 40; ++i) list[i] = tensor(i * 7 % 3, TT_DTYPE_F32, 2, four_four, rows, 0);
  tt_arg_t many = {.kind = TT_ARG_TENSORS, .count = 40, .tensors = list},
           few = {.kind = TT_ARG_TENSORS, .count = 12, .tensors = list};
  tt_frame_t* frame = NULL;
  for (int round = 0; round < 2; ++round) {
    tt_call_t call = {.op = 1, .arg_count = 1, .args = round ? &few : &many};
    TT_EXPECT_OK(tt_frame_begin(&engine, 0, &frame));
    TT_EXPECT_OK(tt_frame_gather_call(frame, &call));
    TT_EXPECT_EQ(frame->storage_count, 3);
    for (size_t i = 0; i < frame->view_count; ++i) {
      TT_EXPECT(frame->storages[frame->storage_of[i]] == list[i].storage);
      TT_EXPECT_EQ(frame->storage_of[i], i % 3);
    }
    tt_frame_end(frame);
  }
}

int main(int argc, char** argv) { return tt_test_main(argc, argv); }
