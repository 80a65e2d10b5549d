// Runs a lowered graph on a WebGPU device.
#pragma once

#include "rlx/backend/webgpu/webgpu_device.h"

namespace rlx::webgpu {

std::shared_ptr<Executable> make_executor(std::shared_ptr<WebGpuDevice> device,
                                          std::shared_ptr<const Compiled> compiled);

}  // namespace rlx::webgpu
