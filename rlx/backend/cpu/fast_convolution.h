// Convolutions of f32, cut into parts that the team works at side by side.
#pragma once

#include "rlx/backend/cpu/engine.h"

namespace rlx::detail {

struct ConvolutionOptions {
  bool keeps_weights = false;  // they are the same from run to run
};
std::unique_ptr<image::CallKernel> convolution_kernel(CpuEnginePtr engine, const Attrs& attrs,
                                                      ConvolutionOptions options);

}  // namespace rlx::detail
