// Numbers of one dtype as those of another.
#pragma once

#include "rlx/backend/cpu/engine.h"

namespace rlx::detail {

std::unique_ptr<image::CallKernel> cast_kernel(CpuEnginePtr engine);

}  // namespace rlx::detail
