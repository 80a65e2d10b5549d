// Windows over planes of f32 [B, C, spatial..] of one or two axes: depthwise convolution, pooling.
#pragma once

#include "rlx/backend/cpu/convolution_window.h"
#include "rlx/backend/cpu/engine.h"

namespace rlx::detail {

// One window per channel. False for what is not that, or too large for it.
bool convolve_depthwise(const CpuEngine& engine, const Tensor& x, const Tensor& w,
                        const Tensor* bias, const ConvolutionWindow& window, Tensor& y);

// As a product of the windows with what each of their taps meets.
bool convolve_as_product(const CpuEngine& engine, const Tensor& x, const Tensor& w,
                         const Tensor* bias, const ConvolutionWindow& window, Tensor& y);

struct PoolOptions {
  Shape extents = {};  // of the window
  ConvolutionWindow window = {};
  enum class Kind { highest, average } kind = Kind::highest;
  bool counts_pads = false;  // into averages
  Shape pads_after = {};     // those of the attributes, where they count
};
std::unique_ptr<image::CallKernel> pool_kernel(CpuEnginePtr engine, PoolOptions options);

// Does anything read this result of the call?
bool is_read(const image::Call& call, size_t result, const image::Image& image);

}  // namespace rlx::detail
