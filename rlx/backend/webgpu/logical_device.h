// A logical device with what the programs on it share; all of it goes when the device is lost.
#pragma once

#include <memory>

#include "rlx/backend/once_parts.h"
#include "rlx/backend/webgpu/pipelines.h"
#include "rlx/backend/webgpu/weight_store.h"

namespace rlx::detail::webgpu {

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
