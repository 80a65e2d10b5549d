// Gpu over the C API: commands become one command buffer; timestamps when asked for.
#include <algorithm>
#include <cstring>

#include "rlx/backend/webgpu/native_gpu.h"

namespace rlx::detail::webgpu {

namespace {
constexpr uint32_t kQueriesPerSet = 4096;  // WebGPU's limit; two per dispatch
}

// Two queries per dispatch, resolved into a buffer and copied to one that can be mapped.
class TimedSubmit final : public DeviceOperation {
 public:
  TimedSubmit(DeviceCorePtr core, size_t dispatches, Done<SubmitTimes> done)
      : DeviceOperation(std::move(core)), dispatches_(dispatches), done_(std::move(done)) {
    const capi::Api& api = device->api();
    const size_t queries = 2 * std::max<size_t>(1, dispatches);
    for (size_t made = 0; made < queries; made += kQueriesPerSet) {
      capi::QuerySetDescriptor descriptor;
      descriptor.count = static_cast<uint32_t>(std::min<size_t>(kQueriesPerSet, queries - made));
      sets_.push_back({api.DeviceCreateQuerySet(device->device(), &descriptor), descriptor.count});
    }
    bytes_ = queries * sizeof(uint64_t);
    resolved_ = make_buffer(capi::kUseQueryResolve | capi::kUseCopySource);
    staging_ = make_buffer(capi::kUseMapRead | capi::kUseCopyTarget);
  }
  ~TimedSubmit() override {
    const capi::Api& api = device->api();
    for (const Set& set : sets_) api.QuerySetRelease(set.queries);
    api.BufferRelease(resolved_);
    api.BufferRelease(staging_);
  }

  capi::TimestampWrites writes(size_t dispatch) const {
    capi::TimestampWrites writes;
    const size_t query = 2 * dispatch;
    writes.queries = sets_[query / kQueriesPerSet].queries;
    writes.begin = static_cast<uint32_t>(query % kQueriesPerSet);
    writes.end = writes.begin + 1;
    return writes;
  }

  void resolve(capi::CommandEncoder encoder) const {
    const capi::Api& api = device->api();
    if (dispatches_ == 0) return;
    uint64_t offset = 0;
    for (const Set& set : sets_) {
      api.CommandEncoderResolveQuerySet(encoder, set.queries, 0, set.count, resolved_, offset);
      offset += set.count * sizeof(uint64_t);
    }
    api.CommandEncoderCopyBufferToBuffer(encoder, resolved_, 0, staging_, 0, bytes_);
  }

  capi::Future map(void* token) const {
    capi::CallbackInfo<capi::MapCallback> info;
    info.user1 = token;
    info.callback = [](uint32_t result, capi::StringView reason, void* user, void*) {
      Events::arrived<TimedSubmit>(user, [&](TimedSubmit& timed) {
        timed.status = result;
        timed.message = reason.str();
      });
    };
    return device->api().BufferMapAsync(staging_, capi::kMapRead, 0, bytes_, info);
  }

  void deliver() override {
    std::optional<Error> error = device->take_error();
    const void* data = nullptr;
    if (!error && status == capi::kSuccess) {
      data = device->api().BufferGetConstMappedRange(staging_, 0, bytes_);
    }
    if (!error && !data) error = Error(ErrorKind::device, "cannot read timestamps: " + message);
    if (!done_) return;
    if (error) return done_(std::move(*error));
    done_(times(static_cast<const std::byte*>(data)));
  }

 private:
  struct Set {
    capi::QuerySet queries;
    uint32_t count;
  };

  capi::Buffer make_buffer(capi::Flags usage) const {
    capi::BufferDescriptor descriptor;
    descriptor.usage = usage;
    descriptor.bytes = bytes_;
    return device->api().DeviceCreateBuffer(device->device(), &descriptor);
  }

  SubmitTimes times(const std::byte* data) const {
    SubmitTimes times;
    times.dispatch_microseconds.reserve(dispatches_);
    for (size_t i = 0; i < dispatches_; ++i) {
      uint64_t nanoseconds[2];
      std::memcpy(nanoseconds, data + i * sizeof nanoseconds, sizeof nanoseconds);
      const bool forward = nanoseconds[1] > nanoseconds[0];  // clocks of drivers may step back
      times.dispatch_microseconds.push_back(
          forward ? static_cast<double>(nanoseconds[1] - nanoseconds[0]) * 1e-3 : 0.0);
    }
    return times;
  }

  const size_t dispatches_;
  const Done<SubmitTimes> done_;
  std::vector<Set> sets_;
  uint64_t bytes_ = 0;
  capi::Buffer resolved_ = nullptr, staging_ = nullptr;
};

namespace {

// The compute pass that is open, if any; what was set in it is not set again.
class OpenPass {
 public:
  OpenPass(const capi::Api& api, capi::CommandEncoder encoder) : api_(api), encoder_(encoder) {}
  OpenPass(const OpenPass&) = delete;
  ~OpenPass() { close(); }

  void dispatch(const Command& command, const capi::TimestampWrites* timestamps) {
    if (timestamps) close();
    if (!pass_) {
      capi::ComputePassDescriptor descriptor;
      descriptor.timestamps = timestamps;
      pass_ = api_.CommandEncoderBeginComputePass(encoder_, &descriptor);
    }
    const auto* pipeline = static_cast<const NativePipeline*>(command.pipeline);
    const auto* bindings = static_cast<const NativeBindGroup*>(command.bindings);
    if (pipeline_ != pipeline) {
      api_.ComputePassEncoderSetPipeline(pass_, pipeline->handle);
      pipeline_ = pipeline;
    }
    if (bindings && (bindings_ != bindings || command.has_params)) {
      api_.ComputePassEncoderSetBindGroup(pass_, 0, bindings->handle, command.has_params ? 1 : 0,
                                          command.has_params ? &command.params_offset : nullptr);
      bindings_ = bindings;
    }
    const uint32_t* groups = command.workgroups;
    api_.ComputePassEncoderDispatchWorkgroups(pass_, groups[0], groups[1], groups[2]);
  }

  void close() {
    if (!pass_) return;
    api_.ComputePassEncoderEnd(pass_);
    api_.ComputePassEncoderRelease(pass_);
    pass_ = nullptr;
    pipeline_ = nullptr;
    bindings_ = nullptr;
  }

 private:
  const capi::Api& api_;
  const capi::CommandEncoder encoder_;
  capi::ComputePass pass_ = nullptr;
  const NativePipeline* pipeline_ = nullptr;
  const NativeBindGroup* bindings_ = nullptr;
};

}  // namespace

void NativeGpu::encode(capi::CommandEncoder encoder, std::span<const Command> commands,
                       const TimedSubmit* timed) {
  OpenPass pass(api_, encoder);
  size_t dispatches = 0;
  for (const Command& command : commands) {
    if (command.kind == Command::Kind::dispatch) {
      capi::TimestampWrites writes;
      if (timed) writes = timed->writes(dispatches++);
      pass.dispatch(command, timed ? &writes : nullptr);
      continue;
    }
    pass.close();
    const auto& target = static_cast<const NativeBuffer&>(*command.target);
    const uint64_t bytes = target.whole_words(command.target_offset, command.bytes);
    if (command.kind == Command::Kind::copy) {
      const auto& source = static_cast<const NativeBuffer&>(*command.source);
      api_.CommandEncoderCopyBufferToBuffer(encoder, source.handle, command.source_offset,
                                            target.handle, command.target_offset, bytes);
    } else {
      api_.CommandEncoderClearBuffer(encoder, target.handle, command.target_offset, bytes);
    }
  }
}

// Errors of encoding and submitting reach the device's error callback, outside of any scope.
Ticket NativeGpu::submit(std::span<const Command> commands, const SubmitOptions& options,
                         Done<SubmitTimes> times) {
  device_->throw_if_lost();
  const CallLock lock(*this);
  std::shared_ptr<TimedSubmit> timed;
  if (options.timestamps && info().traits.timestamps) {
    const auto dispatches = std::count_if(
        commands.begin(), commands.end(),
        [](const Command& command) { return command.kind == Command::Kind::dispatch; });
    timed =
        std::make_shared<TimedSubmit>(device_, static_cast<size_t>(dispatches), std::move(times));
  }
  const capi::CommandEncoder encoder = api_.DeviceCreateCommandEncoder(device_->device(), nullptr);
  encode(encoder, commands, timed.get());
  if (timed) timed->resolve(encoder);
  const capi::CommandBuffer buffer = api_.CommandEncoderFinish(encoder, nullptr);
  api_.CommandEncoderRelease(encoder);
  api_.QueueSubmit(device_->queue(), 1, &buffer);
  api_.CommandBufferRelease(buffer);
  ++counters_->submits;
  if (!timed) return kAllSubmitted;
  const Ticket ticket = events_->start(timed, 1);
  events_->add_future(*timed, timed->map(events_->token(timed)));
  return ticket;
}

}  // namespace rlx::detail::webgpu
