// How a window moves over [B, C, spatial..], one number per spatial axis.
#pragma once

#include "rlx/tensor/type.h"

namespace rlx::detail {

struct ConvolutionWindow {
  Shape strides, dilations, pads_before;
  int64_t groups = 1;
  bool transposed = false;
};

}  // namespace rlx::detail
