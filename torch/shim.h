// What the files of the shim share: statuses as exceptions, dtype numbers, tensors as descriptors.
#pragma once

#include <ATen/Parallel.h>
#include <ATen/core/Tensor.h>
#include <c10/core/DefaultDtype.h>
#include <c10/core/ScalarType.h>
#include <c10/util/Exception.h>

#include <atomic>

#include "tt/device.h"
#include "tt/op.h"

namespace tpu {

constexpr auto kTpu = c10::DeviceType::PrivateUse1;

// ---- statuses (shim.cc)
// -------------------------------------------------------------------------- Throws the
// Python-visible exception of a status; the status is freed.
[[noreturn]] void raise(tt_status_t status);
inline void check(tt_status_t status) {
  if (C10_UNLIKELY(status != nullptr)) raise(status);
}

// ---- dtypes (shim.cc)
// ----------------------------------------------------------------------------
extern const uint8_t kToCore[static_cast<int>(c10::ScalarType::NumOptions)];
extern const c10::ScalarType kFromCore[TT_DTYPE_COUNT];
inline uint8_t to_core(c10::ScalarType type) { return kToCore[static_cast<int>(type)]; }
inline c10::ScalarType from_core(int dtype) { return kFromCore[dtype]; }
[[noreturn]] void raise_dtype(c10::ScalarType type);
// Tells the core torch's default dtype if it has changed; before each call that may build a program.
void set_default_dtype(c10::ScalarType type);
extern std::atomic<c10::ScalarType> g_default_dtype;
inline void follow_default_dtype() {
  const c10::ScalarType type = c10::get_default_dtype_as_scalartype();
  if (C10_UNLIKELY(type != g_default_dtype.load(std::memory_order_relaxed))) set_default_dtype(type);
}
// Tells the plugin torch.get_num_threads() of this thread if it has changed; before each call that computes.
void set_threads(int threads);   // threads.cc
extern constinit thread_local int t_threads;
inline void follow_threads() {
  const int threads = at::get_num_threads();
  if (C10_UNLIKELY(threads != t_threads)) set_threads(threads);
}

// ---- storages (allocator.cc)
// ---------------------------------------------------------------------
c10::Allocator* allocator();
void storage_deleter(void* context);
// The core's storage behind a StorageImpl; *byte_offset is not 0 only for memory wrapped from a
// bare address.
tt_storage_t* storage_slow(const c10::StorageImpl* storage, size_t* byte_offset);
inline tt_storage_t* storage_of(const c10::StorageImpl* storage, size_t* byte_offset) {
  const c10::DataPtr& data = storage->data_ptr();
  *byte_offset = 0;
  if (C10_LIKELY(data.get_deleter() == &storage_deleter)) {
    return static_cast<tt_storage_t*>(data.get_context());
  }
  return storage_slow(storage, byte_offset);
}
// Takes over one reference of `storage`.
c10::DataPtr wrap_storage(tt_storage_t* storage, c10::Device device);
// A storage with the same bytes: none are copied before one of the two is written.
c10::intrusive_ptr<c10::StorageImpl> share_storage(c10::StorageImpl* storage);
// Before a write: a storage that shares its bytes gets its own.
inline void before_write(const c10::TensorImpl* impl) {
  c10::StorageImpl* storage = impl->unsafe_storage().unsafeGetStorageImpl();
  if (C10_UNLIKELY(storage->has_materializer())) storage->mutable_data_ptr();
}

// ---- pinned memory (host_allocator.cc)
// -----------------------------------------------------------
// The pinned block that holds the address, or null.
const void* pinned_block(const void* address);
c10::Allocator* pinned_allocator();
// Waits for transfers of the block that one more may not overtake.
void pinned_wait(const void* address, bool to_device);
// The block is in use until the device's current stream has come so far.
void pinned_use(const void* address, int device, int64_t stream, bool to_device);

// ---- devices (guard.cc)
// --------------------------------------------------------------------------
int device_count();   // opens the plugin; throws
int device_count_or_zero() noexcept;
int current_device() noexcept;
int exchange_device(int device);   // throws IndexError-like text for a missing device; -1 keeps it
void set_device_unchecked(int device) noexcept;
void check_device(int device);
bool forked() noexcept;

struct DeviceScope {
  int before;
  explicit DeviceScope(int device) : before(exchange_device(device)) {}
  ~DeviceScope() { set_device_unchecked(before); }
  DeviceScope(const DeviceScope&) = delete;
};

// ---- tensors (tensor.cc)
// ------------------------------------------------------------------------- Fills a descriptor of a
// tensor on the device; sizes and strides are borrowed from the TensorImpl.
inline void describe(const c10::TensorImpl* impl, tt_tensor_t* out) {
  size_t byte_offset;
  out->storage = storage_of(impl->unsafe_storage().unsafeGetStorageImpl(), &byte_offset);
  out->host_scalar = nullptr;
  out->graph_value = -1;
  const auto type = c10::typeMetaToScalarType(impl->dtype());
  out->dtype = to_core(type);
  if (C10_UNLIKELY(out->dtype == TT_DTYPE_INVALID)) raise_dtype(type);
  const auto sizes = impl->sizes();
  TORCH_CHECK(sizes.size() <= TT_TENSOR_MAX_RANK, "tpu: tensors have at most ", TT_TENSOR_MAX_RANK,
              " dimensions, got ", sizes.size());
  out->rank = static_cast<uint8_t>(sizes.size());
  out->is_wrapped_number = impl->is_wrapped_number();
  out->is_defined = true;
  out->sizes = sizes.data();
  out->strides = impl->strides().data();
  out->offset = impl->storage_offset();
  if (C10_UNLIKELY(byte_offset != 0)) {
    out->offset += static_cast<int64_t>(byte_offset / impl->itemsize());
  }
}
inline void describe(const at::Tensor& tensor, tt_tensor_t* out) {
  describe(tensor.unsafeGetTensorImpl(), out);
}
// A new tensor around a result; takes over its storage.
at::Tensor wrap_result(tt_result_t& result, int device);
// dst[...] = src for two tensors of the device, sizes equal; conj and neg bits are not looked at.
void copy_on_device(const at::Tensor& dst, const at::Tensor& src);
bool is_tpu(const c10::TensorImpl* impl);

// ---- generators (generator.cc)
// -------------------------------------------------------------------
const at::Generator& default_generator(int device);
at::Generator new_generator(int device);
void reserve_random(void* generator, int device, uint64_t words, uint64_t* seed, uint64_t* offset);

// ---- fallback (fallback.cc)
// ---------------------------------------------------------------------- Runs an op that the core
// did not take on the CPU, if allowed; else raises NotImplementedError.
void fall_back(const c10::OperatorHandle& op, std::vector<c10::IValue>* stack, const char* reason);

}   // namespace tpu
