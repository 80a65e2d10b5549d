// Gpu over the C API: buffers, reading back, waiting, loss.
#include "rlx/backend/webgpu/native_gpu.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace rlx::detail::webgpu {

namespace {

constexpr uint64_t kLossNanoseconds = 5'000'000'000;

capi::Flags usage_of(BufferUse use) {
  switch (use) {
    case BufferUse::storage:
      return capi::kUseStorage | capi::kUseCopySource | capi::kUseCopyTarget;
    case BufferUse::params:
      return capi::kUseUniform | capi::kUseCopyTarget;
    case BufferUse::staging:
      return capi::kUseMapRead | capi::kUseCopyTarget;
  }
  return 0;
}

class ReadOperation final : public DeviceOperation {
 public:
  ReadOperation(DeviceCorePtr core, std::shared_ptr<AtomicCounters> counters,
                std::shared_ptr<NativeBuffer> buffer, uint64_t offset, uint64_t bytes,
                Done<std::span<const std::byte>> take, std::function<void()> done)
      : DeviceOperation(std::move(core)),
        buffer_(std::move(buffer)),
        offset_(offset),
        bytes_(bytes),
        counters_(std::move(counters)),
        take_(std::move(take)),
        done_(std::move(done)) {}

  // Mapping starts at a multiple of 8 and covers whole words.
  uint64_t begin() const { return bytes_ == 0 ? 0 : offset_ / 8 * 8; }
  uint64_t mapped_bytes() const {
    return bytes_ == 0 ? 4 : NativeBuffer::padded(offset_ + bytes_ - begin());
  }

  void deliver() override {
    hand_over();
    if (done_) done_();
  }

 private:
  void hand_over() {
    const capi::Api& api = device->api();
    const bool mapped = status == capi::kSuccess;
    std::optional<Error> error = device->take_error();
    if (!error && !mapped) error = Error(ErrorKind::device, "cannot read back: " + message);
    const std::byte* data = nullptr;
    if (!error) {
      const void* range = api.BufferGetConstMappedRange(buffer_->handle, begin(), mapped_bytes());
      data = static_cast<const std::byte*>(range);
      if (!data) error = Error(ErrorKind::device, "cannot read back: the buffer is not mapped");
    }
    const Unmap unmap{api, *buffer_, mapped};
    if (error) {
      if (take_) take_(std::move(*error));
      return;
    }
    counters_->bytes_read += bytes_;
    if (take_) take_(std::span(data + (bytes_ == 0 ? 0 : offset_ - begin()), bytes_));
  }

  struct Unmap {  // also when the callback throws
    const capi::Api& api;
    NativeBuffer& buffer;
    bool mapped;
    ~Unmap() {
      if (mapped) api.BufferUnmap(buffer.handle);
      buffer.reading = false;
    }
  };

  const std::shared_ptr<NativeBuffer> buffer_;
  const uint64_t offset_, bytes_;
  const std::shared_ptr<AtomicCounters> counters_;
  const Done<std::span<const std::byte>> take_;
  const std::function<void()> done_;
};

class FinishOperation final : public DeviceOperation {
 public:
  FinishOperation(DeviceCorePtr core, Done<bool> done, bool carries_errors)
      : DeviceOperation(std::move(core)), done_(std::move(done)), carries_errors_(carries_errors) {}

  void deliver() override {
    if (!carries_errors_ || !done_) return;
    std::optional<Error> error = device->take_error();
    if (!error && status != capi::kSuccess) {
      error = Error(ErrorKind::device, "submitted work did not finish: " + message);
    }
    if (error) {
      done_(std::move(*error));
    } else {
      done_(true);
    }
  }

 private:
  const Done<bool> done_;
  const bool carries_errors_;
};

}  // namespace

NativeGpu::NativeGpu(DeviceCorePtr device)
    : device_(std::move(device)),
      api_(device_->api()),
      events_(std::make_shared<Events>(api_, device_->adapter().instance)) {}

NativeGpu::~NativeGpu() {
  device_->lose("it was closed");
  device_->destroy();
  events_->wait_all();  // what is still under way hears of it
}

// Runs create() so that its errors are known when this returns.
std::optional<Error> NativeGpu::in_scopes(const std::string& what,
                                          const std::function<void()>& create) {
  struct Scope {
    uint32_t type = capi::kNoError;
    std::string message;
  };
  std::array<Scope, 2> scopes;
  {
    const CallLock lock(*this);
    api_.DevicePushErrorScope(device_->device(), capi::kFilterOutOfMemory);
    api_.DevicePushErrorScope(device_->device(), capi::kFilterValidation);
    create();
    for (Scope& scope : scopes) {
      capi::CallbackInfo<capi::ScopeCallback> info;
      info.user1 = &scope;
      info.callback = [](uint32_t status, uint32_t type, capi::StringView message, void* user,
                         void*) {
        if (status == capi::kSuccess) *static_cast<Scope*>(user) = {type, message.str()};
      };
      const capi::Future future = api_.DevicePopErrorScope(device_->device(), info);
      api_.wait(device_->adapter().instance, future, capi::kForever);
    }
  }
  if (device_->is_lost()) return device_->lost_error();
  for (const Scope& scope : scopes) {
    if (scope.type > capi::kNoError) return to_error(scope.type, what + ": " + scope.message);
  }
  return std::nullopt;
}

BufferPtr NativeGpu::create_buffer(uint64_t bytes, BufferUse use, const std::string& label) {
  device_->throw_if_lost();
  const auto limit = static_cast<uint64_t>(info().traits.max_buffer_bytes);
  if (bytes > limit) {
    fail(ErrorKind::limit, "buffer '", label, "' of ", bytes, " bytes is beyond the limit of ",
         limit, " bytes of ", info().traits.name);
  }
  capi::BufferDescriptor descriptor;
  descriptor.label = std::string_view(label);
  descriptor.usage = usage_of(use);
  descriptor.bytes = std::max<uint64_t>(4, NativeBuffer::padded(bytes));
  BufferPtr buffer;
  const auto create = [&] {
    const capi::Buffer handle = api_.DeviceCreateBuffer(device_->device(), &descriptor);
    if (handle) buffer = std::make_shared<NativeBuffer>(device_, handle, bytes, use);
  };
  const std::string what = text("buffer '", label, "' of ", bytes, " bytes");
  if (const std::optional<Error> error = in_scopes(what, create)) throw *error;
  if (!buffer) fail(ErrorKind::out_of_memory, what, ": the device made none");
  ++counters_->buffers;
  counters_->bytes_allocated += descriptor.bytes;
  return buffer;
}

void NativeGpu::write(Buffer& buffer, uint64_t offset, std::span<const std::byte> data) {
  device_->throw_if_lost();
  const auto& target = static_cast<const NativeBuffer&>(buffer);
  const uint64_t bytes = data.size();
  if (!target.holds(offset, bytes) || offset % 4 != 0 ||
      target.whole_words(offset, bytes) % 4 != 0 || target.use == BufferUse::staging) {
    fail(ErrorKind::device, "cannot write ", bytes, " bytes at ", offset, " of a buffer of ",
         target.bytes(), ": outside it, not in words of 4 bytes, or a staging buffer");
  }
  const uint64_t whole = bytes / 4 * 4;
  {
    const CallLock lock(*this);
    if (whole != 0) {
      api_.QueueWriteBuffer(device_->queue(), target.handle, offset, data.data(), whole);
    }
    if (whole != bytes) {
      std::array<std::byte, 4> last = {};
      std::memcpy(last.data(), data.data() + whole, bytes - whole);
      api_.QueueWriteBuffer(device_->queue(), target.handle, offset + whole, last.data(), 4);
    }
  }
  counters_->bytes_written += bytes;
}

Ticket NativeGpu::read(Buffer& staging, uint64_t offset, uint64_t bytes,
                       Done<std::span<const std::byte>> take, std::function<void()> done) {
  auto& buffer = static_cast<NativeBuffer&>(staging);
  using Bytes = std::span<const std::byte>;
  const auto refused = [&](Error error) {
    return refuse<Bytes>(
        *events_,
        [take = std::move(take), done = std::move(done)](Result<Bytes> result) {
          if (take) take(std::move(result));
          if (done) done();
        },
        std::move(error));
  };
  if (device_->is_lost()) return refused(device_->lost_error());
  if (buffer.use != BufferUse::staging || !buffer.holds(offset, bytes))
    return refused(
        {ErrorKind::device, text("cannot read ", bytes, " bytes at ", offset, " of a buffer of ",
                                 buffer.bytes(), ": outside it, or not a staging buffer")});
  if (buffer.reading.exchange(true))
    return refused({ErrorKind::device, "cannot read a buffer that is being read"});
  const auto operation =
      events_->make<ReadOperation>(device_, counters_, buffer.shared_from_this(), offset, bytes,
                                   std::move(take), std::move(done));
  const Ticket ticket = events_->start(operation, 1);
  capi::CallbackInfo<capi::MapCallback> info;
  info.user1 = events_->token<DeviceOperation>(operation);
  info.callback = [](uint32_t status, capi::StringView message, void* user, void*) {
    Events::arrived<DeviceOperation>(user, [&](DeviceOperation& read) {
      read.status = status;
      read.message = message.str();
    });
  };
  const CallLock lock(*this);
  events_->add_future(*operation,
                      api_.BufferMapAsync(buffer.handle, capi::kMapRead, operation->begin(),
                                          operation->mapped_bytes(), info));
  return ticket;
}

Ticket NativeGpu::finish(Done<bool> done) { return start_finish(std::move(done), true); }

Ticket NativeGpu::start_finish(Done<bool> done, bool carries_errors) {
  if (device_->is_lost()) return refuse(*events_, std::move(done), device_->lost_error());
  const auto operation =
      std::make_shared<FinishOperation>(device_, std::move(done), carries_errors);
  const Ticket ticket = events_->start(operation, 1);
  capi::CallbackInfo<capi::WorkDoneCallback> info;
  info.user1 = events_->token<DeviceOperation>(operation);
  info.callback = [](uint32_t status, capi::StringView message, void* user, void*) {
    Events::arrived<DeviceOperation>(user, [&](DeviceOperation& finish) {
      finish.status = status;
      finish.message = message.str();
    });
  };
  const CallLock lock(*this);
  events_->add_future(*operation, api_.QueueOnSubmittedWorkDone(device_->queue(), info));
  return ticket;
}

void NativeGpu::wait(Ticket ticket) {
  if (ticket == kAllSubmitted) ticket = start_finish(nullptr, false);
  events_->wait(ticket);
}

void NativeGpu::force_loss(const std::string& reason) {
  device_->lose(reason);
  {
    const CallLock lock(*this);  // calls of other threads meanwhile have crashed the library
    api_.DeviceForceLoss(device_->device(), capi::kLostUnknown, std::string_view(reason));
  }
  api_.wait(device_->adapter().instance, api_.DeviceGetLostFuture(device_->device()),
            kLossNanoseconds);
}

Gpu::Counters NativeGpu::counters() const {
  return {counters_->buffers,        counters_->pipelines,     counters_->bind_groups,
          counters_->submits,        counters_->bytes_written, counters_->bytes_read,
          counters_->bytes_allocated};
}

}  // namespace rlx::detail::webgpu
