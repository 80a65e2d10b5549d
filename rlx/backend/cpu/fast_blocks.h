// Products of f32 with weights in blocks of few bits, and rows of them. The weights stay as they
// are: few rows are multiplied with what was just decoded, many with panels of it.
#pragma once

#include "rlx/backend/cpu/behind.h"

namespace rlx::detail {

// Operands are x, w, and where the products are grouped the expert of each row. Null where blocks
// are too large for a stretch that stays in the first cache.
std::unique_ptr<image::CallKernel> block_product_kernel(CpuEnginePtr engine, const Attrs& attrs,
                                                        bool grouped, Behind behind);
// Operands are w and indices.
std::unique_ptr<image::CallKernel> block_gather_kernel(CpuEnginePtr engine, const Attrs& attrs);

}  // namespace rlx::detail
