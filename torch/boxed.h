// The plan of one registered overload: how its stack becomes the core's argument records.
#pragma once

#include <ATen/core/boxing/KernelFunction.h>
#include <ATen/core/dispatch/Dispatcher.h>

#include <memory>
#include <string>

#include "shim.h"

namespace tpu {

constexpr uint32_t kMaxArgs = 32;
constexpr uint32_t kMaxResults = 16;

enum class Convert : uint8_t {
  kTensor,
  kTensors,
  kBool,
  kInt,
  kFloat,
  kScalar,
  kInts,
  kFloats,
  kBools,
  kScalars,
  kDtype,
  kString,
  kGenerator,
  kIgnored,
};

struct ArgPlan {
  Convert convert;
  int8_t slot;   // in the overload's own schema; -1: it has no such argument
  bool written;
};

struct Plan {
  size_t op;
  tt_variant_t variant;
  uint32_t flags;
  uint32_t arg_count;     // of the functional schema
  uint32_t stack_count;   // of this overload
  uint32_t out_count;     // OUT
  uint32_t return_count;
  int8_t out_slot;      // of the first output; they are the last arguments
  int8_t device_slot;   // Device argument of a factory, -1 none
  bool out_is_list, returns_list, masks;
  bool joins;       // cat.out
  bool exact_out;   // matrix products: out= has the operands' dtype, no conversion
  ArgPlan args[kMaxArgs];
  std::string name;   // "aten::add.Tensor"
};

// Empty text and a plan, or why the overload cannot be planned.
std::string make_plan(size_t op, tt_variant_t variant, const tt_aten_info_t& info,
                      const c10::FunctionSchema& schema, Plan* out_plan);
c10::BoxedKernel make_kernel(std::unique_ptr<Plan> plan);

}   // namespace tpu
