// Tensors [B, C, ...] and operands with one number per channel, which the norms over channels
// share.
#pragma once

#include <span>

#include "rlx/ir/graph.h"

namespace rlx {

// x is a float tensor of at least two axes; the other operands, where present, are [C].
void require_channels(const InferSite& site, std::span<const char* const> names);

// The product of the axes behind the channels.
Dim positions(const Dims& shape);

// An operand [C] as it broadcasts to [B, C, ...], and what has that form as [C] again.
Value per_channel(Value operand, Value x);
Value channel_sum(Value dy);
// All axes but the channels'.
Ints other_axes(Value x);

}  // namespace rlx
