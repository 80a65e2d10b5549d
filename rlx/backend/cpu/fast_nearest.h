// Kernels that look for neighbours among points of f32.
#pragma once

#include "rlx/backend/cpu/engine.h"

namespace rlx::detail {

std::unique_ptr<image::CallKernel> nearest_kernel(CpuEnginePtr engine, bool products,
                                                  bool skips_self);

}  // namespace rlx::detail
