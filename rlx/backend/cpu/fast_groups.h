// Rows of f32 times the matrices that they name.
#pragma once

#include "rlx/backend/cpu/behind.h"

namespace rlx::detail {

// Operands are x [M, K], w [E, K, N] and expert [M].
std::unique_ptr<image::CallKernel> grouped_product_kernel(CpuEnginePtr engine, Behind behind);

}  // namespace rlx::detail
