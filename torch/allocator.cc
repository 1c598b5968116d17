// The device allocator. A DataPtr's pointer is the storage's address (reserved, never
// dereferenced), its context the core's storage itself, so that a kernel reaches it with one load.
#include <c10/core/CachingDeviceAllocator.h>
#include <c10/core/impl/COW.h>

#include "shim.h"

namespace tpu {

void storage_deleter(void* context) { tt_storage_release(static_cast<tt_storage_t*>(context)); }

c10::DataPtr wrap_storage(tt_storage_t* storage, c10::Device device) {
  return {tt_storage_address(storage), storage, &storage_deleter, device};
}

namespace {

// An empty storage for StorageImpls that point nowhere (storage.resize_(0) of a null one): one a
// device, kept.
tt_storage_t* empty_storage(int device) {
  static tt_storage_t* storages[64];
  static std::mutex mutex;
  std::lock_guard<std::mutex> lock(mutex);
  TORCH_CHECK(device >= 0 && device < 64, "tpu: device index ", device);
  if (!storages[device]) check(tt_storage_allocate(device, 0, &storages[device]));
  return storages[device];
}

struct TpuAllocator final : public c10::DeviceAllocator {
  c10::DataPtr allocate(size_t bytes) override {
    tt_storage_t* storage = nullptr;
    const int device = current_device();
    check(tt_storage_allocate(device, bytes, &storage));
    return wrap_storage(storage, c10::Device(kTpu, static_cast<c10::DeviceIndex>(device)));
  }
  c10::DeleterFnPtr raw_deleter() const override { return nullptr; }
  void copy_data(void* dest, const void* src, size_t bytes) const override {
    if (bytes == 0) return;
    size_t to_offset = 0, from_offset = 0;
    tt_storage_t* to = tt_storage_from_address(dest, &to_offset);
    tt_storage_t* from = tt_storage_from_address(src, &from_offset);
    TORCH_CHECK(to && from, "tpu: copy_data: not addresses of tpu storages");
    check(tt_storage_copy(to, to_offset, from, from_offset, bytes));
  }
  bool initialized() override { return tt_is_initialized(); }
  void emptyCache(c10::MempoolId_t) override {
    if (!tt_is_initialized()) return;
    for (int device = 0; device < device_count(); device++) check(tt_device_empty_cache(device));
  }
  // Buffers live until the last program that reads them has ended: nothing to note.
  void recordStream(const c10::DataPtr&, c10::Stream) override {}
  c10::CachingDeviceAllocator::DeviceStats getDeviceStats(c10::DeviceIndex device) override {
    tt_memory_stats_t figures;
    check_device(device);
    check(tt_device_memory_stats(device, &figures));
    c10::CachingDeviceAllocator::DeviceStats stats;
    const auto set = [](c10::CachingAllocator::StatArray& array, int64_t current, int64_t peak) {
      array[0].current = current < 0 ? 0 : current;
      array[0].peak = peak < 0 ? array[0].current : peak;
    };
    set(stats.allocated_bytes, figures.allocated_bytes, figures.peak_allocated_bytes);
    set(stats.active_bytes, figures.allocated_bytes, figures.peak_allocated_bytes);
    set(stats.requested_bytes, figures.allocated_bytes, figures.peak_allocated_bytes);
    set(stats.reserved_bytes, figures.reserved_bytes, figures.peak_reserved_bytes);
    stats.allocation[0].current = figures.allocations - figures.frees;
    stats.allocation[0].allocated = figures.allocations;
    stats.allocation[0].freed = figures.frees;
    stats.num_ooms = figures.out_of_memory_errors;
    stats.num_device_alloc = figures.allocations;
    stats.num_device_free = figures.frees;
    return stats;
  }
  void resetAccumulatedStats(c10::DeviceIndex) override {}
  void resetPeakStats(c10::DeviceIndex device) override {
    check_device(device);
    check(tt_device_reset_peak(device));
  }
  std::pair<size_t, size_t> getMemoryInfo(c10::DeviceIndex device) override {
    tt_memory_stats_t figures;
    check_device(device);
    check(tt_device_memory_stats(device, &figures));
    const auto known = [](int64_t value) { return static_cast<size_t>(value < 0 ? 0 : value); };
    return {known(figures.free_bytes), known(figures.limit_bytes)};
  }
};

TpuAllocator g_allocator;
REGISTER_ALLOCATOR(kTpu, &g_allocator);

}   // namespace

c10::Allocator* allocator() { return &g_allocator; }

// ---- copy on write
// c10's contexts hold a DataPtr whose context is its pointer: while a storage shares its bytes, and
// only then, our context is the address.
namespace {

void address_deleter(void* address) {
  tt_storage_release(tt_storage_from_address(address, nullptr));
}

void materialize(c10::StorageImpl* storage) {
  DeviceScope scope(storage->device().index());   // c10 allocates on the current device
  c10::impl::cow::materialize_cow(storage);
  c10::DataPtr& data = storage->_mutable_data_ptr_no_checks();
  if (data.get_deleter() != &address_deleter) return;
  const c10::Device device = data.device();
  auto* owner = tt_storage_from_address(data.release_context(), nullptr);
  storage->set_data_ptr_noswap(wrap_storage(owner, device));
}

}   // namespace

c10::intrusive_ptr<c10::StorageImpl> share_storage(c10::StorageImpl* storage) {
  c10::DataPtr& data = storage->_mutable_data_ptr_no_checks();
  if (data.get_deleter() == &storage_deleter) {
    const c10::Device device = data.device();
    void* address = data.get();
    data.release_context();
    storage->set_data_ptr_noswap({address, address, &address_deleter, device});
  }
  auto copy = c10::impl::cow::lazy_clone_storage(*storage);
  TORCH_CHECK(copy, "tpu: _lazy_clone of memory that is not the device's own");
  for (c10::StorageImpl* one : {storage, copy.get()}) {
    one->clear_materializer();
    one->set_materializer(&materialize);
  }
  return copy;
}

tt_storage_t* storage_slow(const c10::StorageImpl* storage, size_t* byte_offset) {
  TORCH_CHECK(storage, "tpu: the tensor has no storage");
  const c10::DataPtr& data = storage->data_ptr();
  if (!data.get()) return empty_storage(storage->device().index());
  // torch wraps data_ptr() of a device storage with from_blob in places (pickle): no context, only
  // an address.
  tt_storage_t* found = tt_storage_from_address(data.get(), byte_offset);
  TORCH_CHECK(found, "tpu: ", data.get(), " is not the address of a tpu storage");
  return found;
}

}   // namespace tpu
