// empty, empty_strided, resize_, the four set_, _lazy_clone.
#include <ATen/Context.h>
#include <ATen/EmptyTensor.h>
#include <ATen/native/Resize.h>
#include <ATen/native/TensorFactories.h>
#include <ATen/ops/clone.h>
#include <ATen/ops/fill.h>
#include <ATen/ops/empty_strided.h>
#include <ATen/ops/set.h>
#include <torch/library.h>

#include <limits>

#include "shim.h"

namespace tpu {
namespace {

constexpr c10::DispatchKeySet kKeys(c10::DispatchKey::PrivateUse1);

// torch.use_deterministic_algorithms: fresh memory is NaN or the largest integer, as on the CPU.
void fill_deterministic(at::Tensor& tensor) {
  const auto type = tensor.scalar_type();
  if (tensor.numel() == 0) return;
  if (c10::isFloatingType(type) || c10::isComplexType(type)) {
    tensor.fill_(std::numeric_limits<double>::quiet_NaN());
    return;
  }
  switch (type) {
    case c10::kBool: tensor.fill_(true); break;
    case c10::kByte: tensor.fill_(255); break;
    case c10::kChar: tensor.fill_(127); break;
    case c10::kShort: tensor.fill_(32767); break;
    case c10::kInt: tensor.fill_(std::numeric_limits<int32_t>::max()); break;
    case c10::kLong: tensor.fill_(std::numeric_limits<int64_t>::max()); break;
    default: break;
  }
}

inline bool wants_fill() {
  auto& context = at::globalContext();
  return C10_UNLIKELY(context.deterministicAlgorithms()) &&
         context.deterministicFillUninitializedMemory();
}

void check_options(std::optional<at::Layout> layout, std::optional<bool> pin_memory) {
  TORCH_CHECK_NOT_IMPLEMENTED(!layout || *layout == at::kStrided, "tpu: only strided tensors, not ",
                              *layout);
  TORCH_CHECK(!pin_memory || !*pin_memory, "Only dense CPU tensors can be pinned");
}

at::Tensor empty(c10::IntArrayRef size, std::optional<at::ScalarType> dtype,
                 std::optional<at::Layout> layout, std::optional<at::Device> device,
                 std::optional<bool> pin_memory, std::optional<at::MemoryFormat> memory_format) {
  check_options(layout, pin_memory);
  DeviceScope scope(device ? device->index() : -1);
  at::Tensor result(at::detail::empty_generic(size, allocator(), kKeys,
                                              c10::dtype_or_default(dtype), memory_format));
  if (wants_fill()) fill_deterministic(result);
  return result;
}

at::Tensor empty_strided(c10::IntArrayRef size, c10::IntArrayRef stride,
                         std::optional<at::ScalarType> dtype, std::optional<at::Layout> layout,
                         std::optional<at::Device> device, std::optional<bool> pin_memory) {
  check_options(layout, pin_memory);
  DeviceScope scope(device ? device->index() : -1);
  at::Tensor result(at::detail::empty_strided_generic(size, stride, allocator(), kKeys,
                                                      c10::dtype_or_default(dtype)));
  if (wants_fill()) fill_deterministic(result);
  return result;
}

// Grows the storage if the tensor's view needs it; a storage never shrinks.
void grow(const at::Tensor& self, size_t bytes) {
  if (self.numel() == 0) return;
  const c10::Storage& storage = self.storage();
  if (bytes > storage.nbytes())
    at::native::resize_bytes_nocuda(storage, static_cast<int64_t>(bytes));
}

const at::Tensor& resize_(const at::Tensor& self, c10::IntArrayRef size,
                          std::optional<at::MemoryFormat> memory_format) {
  if (self.sizes() == size && (!memory_format || *memory_format == at::MemoryFormat::Preserve))
    return self;
  at::detail::check_size_nonnegative(size);
  auto* impl = self.unsafeGetTensorImpl();
  const size_t before = self.storage().nbytes();
  const size_t bytes = at::detail::computeStorageNbytesContiguous(
      size, impl->itemsize(), static_cast<size_t>(impl->storage_offset()));
  impl->set_sizes_contiguous(size);
  grow(self, bytes);
  if (memory_format) {
    TORCH_CHECK(*memory_format != at::MemoryFormat::Preserve, "Unsupported memory format",
                *memory_format);
    impl->empty_tensor_restride(*memory_format);
  }
  if (wants_fill() && self.storage().nbytes() > before)
    at::native::fill_resize_deterministic_(self, static_cast<int64_t>(before));
  return self;
}

at::Tensor& set_storage_offset(at::Tensor& self, c10::Storage source, int64_t offset,
                               c10::IntArrayRef size, c10::IntArrayRef stride) {
  at::native::checkSetStorage<int64_t>(self, std::move(source), offset, size, stride, false);
  auto* impl = self.unsafeGetTensorImpl();
  at::detail::check_size_nonnegative(size);
  impl->set_storage_offset(offset);
  if (stride.data()) {
    impl->set_sizes_and_strides(size, stride);
  } else {
    impl->set_sizes_contiguous(size);
  }
  grow(self, at::detail::computeStorageNbytes(self.sizes(), self.strides(), impl->itemsize(),
                                              static_cast<size_t>(offset)));
  return self;
}

at::Tensor& set_storage(at::Tensor& self, c10::Storage source) {
  const auto elements = static_cast<int64_t>(source.nbytes() / self.itemsize());
  return set_storage_offset(self, std::move(source), 0, {elements}, {});
}

at::Tensor& set_tensor(at::Tensor& self, const at::Tensor& source) {
  if (self.unsafeGetTensorImpl() == source.unsafeGetTensorImpl()) return self;
  return set_storage_offset(self, source.storage(), source.storage_offset(), source.sizes(),
                            source.strides());
}

at::Tensor& set_nothing(at::Tensor& self) {
  DeviceScope scope(self.device().index());
  c10::Storage storage(c10::Storage::use_byte_size_t(), 0, allocator()->allocate(0), allocator(),
                       true);
  return set_storage_offset(self, std::move(storage), 0, {0}, {});
}

at::Tensor lazy_clone(const at::Tensor& self) {
  at::Tensor result(c10::make_intrusive<c10::TensorImpl>(
      c10::Storage(share_storage(self.storage().unsafeGetStorageImpl())), self.key_set(),
      self.dtype()));
  result.unsafeGetTensorImpl()->set_storage_offset(self.storage_offset());
  result.unsafeGetTensorImpl()->set_sizes_and_strides(self.sizes(), self.strides());
  return result;
}

// torch's lazy zeros: no storage behind them, the ZeroTensor key replaces them before a kernel
// runs.
at::Tensor efficientzerotensor(c10::IntArrayRef size, std::optional<at::ScalarType> dtype,
                               std::optional<at::Layout> layout, std::optional<at::Device> device,
                               std::optional<bool> pin_memory) {
  check_options(layout, pin_memory);
  const int index = device && device->has_index() ? device->index() : current_device();
  check_device(index);
  at::native::ZeroTensorAllocator zero(c10::Device(kTpu, static_cast<c10::DeviceIndex>(index)));
  return at::Tensor(at::detail::empty_generic(size, &zero, kKeys.add(c10::DispatchKey::ZeroTensor),
                                              c10::dtype_or_default(dtype), std::nullopt));
}

// Buffers live until the last program that reads them has ended, on whichever stream: nothing to
// note.
void record_stream(at::Tensor& /*self*/, c10::Stream /*stream*/) {}

}   // namespace

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("_efficientzerotensor", TORCH_FN(efficientzerotensor));
  m.impl("record_stream", TORCH_FN(record_stream));
  m.impl("empty.memory_format", TORCH_FN(empty));
  m.impl("empty_strided", TORCH_FN(empty_strided));
  m.impl("resize_", TORCH_FN(resize_));
  m.impl("set_.source_Storage_storage_offset", TORCH_FN(set_storage_offset));
  m.impl("set_.source_Storage", TORCH_FN(set_storage));
  m.impl("set_.source_Tensor", TORCH_FN(set_tensor));
  m.impl("set_", TORCH_FN(set_nothing));
  m.impl("_lazy_clone", TORCH_FN(lazy_clone));
}

}   // namespace tpu
