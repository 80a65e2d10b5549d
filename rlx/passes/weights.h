// Weights as the ops take them, where exporters wrote them for broadcasting.
#pragma once

#include "rlx/ir/graph.h"

namespace rlx {

// A weight [1, .., dims.., 1, ..] with `behind` dims of 1 behind the others, as [dims..]; none
// where it has another shape.
Value in_shape(Value weight, const Dims& dims, size_t behind = 0);

// A weight with one number for each of `extent` indices of an axis that `behind` axes follow, or
// one for all: as [extent], or []. None where it has another shape.
Value along_axis(Value weight, const Dim& extent, size_t behind);

}  // namespace rlx
