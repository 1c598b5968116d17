// Several virtual devices in one process, properties, fork, shutdown.
#include "eager/device.h"

#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "eager/test_support.h"

static const float six[] = {1, 2, 3, 4, 5, 6};

TT_TEST(device, refuses_a_missing_plugin) {
  TT_EXPECT_OK(tt_select_plugin("/nonexistent/libnothing.so"));
  TT_EXPECT_ERROR(tt_initialize(), TT_NOT_FOUND, "/nonexistent/libnothing.so");
  TT_EXPECT(!tt_is_initialized());
  TT_EXPECT_OK(tt_select_plugin(NULL));   // N2: it may be tried again
}

TT_TEST(device, topology) {
  int count = 0;
  TT_EXPECT_OK(tt_device_count(&count));
  TT_EXPECT_EQ(count, 4);
  tt_device_properties_t p;
  TT_EXPECT_OK(tt_device_properties(3, &p));
  TT_EXPECT_STR(p.name, "TPU v6e (virtual, CPU)");
  TT_EXPECT_STR(p.generation, "v6e");
  TT_EXPECT_EQ(p.coords[0], 1);
  TT_EXPECT_EQ(p.coords[1], 1);
  TT_EXPECT(p.is_virtual);
  TT_EXPECT_EQ(p.chip_memory_bytes, (int64_t)32 << 30);
  TT_EXPECT(p.total_memory_bytes > 0 && p.total_memory_bytes <= p.chip_memory_bytes);
  TT_EXPECT((double)p.total_memory_bytes <= (double)tt_host_memory_limit_bytes() * 0.9 / 4 + 1);
  TT_EXPECT_ERROR(tt_device_properties(4, &p), TT_INVALID_ARGUMENT, "tpu:4 is out of range: there are 4");
  int support = 0;
  TT_EXPECT_OK(tt_device_dtype_support(0, TT_DTYPE_F32, &support));
  TT_EXPECT_EQ(support, 2);
  TT_EXPECT_ERROR(tt_select_plugin("x.so"), TT_FAILED_PRECONDITION, "open already");
}

TT_TEST(device, copies_across) {
  fixture_t x, y;
  TT_EXPECT_OK(fixture_make(&x, TT_DTYPE_F32, SIZES(2, 3), six));
  memset(&y, 0, sizeof(y));
  y.view = (tt_tensor_t){.graph_value = -1, .dtype = TT_DTYPE_F64, .rank = 2, .is_defined = true};
  y.sizes[0] = 3, y.sizes[1] = 2, y.strides[0] = 2, y.strides[1] = 1;
  fix(&y);
  TT_EXPECT_OK(tt_storage_allocate(2, 48, &y.view.storage));
  fixture_t t = fixture_view(&x, 2, (int64_t[]){3, 2}, (int64_t[]){1, 3}, 0);
  fix(&t);
  TT_EXPECT_OK(tt_tensor_copy(&y.view, &t.view));
  double got[6];
  TT_EXPECT_OK(tt_tensor_to_host(&y.view, got));
  static const double expected[] = {1, 4, 2, 5, 3, 6};
  for (int i = 0; i < 6; ++i) TT_EXPECT_NEAR(got[i], expected[i], 0);
  tt_arg_t args[] = {tensor_arg(&x), tensor_arg(&y), int_arg(1)};
  fixture_t z;
  TT_EXPECT_ERROR(call_one("add.Tensor", 3, args, &z), TT_INVALID_ARGUMENT,
                  "Expected all tensors to be on the same device");
  drop(&x), drop(&y);
}

// The child only asks; a crash or a success would change its exit code.
TT_TEST(device, forked_children_are_told_n3) {
  TT_EXPECT_OK(tt_initialize());
  fixture_t x;
  TT_EXPECT_OK(fixture_make(&x, TT_DTYPE_F32, SIZES(6), six));
  pid_t child = fork();
  if (child == 0) {
    tt_storage_t* s = NULL;
    tt_status_t status = tt_storage_allocate(0, 16, &s);
    bool told = tt_status_code(status) == TT_FAILED_PRECONDITION &&
                strstr(tt_status_message(status), "forked subprocess");
    drop(&x);   // releasing what was inherited is harmless
    _exit(told ? 0 : 1);
  }
  int code = -1;
  TT_EXPECT_EQ(waitpid(child, &code, 0), child);
  TT_EXPECT(WIFEXITED(code) && WEXITSTATUS(code) == 0);
  EXPECT_F32(&x, 1, 2, 3, 4, 5, 6);
  drop(&x);
}

TT_TEST(device, safe_inplace_gives_the_same) {
  TT_EXPECT_OK(tt_setting_set(TT_SETTING_SAFE_INPLACE, 1));
  TT_EXPECT_ERROR(tt_setting_set(TT_SETTING_SAFE_INPLACE, 2), TT_INVALID_ARGUMENT,
                  "safe_inplace cannot be 2");
  TT_EXPECT_ERROR(tt_setting_set(TT_SETTING_MATMUL_PASSES, 2), TT_INVALID_ARGUMENT, "0, 1, 3, 6");
  fixture_t x;
  TT_EXPECT_OK(fixture_make(&x, TT_DTYPE_F32, SIZES(6), six));
  tt_arg_t args[] = {tensor_arg(&x), tensor_arg(&x), int_arg(1)};
  TT_EXPECT_OK(call_inplace("add_.Tensor", 3, args));
  EXPECT_F32(&x, 2, 4, 6, 8, 10, 12);
  TT_EXPECT_OK(tt_setting_set(TT_SETTING_SAFE_INPLACE, 0));
  drop(&x);
}

TT_TEST(device, matmul_passes_are_part_of_the_key) {
  fixture_t x, z;
  TT_EXPECT_OK(fixture_make(&x, TT_DTYPE_F32, SIZES(2, 3), six));
  fixture_t t = fixture_view(&x, 2, (int64_t[]){3, 2}, (int64_t[]){1, 3}, 0);
  tt_arg_t args[] = {tensor_arg(&x), tensor_arg(&t)};
  tt_compile_stats_t before, after;
  for (int round = 0; round < 2; ++round) {
    tt_compile_stats(&before);
    for (int passes = 0; passes <= 1; ++passes) {
      TT_EXPECT_OK(tt_setting_set(TT_SETTING_MATMUL_PASSES, passes));
      TT_EXPECT_OK(call_one("mm", 2, args, &z));
      EXPECT_F32(&z, 14, 32, 32, 77);   // exact in bf16 products
      drop(&z);
    }
    TT_EXPECT_OK(tt_setting_set(TT_SETTING_MATMUL_PASSES, 0));
    tt_compile_stats(&after);
    TT_EXPECT_EQ(after.misses - before.misses, round == 0 ? 2 : 0);   // both programs stay
  }
  drop(&x);
}

TT_TEST(device, zz_shutdown_n4) {
  fixture_t x;
  TT_EXPECT_OK(fixture_make(&x, TT_DTYPE_F32, SIZES(6), six));
  tt_shutdown();
  TT_EXPECT(!tt_is_initialized());
  TT_EXPECT_ERROR(tt_initialize(), TT_FAILED_PRECONDITION, "shut down");
  fixture_t z;
  tt_arg_t args[] = {tensor_arg(&x)};
  TT_EXPECT_ERROR(call_one("neg", 1, args, &z), TT_FAILED_PRECONDITION, "shut down");
  drop(&x);
  tt_shutdown();
}

int main(int argc, char** argv) {
  setenv("TORCH_TPU_VIRTUAL", "v6e:2x2", 1);
  return tt_test_main(argc, argv);
}
