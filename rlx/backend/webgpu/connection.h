// A program's connection to the logical device of its adapter: opened when a job needs it, and
// again after a loss. Under the program's lock, but for is_here().
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "rlx/backend/backend.h"
#include "rlx/backend/webgpu/callbacks.h"
#include "rlx/backend/webgpu/resources.h"
#include "rlx/backend/webgpu/webgpu_device.h"

namespace rlx::detail::webgpu {

class Connection {
 public:
  using Ready = std::function<void()>;
  // Told the reason before anything is connected anew, and whenever notice_loss() finds a loss.
  using OnLoss = std::function<void(const std::string& reason)>;

  Connection(const std::shared_ptr<WebGpuDevice>& device, const image::Image& image,
             const ImageNeeds& needs, Counters& counters, Callbacks& callbacks, OnLoss on_loss);

  // True where it is open to a device that is not lost. Else the device is being opened or
  // pipelines compiled, and `ready` is called when that is done, under the lock.
  bool open(const Ready& ready);
  // Of the logical device, from 1 on; 0: there was none. What was made on another is gone.
  uint64_t number() const { return number_; }
  void notice_loss() const;
  // Gives what it holds, which must go when the lock is gone.
  [[nodiscard]] std::shared_ptr<void> close() { return std::exchange(parts_, nullptr); }

  const DeviceTraits& traits() const { return traits_; }
  // The one it was opened to last, which may be lost; null: none.
  LogicalDevicePtr logical() const { return parts_ ? parts_->logical : nullptr; }
  bool has_resources() const { return parts_ && parts_->resources; }
  // Once it was open.
  const std::shared_ptr<Gpu>& gpu() const { return parts_->logical->gpu; }
  Resources& resources() { return *parts_->resources; }
  const PipelineList& pipelines() const { return parts_->pipelines; }  // by kernel
  OnceResults<StoredOnce>& once() { return parts_->once; }

  // Is the tensor where this program runs? What was on a device that is lost counts as here: the
  // run says so. 64-bit integers are in one word or in two, as each program has them, so they come
  // through the host where they may differ. Any thread may ask.
  bool is_here(const DeviceTensor& tensor) const;

 private:
  // All of it is made again after a loss.
  struct Parts {
    Parts(LogicalDevicePtr opened, size_t once_parts)
        : logical(std::move(opened)), once(once_parts) {}
    const LogicalDevicePtr logical;
    PipelineList pipelines;
    bool compiled = false;
    std::unique_ptr<Resources> resources;
    OnceResults<StoredOnce> once;
  };
  bool join(LogicalDevicePtr logical, const Ready& ready);
  bool compile(const Ready& ready);
  void take_pipelines(PipelineList pipelines);
  void make_resources();

  const std::weak_ptr<WebGpuDevice> device_;
  const image::Image& image_;
  const ImageNeeds& needs_;
  const DeviceTraits traits_;
  Counters& counters_;
  Callbacks& callbacks_;
  const OnLoss on_loss_;
  std::shared_ptr<Parts> parts_;
  uint64_t number_ = 0;
};

}  // namespace rlx::detail::webgpu
