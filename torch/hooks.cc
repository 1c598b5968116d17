// What torch asks the backend for through PrivateUse1HooksInterface.
#include <ATen/detail/PrivateUse1HooksInterface.h>
#include <c10/core/Storage.h>

#include "shim.h"

namespace tpu {
namespace {

struct Hooks final : public at::PrivateUse1HooksInterface {
  bool isBuilt() const override { return true; }
  bool isAvailable() const override { return device_count_or_zero() > 0; }
  bool hasPrimaryContext(c10::DeviceIndex device) const override {
    return tt_is_initialized() && !forked() && device < device_count_or_zero();
  }
  void init() const override {
    TORCH_CHECK(!forked(),
                "Cannot re-initialize TPU in forked subprocess. To use TPU with multiprocessing, "
                "you must use the 'spawn' start method");
    check(tt_initialize());
  }
  c10::DeviceIndex deviceCount() const override {
    return static_cast<c10::DeviceIndex>(device_count_or_zero());
  }
  void setCurrentDevice(c10::DeviceIndex device) const override {
    check_device(device);
    exchange_device(device);
  }
  c10::DeviceIndex getCurrentDevice() const override {
    return static_cast<c10::DeviceIndex>(current_device());
  }
  c10::DeviceIndex exchangeDevice(c10::DeviceIndex device) const override {
    return static_cast<c10::DeviceIndex>(exchange_device(device));
  }
  c10::DeviceIndex maybeExchangeDevice(c10::DeviceIndex device) const override {
    return static_cast<c10::DeviceIndex>(exchange_device(device));
  }
  const at::Generator& getDefaultGenerator(c10::DeviceIndex device) const override {
    return default_generator(device < 0 ? current_device() : device);
  }
  at::Generator getNewGenerator(c10::DeviceIndex device) const override {
    return new_generator(device < 0 ? current_device() : device);
  }
  c10::Device getDeviceFromPtr(void* data) const override {
    tt_storage_t* storage = tt_storage_from_address(data, nullptr);
    TORCH_CHECK(storage, "tpu: ", data, " is not the address of a tpu storage");
    return {kTpu, static_cast<c10::DeviceIndex>(tt_storage_device(storage))};
  }
  bool isPinnedPtr(const void* data) const override { return pinned_block(data) != nullptr; }
  c10::Allocator* getPinnedMemoryAllocator() const override { return pinned_allocator(); }
  // Keeps the first bytes, and the core's storage: another thread may be at a call with it.
  void resizePrivateUse1Bytes(const c10::Storage& storage, size_t bytes) const override {
    c10::StorageImpl* impl = storage.unsafeGetStorageImpl();
    TORCH_CHECK(impl->resizable(), "Trying to resize storage that is not resizable");
    if (impl->has_materializer()) impl->mutable_data_ptr();   // no longer shared
    DeviceScope scope(impl->device().index());
    if (impl->data_ptr().get_deleter() == &storage_deleter) {
      auto* storage = static_cast<tt_storage_t*>(impl->data_ptr().get_context());
      check(tt_storage_resize(storage, bytes));
      tt_storage_retain(storage);   // the old DataPtr lets go of one
      impl->set_data_ptr_noswap(wrap_storage(storage, impl->device()));
      impl->set_nbytes(bytes);
      return;
    }
    c10::DataPtr data = allocator()->allocate(bytes);
    const size_t kept = std::min(bytes, impl->nbytes());
    if (kept != 0) {
      size_t offset = 0;
      tt_storage_t* from = storage_of(impl, &offset);
      check(tt_storage_copy(static_cast<tt_storage_t*>(data.get_context()), 0, from, offset, kept));
    }
    impl->set_data_ptr_noswap(std::move(data));
    impl->set_nbytes(bytes);
  }
};

[[maybe_unused]] const bool g_registered = [] {
  at::RegisterPrivateUse1HooksInterface(new Hooks());
  return true;
}();

}   // namespace
}   // namespace tpu
