// Tight loops of this backend over f32 and bytes, which the table of fast ops names ops for. Each
// is false for what it was not made for.
#pragma once

#include "rlx/backend/cpu/convolution_window.h"
#include "rlx/backend/cpu/onednn.h"
#include "rlx/tensor/tensor.h"

namespace rlx::detail {

// y[.., c, after..] = x * scale[c] + shift[c], of x [B, C, ..].
bool scale_channels(const Tensor& x, const std::vector<double>& scale,
                    const std::vector<double>& shift, Tensor& y);

// y = (a - a_zero) . (b - b_zero) of bytes, exactly; b is one matrix, a_zero one number, b_zero one
// or one per column. Either may be null.
bool multiply_bytes(const Tensor& a, const Tensor& b, const Tensor* a_zero, const Tensor* b_zero,
                    Tensor& y, OneDnn& onednn);

// y = (x - zero) * scale of bytes, with one scale and one zero point, which may be null.
bool scale_bytes(const Tensor& x, const Tensor& scale, const Tensor* zero, Tensor& y);

// A convolution along one axis of so few products that handing them to threads would take longer.
bool convolve_small(const Tensor& x, const Tensor& w, const Tensor* bias,
                    const ConvolutionWindow& window, Tensor& y);

}  // namespace rlx::detail
