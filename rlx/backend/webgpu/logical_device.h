// A logical device with what the programs on it share; all of it goes when the device is lost.
#pragma once

#include <memory>

#include "rlx/backend/once_parts.h"
#include "rlx/backend/webgpu/pipelines.h"
#include "rlx/backend/webgpu/weight_store.h"

namespace rlx::detail::webgpu {

// What a part of `once` has made, in the order it is kept: buffers, or tensors of the host.
struct StoredOnce {
  std::vector<BufferPtr> buffers;
  std::vector<Tensor> tensors;
};

struct LogicalDevice {
  LogicalDevice(std::shared_ptr<Gpu> opened, std::shared_ptr<Tickets> waits)
      : gpu(std::move(opened)),
        tickets(std::move(waits)),
        pipelines(std::make_shared<Pipelines>(tickets)) {}

  const std::shared_ptr<Gpu> gpu;
  const std::shared_ptr<Tickets> tickets;
  const std::shared_ptr<Pipelines> pipelines;
  WeightStore weights;
  OnceStore<StoredOnce> once;
};

}  // namespace rlx::detail::webgpu
