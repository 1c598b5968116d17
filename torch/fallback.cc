// Ops without a kernel: a Python decomposition if the package offers one, the CPU if allowed, else
// one clear error.
#include <ATen/native/CPUFallback.h>
#include <ATen/CPUGeneratorImpl.h>
#include <torch/library.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>

#include "shim.h"

namespace tpu {
namespace {

std::atomic<bool> g_allowed{[] {
  const char* text = std::getenv("TORCH_TPU_FALLBACK");
  return text && text[0] && std::strcmp(text, "0") != 0;
}()};
thread_local int t_allowed = -1;   // of cpu_fallback_mode(): -1 inherits the process's

std::mutex g_mutex;   // guards the map
std::map<std::string, int64_t> g_counts;

// Registers a PrivateUse1 kernel for the op and returns 1, or 0.
using tail_hook_t = int (*)(const char* name, const char* overload);
std::atomic<tail_hook_t> g_tail_hook{nullptr};

bool allowed() {
  return t_allowed >= 0 ? t_allowed != 0 : g_allowed.load(std::memory_order_relaxed);
}

std::string full_name(const c10::OperatorHandle& op) {
  const auto& name = op.operator_name();
  return name.overload_name.empty() ? name.name : name.name + "." + name.overload_name;
}

void describe_value(const c10::IValue& value, std::string* out) {
  const auto one = [out](const at::Tensor& tensor) {
    if (!out->empty()) *out += ", ";
    *out += tensor.defined() ? c10::str(tensor.scalar_type(), tensor.sizes()) : std::string("None");
  };
  if (value.isTensor()) {
    one(value.toTensor());
  } else if (value.isTensorList()) {
    for (const auto& element : value.toListRef()) one(element.toTensor());
  }
}

[[noreturn]] void raise_missing(const c10::OperatorHandle& op, torch::jit::Stack* stack,
                                const char* reason) {
  std::string operands;
  const size_t count = op.schema().arguments().size();
  for (size_t i = stack->size() - count; i < stack->size(); i++)
    describe_value((*stack)[i], &operands);
  char location[256] = "";
  if (!reason) tt_location_describe(location, sizeof(location));   // the core's reason has it
  C10_THROW_ERROR(
      NotImplementedError,
      c10::str(
          "tpu: ", full_name(op), " on (", operands, ")", location, " is not implemented",
          reason ? c10::str(": ", reason) : std::string(),
          ". TORCH_TPU_FALLBACK=1 or torch.tpu.cpu_fallback_mode() runs such ops on the CPU."));
}

// The CPU draws from a generator seeded by ours, whose state moves on: same seed, same values.
void translate_generators(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  const auto& arguments = op.schema().arguments();
  const size_t base = stack->size() - arguments.size();
  for (size_t i = 0; i < arguments.size(); i++) {
    c10::TypePtr type = arguments[i].real_type();
    if (auto optional = type->cast<c10::OptionalType>()) type = optional->getElementType();
    if (type->kind() != c10::TypeKind::GeneratorType) continue;
    c10::IValue& value = (*stack)[base + i];
    c10::GeneratorImpl* ours = nullptr;
    int device = current_device();
    if (value.isGenerator()) {
      const at::Generator generator = value.toGenerator();
      if (generator.defined()) {
        if (generator.device().type() != kTpu) continue;
        ours = generator.unsafeGetGeneratorImpl();
        device = generator.device().index();
      }
    }
    uint64_t seed = 0, offset = 0;
    reserve_random(ours, device, 4, &seed, &offset);
    value = c10::IValue(
        at::make_generator<at::CPUGeneratorImpl>(seed ^ (offset * 0x9E3779B97F4A7C15ull)));
  }
}

void boxed_fallback(const c10::OperatorHandle& op, c10::DispatchKeySet, torch::jit::Stack* stack) {
  const tail_hook_t hook = g_tail_hook.load(std::memory_order_acquire);
  if (hook) {
    const auto& name = op.operator_name();
    if (hook(name.name.c_str(), name.overload_name.c_str())) {
      op.callBoxed(stack);   // the kernel is there now
      return;
    }
  }
  fall_back(op, stack, nullptr);
}

TORCH_LIBRARY_IMPL(_, PrivateUse1, m) {
  m.fallback(torch::CppFunction::makeFromBoxedFunction<&boxed_fallback>());
}

// Composites of ATen whose code reads its operands through raw pointers: without a kernel of ours they would
// run on device addresses and end the process.
constexpr const char* kReadsPointers[] = {
    "_rowwise_prune", "_saturate_weight_to_fp16", "_sobol_engine_draw", "_sobol_engine_ff_",
    "_sobol_engine_initialize_state_", "_sobol_engine_scramble_", "_wrapped_linear_prepack",
    "_wrapped_quantized_linear_prepacked", "choose_qparams_optimized", "fbgemm_linear_fp16_weight",
    "fbgemm_linear_fp16_weight.out", "fbgemm_linear_fp16_weight_fp32_activation",
    "fbgemm_linear_fp16_weight_fp32_activation.out", "fbgemm_linear_int8_weight",
    "fbgemm_linear_int8_weight_fp32_activation", "fbgemm_linear_quantize_weight",
    "fbgemm_pack_gemm_matrix_fp16", "fbgemm_pack_quantized_matrix", "fbgemm_pack_quantized_matrix.KN"};
void not_on_pointers(const c10::OperatorHandle& op, c10::DispatchKeySet, torch::jit::Stack* stack) {
  fall_back(op, stack, nullptr);
}
TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  for (const char* name : kReadsPointers) {
    m.impl(name, torch::CppFunction::makeFromBoxedFunction<&not_on_pointers>());
  }
}

// Kinds of tensors that the device does not have: one short text for every op.
constexpr char kQuantized[] = "quantized dtypes (quint8, qint8, qint32, quint4x2)";
constexpr char kSparse[] = "sparse layouts";
constexpr char kNested[] = "nested tensors of strided layout";
template <const char* kKind>
void refuse(const c10::OperatorHandle& op, c10::DispatchKeySet, torch::jit::Stack*) {
  TORCH_CHECK_NOT_IMPLEMENTED(false, "tpu: ", full_name(op), ": ", kKind,
                              " are not supported on this device");
}

TORCH_LIBRARY_IMPL(_, QuantizedPrivateUse1, m) {
  m.fallback(torch::CppFunction::makeFromBoxedFunction<&refuse<kQuantized>>());
}
TORCH_LIBRARY_IMPL(_, SparsePrivateUse1, m) {
  m.fallback(torch::CppFunction::makeFromBoxedFunction<&refuse<kSparse>>());
}
TORCH_LIBRARY_IMPL(_, SparseCsrPrivateUse1, m) {
  m.fallback(torch::CppFunction::makeFromBoxedFunction<&refuse<kSparse>>());
}
TORCH_LIBRARY_IMPL(_, NestedTensorPrivateUse1, m) {
  m.fallback(torch::CppFunction::makeFromBoxedFunction<&refuse<kNested>>());
}

}   // namespace

void fall_back(const c10::OperatorHandle& op, torch::jit::Stack* stack, const char* reason) {
  if (!allowed()) raise_missing(op, stack, reason);
  const std::string name = full_name(op);
  bool first;
  {
    std::lock_guard<std::mutex> lock(g_mutex);
    first = g_counts[name]++ == 0;
  }
  if (first) TORCH_WARN("tpu: ", name, " runs on the CPU (fallback).");
  translate_generators(op, stack);
  at::native::cpu_fallback(op, stack, /*error_on_views=*/true);
}

}   // namespace tpu

extern "C" {
TT_API void tts_set_tail_hook(tpu::tail_hook_t hook) {
  tpu::g_tail_hook.store(hook, std::memory_order_release);
}
// -1: as the process; the value before is returned.
TT_API int tts_fallback_thread(int mode) {
  const int before = tpu::t_allowed;
  tpu::t_allowed = mode;
  return before;
}
TT_API void tts_fallback_process(int on) { tpu::g_allowed.store(on != 0); }
TT_API int tts_fallback_allowed(void) { return tpu::allowed(); }
TT_API void tts_fallback_count(const char* name) {
  std::lock_guard<std::mutex> lock(tpu::g_mutex);
  tpu::g_counts[name]++;
}
// "name count\n" lines; valid until this thread's next call.
TT_API const char* tts_fallback_stats(int reset) {
  static thread_local std::string text;
  text.clear();
  std::lock_guard<std::mutex> lock(tpu::g_mutex);
  for (const auto& entry : tpu::g_counts)
    text += entry.first + " " + std::to_string(entry.second) + "\n";
  if (reset) tpu::g_counts.clear();
  return text.c_str();
}
}
