// The life of a native device: creation, errors, loss, release.
#include <sstream>

#include "rlx/backend/webgpu/native_gpu.h"

namespace rlx::detail::webgpu {

namespace {
constexpr uint64_t kLossNanoseconds = 5'000'000'000;
}

AdapterCore::~AdapterCore() {
  if (adapter) api->AdapterRelease(adapter);
  if (instance) api->InstanceRelease(instance);
}

DeviceCore::~DeviceCore() {
  if (!device_) return;
  destroy();
  api().QueueRelease(queue_);
  api().DeviceRelease(device_);
}

void DeviceCore::destroy() {
  api().DeviceDestroy(device_);
  // The lost callback uses this object, so it has to have run.
  api().wait(adapter_->instance, api().DeviceGetLostFuture(device_), kLossNanoseconds);
}

void DeviceCore::adopt(capi::Device device) {
  device_ = device;
  queue_ = api().DeviceGetQueue(device);
}

void DeviceCore::add_callbacks(capi::DeviceDescriptor& descriptor) {
  descriptor.lost.mode = capi::kAllowSpontaneous;
  descriptor.lost.user1 = this;
  descriptor.lost.callback = [](const capi::Device*, uint32_t, capi::StringView reason, void* self,
                                void*) { static_cast<DeviceCore*>(self)->lose(reason.str()); };
  descriptor.error.user1 = this;
  descriptor.error.callback = [](const capi::Device*, uint32_t type, capi::StringView message,
                                 void* self, void*) {
    static_cast<DeviceCore*>(self)->remember(to_error(type, message.str()));
  };
}

void DeviceCore::lose(const std::string& reason) {
  const std::lock_guard lock(mutex_);
  if (lost_) return;
  lost_ = reason.empty() ? "no reason given" : reason;
  is_lost_.store(true, std::memory_order_release);
}

std::optional<std::string> DeviceCore::lost() const {
  const std::lock_guard lock(mutex_);
  return lost_;
}

Error DeviceCore::lost_error() const {
  return {ErrorKind::device_lost,
          text("device ", adapter_->info.traits.name, " is lost: ", lost().value_or("unknown"))};
}

void DeviceCore::throw_if_lost() const {
  if (is_lost()) throw lost_error();
}

void DeviceCore::remember(Error error) {
  const std::lock_guard lock(mutex_);
  if (!error_) error_ = std::move(error);  // what follows is mostly a consequence of the first
}

std::optional<Error> DeviceCore::take_error() {
  if (is_lost()) return lost_error();
  const std::lock_guard lock(mutex_);
  return std::exchange(error_, std::nullopt);
}

Error to_error(uint32_t error_type, const std::string& message) {
  const bool memory = error_type == capi::kOutOfMemoryError;
  return {memory ? ErrorKind::out_of_memory : ErrorKind::device, message};
}

Layout::~Layout() {
  if (pipeline) device->api().PipelineLayoutRelease(pipeline);
  if (group) device->api().BindGroupLayoutRelease(group);
}

}  // namespace rlx::detail::webgpu
