// A WebGPU adapter as a device of rlx: its logical device, made again after a loss, with what its
// programs share.
#pragma once

#include <functional>
#include <memory>
#include <mutex>

#include "rlx/backend/backend.h"
#include "rlx/backend/webgpu/logical_device.h"

namespace rlx::detail::webgpu {

// Makes logical devices of one adapter; native and web each have their own.
using OpenGpu = std::function<std::shared_ptr<Gpu>()>;

// Shared by the programs of one device.
class WebGpuDevice : public Backend, public std::enable_shared_from_this<WebGpuDevice> {
 public:
  WebGpuDevice(AdapterInfo info, OpenGpu open) : info_(std::move(info)), open_(std::move(open)) {}
  ~WebGpuDevice() override;

  const DeviceTraits& traits() const override { return info_.traits; }
  const AdapterInfo& info() const { return info_; }
  void prepare_async(PrepareOptions options, Receive<ExecutablePtr> done) override;
  void wait_until(const std::function<bool()>& done) override;

  // The logical device; a new one when the last was lost.
  std::shared_ptr<LogicalDevice> connect();
  std::shared_ptr<Gpu> gpu() { return connect()->gpu; }
  const std::shared_ptr<Tickets>& tickets() const { return tickets_; }

 private:
  const AdapterInfo info_;
  const OpenGpu open_;
  const std::shared_ptr<Tickets> tickets_ = std::make_shared<Tickets>();
  std::mutex mutex_;
  std::shared_ptr<LogicalDevice> logical_;
};

}  // namespace rlx::detail::webgpu
