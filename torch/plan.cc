// Planning and registering the overloads of the core's table.
//
// Per entry: out= always (where torch has it); functional and in-place too if the entry is FAST, or
// if torch would have no kernel of its own that reaches the out= form. A CompositeImplicitAutograd
// op gets a kernel only if it has an Autograd kernel; a COMPOSITE entry without one gets an
// AutogradPrivateUse1 kernel that runs torch's composite whenever a gradient is wanted.
#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/jit_type.h>
#include <c10/core/GradMode.h>
#include <torch/library.h>

#include <mutex>
#include <set>

#include "boxed.h"

namespace tpu {
namespace {

using c10::DispatchKey;
using c10::TypeKind;

bool conversion(const c10::Argument& argument, Convert* out) {
  c10::TypePtr type = argument.real_type();
  if (auto optional = type->cast<c10::OptionalType>()) type = optional->getElementType();
  if (auto list = type->cast<c10::ListType>()) {
    c10::TypePtr element = list->getElementType();
    if (auto optional = element->cast<c10::OptionalType>()) element = optional->getElementType();
    switch (element->kind()) {
      case TypeKind::TensorType: *out = Convert::kTensors; return true;
      case TypeKind::IntType:
      case TypeKind::SymIntType: *out = Convert::kInts; return true;
      case TypeKind::FloatType: *out = Convert::kFloats; return true;
      case TypeKind::BoolType: *out = Convert::kBools; return true;
      case TypeKind::NumberType: *out = Convert::kScalars; return true;
      default: return false;
    }
  }
  switch (type->kind()) {
    case TypeKind::TensorType: *out = Convert::kTensor; return true;
    case TypeKind::IntType:
    case TypeKind::SymIntType: *out = Convert::kInt; return true;
    case TypeKind::FloatType:
    case TypeKind::SymFloatType: *out = Convert::kFloat; return true;
    case TypeKind::BoolType:
    case TypeKind::SymBoolType: *out = Convert::kBool; return true;
    case TypeKind::NumberType: *out = Convert::kScalar; return true;
    case TypeKind::ScalarTypeType: *out = Convert::kDtype; return true;
    case TypeKind::StringType: *out = Convert::kString; return true;
    case TypeKind::GeneratorType: *out = Convert::kGenerator; return true;
    case TypeKind::LayoutType:
    case TypeKind::MemoryFormatType:
    case TypeKind::DeviceObjType: *out = Convert::kIgnored; return true;
    default: return false;
  }
}

std::optional<c10::OperatorHandle> find(const char* name) {
  const std::string text(name);
  const size_t dot = text.find('.');
  std::string base = text.substr(0, dot);
  if (base.find("::") == std::string::npos) base = "aten::" + base;
  return c10::Dispatcher::singleton().findSchema(
      {base, dot == std::string::npos ? std::string() : text.substr(dot + 1)});
}

bool is_out(const c10::Argument& argument) { return argument.is_out(); }

}   // namespace

std::string make_plan(size_t op, tt_variant_t variant, const tt_aten_info_t& info,
                      const c10::FunctionSchema& schema, Plan* plan) {
  plan->op = op;
  plan->variant = variant;
  plan->flags = info.flags;
  plan->name = schema.name();
  if (!schema.overload_name().empty()) plan->name += "." + schema.overload_name();
  const auto& own = schema.arguments();
  plan->stack_count = static_cast<uint32_t>(own.size());
  plan->out_slot = plan->device_slot = -1;
  plan->out_count = 0;
  plan->out_is_list = plan->returns_list = plan->masks = false;
  static const std::set<std::string> products = {"aten::mm",      "aten::bmm",   "aten::addmm",
                                                 "aten::baddbmm", "aten::addmv", "aten::addbmm",
                                                 "aten::dot",     "aten::mv"};
  plan->exact_out = variant == TT_VARIANT_OUT && products.count(schema.name()) != 0;
  plan->joins = plan->name == "aten::cat.out";
  uint32_t own_inputs = plan->stack_count;
  if (variant == TT_VARIANT_OUT) {
    while (own_inputs > 0 && is_out(own[own_inputs - 1])) own_inputs--;
    plan->out_count = plan->stack_count - own_inputs;
    plan->out_slot = static_cast<int8_t>(own_inputs);
    if (plan->out_count == 0) return "no output arguments";
    plan->out_is_list = own[own_inputs].real_type()->kind() == TypeKind::ListType;
    if (plan->out_count > kMaxResults) return "too many outputs";
  }
  // Arguments are numbered as the functional schema numbers them; names connect the overloads.
  const auto functional = info.functional[0] ? find(info.functional) : std::nullopt;
  const auto& order = functional ? functional->schema().arguments() : own;
  const size_t count = functional ? order.size() : own_inputs;
  if (count > kMaxArgs) return "too many arguments";
  plan->arg_count = static_cast<uint32_t>(count);
  for (size_t i = 0; i < count; i++) {
    ArgPlan& arg = plan->args[i];
    if (!conversion(order[i], &arg.convert)) return "argument type of " + order[i].name();
    arg.slot = -1;
    arg.written = false;
    for (uint32_t k = 0; k < own_inputs; k++) {
      if (own[k].name() != order[i].name()) continue;
      arg.slot = static_cast<int8_t>(k);
      arg.written = own[k].alias_info() && own[k].alias_info()->isWrite();
      // The running statistics, which this schema does not mark.
      if (schema.name() == "aten::native_batch_norm" && order[i].name().rfind("running_", 0) == 0)
        arg.written = true;
    }
    // A few in-place forms name their first argument otherwise.
    if (arg.slot < 0 && i == 0 && own_inputs > 0 && variant == TT_VARIANT_INPLACE) {
      arg.slot = 0;
      arg.written = true;
    }
    if (arg.convert == Convert::kTensors && order[i].name() == "indices") {   // Tensor?[]
      const auto list = order[i].real_type()->cast<c10::ListType>();
      plan->masks = list && list->getElementType()->kind() == TypeKind::OptionalType;
    }
  }
  for (uint32_t k = 0; k < own_inputs; k++) {
    c10::TypePtr type = own[k].real_type();
    if (auto optional = type->cast<c10::OptionalType>()) type = optional->getElementType();
    if (type->kind() == TypeKind::DeviceObjType) plan->device_slot = static_cast<int8_t>(k);
  }
  const auto& returns = schema.returns();
  plan->return_count = static_cast<uint32_t>(returns.size());
  if (plan->return_count > kMaxResults) return "too many results";
  for (const auto& result : returns) {
    if (result.real_type()->kind() != TypeKind::ListType) continue;
    if (returns.size() != 1) return "several results with a list";
    plan->returns_list = true;
  }
  return "";
}

namespace {

// With a gradient wanted: torch's composite, whose parts have their own. Else the kernel below.
struct CompositeAutograd final : c10::OperatorKernel {
  void operator()(const c10::OperatorHandle& op, c10::DispatchKeySet keys,
                  torch::jit::Stack* stack) {
    if (c10::GradMode::is_enabled()) {
      const size_t count = op.schema().arguments().size();
      for (size_t i = stack->size() - count; i < stack->size(); i++) {
        const c10::IValue& value = (*stack)[i];
        if (value.isTensor() && value.toTensor().defined() && value.toTensor().requires_grad()) {
          op.callBoxedForDispatchKey(DispatchKey::CompositeImplicitAutograd, *stack);
          return;
        }
      }
    }
    at::AutoDispatchBelowADInplaceOrView guard;
    op.redispatchBoxed(keys & c10::after_autograd_keyset, stack);
  }
};

struct Registration {
  std::string problems;   // one line each: for developers of the table
  size_t overloads = 0;
};
Registration& registration() {
  static auto* instance = new Registration();
  return *instance;
}

// Hand-written in factories.cc, copies.cc and views.cc.
const std::set<std::string>& own_kernels() {
  static const std::set<std::string> names = {"empty.memory_format",
                                              "empty_strided",
                                              "resize_",
                                              "set_",
                                              "set_.source_Storage",
                                              "set_.source_Storage_storage_offset",
                                              "set_.source_Tensor",
                                              "_lazy_clone",
                                              "as_strided",
                                              "view",
                                              "_reshape_alias",
                                              "unfold",
                                              "view_as_real",
                                              "view_as_complex",
                                              "_nested_view_from_buffer",
                                              "_copy_from",
                                              "_copy_from_and_resize",
                                              "_local_scalar_dense",
                                              "equal",
                                              "_fused_sdp_choice",
                                              "copy_",
                                              "record_stream",
                                              "_efficientzerotensor"};
  return names;
}

void register_one(torch::Library& library, torch::Library& autograd, size_t op,
                  tt_variant_t variant, const tt_aten_info_t& info, const char* name) {
  auto& state = registration();
  if (!name[0] || own_kernels().count(name)) return;
  const auto handle = find(name);
  if (!handle || std::string(name).find("::") != std::string::npos) {
    state.problems += std::string(name) + ": torch has no such overload\n";
    return;
  }
  const bool implicit = handle->hasKernelForDispatchKey(DispatchKey::CompositeImplicitAutograd);
  const bool composite =
      implicit || handle->hasKernelForDispatchKey(DispatchKey::CompositeExplicitAutograd) ||
      handle->hasKernelForDispatchKey(DispatchKey::CompositeExplicitAutogradNonFunctional);
  const bool direct =
      variant == TT_VARIANT_OUT || (info.flags & TT_ATEN_FAST) || !info.out[0] || !composite;
  if (!direct) return;
  bool needs_autograd = false;
  if (implicit && !handle->hasKernelForDispatchKey(DispatchKey::Autograd)) {
    if (!(info.flags & TT_ATEN_COMPOSITE)) {
      if (variant == TT_VARIANT_FUNCTIONAL) {
        state.problems += std::string(name) + ": composite, left to torch (no COMPOSITE flag)\n";
      }
      return;
    }
    needs_autograd = true;
  }
  auto plan = std::make_unique<Plan>();
  const std::string problem = make_plan(op, variant, info, handle->schema(), plan.get());
  if (!problem.empty()) {
    state.problems += std::string(name) + ": " + problem + "\n";
    return;
  }
  library.impl(name, torch::CppFunction::makeFromBoxedKernel(make_kernel(std::move(plan))));
  state.overloads++;
  if (needs_autograd) {
    autograd.impl(name,
                  torch::CppFunction::makeFromBoxedFunctor(std::make_unique<CompositeAutograd>()));
  }
}

[[maybe_unused]] const bool g_registered = [] {
  static auto* library = new torch::Library(torch::Library::IMPL, "aten", DispatchKey::PrivateUse1,
                                            __FILE__, __LINE__);
  static auto* autograd = new torch::Library(torch::Library::IMPL, "aten",
                                             DispatchKey::AutogradPrivateUse1, __FILE__, __LINE__);
  std::set<std::string> seen;
  for (size_t op = 0; op < tt_aten_count(); op++) {
    const tt_aten_info_t* info = tt_aten_info(op);
    if (info->flags & TT_ATEN_GRAPH_ONLY) continue;
    const char* names[3] = {info->functional, info->out, info->inplace};
    const tt_variant_t variants[3] = {TT_VARIANT_FUNCTIONAL, TT_VARIANT_OUT, TT_VARIANT_INPLACE};
    for (int k = 0; k < 3; k++) {
      if (!names[k][0]) continue;
      if (!seen.insert(names[k]).second) {
        registration().problems += std::string(names[k]) + ": twice in the table\n";
        continue;
      }
      try {   // a throw here would end the process: this runs while the library loads
        register_one(*library, *autograd, op, variants[k], *info, names[k]);
      } catch (const std::exception& error) {
        registration().problems += std::string(names[k]) + ": " + error.what() + "\n";
      }
    }
  }
  return true;
}();

}   // namespace
}   // namespace tpu

extern "C" TT_API const char* tts_registration_problems(void) {
  return tpu::registration().problems.c_str();
}
extern "C" TT_API size_t tts_registration_count(void) { return tpu::registration().overloads; }
