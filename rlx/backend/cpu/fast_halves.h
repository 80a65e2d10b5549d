// Calls whose floats are f16 or bf16, by a kernel for f32.
#pragma once

#include "rlx/backend/cpu/engine.h"

namespace rlx::detail {

// The same implementation for calls with such floats: makes f32 of the operands that are narrower,
// runs, and narrows the results. Operands that are kept are made f32 once.
image::Implementation widened(const image::Implementation& implementation, CpuEnginePtr engine);

}  // namespace rlx::detail
