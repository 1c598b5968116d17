// Generators: Philox counters with the state layout of PyTorch's CUDA generator (8-byte seed,
// 8-byte offset).
#include <ATen/EmptyTensor.h>
#include <ATen/core/Generator.h>
#include <c10/core/GeneratorImpl.h>
#include <c10/util/intrusive_ptr.h>

#include <cstring>
#include <mutex>
#include <vector>

#include "shim.h"
#include "tt/warn.h"

namespace tpu {
namespace {

constexpr size_t kStateBytes = 16;

// What generators may share: graphsafe_set_state makes one draw from another's counter.
struct State final : public c10::intrusive_ptr_target {
  uint64_t seed = c10::default_rng_seed_val;
  uint64_t offset = 0;   // in words, a multiple of 4
  std::mutex mutex;      // guards both

  void set(uint64_t new_seed, uint64_t new_offset) {
    std::lock_guard<std::mutex> lock(mutex);
    seed = new_seed;
    offset = new_offset;
  }
};

struct GeneratorImpl final : public c10::GeneratorImpl {
  c10::intrusive_ptr<State> state_;

  explicit GeneratorImpl(int device,
                         c10::intrusive_ptr<State> state = c10::make_intrusive<State>())
      : c10::GeneratorImpl(c10::Device(kTpu, static_cast<c10::DeviceIndex>(device)),
                           c10::DispatchKeySet(c10::DispatchKey::PrivateUse1)),
        state_(std::move(state)) {}
  static c10::DeviceType device_type() { return kTpu; }

  void set_current_seed(uint64_t seed) override {
    state_->set(seed, 0);
  }
  void set_offset(uint64_t offset) override {
    TORCH_CHECK(offset % 4 == 0, "offset must be a multiple of 4");
    state_->set(state_->seed, offset);
  }
  uint64_t get_offset() const override { return state_->offset; }
  uint64_t current_seed() const override { return state_->seed; }
  uint64_t seed() override {
    set_current_seed(c10::detail::getNonDeterministicRandom(true));
    return state_->seed;
  }
  void set_state(const c10::TensorImpl& state) override {
    TORCH_CHECK(state.device_type() == c10::DeviceType::CPU && state.is_contiguous() &&
                    c10::typeMetaToScalarType(state.dtype()) == c10::ScalarType::Byte,
                "RNG state must be a torch.ByteTensor on the CPU");
    const auto bytes = static_cast<size_t>(state.numel());
    TORCH_CHECK(bytes == kStateBytes || bytes == kStateBytes - 8,
                "RNG state is wrong size: ", bytes, " bytes, expected ", kStateBytes);
    const auto* data = static_cast<const char*>(state.data());
    uint64_t offset = 0;
    if (bytes == kStateBytes) std::memcpy(&offset, data + 8, 8);
    TORCH_CHECK(offset % 4 == 0, "offset must be a multiple of 4");
    uint64_t seed;
    std::memcpy(&seed, data, 8);
    state_->set(seed, offset);
  }
  c10::intrusive_ptr<c10::TensorImpl> get_state() const override {
    at::TensorBase state =
        at::detail::empty_cpu({static_cast<int64_t>(kStateBytes)}, c10::ScalarType::Byte);
    auto* data = static_cast<char*>(state.mutable_data_ptr());
    std::memcpy(data, &state_->seed, 8);
    std::memcpy(data + 8, &state_->offset, 8);
    return state.getIntrusivePtr();
  }
  void graphsafe_set_state(const c10::intrusive_ptr<c10::GeneratorImpl>& other) override {
    auto* ours = dynamic_cast<GeneratorImpl*>(other.get());
    TORCH_CHECK(ours && ours->device() == device(), "graphsafe_set_state: expected a generator of ",
                device());
    state_ = ours->state_;
  }
  c10::intrusive_ptr<c10::GeneratorImpl> graphsafe_get_state() const override {
    return c10::make_intrusive<GeneratorImpl>(device_.index(), state_);
  }
  // Shares nothing: the two generators go on from the same point.
  c10::GeneratorImpl* clone_impl() const override {
    auto copy = c10::make_intrusive<State>();
    copy->seed = state_->seed;
    copy->offset = state_->offset;
    return new GeneratorImpl(device_.index(), std::move(copy));
  }
};

struct Defaults {
  std::mutex mutex;
  uint64_t seed = c10::default_rng_seed_val;   // of generators that are not made yet
  std::vector<at::Generator> generators;       // reserved once: references stay good
};
Defaults& defaults() {
  static auto* instance = new Defaults();
  return *instance;
}

}   // namespace

const at::Generator& default_generator(int device) {
  check_device(device);
  Defaults& all = defaults();
  std::lock_guard<std::mutex> lock(all.mutex);
  if (all.generators.empty()) {
    const int count = device_count();
    all.generators.reserve(static_cast<size_t>(count));
    for (int i = 0; i < count; i++) {
      all.generators.push_back(at::make_generator<GeneratorImpl>(i));
      all.generators.back().set_current_seed(all.seed);
    }
  }
  return all.generators[static_cast<size_t>(device)];
}

at::Generator new_generator(int device) {
  check_device(device);
  return at::make_generator<GeneratorImpl>(device);
}

void reserve_random(void* generator, int device, uint64_t words, uint64_t* seed, uint64_t* offset) {
  auto* impl =
      static_cast<GeneratorImpl*>(generator ? static_cast<c10::GeneratorImpl*>(generator)
                                            : default_generator(device).unsafeGetGeneratorImpl());
  std::unique_lock<std::mutex> pointer(impl->mutex_);
  const c10::intrusive_ptr<State> state = impl->state_;
  pointer.unlock();
  std::lock_guard<std::mutex> lock(state->mutex);
  *seed = state->seed;
  *offset = state->offset;
  state->offset += (words + 3) & ~uint64_t(3);
}

namespace {
[[maybe_unused]] const bool g_reserve = [] {
  tt_set_reserve_random(&reserve_random);
  tt_set_warn([](const char* message) { TORCH_WARN(message); });
  return true;
}();
}   // namespace

}   // namespace tpu

// Seeds the default generators of all devices, also those that will be made later: opens no plugin.
extern "C" TT_API void tts_manual_seed_all(uint64_t seed) {
  auto& all = tpu::defaults();
  std::lock_guard<std::mutex> lock(all.mutex);
  all.seed = seed;
  for (auto& generator : all.generators) {
    std::lock_guard<std::mutex> state(generator.mutex());
    generator.set_current_seed(seed);
  }
}
