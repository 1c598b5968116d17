// Pinned host memory: ordinary pages, remembered with the transfers that use them. A block that is
// freed meanwhile goes when the last of them is done.
#include <ATen/core/CachingHostAllocator.h>
#include <c10/core/impl/alloc_cpu.h>

#include <map>
#include <mutex>
#include <vector>

#include "shim.h"

namespace tpu {
namespace {

struct Use {
  tt_event_t* event;
  bool to_device;
};
struct Block {
  size_t bytes;
  bool is_freed = false;
  std::vector<Use> uses;
};

std::mutex g_mutex;   // guards all below
std::map<const char*, Block> g_blocks;
at::HostStats g_stats;
std::atomic<size_t> g_count{0};   // of g_blocks: most copies look no further

bool is_done(const Use& use) {
  bool done = false;
  tt_status_t status = tt_event_query(use.event, &done);
  if (!status) return done;
  tt_status_free(status);   // asked again with the next call
  return false;
}

void prune(Block& block) {
  auto& uses = block.uses;
  for (size_t i = 0; i < uses.size();) {
    if (!is_done(uses[i])) {
      i++;
      continue;
    }
    tt_event_release(uses[i].event);
    uses[i] = uses.back();
    uses.pop_back();
  }
}

// Frees what was given back and is no longer in use.
void reap() {
  for (auto it = g_blocks.begin(); it != g_blocks.end();) {
    if (it->second.is_freed) prune(it->second);
    if (!it->second.is_freed || !it->second.uses.empty()) {
      ++it;
      continue;
    }
    g_stats.allocations.decrease(1);
    g_stats.allocated_bytes.decrease(it->second.bytes);
    c10::free_cpu(const_cast<char*>(it->first));
    it = g_blocks.erase(it);
    g_count--;
  }
}

void free_block(void* data) {
  std::lock_guard<std::mutex> lock(g_mutex);
  const auto it = g_blocks.find(static_cast<const char*>(data));
  if (it == g_blocks.end()) return;
  it->second.is_freed = true;
  reap();
}

std::map<const char*, Block>::iterator find(const void* address) {
  auto it = g_blocks.upper_bound(static_cast<const char*>(address));
  if (it == g_blocks.begin()) return g_blocks.end();
  --it;
  return static_cast<const char*>(address) < it->first + it->second.bytes ? it : g_blocks.end();
}

struct PinnedAllocator final : public at::HostAllocator {
  c10::DataPtr allocate(size_t bytes) override {
    const size_t size = bytes ? bytes : 1;
    std::lock_guard<std::mutex> lock(g_mutex);
    reap();
    void* data = c10::alloc_cpu(size);
    g_blocks[static_cast<const char*>(data)].bytes = size;
    g_count++;
    g_stats.allocations.increase(1);
    g_stats.allocated_bytes.increase(size);
    return {data, data, &free_block, c10::Device(c10::DeviceType::CPU)};
  }
  c10::DeleterFnPtr raw_deleter() const override { return &free_block; }
  void copy_data(void* dest, const void* src, size_t bytes) const override {
    default_copy_data(dest, src, bytes);
  }
  bool record_event(void* data, void*, c10::Stream stream) override {
    if (!pinned_block(data)) return false;
    pinned_use(data, stream.device_index(), stream.id(), true);
    pinned_use(data, stream.device_index(), stream.id(), false);
    return true;
  }
  void empty_cache() override {
    std::lock_guard<std::mutex> lock(g_mutex);
    reap();
  }
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
  if (g_count.load(std::memory_order_relaxed) == 0) return nullptr;
  std::lock_guard<std::mutex> lock(g_mutex);
  const auto it = find(address);
  return it == g_blocks.end() ? nullptr : it->first;
}

// Uploads read the block, downloads write it: only uploads may go side by side.
void pinned_wait(const void* address, bool to_device) {
  std::vector<Use> waiting;
  {
    std::lock_guard<std::mutex> lock(g_mutex);
    const auto it = find(address);
    if (it == g_blocks.end()) return;
    prune(it->second);
    auto& uses = it->second.uses;
    for (size_t i = 0; i < uses.size();) {
      if (to_device && uses[i].to_device) {
        i++;
        continue;
      }
      waiting.push_back(uses[i]);
      uses[i] = uses.back();
      uses.pop_back();
    }
  }
  for (const Use& use : waiting) {
    tt_status_t status = tt_event_synchronize(use.event);
    tt_status_free(status);   // told by its stream's next wait
    tt_event_release(use.event);
  }
}

void pinned_use(const void* address, int device, int64_t stream, bool to_device) {
  Use use{nullptr, to_device};
  check(tt_event_create(device, false, &use.event));
  tt_status_t status = tt_event_record(use.event, stream);
  std::lock_guard<std::mutex> lock(g_mutex);
  const auto it = find(address);
  if (status || it == g_blocks.end()) {
    tt_event_release(use.event);
    check(status);
    return;
  }
  prune(it->second);
  it->second.uses.push_back(use);
}

}   // namespace tpu
