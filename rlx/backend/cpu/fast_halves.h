// Calls whose floats are f16 or bf16, by a kernel for f32.
#pragma once

#include "rlx/backend/cpu/engine.h"

namespace rlx::detail {

// Has the call operands or results of f16 or bf16?
bool has_halves(const image::Call& call, const image::Image& image);

// The same implementation for calls with such floats: makes f32 of the operands that are narrower,
// runs, and narrows the results. Operands that are kept are made f32 once.
image::Implementation widened(const image::Implementation& implementation, CpuEnginePtr engine);

// The same of one kernel; itself where the call has no such floats. One that `packs` gets its
// second operand as it is while it takes it so, to make f32 of it as it packs it. What the tile of
// the call loads and stores besides the op's own result is left to the tile.
std::unique_ptr<image::CallKernel> widening(std::unique_ptr<image::CallKernel> kernel,
                                            const image::Call& call, const image::Image& image,
                                            CpuEnginePtr engine, bool packs);

}  // namespace rlx::detail
