// Kernels of Fourier transforms of f32.
#pragma once

#include "rlx/backend/cpu/engine.h"

namespace rlx::detail {

// Of lines of pairs, x [.., n, 2]; a factor for all results.
std::unique_ptr<image::CallKernel> fourier_kernel(CpuEnginePtr engine, bool inverse, double scale);

// What half_spectrum computes, line by line.
std::unique_ptr<image::CallKernel> half_spectrum_kernel(CpuEnginePtr engine, bool inverse,
                                                        double ends);

}  // namespace rlx::detail
