// What the gradients of ops that sample pictures share.
#pragma once

#include "rlx/ir/graph.h"

namespace rlx {

// An extent of x as a float like `like`.
Value extent_of(Value x, size_t axis, Value like);

Gradients grid_sample_gradient(const GradientSite& site);

}  // namespace rlx
