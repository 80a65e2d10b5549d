// selective_scan, its gradient, and gated_delta_net: blocks of channels or columns of the state,
// each from the first step to the last.
#pragma once

#include "rlx/backend/cpu/engine.h"

namespace rlx::detail {

std::unique_ptr<image::CallKernel> selective_scan_kernel(CpuEnginePtr engine);
std::unique_ptr<image::CallKernel> selective_scan_gradient_kernel(CpuEnginePtr engine);
std::unique_ptr<image::CallKernel> gated_delta_net_kernel(CpuEnginePtr engine, double scale);

}  // namespace rlx::detail
