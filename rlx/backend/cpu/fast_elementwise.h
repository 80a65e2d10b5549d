// Kernels of single elements of f32, in vectors, over operands that broadcast and may be views.
#pragma once

#include "rlx/backend/cpu/engine.h"

namespace rlx::detail {

std::unique_ptr<image::CallKernel> unary_kernel(
    CpuEnginePtr engine, vector::Elementwise::Function vector::Elementwise::*function);
std::unique_ptr<image::CallKernel> binary_kernel(CpuEnginePtr engine, vector::Binary how);
std::unique_ptr<image::CallKernel> clamp_kernel(CpuEnginePtr engine, float low, float high);
// x to a power that is one number, 2; other powers are handed on.
std::unique_ptr<image::CallKernel> power_kernel(CpuEnginePtr engine);

}  // namespace rlx::detail
