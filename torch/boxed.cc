// The boxed entry: one functor for every overload of the core's table.
//
// The stack is read in place (no reference counts); records live in the frame. Nothing on the stack
// is changed before the call has succeeded, so that the fallback finds it whole. What torch's
// generated kernels would check is checked here: one device (0-dim CPU tensors and, where allowed,
// CPU indices excepted), overlap of written arguments, the resize warning of out=.
#include "boxed.h"

#include <ATen/MemoryOverlap.h>
#include <ATen/native/Resize.h>
#include <ATen/native/TypeProperties.h>
#include <ATen/ops/masked_fill.h>
#include <ATen/ops/nonzero.h>
#include <c10/util/SmallVector.h>

namespace tpu {
namespace {

using c10::IValue;

// Memory of the call's lists: a block in the frame, more on demand.
class Scratch {
 public:
  template <typename T>
  T* take(size_t count) {
    const size_t bytes = (count * sizeof(T) + 15) & ~size_t(15);
    if (C10_LIKELY(used_ + bytes <= sizeof(block_))) {
      T* result = reinterpret_cast<T*>(block_ + used_);
      used_ += bytes;
      return result;
    }
    more_.push_back(std::make_unique<char[]>(bytes));
    return reinterpret_cast<T*>(more_.back().get());
  }

 private:
  alignas(16) char block_[1536];
  size_t used_ = 0;
  c10::SmallVector<std::unique_ptr<char[]>, 1> more_;
};

struct Frame {
  const Plan& plan;
  const IValue* base;   // the overload's arguments
  int device = -1;
  Scratch scratch;
  c10::SmallVector<at::Tensor, 2> held;   // temporaries that records point into
  tt_arg_t args[kMaxArgs];

  Frame(const Plan& p, const IValue* b) : plan(p), base(b) {}
};

[[noreturn]] C10_NOINLINE void raise_devices(const Plan& plan, c10::Device a, c10::Device b) {
  TORCH_CHECK(false,
              "Expected all tensors to be on the same device, but found at least two devices, ", a,
              " and ", b, "! (when checking arguments of ", plan.name, ")");
}

C10_NOINLINE int find_device(const Plan& plan, const IValue* base) {
  const auto of = [](const IValue& value) {
    return value.isTensor() && value.toTensor().defined() &&
                   is_tpu(value.toTensor().unsafeGetTensorImpl())
               ? static_cast<int>(value.toTensor().device().index())
               : -1;
  };
  for (uint32_t i = 0; i < plan.stack_count; i++) {
    int device = of(base[i]);
    if (device < 0 && base[i].isList()) {
      for (const IValue& element : base[i].toListRef()) {
        device = of(element);
        if (device >= 0) break;
      }
    }
    if (device >= 0) return device;
  }
  return current_device();
}

// A tensor that is not on the device, or that carries conj / neg bits.
C10_NOINLINE void describe_other(Frame& frame, const at::Tensor& tensor, bool written,
                                 tt_tensor_t* out) {
  auto* impl = tensor.unsafeGetTensorImpl();
  const c10::Device mine(
      kTpu, static_cast<c10::DeviceIndex>(frame.device >= 0 ? frame.device
                                                            : find_device(frame.plan, frame.base)));
  if (is_tpu(impl)) {
    TORCH_CHECK_NOT_IMPLEMENTED(!written, frame.plan.name,
                                " on tpu: writing to a tensor with the conjugate or negative bit");
    frame.held.push_back(tensor.resolve_conj().resolve_neg());
    describe(frame.held.back(), out);
    return;
  }
  if (!tensor.is_cpu()) raise_devices(frame.plan, mine, tensor.device());
  if (tensor.dim() == 0 && !written) {
    const bool wrapped = impl->is_wrapped_number();
    at::Tensor plain = tensor.resolve_conj().resolve_neg();
    out->storage = nullptr;
    out->host_scalar = plain.const_data_ptr();
    out->graph_value = -1;
    out->dtype = to_core(plain.scalar_type());
    if (out->dtype == TT_DTYPE_INVALID) raise_dtype(plain.scalar_type());
    out->rank = 0;
    out->is_wrapped_number = wrapped;
    out->is_defined = true;
    out->sizes = out->strides = nullptr;
    out->offset = 0;
    frame.held.push_back(std::move(plain));
    return;
  }
  if (written || !(frame.plan.flags & TT_ATEN_MIXED_DEVICE))
    raise_devices(frame.plan, mine, tensor.device());
  frame.held.push_back(tensor.to(mine));
  describe(frame.held.back(), out);
}

inline void record_tensor(Frame& frame, const at::Tensor& tensor, bool written, tt_tensor_t* out) {
  auto* impl = tensor.unsafeGetTensorImpl();
  constexpr c10::DispatchKeySet kBits({c10::DispatchKey::Conjugate, c10::DispatchKey::Negative});
  if (C10_UNLIKELY(!is_tpu(impl) || impl->key_set().has_any(kBits))) {
    describe_other(frame, tensor, written, out);
    return;
  }
  const int device = impl->device().index();
  if (C10_UNLIKELY(device != frame.device)) {
    if (frame.device >= 0) {
      raise_devices(frame.plan, c10::Device(kTpu, static_cast<c10::DeviceIndex>(frame.device)),
                    impl->device());
    }
    frame.device = device;
  }
  if (written) before_write(impl);
  describe(impl, out);
}

inline void record_undefined(tt_tensor_t* out) {
  *out = tt_tensor_t{};
  out->graph_value = -1;
}

// Boolean and byte masks become the index tensors of their true elements.
C10_NOINLINE const tt_tensor_t* record_indices(Frame& frame, c10::ArrayRef<IValue> list,
                                               uint32_t* out_count) {
  const at::Tensor& self = frame.base[frame.plan.args[0].slot].toTensor();
  c10::SmallVector<at::Tensor, 8> indices;
  for (const IValue& element : list) {
    if (element.isNone() || !element.toTensor().defined()) {
      indices.emplace_back();
      continue;
    }
    const at::Tensor& index = element.toTensor();
    if (index.scalar_type() != at::kBool && index.scalar_type() != at::kByte) {
      indices.push_back(index);
      continue;
    }
    for (int64_t k = 0; k < index.dim(); k++) {
      const int64_t at = static_cast<int64_t>(indices.size());
      if (at + k >= self.dim() || index.size(k) != self.size(at + k)) {
        C10_THROW_ERROR(IndexError, c10::str("The shape of the mask ", index.sizes(), " at index ",
                                             k, " does not match the shape of the indexed tensor ",
                                             self.sizes(), " at index ", at + k));
      }
    }
    const at::Tensor nonzero = index.nonzero();
    for (int64_t k = 0; k < index.dim(); k++) indices.push_back(nonzero.select(1, k));
  }
  if (static_cast<int64_t>(indices.size()) > self.dim()) {
    C10_THROW_ERROR(IndexError, c10::str("too many indices for tensor of dimension ", self.dim(),
                                         " (got ", indices.size(), ")"));
  }
  auto* records = frame.scratch.take<tt_tensor_t>(indices.size());
  for (size_t i = 0; i < indices.size(); i++) {
    if (!indices[i].defined()) {
      record_undefined(&records[i]);
      continue;
    }
    frame.held.push_back(indices[i]);
    record_tensor(frame, indices[i], false, &records[i]);
  }
  *out_count = static_cast<uint32_t>(indices.size());
  return records;
}

const tt_tensor_t* record_list(Frame& frame, c10::ArrayRef<IValue> list, bool written,
                               uint32_t* out_count) {
  auto* records = frame.scratch.take<tt_tensor_t>(list.size());
  for (size_t i = 0; i < list.size(); i++) {
    if (list[i].isNone() || !list[i].toTensor().defined()) {
      record_undefined(&records[i]);
    } else {
      record_tensor(frame, list[i].toTensor(), written, &records[i]);
    }
  }
  *out_count = static_cast<uint32_t>(list.size());
  return records;
}

inline void record_scalar(const IValue& value, tt_scalar_t* out) {
  if (value.isDouble()) {
    out->kind = TT_ARG_FLOAT;
    out->c[0] = value.toDouble();
    out->c[1] = 0;
  } else if (value.isInt()) {
    out->kind = TT_ARG_INT;
    out->i = value.toInt();
  } else if (value.isBool()) {
    out->kind = TT_ARG_BOOL;
    out->i = value.toBool();
  } else if (value.isComplexDouble()) {
    const auto number = value.toComplexDouble();
    out->kind = TT_ARG_COMPLEX;
    out->c[0] = number.real();
    out->c[1] = number.imag();
  } else {
    const c10::Scalar scalar = value.toScalar();   // symbolic numbers, u64
    if (scalar.isFloatingPoint()) {
      out->kind = TT_ARG_FLOAT;
      out->c[0] = scalar.toDouble();
      out->c[1] = 0;
    } else {
      out->kind = TT_ARG_INT;
      out->i = scalar.toLong();
    }
  }
}

void record_generator(Frame& frame, const IValue& value, tt_arg_t* out) {
  const at::Generator generator = value.toGenerator();
  if (!generator.defined()) {
    out->generator = nullptr;
    return;
  }
  TORCH_CHECK(generator.device().type() == kTpu,
              "Expected a 'tpu' device type for generator but found '", generator.device().type(),
              "'");
  if (frame.device < 0) frame.device = find_device(frame.plan, frame.base);
  TORCH_CHECK(generator.device().index() == frame.device, frame.plan.name, ": generator is on ",
              generator.device(), ", tensors are on tpu:", frame.device);
  out->generator = generator.unsafeGetGeneratorImpl();
}

inline void record(Frame& frame, const ArgPlan& plan, tt_arg_t* out) {
  out->kind = TT_ARG_NONE;
  out->count = 0;
  if (plan.slot < 0) {
    if (plan.convert == Convert::kIgnored) out->kind = TT_ARG_IGNORED;
    return;
  }
  const IValue& value = frame.base[plan.slot];
  if (value.isNone()) {
    if (plan.convert == Convert::kGenerator) {
      out->kind = TT_ARG_GENERATOR;
      out->generator = nullptr;
    }
    return;
  }
  switch (plan.convert) {
    case Convert::kTensor: {
      const at::Tensor& tensor = value.toTensor();
      if (!tensor.defined()) return;
      out->kind = TT_ARG_TENSOR;
      record_tensor(frame, tensor, plan.written, &out->tensor);
      return;
    }
    case Convert::kTensors: {
      const auto list = value.toListRef();
      out->kind = TT_ARG_TENSORS;
      out->tensors = frame.plan.masks ? record_indices(frame, list, &out->count)
                                      : record_list(frame, list, plan.written, &out->count);
      return;
    }
    case Convert::kBool:
      out->kind = TT_ARG_BOOL;
      out->scalar.kind = TT_ARG_BOOL;
      out->scalar.i = value.toBool();
      return;
    case Convert::kInt:
      out->kind = TT_ARG_INT;
      out->scalar.kind = TT_ARG_INT;
      out->scalar.i = value.toInt();
      return;
    case Convert::kFloat:
      out->kind = TT_ARG_FLOAT;
      out->scalar.kind = TT_ARG_FLOAT;
      out->scalar.c[0] = value.isDouble() ? value.toDouble() : static_cast<double>(value.toInt());
      out->scalar.c[1] = 0;
      return;
    case Convert::kScalar:
      record_scalar(value, &out->scalar);
      out->kind = out->scalar.kind;
      return;
    case Convert::kInts: {
      out->kind = TT_ARG_INTS;
      const auto list = value.toListRef();
      auto* ints = frame.scratch.take<int64_t>(list.size());
      for (size_t i = 0; i < list.size(); i++) ints[i] = list[i].toInt();
      out->ints = ints;
      out->count = static_cast<uint32_t>(list.size());
      return;
    }
    case Convert::kFloats: {
      out->kind = TT_ARG_FLOATS;
      const auto list = value.toListRef();
      auto* floats = frame.scratch.take<double>(list.size());
      for (size_t i = 0; i < list.size(); i++) floats[i] = list[i].toDouble();
      out->floats = floats;
      out->count = static_cast<uint32_t>(list.size());
      return;
    }
    case Convert::kBools: {
      out->kind = TT_ARG_BOOLS;
      const auto list = value.toListRef();
      auto* bools = frame.scratch.take<bool>(list.size());
      for (size_t i = 0; i < list.size(); i++) bools[i] = list[i].toBool();
      out->bools = bools;
      out->count = static_cast<uint32_t>(list.size());
      return;
    }
    case Convert::kScalars: {
      out->kind = TT_ARG_SCALARS;
      const auto list = value.toListRef();
      auto* scalars = frame.scratch.take<tt_scalar_t>(list.size());
      for (size_t i = 0; i < list.size(); i++) record_scalar(list[i], &scalars[i]);
      out->scalars = scalars;
      out->count = static_cast<uint32_t>(list.size());
      return;
    }
    case Convert::kDtype: {
      const auto type = static_cast<c10::ScalarType>(value.toInt());
      out->kind = TT_ARG_DTYPE;
      out->integer = to_core(type);
      if (out->integer == TT_DTYPE_INVALID) raise_dtype(type);
      return;
    }
    case Convert::kString:
      out->kind = TT_ARG_STRING;
      out->text = value.toStringRef().c_str();
      return;
    case Convert::kGenerator:
      out->kind = TT_ARG_GENERATOR;
      record_generator(frame, value, out);
      return;
    case Convert::kIgnored: out->kind = TT_ARG_IGNORED; return;
  }
}

// Written tensors may not overlap themselves; pointwise ones not partly their operands.
void check_overlap(const Frame& frame, const at::Tensor& written) {
  if (C10_LIKELY(!(frame.plan.flags & TT_ATEN_ONE_VALUE))) at::assert_no_internal_overlap(written);
  if (!(frame.plan.flags & TT_ATEN_POINTWISE)) return;
  const auto* storage = written.unsafeGetTensorImpl()->unsafe_storage().unsafeGetStorageImpl();
  for (uint32_t i = 0; i < frame.plan.arg_count; i++) {
    const ArgPlan& arg = frame.plan.args[i];
    if (arg.convert != Convert::kTensor || arg.slot < 0 || !frame.base[arg.slot].isTensor())
      continue;
    const at::Tensor& other = frame.base[arg.slot].toTensor();
    if (!other.defined() || other.is_same(written)) continue;
    if (other.unsafeGetTensorImpl()->unsafe_storage().unsafeGetStorageImpl() != storage) continue;
    at::assert_no_partial_overlap(written, other);
  }
}

// masks: a single mask over the whole tensor and one value is a masked_fill, which needs no sizes
// from the device.
bool masked_fill_instead(const Plan& plan, torch::jit::Stack* stack, const IValue* base) {
  if (plan.stack_count < 3 || !base[1].isList() || !base[2].isTensor()) return false;
  const auto list = base[1].toListRef();
  if (list.size() != 1 || !list[0].isTensor() || !list[0].toTensor().defined()) return false;
  const at::Tensor& mask = list[0].toTensor();
  const at::Tensor& value = base[2].toTensor();
  if (mask.scalar_type() != at::kBool || value.numel() != 1 || value.dim() > 1) return false;
  if (plan.stack_count > 3 && base[3].isBool() && base[3].toBool()) return false;   // accumulate
  at::Tensor self = base[0].toTensor();
  if (mask.sizes() != self.sizes() || value.scalar_type() != self.scalar_type()) return false;
  if (!is_tpu(mask.unsafeGetTensorImpl())) return false;
  if (value.is_cpu()) {
    self.masked_fill_(mask, value.item());
  } else {
    self.masked_fill_(mask, value.reshape({}));
  }
  stack->resize(stack->size() - plan.stack_count);
  stack->emplace_back(std::move(self));
  return true;
}

struct Entry final : c10::OperatorKernel {
  const std::unique_ptr<Plan> plan_;
  explicit Entry(std::unique_ptr<Plan> plan) : plan_(std::move(plan)) {}

  void operator()(const c10::OperatorHandle& op, c10::DispatchKeySet, torch::jit::Stack* stack) {
    const Plan& plan = *plan_;
    const IValue* base = stack->data() + (stack->size() - plan.stack_count);
    if (C10_UNLIKELY(plan.masks) && plan.variant == TT_VARIANT_INPLACE &&
        masked_fill_instead(plan, stack, base)) {
      return;
    }
    follow_default_dtype();
    follow_threads();
    Frame frame(plan, base);
    for (uint32_t i = 0; i < plan.arg_count; i++) record(frame, plan.args[i], &frame.args[i]);
    tt_call_t call;
    call.op = plan.op;
    call.variant = plan.variant;
    call.arg_count = plan.arg_count;
    call.args = frame.args;
    call.out_count = 0;
    call.outs = nullptr;
    if (plan.variant == TT_VARIANT_OUT) {
      record_outs(frame, &call);
    } else if (plan.variant == TT_VARIANT_INPLACE && base[0].isTensor()) {
      check_overlap(frame, base[0].toTensor());
    }
    if (frame.device < 0) {
      frame.device = plan.device_slot >= 0 && base[plan.device_slot].isDevice() &&
                             base[plan.device_slot].toDevice().has_index()
                         ? base[plan.device_slot].toDevice().index()
                         : current_device();
      check_device(frame.device);
    }
    call.device = frame.device;
    if (C10_UNLIKELY(plan.returns_list && plan.variant == TT_VARIANT_FUNCTIONAL)) {
      run_list(frame, call, op, stack);
      return;
    }
    tt_result_t results[kMaxResults];
    uint32_t count = 0;
    tt_status_t status = tt_call_execute(&call, results, kMaxResults, &count);
    if (C10_UNLIKELY(status != nullptr)) {
      fail(frame.plan, status, op, stack);
      return;
    }
    switch (plan.variant) {
      case TT_VARIANT_FUNCTIONAL: finish_functional(frame, results, count, stack); break;
      case TT_VARIANT_OUT: finish_out(frame, results, count, stack); break;
      case TT_VARIANT_INPLACE: finish_inplace(frame, results, count, stack); break;
    }
  }

 private:
  C10_NOINLINE static void fail(const Plan& plan, tt_status_t status, const c10::OperatorHandle& op,
                                torch::jit::Stack* stack) {
    const tt_status_code_t code = tt_status_code(status);
    const bool linalg = code == TT_ABORTED && (plan.flags & TT_ATEN_LINALG);
    if (code != TT_UNIMPLEMENTED && !linalg) raise(status);
    const std::string reason = tt_status_message(status);
    tt_status_free(status);
    if (linalg) C10_THROW_ERROR(LinAlgError, reason);
    fall_back(op, stack, reason.c_str());
  }

  // cat refuses a dtype of out= with a class of its own.
  C10_NOINLINE static void check_joined(const Frame& frame) {
    const at::ScalarType out = frame.base[frame.plan.out_slot].toTensor().scalar_type();
    TORCH_CHECK_TYPE(at::canCast(at::native::result_type(frame.base[0].toTensorVector()), out),
                     "torch.cat(): input types can't be cast to the desired output type ", out);
  }

  static void record_outs(Frame& frame, tt_call_t* call) {
    const Plan& plan = frame.plan;
    if (C10_UNLIKELY(plan.joins)) check_joined(frame);
    if (plan.out_is_list) {
      call->outs =
          record_list(frame, frame.base[plan.out_slot].toListRef(), true, &call->out_count);
      return;
    }
    auto* outs = frame.scratch.take<tt_tensor_t>(plan.out_count);
    for (uint32_t k = 0; k < plan.out_count; k++) {
      const at::Tensor& out = frame.base[plan.out_slot + static_cast<int>(k)].toTensor();
      record_tensor(frame, out, true, &outs[k]);
      if (C10_UNLIKELY(plan.exact_out)) {
        const auto dtype = frame.base[0].toTensor().dtype();
        TORCH_CHECK(out.dtype() == dtype, "Expected out tensor to have dtype ", dtype, ", but got ",
                    out.dtype(), " instead");
      }
      // Overlap is the core's to check: only outputs that keep their size are written where they lie.
    }
    call->out_count = plan.out_count;
    call->outs = outs;
  }

  static IValue take(tt_result_t& result, int device) {
    switch (result.kind) {
      case TT_RESULT_TENSOR: return IValue(wrap_result(result, device));
      case TT_RESULT_INT: return IValue(result.integer);
      default: return IValue(at::Tensor());
    }
  }

  static void finish_functional(Frame& frame, tt_result_t* results, uint32_t count,
                                torch::jit::Stack* stack) {
    const Plan& plan = frame.plan;
    TORCH_INTERNAL_ASSERT(count >= plan.return_count, plan.name, ": ", count, " results");
    const int device = frame.device;
    if (C10_LIKELY(plan.return_count == 1)) {
      IValue value = take(results[0], device);
      stack->resize(stack->size() - plan.stack_count);
      stack->push_back(std::move(value));
      return;
    }
    stack->resize(stack->size() - plan.stack_count);
    for (uint32_t k = 0; k < plan.return_count; k++) stack->push_back(take(results[k], device));
  }

  static void store(Frame& frame, const at::Tensor& out, tt_result_t& result) {
    if (result.kind != TT_RESULT_TENSOR) return;
    const at::Tensor value = wrap_result(result, frame.device);
    if (frame.plan.flags & TT_ATEN_POINTWISE) {   // an operand cannot grow
      for (uint32_t i = 0; i < frame.plan.arg_count; i++) {
        const ArgPlan& arg = frame.plan.args[i];
        TORCH_CHECK(arg.convert != Convert::kTensor || arg.slot < 0 ||
                        !frame.base[arg.slot].isTensor() ||
                        !frame.base[arg.slot].toTensor().is_same(out),
                    "output with shape ", out.sizes(), " doesn't match the broadcast shape ",
                    value.sizes());
      }
    }
    if (at::native::resize_output(out, value.sizes()))
      out.unsafeGetTensorImpl()->set_sizes_and_strides(value.sizes(), value.strides());
    if (value.numel() != 0) copy_on_device(out, value);
  }

  static void finish_out(Frame& frame, tt_result_t* results, uint32_t count,
                         torch::jit::Stack* stack) {
    const Plan& plan = frame.plan;
    if (plan.out_is_list) {
      const auto list = frame.base[plan.out_slot].toListRef();
      for (uint32_t k = 0; k < count && k < list.size(); k++)
        store(frame, list[k].toTensor(), results[k]);
      stack->resize(stack->size() - plan.stack_count);
      return;
    }
    c10::SmallVector<at::Tensor, 2> outs;
    for (uint32_t k = 0; k < plan.out_count; k++) {
      outs.push_back(frame.base[plan.out_slot + static_cast<int>(k)].toTensor());
      if (k < count) store(frame, outs[k], results[k]);
    }
    stack->resize(stack->size() - plan.stack_count);
    for (uint32_t k = 0; k < plan.return_count && k < plan.out_count; k++)
      stack->emplace_back(std::move(outs[k]));
  }

  static void finish_inplace(Frame& frame, tt_result_t* results, uint32_t count,
                             torch::jit::Stack* stack) {
    const Plan& plan = frame.plan;
    if (count > 0 && C10_UNLIKELY(results[0].kind == TT_RESULT_TENSOR)) {
      const at::Tensor& self = frame.base[0].toTensor();
      const at::Tensor value = wrap_result(results[0], frame.device);
      TORCH_CHECK(value.sizes() == self.sizes(), "output with shape ", self.sizes(),
                  " doesn't match the broadcast shape ", value.sizes());
      copy_on_device(self, value);
    }
    // Arguments below the first are dropped; self stays where it lies.
    const bool returns_self = plan.return_count == 1 && !plan.returns_list;
    if (returns_self) {
      stack->resize(stack->size() - plan.stack_count + 1);
      return;
    }
    // Several results: the mutated tensors in order, as the schema's aliases say.
    c10::SmallVector<at::Tensor, 4> returned;
    for (uint32_t i = 0; i < plan.arg_count && returned.size() < plan.return_count; i++) {
      const ArgPlan& arg = plan.args[i];
      if (arg.written && arg.convert == Convert::kTensor)
        returned.push_back(frame.base[arg.slot].toTensor());
    }
    stack->resize(stack->size() - plan.stack_count);
    for (auto& tensor : returned) stack->emplace_back(std::move(tensor));
  }

  C10_NOINLINE static void run_list(Frame& frame, const tt_call_t& call,
                                    const c10::OperatorHandle& op, torch::jit::Stack* stack) {
    size_t capacity = 64;
    for (uint32_t i = 0; i < call.arg_count; i++) {
      if (call.args[i].kind == TT_ARG_TENSORS) capacity += call.args[i].count;
    }
    std::vector<tt_result_t> results(capacity);
    uint32_t count = 0;
    tt_status_t status =
        tt_call_execute(&call, results.data(), static_cast<uint32_t>(capacity), &count);
    if (status) {
      fail(frame.plan, status, op, stack);
      return;
    }
    c10::List<at::Tensor> list;
    list.reserve(count);
    for (uint32_t k = 0; k < count; k++) list.push_back(take(results[k], frame.device).toTensor());
    stack->resize(stack->size() - frame.plan.stack_count);
    stack->emplace_back(std::move(list));
  }
};

}   // namespace

c10::BoxedKernel make_kernel(std::unique_ptr<Plan> plan) {
  return c10::BoxedKernel::makeFromFunctor(std::make_unique<Entry>(std::move(plan)));
}

}   // namespace tpu
