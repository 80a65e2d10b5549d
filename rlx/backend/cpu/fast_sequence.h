// selective_scan and its gradient, by blocks of channels, each from the first step to the last.
#pragma once

#include "rlx/backend/cpu/engine.h"

namespace rlx::detail {

std::unique_ptr<image::CallKernel> selective_scan_kernel(CpuEnginePtr engine);
std::unique_ptr<image::CallKernel> selective_scan_gradient_kernel(CpuEnginePtr engine);

}  // namespace rlx::detail
