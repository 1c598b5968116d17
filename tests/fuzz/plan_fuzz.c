// Bytes of a plan. An input names one of the programs below and then changes of the plan's words, so inputs keep
// their meaning when the plan format moves; checksum, fingerprint and ISA are made right again, as an attacker would.
// What deserialises must validate, and small plans without kernel steps may be run.
#include <string.h>

#include "base/hash.h"
#pragma GCC diagnostic ignored "-Wunused-function"   // the test harness comes with test_program.h
#include "compile/plan_load.h"
#include "exec/test_program.h"
#include "fuzz.h"
#include "ir/text.h"

static const char* const programs[] = {
    // fused loops, two reductions, a transpose, a constant
    "func.func @main(%x: tensor<6x40xf32> {tf.aliasing_output = 0 : i32}) -> (tensor<6x40xf32>, "
        "tensor<40x6xf32>) {\n"
    "  %lo = stablehlo.constant dense<0xFF800000> : tensor<f32>\n  %z = stablehlo.constant dense<0.0> : "
        "tensor<f32>\n"
    "  %m = stablehlo.reduce(%x init: %lo) applies stablehlo.maximum across dimensions = [1] : "
        "(tensor<6x40xf32>, tensor<f32>) -> tensor<6xf32>\n"
    "  %mb = stablehlo.broadcast_in_dim %m, dims = [0] : (tensor<6xf32>) -> tensor<6x40xf32>\n"
    "  %d = stablehlo.subtract %x, %mb : tensor<6x40xf32>\n  %e = stablehlo.exponential %d : "
        "tensor<6x40xf32>\n"
    "  %s = stablehlo.reduce(%e init: %z) applies stablehlo.add across dimensions = [0] : (tensor<6x40xf32>, "
        "tensor<f32>) -> tensor<40xf32>\n"
    "  %sb = stablehlo.broadcast_in_dim %s, dims = [1] : (tensor<40xf32>) -> tensor<6x40xf32>\n"
    "  %q = stablehlo.divide %e, %sb : tensor<6x40xf32>\n"
    "  %t = stablehlo.transpose %q, dims = [1, 0] : (tensor<6x40xf32>) -> tensor<40x6xf32>\n"
    "  return %q, %t : tensor<6x40xf32>, tensor<40x6xf32>\n}\n",
    // branches, a loop, scalar regions
    "func.func @main(%k: tensor<i32>, %x: tensor<8xf32>) -> (tensor<8xf32>, tensor<f32>) {\n"
    "  %b = \"stablehlo.case\"(%k) ({\n    %n = stablehlo.negate %x : tensor<8xf32>\n    "
        "\"stablehlo.return\"(%n) : (tensor<8xf32>) -> ()\n  }, {\n"
    "    \"stablehlo.return\"(%x) : (tensor<8xf32>) -> ()\n  }) : (tensor<i32>) -> tensor<8xf32>\n"
    "  %z = stablehlo.constant dense<0> : tensor<i32>\n  %one = stablehlo.constant dense<1> : tensor<i32>\n  "
        "%four = stablehlo.constant dense<4> : tensor<i32>\n"
    "  %w:2 = stablehlo.while(%i = %z, %v = %b) : tensor<i32>, tensor<8xf32>\n"
    "    cond {\n    %c = stablehlo.compare LT, %i, %four, SIGNED : (tensor<i32>, tensor<i32>) -> "
        "tensor<i1>\n    stablehlo.return %c : tensor<i1>\n"
    "  } do {\n    %j = stablehlo.add %i, %one : tensor<i32>\n    %y = stablehlo.multiply %v, %v : "
        "tensor<8xf32>\n"
    "    stablehlo.return %j, %y : tensor<i32>, tensor<8xf32>\n  }\n"
    "  %init = stablehlo.constant dense<1.0> : tensor<f32>\n"
    "  %r = \"stablehlo.reduce\"(%w#1, %init) <{dimensions = array<i64: 0>}> ({\n  ^bb0(%p: tensor<f32>, %o: "
        "tensor<f32>):\n"
    "    %s = stablehlo.multiply %p, %o : tensor<f32>\n    %u = stablehlo.add %s, %p : tensor<f32>\n    "
        "\"stablehlo.return\"(%u) : (tensor<f32>) -> ()\n"
    "  }) : (tensor<8xf32>, tensor<f32>) -> tensor<f32>\n  return %w#1, %r : tensor<8xf32>, tensor<f32>\n}\n",
    // kernel steps: dot, gather, sort, pad, concatenation
    "func.func @main(%a: tensor<5x7xf32>, %b: tensor<7x3xf32>, %i: tensor<4x1xi32>) -> (tensor<5x3xf32>, "
        "tensor<4x3xf32>, tensor<8x3xf32>) {\n"
    "  %d = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<5x7xf32>, tensor<7x3xf32>) "
        "-> tensor<5x3xf32>\n"
    "  %g = \"stablehlo.gather\"(%d, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], "
        "collapsed_slice_dims = [0], start_index_map = [0], "
    "index_vector_dim = 1>, slice_sizes = array<i64: 1, 3>}> : (tensor<5x3xf32>, tensor<4x1xi32>) -> "
        "tensor<4x3xf32>\n"
    "  %s = \"stablehlo.sort\"(%g) <{dimension = 0 : i64, is_stable = true}> ({\n  ^bb0(%p: tensor<f32>, %q: "
        "tensor<f32>):\n"
    "    %c = stablehlo.compare LT, %p, %q : (tensor<f32>, tensor<f32>) -> tensor<i1>\n    "
        "\"stablehlo.return\"(%c) : (tensor<i1>) -> ()\n"
    "  }) : (tensor<4x3xf32>) -> tensor<4x3xf32>\n"
    "  %z = stablehlo.constant dense<0.0> : tensor<f32>\n"
    "  %o = stablehlo.concatenate %g, %s, dim = 0 : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<8x3xf32>\n"
    "  return %d, %s, %o : tensor<5x3xf32>, tensor<4x3xf32>, tensor<8x3xf32>\n}\n",
};

typedef struct seed_s { char* bytes; size_t size; } seed_t;

static const seed_t* seed_plan(size_t number) {
  static seed_t seeds[TT_ARRAY_LENGTH(programs)];
  seed_t* seed = &seeds[number];
  if (seed->bytes) return seed;
  tt_module_t* module = NULL;
  tt_plan_t* plan = NULL;
  void* bytes;
  tt_plan_options_t options = {0};
  tt_status_t status = tt_module_parse(programs[number], strlen(programs[number]), &module);
  if (tt_status_is_ok(status)) status = tt_module_verify(module);
  if (tt_status_is_ok(status)) status = tt_plan_compile(module, &options, &plan);
  if (tt_status_is_ok(status)) status = tt_plan_serialise(plan, &bytes, &seed->size);
  FUZZ_REQUIRE(tt_status_is_ok(status), "%s", tt_status_message(status));
  seed->bytes = malloc(seed->size);
  memcpy(seed->bytes, bytes, seed->size);
  tt_free(bytes);
  tt_plan_release(plan);
  tt_module_release(module);
  return seed;
}

static bool is_small(const tt_plan_t* plan) {
  const tt_plan_info_t* info = tt_plan_info(plan);
  int64_t bytes = info->temp_bytes;
  if (info->parameter_count > 16 || info->result_count > 16 || info->has_collectives) return false;
  for (size_t i = 0; i < info->parameter_count; ++i) bytes += TT_MIN(info->parameters[i].bytes, INT32_MAX);
  for (size_t i = 0; i < info->result_count; ++i) bytes += TT_MIN(info->results[i].bytes, INT32_MAX);
  if (bytes > 1 << 20) return false;
  for (uint32_t b = 0; b < plan->header->block_count; ++b) {
    const pd_step_t* steps = tt_plan_steps(plan, b);
    for (uint32_t i = 0; i < plan->blocks[b].step_count; ++i) {
      uint32_t at = steps[i].data_at;
      if (steps[i].kind == PD_S_WHILE ||
          steps[i].kind == PD_S_OP) return false;   // endless; a kernel's own bytes
      if (steps[i].kind == PD_S_REDUCE) at = PD_AT(plan->bytes, at, pd_reduce_t)->loop_at;
      else if (steps[i].kind != PD_S_LOOP) continue;
      if (PD_AT(plan->bytes, at, pd_loop_t)->elems > 1 << 16) return false;
    }
  }
  return true;
}

// A change: where (as a part of 65536 of the words), how, with what.
typedef struct change_s { uint16_t where; uint8_t how, width; uint32_t value; } change_t;

static void apply(char* bytes, size_t size, change_t change) {
  size_t words = size / 4, at = (size_t)change.where * words / 65536 * 4;
  uint32_t word;
  memcpy(&word, bytes + at, 4);
  switch (change.how % 6) {
    case 0: word = change.value; break;
    case 1: word += change.value; break;
    case 2: word ^= 1u << (change.value & 31); break;
    case 3: word *= 2; break;
    case 4: word -= 1; break;
    default: word = (uint32_t)(int32_t)(int8_t)change.value; break;
  }
  memcpy(bytes + at, &word, 4);
}

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (!size) return 0;
  const seed_t* seed = seed_plan(data[0] % TT_ARRAY_LENGTH(programs));
  size_t kept = seed->size;
  if (data[0] & 0x80) kept = TT_MIN(kept, kept * (data[0] & 0x7f) / 128);   // cut short
  char* bytes = malloc(kept ? kept : 1);
  memcpy(bytes, seed->bytes, kept);
  for (size_t at = 1; at + sizeof(change_t) <= size && kept >= 4; at += sizeof(change_t)) {
    change_t change;
    memcpy(&change, data + at, sizeof(change));
    apply(bytes, kept, change);
  }
  if (kept >= sizeof(pd_header_t)) {
    pd_header_t* h = (pd_header_t*)bytes;
    const pd_header_t* good = (const pd_header_t*)seed->bytes;
    h->magic = good->magic;
    h->version = good->version;
    h->fingerprint = good->fingerprint;
    h->isa = good->isa;
    h->checksum = tt_hash_bytes(PD_MAGIC, bytes + sizeof(*h), kept - sizeof(*h));
  }
  tt_plan_t* plan = NULL;
  tt_status_t status = tt_plan_deserialise(bytes, kept, &plan);
  if (tt_status_is_ok(status)) {
    if (is_small(plan)) {
      static uint64_t noise[(1 << 20) / 8];
      test_run_t run = {0};
      for (int i = 0; i < 16; ++i) run.inputs[i] = noise;
      status = test_execute(plan, &run);
      test_run_free(&run);
    }
    tt_plan_release(plan);
  } else {
    FUZZ_REQUIRE(plan == NULL && tt_status_code(status) != TT_INTERNAL, "%s", tt_status_message(status));
  }
  tt_status_free(status);
  free(bytes);
  return 0;
}
