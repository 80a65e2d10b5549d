// Pictures of Gaussians, and the way back from them: tiles of pixels that look only at what reaches
// them.
#pragma once

#include "rlx/backend/cpu/engine.h"

namespace rlx::detail {

struct SplatLimits {
  float cutoff = 0, threshold = 0, most_alpha = 1;
};
std::unique_ptr<image::CallKernel> splat_kernel(CpuEnginePtr engine, SplatLimits limits);
std::unique_ptr<image::CallKernel> splat_gradient_kernel(CpuEnginePtr engine, SplatLimits limits);

}  // namespace rlx::detail
