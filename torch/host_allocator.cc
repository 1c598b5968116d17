// Pinned host memory: ordinary pages, remembered so that is_pinned() can tell. A later transfer
// path may register them with a plugin; the addresses' range look-up is what that needs.
#include <ATen/core/CachingHostAllocator.h>
#include <c10/core/impl/alloc_cpu.h>

#include <map>
#include <mutex>

#include "shim.h"

namespace tpu {

const void* pinned_block(const void* address);
c10::Allocator* pinned_allocator();

namespace {

std::mutex g_mutex;                       // guards all below
std::map<const char*, size_t> g_blocks;   // address -> bytes
at::HostStats g_stats;

void free_block(void* data) {
  {
    std::lock_guard<std::mutex> lock(g_mutex);
    const auto it = g_blocks.find(static_cast<const char*>(data));
    if (it == g_blocks.end()) return;
    g_stats.allocations.decrease(1);
    g_stats.allocated_bytes.decrease(it->second);
    g_blocks.erase(it);
  }
  c10::free_cpu(data);
}

struct PinnedAllocator final : public at::HostAllocator {
  c10::DataPtr allocate(size_t bytes) override {
    void* data = c10::alloc_cpu(bytes ? bytes : 1);
    std::lock_guard<std::mutex> lock(g_mutex);
    g_blocks.emplace(static_cast<const char*>(data), bytes ? bytes : 1);
    g_stats.allocations.increase(1);
    g_stats.allocated_bytes.increase(bytes ? bytes : 1);
    return {data, data, &free_block, c10::Device(c10::DeviceType::CPU)};
  }
  c10::DeleterFnPtr raw_deleter() const override { return &free_block; }
  void copy_data(void* dest, const void* src, size_t bytes) const override {
    default_copy_data(dest, src, bytes);
  }
  bool record_event(void*, void*, c10::Stream) override { return true; }
  void empty_cache() override {}
  at::HostStats get_stats() override {
    std::lock_guard<std::mutex> lock(g_mutex);
    return g_stats;
  }
  void reset_accumulated_stats() override {
    std::lock_guard<std::mutex> lock(g_mutex);
    g_stats.allocations.reset_accumulated();
    g_stats.allocated_bytes.reset_accumulated();
  }
  void reset_peak_stats() override {
    std::lock_guard<std::mutex> lock(g_mutex);
    g_stats.allocations.reset_peak();
    g_stats.allocated_bytes.reset_peak();
  }
};

PinnedAllocator g_pinned;
REGISTER_HOST_ALLOCATOR(kTpu, &g_pinned);

}   // namespace

c10::Allocator* pinned_allocator() { return &g_pinned; }

const void* pinned_block(const void* address) {
  std::lock_guard<std::mutex> lock(g_mutex);
  auto it = g_blocks.upper_bound(static_cast<const char*>(address));
  if (it == g_blocks.begin()) return nullptr;
  --it;
  return static_cast<const char*>(address) < it->first + it->second ? it->first : nullptr;
}

}   // namespace tpu
