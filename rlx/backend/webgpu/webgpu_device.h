// A WebGPU adapter as a device of rlx: its logical device, made again after a loss, with what its
// programs share.
#pragma once

#include <functional>
#include <memory>

#include "rlx/backend/backend.h"
#include "rlx/backend/webgpu/logical_devices.h"

namespace rlx::detail::webgpu {

// Shared by the programs of one device.
class WebGpuDevice : public Backend, public std::enable_shared_from_this<WebGpuDevice> {
 public:
  WebGpuDevice(AdapterInfo info, OpenGpu open)
      : info_(std::move(info)),
        open_(std::move(open)),
        logical_(std::make_shared<LogicalDevices>(open_, tickets_)) {}
  ~WebGpuDevice() override;

  const DeviceTraits& traits() const override { return info_.traits; }
  const AdapterInfo& info() const { return info_; }
  void prepare_async(PrepareOptions options, Receive<ExecutablePtr> done) override;
  void wait_until(const std::function<bool()>& done) override;
  void wait() override;

  LogicalDevices& logical() { return *logical_; }
  const OpenGpu& opener() const { return open_; }
  const std::shared_ptr<Tickets>& tickets() const { return tickets_; }

  // The logical device; a new one when the last was lost. Waits.
  LogicalDevicePtr connect();
  std::shared_ptr<Gpu> gpu() { return connect()->gpu; }

 private:
  const AdapterInfo info_;
  const OpenGpu open_;
  const std::shared_ptr<Tickets> tickets_ = std::make_shared<Tickets>();
  const std::shared_ptr<LogicalDevices> logical_;
};

}  // namespace rlx::detail::webgpu
