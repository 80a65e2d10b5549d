// Numbers of one dtype as those of another.
#pragma once

#include "rlx/backend/cpu/engine.h"

namespace rlx::detail {

std::unique_ptr<image::CallKernel> cast_kernel(CpuEnginePtr engine);

// Casts elements that lie `step` apart; false where there is no function for the dtypes.
bool cast_elements(const CpuEngine& engine, DType from, const void* x, int64_t step, DType to,
                   void* y, int64_t count);

}  // namespace rlx::detail
