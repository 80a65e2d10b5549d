// How a window moves over [B, C, spatial..], one number per spatial axis.
#pragma once

#include <optional>

#include "rlx/tensor/attrs.h"

namespace rlx::detail {

struct ConvolutionWindow {
  Shape strides, dilations, pads_before;
  int64_t groups = 1;
  bool transposed = false;
};

// None where the attributes leave the pads to expressions or to the shapes.
std::optional<ConvolutionWindow> window_of(const Attrs& attrs, size_t axes);

}  // namespace rlx::detail
