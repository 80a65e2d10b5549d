// Norms of [B, C, ..] whose scales belong to channels.
#pragma once

#include "rlx/backend/cpu/behind.h"

namespace rlx::detail {

// Operands are x, and perhaps gamma, beta, mean and variance.
std::unique_ptr<image::CallKernel> batch_norm_kernel(CpuEnginePtr engine, double epsilon,
                                                     Behind behind);
// Operands are x, and perhaps gamma and beta. 0 groups: each channel is one.
std::unique_ptr<image::CallKernel> group_norm_kernel(CpuEnginePtr engine, int64_t groups,
                                                     double epsilon, Behind behind);

}  // namespace rlx::detail
