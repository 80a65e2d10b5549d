// The right operand of a convolution that is a product: [channels * taps, places], where a row
// holds what one tap of the window meets at every place. It is never whole in memory.
#pragma once

#include "rlx/vector/gemm.h"
#include "rlx/vector/windows.h"

namespace rlx::vector {

struct Unfold {
  const float* x = nullptr;  // [channels, height, width]
  Windows windows = {};
};

// For Product::read_b, whose context is an Unfold.
Product::Read unfold(Isa isa);

}  // namespace rlx::vector
