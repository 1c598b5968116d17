// Devices of the thread, the device guard, streams and events.
#include <c10/core/DeviceCapability.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <pthread.h>

#include <atomic>
#include <mutex>
#include <vector>

#include "shim.h"

namespace tpu {
namespace {

thread_local int t_device = 0;
std::atomic<int> g_device_count{0};   // 0: not known yet
std::atomic<bool> g_forked{false};

[[maybe_unused]] const bool g_atfork = [] {
  pthread_atfork(nullptr, nullptr, [] { g_forked.store(tt_is_initialized()); });
  return true;
}();

int open_devices() {
  int count = 0;
  check(tt_device_count(&count));
  g_device_count.store(count, std::memory_order_relaxed);
  return count;
}

[[noreturn]] C10_NOINLINE void raise_device(int device) {
  const int count = device_count();
  C10_THROW_ERROR(Error, c10::str("tpu:", device, ": invalid device ordinal; this process has ",
                                  count, count == 1 ? " device" : " devices", " (tpu:0",
                                  count > 1 ? c10::str(" to tpu:", count - 1) : "", ")"));
}

}   // namespace

bool forked() noexcept { return g_forked.load(std::memory_order_relaxed); }

int device_count() {
  const int known = g_device_count.load(std::memory_order_relaxed);
  return C10_LIKELY(known > 0) ? known : open_devices();
}

int device_count_or_zero() noexcept {
  const int known = g_device_count.load(std::memory_order_relaxed);
  if (known > 0) return known;
  int count = 0;
  tt_status_t status = tt_device_count(&count);
  if (status) {
    tt_status_free(status);
    return 0;
  }
  g_device_count.store(count, std::memory_order_relaxed);
  return count;
}

int current_device() noexcept { return t_device; }

void check_device(int device) {
  if (C10_UNLIKELY(device < 0 || device >= device_count())) raise_device(device);
}

int exchange_device(int device) {
  const int before = t_device;
  if (device >= 0 && device != before) {
    check_device(device);
    t_device = device;
  }
  return before;
}

void set_device_unchecked(int device) noexcept {
  if (device >= 0) t_device = device;
}

namespace {

struct Guard final : public c10::impl::DeviceGuardImplInterface {
  static c10::Device at(int index) { return {kTpu, static_cast<c10::DeviceIndex>(index)}; }
  static int index(c10::Device device) { return device.has_index() ? device.index() : t_device; }
  static c10::Stream stream(c10::StreamId id, int device) {
    return c10::Stream(c10::Stream::UNSAFE, at(device), id);
  }

  c10::DeviceType type() const override { return kTpu; }
  c10::Device exchangeDevice(c10::Device device) const override {
    TORCH_INTERNAL_ASSERT(device.type() == kTpu);
    return at(exchange_device(device.index()));
  }
  c10::Device getDevice() const override { return at(t_device); }
  void setDevice(c10::Device device) const override { exchange_device(device.index()); }
  void uncheckedSetDevice(c10::Device device) const noexcept override {
    set_device_unchecked(device.index());
  }
  c10::DeviceIndex deviceCount() const noexcept override {
    return static_cast<c10::DeviceIndex>(device_count_or_zero());
  }

  c10::Stream getStream(c10::Device device) const override {
    return stream(tt_stream_current(index(device)), index(device));
  }
  c10::Stream getDefaultStream(c10::Device device) const override {
    return stream(0, index(device));
  }
  c10::Stream getNewStream(c10::Device device, int priority) const override {
    int64_t id = 0;
    check_device(index(device));
    check(tt_stream_create(index(device), priority, &id));
    return stream(id, index(device));
  }
  // As on CUDA: a fixed pool a device, handed out in turn.
  c10::Stream getStreamFromGlobalPool(c10::Device device, bool high_priority) const override {
    static std::mutex mutex;
    static std::vector<std::vector<int64_t>> pools;
    static std::vector<size_t> next;
    constexpr size_t kStreams = 8;
    const int i = index(device);
    check_device(i);
    std::lock_guard<std::mutex> lock(mutex);
    const size_t pool = static_cast<size_t>(i) * 2 + (high_priority ? 1 : 0);
    if (pools.size() <= pool) pools.resize(pool + 1), next.resize(pool + 1);
    if (pools[pool].size() < kStreams) {
      int64_t id = 0;
      check(tt_stream_create(i, high_priority ? -1 : 0, &id));
      pools[pool].push_back(id);
      return stream(id, i);
    }
    return stream(pools[pool][next[pool]++ % kStreams], i);
  }
  c10::Stream exchangeStream(c10::Stream next) const override {
    const int device = index(next.device());
    const c10::Stream before = getStream(next.device());
    tt_stream_set_current(device, next.id());
    return before;
  }
  void* getStreamNativeHandle(const c10::Stream s) const override {
    return reinterpret_cast<void*>(s.id());
  }
  bool queryStream(const c10::Stream& s) const override {
    bool done = false;
    check(tt_stream_query(index(s.device()), s.id(), &done));
    return done;
  }
  void synchronizeStream(const c10::Stream& s) const override {
    check(tt_stream_synchronize(index(s.device()), s.id()));
  }
  void synchronizeDevice(const c10::DeviceIndex device) const override {
    const int i = device < 0 ? t_device : device;
    check_device(i);
    check(tt_device_synchronize(i));
  }

  void record(void** event, const c10::Stream& s, const c10::DeviceIndex device,
              const c10::EventFlag flag) const override {
    TORCH_CHECK(device == -1 || device == s.device_index(), "Event device index ", int(device),
                " does not match recording stream's device index ", int(s.device_index()), ".");
    if (!*event) {
      tt_event_t* created = nullptr;
      check(tt_event_create(index(s.device()), flag == c10::EventFlag::BACKEND_DEFAULT, &created));
      *event = created;
    }
    check(tt_event_record(static_cast<tt_event_t*>(*event), s.id()));
  }
  void block(void* event, const c10::Stream& s) const override {
    if (!event) return;
    check(tt_stream_wait_event(index(s.device()), s.id(), static_cast<tt_event_t*>(event)));
  }
  bool queryEvent(void* event) const override {
    if (!event) return true;
    bool done = false;
    check(tt_event_query(static_cast<tt_event_t*>(event), &done));
    return done;
  }
  void synchronizeEvent(void* event) const override {
    if (event) check(tt_event_synchronize(static_cast<tt_event_t*>(event)));
  }
  void destroyEvent(void* event, const c10::DeviceIndex) const noexcept override {
    if (event) tt_event_release(static_cast<tt_event_t*>(event));
  }
  double elapsedTime(void* begin, void* end, const c10::DeviceIndex) const override {
    TORCH_CHECK(begin && end, "Both events must be recorded before calculating elapsed time.");
    double ms = 0;
    check(tt_event_elapsed_ms(static_cast<tt_event_t*>(begin), static_cast<tt_event_t*>(end), &ms));
    return ms;
  }
  c10::DeviceCapability getDeviceCapability(c10::Device device) const override {
    const int i = index(device);
    check_device(i);
    c10::DeviceCapability capability;
    uint64_t bits = 0;
    capability.forEachSupportedScalarType([&](c10::ScalarType type) {
      int support = 0;
      const uint8_t dtype = to_core(type);
      if (dtype == TT_DTYPE_INVALID) return;
      check(tt_device_dtype_support(i, dtype, &support));
      if (support) bits |= uint64_t(1) << static_cast<int>(type);
    });
    capability.capability_data.capability_bits = bits;
    return capability;
  }
};

C10_REGISTER_GUARD_IMPL(PrivateUse1, Guard);

}   // namespace
}   // namespace tpu

extern "C" TT_API int tts_forked(void) { return tpu::forked(); }
