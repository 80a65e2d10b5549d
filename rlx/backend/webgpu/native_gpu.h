// The device of native WebGPU: its objects, and the Gpu over them. Private to native*.cpp.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "rlx/backend/webgpu/native.h"
#include "rlx/backend/webgpu/native_api.h"
#include "rlx/backend/webgpu/native_events.h"

namespace rlx::detail::webgpu {

// Library, instance and adapter; the device of each Gpu keeps it alive.
struct AdapterCore {
  std::shared_ptr<const capi::Api> api;
  capi::Instance instance = nullptr;
  capi::Adapter adapter = nullptr;
  capi::Limits limits;
  AdapterInfo info;

  AdapterCore() = default;
  AdapterCore(const AdapterCore&) = delete;
  ~AdapterCore();
};

// The device, shared by the Gpu and all objects made on it, and what its callbacks reported.
class DeviceCore {
 public:
  explicit DeviceCore(std::shared_ptr<const AdapterCore> adapter) : adapter_(std::move(adapter)) {}
  DeviceCore(const DeviceCore&) = delete;
  ~DeviceCore();

  const AdapterCore& adapter() const { return *adapter_; }
  const capi::Api& api() const { return *adapter_->api; }
  capi::Device device() const { return device_; }
  capi::Queue queue() const { return queue_; }

  void add_callbacks(capi::DeviceDescriptor& descriptor);
  void adopt(capi::Device device);
  void destroy();  // ends all that is under way

  void lose(const std::string& reason);  // the first reason stays
  std::optional<std::string> lost() const;
  bool is_lost() const { return is_lost_.load(std::memory_order_acquire); }
  Error lost_error() const;
  void throw_if_lost() const;

  // Errors of submitted work are remembered here until a callback carries them to the user.
  void remember(Error error);
  std::optional<Error> take_error();  // the loss, else what was remembered

 private:
  const std::shared_ptr<const AdapterCore> adapter_;
  capi::Device device_ = nullptr;
  capi::Queue queue_ = nullptr;
  mutable std::mutex mutex_;  // a leaf
  std::atomic<bool> is_lost_ = false;
  std::optional<std::string> lost_;
  std::optional<Error> error_;
};
using DeviceCorePtr = std::shared_ptr<DeviceCore>;

Error to_error(uint32_t error_type, const std::string& message);

class NativeBuffer final : public Buffer, public std::enable_shared_from_this<NativeBuffer> {
 public:
  NativeBuffer(DeviceCorePtr device, capi::Buffer buffer, uint64_t bytes, BufferUse usage)
      : handle(buffer), use(usage), device_(std::move(device)), bytes_(bytes) {}
  ~NativeBuffer() override { device_->api().BufferRelease(handle); }
  uint64_t bytes() const override { return bytes_; }
  bool holds(uint64_t offset, uint64_t bytes) const {
    return offset <= bytes_ && bytes <= bytes_ - offset;
  }
  // WebGPU moves whole words, so buffers end on one.
  static uint64_t padded(uint64_t bytes) { return (bytes + 3) / 4 * 4; }
  // The bytes to move to reach `offset + bytes`: past the end of a buffer is only padding.
  uint64_t whole_words(uint64_t offset, uint64_t bytes) const {
    return offset + bytes == bytes_ ? padded(bytes) : bytes;
  }

  const capi::Buffer handle;
  const BufferUse use;
  std::atomic<bool> reading = false;  // mapped, or about to be

 private:
  const DeviceCorePtr device_;
  const uint64_t bytes_;
};

struct Layout {
  DeviceCorePtr device;
  capi::BindGroupLayout group = nullptr;
  capi::PipelineLayout pipeline = nullptr;
  size_t storage_count = 0;
  uint64_t params_bytes = 0;
  ~Layout();
};

class NativePipeline final : public Pipeline {
 public:
  NativePipeline(std::shared_ptr<const Layout> own, capi::ComputePipeline pipeline)
      : layout(std::move(own)), handle(pipeline) {}
  ~NativePipeline() override { layout->device->api().ComputePipelineRelease(handle); }
  const std::shared_ptr<const Layout> layout;
  const capi::ComputePipeline handle;
};

class NativeBindGroup final : public BindGroup {
 public:
  NativeBindGroup(DeviceCorePtr device, capi::BindGroup group)
      : handle(group), device_(std::move(device)) {}
  ~NativeBindGroup() override { device_->api().BindGroupRelease(handle); }
  const capi::BindGroup handle;

 private:
  const DeviceCorePtr device_;
};

// An operation on a device that can be lost under it.
class DeviceOperation : public Operation {
 public:
  explicit DeviceOperation(DeviceCorePtr core) : device(std::move(core)) {}
  bool will_not_arrive() const override { return device->is_lost(); }
  const DeviceCorePtr device;
  // An operation that is given up is delivered while its answer may still arrive: deliver()
  // asks for the loss first and leaves the rest alone.
  std::atomic<uint32_t> status = 0;
  std::string message;
};

// Answers a call with an error, in its callback.
template <class T>
class Refusal final : public Operation {
 public:
  Refusal(Done<T> done, Error error) : done_(std::move(done)), error_(std::move(error)) {}
  void deliver() override {
    if (done_) done_(std::move(error_));
  }

 private:
  const Done<T> done_;
  Error error_;
};
template <class T>
Ticket refuse(Events& events, Done<T> done, Error error) {
  return events.start(std::make_shared<Refusal<T>>(std::move(done), std::move(error)), 0);
}

constexpr Ticket kAllSubmitted = UINT64_MAX;  // a plain submit's ticket: it has no callback

struct AtomicCounters {
  std::atomic<uint64_t> buffers = 0, pipelines = 0, bind_groups = 0, submits = 0;
  std::atomic<uint64_t> bytes_written = 0, bytes_read = 0, bytes_allocated = 0;
};

class TimedSubmit;  // the queries of a submit with timestamps

class NativeGpu final : public Gpu {
 public:
  explicit NativeGpu(DeviceCorePtr device);
  ~NativeGpu() override;

  const AdapterInfo& info() const override { return device_->adapter().info; }
  BufferPtr create_buffer(uint64_t bytes, BufferUse use, const std::string& label) override;
  void write(Buffer& buffer, uint64_t offset, std::span<const std::byte> data) override;
  Ticket create_pipeline(const PipelineSource& source, Done<PipelinePtr> done) override;
  BindGroupPtr create_bind_group(const Pipeline& pipeline, std::span<const BufferRange> storage,
                                 const BufferRange& params) override;
  Ticket submit(std::span<const Command> commands, const SubmitOptions& options,
                Done<SubmitTimes> times) override;
  Ticket read(Buffer& staging, uint64_t offset, uint64_t bytes,
              Done<std::span<const std::byte>> take, std::function<void()> done) override;
  Ticket finish(Done<bool> done) override;
  void wait(Ticket ticket) override;
  void poll() override { events_->poll(); }
  std::optional<std::string> lost() const override { return device_->lost(); }
  void force_loss(const std::string& reason) override;
  Counters counters() const override;

 private:
  std::optional<Error> in_scopes(const std::string& what, const std::function<void()>& create);
  std::shared_ptr<const Layout> layout_for(const PipelineSource& source);
  Ticket start_finish(Done<bool> done, bool carries_errors);
  void encode(capi::CommandEncoder encoder, std::span<const Command> commands,
              const TimedSubmit* timed);

  const DeviceCorePtr device_;
  const capi::Api& api_;
  const std::shared_ptr<Events> events_;
  const std::shared_ptr<AtomicCounters> counters_ = std::make_shared<AtomicCounters>();
  // Error scopes are one stack per device: what may fail never runs inside another's scope.
  std::mutex scope_mutex_;
  struct CallLock {
    explicit CallLock(NativeGpu& gpu) : caller(*gpu.events_), lock(gpu.scope_mutex_) {}
    const Events::Caller caller;
    const std::lock_guard<std::mutex> lock;
  };
  std::map<std::pair<std::vector<BindingAccess>, uint64_t>, std::shared_ptr<const Layout>> layouts_;
};

}  // namespace rlx::detail::webgpu
