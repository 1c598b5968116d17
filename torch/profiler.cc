// torch.profiler: device activities from the core's trace ring, and event stubs for the legacy
// profiler.
#include <torch/csrc/profiler/stubs/base.h>

#include <GenericTraceActivity.h>
#include <libkineto.h>
#include <output_base.h>
#include <torch/csrc/profiler/standalone/privateuse1_profiler.h>

#include <chrono>

#include "shim.h"

namespace tpu {
namespace {

using libkineto::ActivityType;

int64_t wall_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

// One recording. The ring's clock is monotonic, Kineto's is the wall clock: one offset, taken at
// the start.
struct Session final : public libkineto::IActivityProfilerSession {
  void start() override {
    std::vector<tt_trace_event_t> old(1024);
    uint64_t dropped = 0;
    while (tt_trace_take(old.data(), old.size(), &dropped) == old.size()) {
    }
    offset_ = wall_ns() - tt_trace_clock_ns();
    begin_ = wall_ns();
    tt_trace_enable(true);
    status_ = libkineto::TraceStatus::RECORDING;
  }
  void stop() override {
    if (tt_is_initialized()) {
      tt_status_t status = tt_device_synchronize(-1);
      if (status) {
        errors_.emplace_back(tt_status_message(status));
        tt_status_free(status);
      }
    }
    tt_trace_enable(false);
    end_ = wall_ns();
    status_ = libkineto::TraceStatus::PROCESSING;
  }
  std::vector<std::string> errors() override { return errors_; }
  void processTrace(libkineto::ActivityLogger& logger) override {
    if (!buffer_) collect();
    for (const auto& activity : buffer_->activities) activity->log(logger);
  }
  std::unique_ptr<libkineto::DeviceInfo> getDeviceInfo() override { return nullptr; }
  std::vector<libkineto::ResourceInfo> getResourceInfos() override { return {}; }
  std::unique_ptr<libkineto::CpuTraceBuffer> getTraceBuffer() override {
    if (!buffer_) collect();
    return std::move(buffer_);
  }
  // The id of the host op: device events carry it back.
  void pushCorrelationId(uint64_t id) override { tt_trace_correlation(id); }
  void popCorrelationId() override { tt_trace_correlation(0); }

 private:
  void collect() {
    buffer_ = std::make_unique<libkineto::CpuTraceBuffer>();
    buffer_->span = libkineto::TraceSpan(begin_, end_, "tpu");
    buffer_->gpuOpCount = 0;
    std::vector<tt_trace_event_t> events(4096);
    uint64_t dropped = 0;
    size_t count;
    do {
      count = tt_trace_take(events.data(), events.size(), &dropped);
      for (size_t i = 0; i < count; i++) {
        const tt_trace_event_t& event = events[i];
        auto activity = std::make_unique<libkineto::GenericTraceActivity>(
            buffer_->span, ActivityType::CONCURRENT_KERNEL, event.name ? event.name : "?");
        activity->startTime = event.begin_ns + offset_;
        activity->endTime = event.end_ns + offset_;
        activity->device = event.device;
        activity->resource = 0;
        activity->threadId = event.thread;
        activity->id = static_cast<int32_t>(event.correlation);
        buffer_->activities.push_back(std::move(activity));
        buffer_->gpuOpCount++;
      }
    } while (count == events.size());
    if (dropped) errors_.push_back(std::to_string(dropped) + " device events were overwritten");
  }

  int64_t offset_ = 0, begin_ = 0, end_ = 0;
  std::unique_ptr<libkineto::CpuTraceBuffer> buffer_;
  std::vector<std::string> errors_;
};

class TpuProfiler final : public libkineto::IActivityProfiler {
 public:
  const std::string& name() const override { return name_; }
  const std::set<ActivityType>& availableActivities() const override { return types_; }
  std::unique_ptr<libkineto::IActivityProfilerSession> configure(
      const std::set<ActivityType>&, const libkineto::Config&) override {
    return std::make_unique<Session>();
  }
  std::unique_ptr<libkineto::IActivityProfilerSession> configure(
      int64_t, int64_t, const std::set<ActivityType>& types,
      const libkineto::Config& config) override {
    return configure(types, config);
  }

 private:
  std::string name_ = "tpu";
  std::set<ActivityType> types_ = {ActivityType::CONCURRENT_KERNEL};
};

REGISTER_PRIVATEUSE1_PROFILER(TpuProfiler);

struct Stubs final : public torch::profiler::impl::ProfilerStubs {
  void record(c10::DeviceIndex* device, torch::profiler::impl::ProfilerVoidEventStub* event,
              int64_t* cpu_ns) const override {
    const int current = current_device();
    if (device) *device = static_cast<c10::DeviceIndex>(current);
    if (cpu_ns) *cpu_ns = wall_ns();
    tt_event_t* created = nullptr;
    check(tt_event_create(current, true, &created));
    *event = std::shared_ptr<void>(created,
                                   [](void* e) { tt_event_release(static_cast<tt_event_t*>(e)); });
    check(tt_event_record(created, tt_stream_current(current)));
  }
  float elapsed(const torch::profiler::impl::ProfilerVoidEventStub* begin,
                const torch::profiler::impl::ProfilerVoidEventStub* end) const override {
    double ms = 0;
    auto* first = static_cast<tt_event_t*>(begin->get());
    auto* second = static_cast<tt_event_t*>(end->get());
    check(tt_event_synchronize(first));
    check(tt_event_synchronize(second));
    check(tt_event_elapsed_ms(first, second, &ms));
    return static_cast<float>(ms * 1000.0);   // microseconds
  }
  void mark(const char*) const override {}
  void rangePush(const char*) const override {}
  void rangePop() const override {}
  bool enabled() const override { return true; }
  void onEachDevice(std::function<void(int)> op) const override {
    for (int device = 0; device < device_count(); device++) {
      DeviceScope scope(device);
      op(device);
    }
  }
  void synchronize() const override { check(tt_device_synchronize(-1)); }
};

[[maybe_unused]] const bool g_stubs = [] {
  torch::profiler::impl::registerPrivateUse1Methods(new Stubs());
  return true;
}();

}   // namespace
}   // namespace tpu
