// Kernels of rows of f32, f16 and bf16: softmax, norms, reductions.
#pragma once

#include "rlx/backend/cpu/behind.h"

namespace rlx::detail {

std::unique_ptr<image::CallKernel> softmax_kernel(CpuEnginePtr engine, int64_t axis, bool logarithm,
                                                  Behind behind);
// Over the axes from `axis` on; operands are x, gamma and beta.
std::unique_ptr<image::CallKernel> norm_kernel(CpuEnginePtr engine, int64_t axis, double epsilon,
                                               bool is_centred, Behind behind);
// Over some axes, all where none is given.
std::unique_ptr<image::CallKernel> reduce_kernel(CpuEnginePtr engine, std::vector<int64_t> axes,
                                                 vector::Fold fold, Behind behind);

}  // namespace rlx::detail
