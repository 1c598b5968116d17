// Plans as objects: hostile bytes, failing allocations, thread counts.
#include "compile/plan_load.h"
#include "exec/test_program.h"

#include "base/hash.h"
#include "exec/pool.h"
#include "ir/text.h"

// Two reductions, fused loops, a transpose, a constant, temporaries, a multi-operand reducer, a branch and a donation.
static const char program[] =
    "func.func @main(%x: tensor<6x40xf32> {tf.aliasing_output = 0 : i32}, %k: tensor<i1>) -> (tensor<6x40xf32>, tensor<40x6xf32>, tensor<6xi32>) {\n"
    "  %lo = stablehlo.constant dense<0xFF800000> : tensor<f32>\n"
    "  %z = stablehlo.constant dense<0.0> : tensor<f32>\n"
    "  %w = stablehlo.constant dense<[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]> : tensor<6xf32>\n"
    "  %m = stablehlo.reduce(%x init: %lo) applies stablehlo.maximum across dimensions = [1] : (tensor<6x40xf32>, tensor<f32>) -> tensor<6xf32>\n"
    "  %mb = stablehlo.broadcast_in_dim %m, dims = [0] : (tensor<6xf32>) -> tensor<6x40xf32>\n"
    "  %d = stablehlo.subtract %x, %mb : tensor<6x40xf32>\n"
    "  %e = stablehlo.exponential %d : tensor<6x40xf32>\n"
    "  %s = stablehlo.reduce(%e init: %z) applies stablehlo.add across dimensions = [0] : (tensor<6x40xf32>, tensor<f32>) -> tensor<40xf32>\n"
    "  %sb = stablehlo.broadcast_in_dim %s, dims = [1] : (tensor<40xf32>) -> tensor<6x40xf32>\n"
    "  %wb = stablehlo.broadcast_in_dim %w, dims = [0] : (tensor<6xf32>) -> tensor<6x40xf32>\n"
    "  %q = stablehlo.divide %e, %sb : tensor<6x40xf32>\n"
    "  %r = stablehlo.multiply %q, %wb : tensor<6x40xf32>\n"
    "  %t = stablehlo.transpose %r, dims = [1, 0] : (tensor<6x40xf32>) -> tensor<40x6xf32>\n"
    "  %b = \"stablehlo.if\"(%k) ({\n"
    "    %n = stablehlo.negate %t : tensor<40x6xf32>\n"
    "    \"stablehlo.return\"(%n) : (tensor<40x6xf32>) -> ()\n"
    "  }, {\n"
    "    \"stablehlo.return\"(%t) : (tensor<40x6xf32>) -> ()\n"
    "  }) : (tensor<i1>) -> tensor<40x6xf32>\n"
    "  %i = stablehlo.iota dim = 1 : tensor<6x40xi32>\n"
    "  %iz = stablehlo.constant dense<0> : tensor<i32>\n"
    "  %a:2 = \"stablehlo.reduce\"(%r, %i, %z, %iz) <{dimensions = array<i64: 1>}> ({\n"
    "  ^bb0(%p: tensor<f32>, %pi: tensor<i32>, %o: tensor<f32>, %oi: tensor<i32>):\n"
    "    %sum = stablehlo.add %p, %o : tensor<f32>\n"
    "    %most = stablehlo.maximum %pi, %oi : tensor<i32>\n"
    "    \"stablehlo.return\"(%sum, %most) : (tensor<f32>, tensor<i32>) -> ()\n"
    "  }) : (tensor<6x40xf32>, tensor<6x40xi32>, tensor<f32>, tensor<i32>) -> (tensor<6xf32>, tensor<6xi32>)\n"
    "  return %r, %b, %a#1 : tensor<6x40xf32>, tensor<40x6xf32>, tensor<6xi32>\n"
    "}\n";

static tt_module_t* module_of(const char* text) {
  tt_module_t* module = NULL;
  tt_status_t status = tt_module_parse(text, strlen(text), &module);
  if (!tt_status_is_ok(status)) TT_TEST_FAIL("%s", tt_status_message(status));
  tt_status_free(status);
  return module;
}

static bool loop_is_small(const void* bytes, uint32_t at) { return PD_AT(bytes, at, pd_loop_t)->elems <= 1 << 16; }

// Valid plans may still ask for much work; such ones are not run.
static bool is_small(const tt_plan_t* plan) {
  for (uint32_t b = 0; b < plan->header->block_count; ++b) {
    const pd_step_t* steps = tt_plan_steps(plan, b);
    for (uint32_t i = 0; i < plan->blocks[b].step_count; ++i) {
      uint32_t at = steps[i].data_at;
      if (steps[i].kind == PD_S_LOOP && !loop_is_small(plan->bytes, at)) return false;
      if (steps[i].kind == PD_S_REDUCE && !loop_is_small(plan->bytes, PD_AT(plan->bytes, at, pd_reduce_t)->loop_at)) return false;
      if (steps[i].kind == PD_S_WHILE || steps[i].kind == PD_S_OP) return false;   // endless; unchecked blobs
    }
  }
  return plan->header->temp_bytes < 1 << 24;
}

static bool same_interface(const tt_plan_t* a, const tt_plan_t* b) {
  if (a->info.parameter_count != b->info.parameter_count || a->info.result_count != b->info.result_count) return false;
  for (size_t i = 0; i < a->info.parameter_count; ++i) if (a->parameters[i].bytes != b->parameters[i].bytes) return false;
  for (size_t i = 0; i < a->info.result_count; ++i) if (a->results[i].bytes != b->results[i].bytes) return false;
  return true;
}

TT_TEST(plan, hostile_bytes_l1_l3) {
  tt_module_t* module = module_of(program);
  tt_plan_t* plan = NULL;
  TT_EXPECT(module != NULL);
  TT_EXPECT_OK(test_compile(module, false, &plan));
  TT_EXPECT_OK(tt_plan_validate(plan->bytes, plan->size));
  TT_EXPECT(is_small(plan));
  void* bytes;
  size_t size;
  TT_EXPECT_OK(tt_plan_serialise(plan, &bytes, &size));
  char* broken = malloc(size);
  float x[240];
  uint8_t k = 1;
  for (int i = 0; i < 240; ++i) x[i] = (float)(i % 13) / 4;
  uint64_t state = 7;
  int accepted = 0, refused = 0;
  const char* count_text = getenv("TT_FUZZ_COUNT");
  int count = count_text ? atoi(count_text) : 20000;
  for (int round = 0; round < count; ++round) {
    memcpy(broken, bytes, size);
    int changes = 1 + round % 3;
    for (int c = 0; c < changes; ++c) {
      state = state * 6364136223846793005ull + 1442695040888963407ull;
      size_t at = (size_t)(state >> 20) % (size / 4) * 4;
      uint32_t word;
      memcpy(&word, broken + at, 4);
      switch (state >> 60) {
        case 0: word = 0; break;
        case 1: word = UINT32_MAX; break;
        case 2: word = 0x7fffffff; break;
        case 3: word += 1; break;
        case 4: word -= 1; break;
        case 5: word += 8; break;
        case 6: word *= 2; break;
        case 7: word /= 2; break;
        default: word ^= 1u << (state >> 40 & 31); break;
      }
      memcpy(broken + at, &word, 4);
    }
    pd_header_t* h = (pd_header_t*)broken;
    h->checksum = tt_hash_bytes(PD_MAGIC, broken + sizeof *h, size - sizeof *h);
    tt_plan_t* read = NULL;
    tt_status_t status = tt_plan_deserialise(broken, size, &read);
    if (!tt_status_is_ok(status)) {
      TT_EXPECT(read == NULL);
      ++refused;
    } else {
      ++accepted;
      if (same_interface(plan, read) && is_small(read)) {
        test_run_t run = {.inputs = {x, &k}, .donated = {round & 1}};
        status = tt_status_join(status, test_execute(read, &run));   // any result, no crash
        test_run_free(&run);
      }
      tt_plan_release(read);
    }
    tt_status_free(status);
  }
  TT_EXPECT(accepted > 0 && refused > 0);
  free(broken);
  tt_free(bytes);
  tt_plan_release(plan);
  tt_module_release(module);
}

TT_TEST(plan, every_allocation_may_fail) {
  tt_module_t* module = module_of(program);
  TT_EXPECT(module != NULL);
  float x[240] = {0};
  uint8_t k = 0;
  int64_t live = tt_alloc_stats().live_blocks;
  for (uint64_t n = 1; n < 200; ++n) {
    tt_plan_t* plan = NULL;
    test_run_t run = {.inputs = {x, &k}};
    tt_alloc_fault_arm(n);
    tt_status_t status = test_compile(module, false, &plan);
    if (tt_status_is_ok(status)) status = test_execute(plan, &run);
    bool fired = tt_alloc_fault_fired();
    tt_alloc_fault_arm(0);
    if (fired) { TT_EXPECT_EQ(tt_status_code(status), TT_RESOURCE_EXHAUSTED); }
    else TT_EXPECT(tt_status_is_ok(status));
    tt_status_free(status);
    tt_plan_release(plan);
    test_run_free(&run);
    if (n > 1 && fired) { TT_EXPECT_EQ(tt_alloc_stats().live_blocks, live); }   // the first makes the memory pool's own
    else live = tt_alloc_stats().live_blocks;
    if (!fired && n > 3) break;
  }
  tt_module_release(module);
}

// P4, T2: bits do not depend on the number of threads.
TT_TEST(plan, threads_change_no_bit_p4) {
  static const char text[] =
      "func.func @main(%x: tensor<300x1000xf32>) -> (tensor<f32>, tensor<1000xf32>, tensor<300xf32>, tensor<1000x300xf32>) {\n"
      "  %z = stablehlo.constant dense<0.0> : tensor<f32>\n"
      "  %e = stablehlo.exponential %x : tensor<300x1000xf32>\n"
      "  %a = stablehlo.reduce(%e init: %z) applies stablehlo.add across dimensions = [0, 1] : (tensor<300x1000xf32>, tensor<f32>) -> tensor<f32>\n"
      "  %b = stablehlo.reduce(%e init: %z) applies stablehlo.add across dimensions = [0] : (tensor<300x1000xf32>, tensor<f32>) -> tensor<1000xf32>\n"
      "  %c = stablehlo.reduce(%e init: %z) applies stablehlo.add across dimensions = [1] : (tensor<300x1000xf32>, tensor<f32>) -> tensor<300xf32>\n"
      "  %t = stablehlo.transpose %e, dims = [1, 0] : (tensor<300x1000xf32>) -> tensor<1000x300xf32>\n"
      "  return %a, %b, %c, %t : tensor<f32>, tensor<1000xf32>, tensor<300xf32>, tensor<1000x300xf32>\n"
      "}\n";
  tt_module_t* module = module_of(text);
  tt_plan_t* plan = NULL;
  TT_EXPECT(module != NULL);
  TT_EXPECT_OK(test_compile(module, false, &plan));
  float* x = malloc(300 * 1000 * 4);
  for (int i = 0; i < 300000; ++i) x[i] = (float)(i * 37 % 1001) / 1001;
  test_run_t first = {.inputs = {x}};
  tt_pool_t* pool = tt_pool_get();
  int before = tt_pool_threads(pool);
  tt_pool_set_threads(pool, 1);
  TT_EXPECT_OK(test_execute(plan, &first));
  for (int threads = 2; threads <= 5; ++threads) {
    tt_pool_set_threads(pool, threads);
    test_run_t run = {.inputs = {x}};
    TT_EXPECT_OK(test_execute(plan, &run));
    for (int r = 0; r < 4; ++r) TT_EXPECT(memcmp(first.outputs[r], run.outputs[r], first.bytes[r]) == 0);
    test_run_free(&run);
  }
  tt_pool_set_threads(pool, before);
  free(x);
  test_run_free(&first);
  tt_plan_release(plan);
  tt_module_release(module);
}

int main(int argc, char** argv) { return tt_test_main(argc, argv); }
