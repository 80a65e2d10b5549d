// Kernels of rows of f32, f16 and bf16: softmax, norms, reductions.
#pragma once

#include "rlx/backend/cpu/engine.h"

namespace rlx::detail {

std::unique_ptr<image::CallKernel> softmax_kernel(CpuEnginePtr engine, int64_t axis,
                                                  bool logarithm);
// Over the axes from `axis` on; operands are x, gamma and beta.
std::unique_ptr<image::CallKernel> norm_kernel(CpuEnginePtr engine, int64_t axis, double epsilon,
                                               bool is_centred);
// Over some axes, all where none is given.
std::unique_ptr<image::CallKernel> reduce_kernel(CpuEnginePtr engine, std::vector<int64_t> axes,
                                                 vector::Fold fold);

}  // namespace rlx::detail
