// Tight loops of this backend over f32, which the table of fast ops names ops for. Each
// is false for what it was not made for.
#pragma once

#include "rlx/backend/cpu/convolution_window.h"
#include "rlx/backend/cpu/onednn.h"
#include "rlx/tensor/tensor.h"

namespace rlx::detail {

// A convolution along one axis of so few products that handing them to threads would take longer.
bool convolve_small(const Tensor& x, const Tensor& w, const Tensor* bias,
                    const ConvolutionWindow& window, Tensor& y);

}  // namespace rlx::detail
