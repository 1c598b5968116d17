// Storages, copies, streams: invariants E1..E9 of cell.h.
#include "eager/cell.h"

#include "base/thread.h"
#include "eager/test_support.h"

static const float six[] = {1, 2, 3, 4, 5, 6};

TT_TEST(cell, addresses_e8_e9) {
  tt_storage_t *a = NULL, *b = NULL, *empty = NULL;
  TT_EXPECT_OK(tt_storage_allocate(0, 1000, &a));
  TT_EXPECT_OK(tt_storage_allocate(0, 1000, &b));
  TT_EXPECT_OK(tt_storage_allocate(0, 0, &empty));
  TT_EXPECT(tt_storage_address(a) && tt_storage_address(empty) &&
            tt_storage_address(a) != tt_storage_address(b));
  size_t offset = 0;
  TT_EXPECT(tt_storage_from_address((char*)tt_storage_address(a) + 999, &offset) == a);
  TT_EXPECT_EQ(offset, 999);
  TT_EXPECT_EQ(tt_storage_bytes(a), 1000);
  void* address = tt_storage_address(b);
  tt_storage_release(b);
  TT_EXPECT(tt_storage_from_address(address, NULL) == NULL);
  TT_EXPECT_OK(tt_storage_allocate(0, 900, &b));   // the slot comes back
  TT_EXPECT(tt_storage_address(b) == address);
  tt_storage_retain(b);
  tt_storage_release(b);
  TT_EXPECT(tt_storage_from_address(address, NULL) == b);
  tt_storage_release(a), tt_storage_release(b), tt_storage_release(empty);
  int host = 0;
  TT_EXPECT(!tt_storage_from_address(&host, NULL));
}

TT_TEST(cell, budget_e7) {
  tt_memory_stats_t before, during;
  TT_EXPECT_OK(tt_device_memory_stats(0, &before));
  tt_storage_t* a = NULL;
  TT_EXPECT_OK(tt_storage_allocate(0, 5000, &a));
  TT_EXPECT_OK(tt_device_memory_stats(0, &during));
  TT_EXPECT_EQ(during.allocated_bytes - before.allocated_bytes, 5000);
  tt_storage_t* huge = NULL;
  TT_EXPECT_ERROR(tt_storage_allocate(0, (size_t)1 << 62, &huge), TT_RESOURCE_EXHAUSTED,
                  "largest live storages of tpu:0");
  TT_EXPECT(!huge);
  TT_EXPECT_OK(tt_device_memory_stats(0, &during));
  TT_EXPECT_EQ(during.out_of_memory_errors - before.out_of_memory_errors, 1);
  tt_storage_release(a);
  TT_EXPECT_OK(tt_device_memory_stats(0, &during));
  TT_EXPECT_EQ(during.allocated_bytes, before.allocated_bytes);
  TT_EXPECT_ERROR(tt_storage_allocate(7, 16, &a), TT_INVALID_ARGUMENT, "tpu:7");
}

TT_TEST(cell, bytes_and_forms) {
  tt_storage_t* s = NULL;
  TT_EXPECT_OK(tt_storage_allocate(0, 24, &s));
  float got[6];
  TT_EXPECT_OK(tt_storage_read(s, 0, 24, got));
  TT_EXPECT_EQ(got[5], 0);
  TT_EXPECT_OK(tt_storage_write(s, 0, 24, six));
  TT_EXPECT_OK(tt_storage_read(s, 8, 8, got));
  TT_EXPECT_EQ(got[0], 3);
  TT_EXPECT_EQ(s->dtype, TT_DTYPE_U8);
  TT_EXPECT(s->is_raw);
  int64_t sizes[2] = {2, 3}, strides[2] = {3, 1};
  tt_tensor_t view = {.storage = s,
                      .graph_value = -1,
                      .dtype = TT_DTYPE_F32,
                      .rank = 2,
                      .is_defined = true,
                      .sizes = sizes,
                      .strides = strides};
  fixture_t z;
  tt_arg_t args[] = {{.kind = TT_ARG_TENSOR, .tensor = view}};
  TT_EXPECT_OK(call_one("neg", 1, args, &z));
  EXPECT_F32(&z, -1, -2, -3, -4, -5, -6);
  TT_EXPECT_EQ(s->dtype, TT_DTYPE_F32);   // re-formed once
  TT_EXPECT_OK(tt_storage_write(s, 4, 4, (float[]){20}));
  TT_EXPECT_OK(tt_storage_read(s, 0, 24, got));
  TT_EXPECT_EQ(got[1], 20);
  TT_EXPECT_EQ(got[2], 3);
  TT_EXPECT_ERROR(tt_storage_read(s, 20, 8, got), TT_OUT_OF_RANGE, "storage of 24 bytes");
  tt_storage_t* grown = NULL;
  TT_EXPECT_OK(tt_storage_allocate(0, 40, &grown));
  TT_EXPECT_OK(tt_storage_copy(grown, 0, s, 0, 24));
  float ten[10];
  TT_EXPECT_OK(tt_storage_read(grown, 0, 40, ten));
  TT_EXPECT_EQ(ten[1], 20);
  TT_EXPECT_EQ(ten[5], 6);
  TT_EXPECT_EQ(ten[9], 0);
  drop(&z);
  tt_storage_release(s), tt_storage_release(grown);
}

TT_TEST(cell, dtype_views) {
  fixture_t x;
  TT_EXPECT_OK(fixture_make(&x, TT_DTYPE_F32, SIZES(2), (float[]){1, -2}));
  fixture_t bits = x;
  bits.view.dtype = TT_DTYPE_S32;
  fix(&bits);
  fixture_t z;
  tt_arg_t args[] = {tensor_arg(&bits), tensor_arg(&bits)};
  TT_EXPECT_OK(call_one("maximum", 2, args, &z));
  int32_t got[2];
  TT_EXPECT_OK(tt_tensor_to_host(&z.view, got));
  TT_EXPECT_EQ(got[0], 0x3f800000);
  TT_EXPECT_EQ(got[1], (int32_t)0xc0000000);
  // Write through another dtype's view: the sign bit of x[0].
  fixture_t bytes = x;
  bytes.view.dtype = TT_DTYPE_U8;
  bytes.view.offset = 3;
  bytes.sizes[0] = 1;
  fix(&bytes);
  TT_EXPECT_OK(tt_tensor_from_host(&bytes.view, (uint8_t[]){0xbf}, TT_DTYPE_U8));
  EXPECT_F32(&x, -1, -2);
  drop(&x), drop(&z);
}

TT_TEST(cell, copies_convert_and_stride) {
  fixture_t x, y;
  TT_EXPECT_OK(fixture_make(&x, TT_DTYPE_F32, SIZES(2, 3), six));
  TT_EXPECT_OK(fixture_empty(&y, TT_DTYPE_S64, SIZES(3, 2)));
  fixture_t t = fixture_view(&x, 2, (int64_t[]){3, 2}, (int64_t[]){1, 3}, 0);
  fix(&t), fix(&y);
  TT_EXPECT_OK(tt_tensor_copy(&y.view, &t.view));
  int64_t got[6];
  TT_EXPECT_OK(tt_tensor_to_host(&y.view, got));
  for (int i = 0; i < 3; ++i) {
    TT_EXPECT_EQ(got[2 * i], i + 1);
    TT_EXPECT_EQ(got[2 * i + 1], i + 4);
  }
  fixture_t column = fixture_view(&x, 1, (int64_t[]){2}, (int64_t[]){3}, 2);
  fix(&column);
  TT_EXPECT_OK(tt_tensor_from_host(&column.view, (int64_t[]){70, 80}, TT_DTYPE_S64));
  EXPECT_F32(&x, 1, 2, 70, 4, 5, 80);
  // A permuted dense destination is stored transposed (E3).
  fixture_t fresh;
  TT_EXPECT_OK(fixture_empty(&fresh, TT_DTYPE_F32, SIZES(2, 3)));
  fixture_t ft = fixture_view(&fresh, 2, (int64_t[]){3, 2}, (int64_t[]){1, 3}, 0);
  fix(&ft);
  TT_EXPECT_OK(tt_tensor_from_host(&ft.view, six, TT_DTYPE_F32));
  EXPECT_F32(&ft, 1, 2, 3, 4, 5, 6);
  EXPECT_F32(&fresh, 1, 3, 5, 2, 4, 6);
  drop(&x), drop(&y), drop(&fresh);
}

// ---- two threads writing disjoint views both win (E4) ------------------------------------------
typedef struct writer_s {
  fixture_t* x;
  int64_t row;
  bool ok;
} writer_t;
static void write_rows(void* arg) {
  writer_t* w = arg;
  fixture_t row = fixture_view(w->x, 1, (int64_t[]){64}, (int64_t[]){1}, w->row * 64), one;
  float ones[64];
  for (int i = 0; i < 64; ++i) ones[i] = 1;
  w->ok = false;
  if (tt_status_code(fixture_make(&one, TT_DTYPE_F32, SIZES(64), ones)) != TT_OK) return;
  tt_arg_t args[] = {tensor_arg(&row), tensor_arg(&one), int_arg(1)};
  for (int i = 0; i < 300; ++i) {
    tt_status_t status = call_inplace("add_.Tensor", 3, args);
    if (tt_status_is_ok(status)) continue;
    tt_status_free(status);
    return;
  }
  drop(&one);
  w->ok = true;
}

TT_TEST(cell, disjoint_views_in_two_threads_e4) {
  fixture_t x;
  float zeros[128] = {0}, got[128];
  TT_EXPECT_OK(fixture_make(&x, TT_DTYPE_F32, SIZES(2, 64), zeros));
  writer_t writers[2] = {{&x, 0, false}, {&x, 1, false}};
  tt_thread_t threads[2];
  for (int i = 0; i < 2; ++i) TT_EXPECT_OK(tt_thread_create(&threads[i], "writer", write_rows, &writers[i]));
  for (int i = 0; i < 2; ++i) tt_thread_join(&threads[i]);
  TT_EXPECT(writers[0].ok && writers[1].ok);
  TT_EXPECT_OK(tt_tensor_to_host(&x.view, got));
  for (int i = 0; i < 128; ++i) TT_EXPECT_EQ(got[i], 300);
  drop(&x);
}

// x.add_(y) beside y.add_(x): no deadlock, because cells are locked in address order.
typedef struct crossing_s {
  fixture_t *x, *y;
} crossing_t;
static void cross(void* arg) {
  crossing_t* c = arg;
  tt_arg_t args[] = {tensor_arg(c->x), tensor_arg(c->y), int_arg(0)};
  for (int i = 0; i < 300; ++i) tt_status_free(call_inplace("add_.Tensor", 3, args));
}
TT_TEST(cell, crossing_writers_e4) {
  fixture_t x, y;
  TT_EXPECT_OK(fixture_make(&x, TT_DTYPE_F32, SIZES(6), six));
  TT_EXPECT_OK(fixture_make(&y, TT_DTYPE_F32, SIZES(6), six));
  fixture_t x2 = x, y2 = y;
  crossing_t a = {&x, &y}, b = {&y2, &x2};
  tt_thread_t threads[2];
  TT_EXPECT_OK(tt_thread_create(&threads[0], "a", cross, &a));
  TT_EXPECT_OK(tt_thread_create(&threads[1], "b", cross, &b));
  for (int i = 0; i < 2; ++i) tt_thread_join(&threads[i]);
  EXPECT_F32(&x, 1, 2, 3, 4, 5, 6);
  drop(&x), drop(&y);
}

// ---- nothing is lost (E5, D3) ------------------------------------------------------------------
TT_TEST(cell, failed_calls_change_nothing_e5) {
  fixture_t x, y;
  TT_EXPECT_OK(fixture_make(&x, TT_DTYPE_F32, SIZES(6), six));
  TT_EXPECT_OK(fixture_make(&y, TT_DTYPE_F32, SIZES(6), six));
  tt_arg_t args[] = {tensor_arg(&x), tensor_arg(&y), float_arg(0.25)};
  TT_EXPECT_OK(call_inplace("add_.Tensor", 3, args));
  EXPECT_F32(&x, 1.25, 2.5, 3.75, 5, 6.25, 7.5);
  int failures = 0;
  for (int kind = 0; kind < 2; ++kind) {
    for (uint64_t nth = 1; nth < 60; ++nth) {
      tt_compile_cache_clear();
      (kind ? tt_fault_arm_plugin_call : tt_fault_arm_allocation)(nth);
      tt_status_t status = call_inplace("add_.Tensor", 3, args);
      bool fired = tt_fault_fired();
      (kind ? tt_fault_arm_plugin_call : tt_fault_arm_allocation)(0);
      bool ok = tt_status_is_ok(status);
      tt_status_free(status);
      if (ok) {   // undo exactly: 0.25 y is exact in these numbers
        tt_arg_t undo[] = {args[0], args[1], float_arg(-0.25)};
        TT_EXPECT_OK(call_inplace("add_.Tensor", 3, undo));
      }
      failures += !ok;
      EXPECT_F32(&x, 1.25, 2.5, 3.75, 5, 6.25, 7.5);
      if (!fired) break;
    }
  }
  TT_EXPECT(failures > 2);
  drop(&x), drop(&y);
}

TT_TEST(cell, streams_and_events) {
  int64_t stream = 0;
  TT_EXPECT_OK(tt_stream_create(0, 0, &stream));
  TT_EXPECT(stream != 0);
  tt_event_t *begin = NULL, *end = NULL;
  TT_EXPECT_OK(tt_event_create(0, true, &begin));
  TT_EXPECT_OK(tt_event_create(0, true, &end));
  double ms = -1;
  TT_EXPECT_ERROR(tt_event_elapsed_ms(begin, end, &ms), TT_INVALID_ARGUMENT, "recorded");
  TT_EXPECT_OK(tt_event_record(begin, stream));
  TT_EXPECT_OK(tt_event_record(end, 0));
  TT_EXPECT_OK(tt_event_elapsed_ms(begin, end, &ms));
  TT_EXPECT(ms >= 0 && ms < 1000);
  bool done = false;
  TT_EXPECT_OK(tt_event_query(end, &done));
  TT_EXPECT(done);
  tt_stream_set_current(0, stream);
  TT_EXPECT_EQ(tt_stream_current(0), stream);
  tt_stream_set_current(0, 0);
  TT_EXPECT_OK(tt_device_synchronize(-1));
  TT_EXPECT_ERROR(tt_device_synchronize(9), TT_INVALID_ARGUMENT, "tpu:9");
  tt_event_release(begin), tt_event_release(end);
}

TT_TEST(cell, traces) {
  tt_trace_event_t events[8];
  tt_trace_enable(true);
  tt_trace_correlation(42);
  fixture_t x, z;
  TT_EXPECT_OK(fixture_make(&x, TT_DTYPE_F32, SIZES(6), six));
  tt_arg_t args[] = {tensor_arg(&x)};
  TT_EXPECT_OK(call_one("neg", 1, args, &z));
  tt_trace_enable(false);
  tt_trace_correlation(0);
  TT_EXPECT_EQ(tt_trace_take(events, 8, NULL), 1);
  TT_EXPECT_STR(events[0].name, "aten::neg");
  TT_EXPECT_EQ(events[0].correlation, 42);
  TT_EXPECT(events[0].end_ns >= events[0].begin_ns);
  drop(&x), drop(&z);
}

int main(int argc, char** argv) { return tt_test_main(argc, argv); }

// A whole copy shares the buffer; whoever writes first gets its own: no donation reaches the other (E6).
TT_TEST(cell, shared_buffers_e6) {
  fixture_t a, b, c;
  TT_EXPECT_OK(fixture_make(&a, TT_DTYPE_F32, SIZES(6), six));
  TT_EXPECT_OK(fixture_empty(&b, TT_DTYPE_F32, SIZES(6)));
  TT_EXPECT_OK(fixture_empty(&c, TT_DTYPE_F32, SIZES(6)));
  TT_EXPECT_OK(tt_storage_copy(b.view.storage, 0, a.view.storage, 0, 24));
  TT_EXPECT_OK(tt_storage_copy(c.view.storage, 0, b.view.storage, 0, 24));
  TT_EXPECT(a.view.storage->buffer == b.view.storage->buffer);
  TT_EXPECT(a.view.storage->buffer == c.view.storage->buffer);
  TT_EXPECT(a.view.storage->is_shared && c.view.storage->is_shared);
  fixture_t tail = fixture_view(&b, SIZES(2), (int64_t[]){1}, 4);
  tt_arg_t args[3] = {tensor_arg(&tail), tensor_arg(&tail), int_arg(1)};
  TT_EXPECT_OK(call_inplace("add_.Tensor", 3, args));   // partial: its base would be donated
  EXPECT_F32(&a, 1, 2, 3, 4, 5, 6);
  EXPECT_F32(&b, 1, 2, 3, 4, 10, 12);
  EXPECT_F32(&c, 1, 2, 3, 4, 5, 6);
  drop(&a);   // c is the last one: it may write in place again
  fixture_t head = fixture_view(&c, SIZES(2), (int64_t[]){1}, 0);
  args[0] = tensor_arg(&head), args[1] = tensor_arg(&head);
  TT_EXPECT_OK(call_inplace("add_.Tensor", 3, args));
  EXPECT_F32(&c, 2, 4, 3, 4, 5, 6);
  TT_EXPECT(!c.view.storage->is_shared);
  fixture_t unbound;
  TT_EXPECT_OK(fixture_empty(&unbound, TT_DTYPE_F32, SIZES(6)));
  TT_EXPECT_OK(tt_storage_copy(b.view.storage, 0, unbound.view.storage, 0, 24));   // E1
  EXPECT_F32(&b, 0, 0, 0, 0, 0, 0);
  drop(&b), drop(&c), drop(&unbound);
}
