// The logical device of an adapter: opened when the first program asks for it, and again after a
// loss. Nothing here waits.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "rlx/backend/webgpu/logical_device.h"

namespace rlx::detail::webgpu {

using LogicalDevicePtr = std::shared_ptr<LogicalDevice>;

class LogicalDevices : public std::enable_shared_from_this<LogicalDevices> {
 public:
  LogicalDevices(OpenGpu open, std::shared_ptr<Tickets> tickets)
      : open_(std::move(open)), tickets_(std::move(tickets)) {}

  // The one that is open and not lost; null: none.
  LogicalDevicePtr current() const;
  // The same where there is one; else null, and `done` gets it when it is open. `done` is not
  // called before this has returned, but perhaps in another thread.
  LogicalDevicePtr get(Done<LogicalDevicePtr> done);

 private:
  void arrive(Result<std::shared_ptr<Gpu>> opened);

  const OpenGpu open_;
  const std::shared_ptr<Tickets> tickets_;
  mutable std::mutex mutex_;
  LogicalDevicePtr logical_;
  bool opening_ = false;
  std::vector<Done<LogicalDevicePtr>> waiting_;
};

}  // namespace rlx::detail::webgpu
