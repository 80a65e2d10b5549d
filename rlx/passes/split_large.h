// Ops whose tensors are more than a device binds at once.
#pragma once

#include "rlx/lower/site.h"

namespace rlx {

inline const char* const kSplitLargePass = "split-large";

// The graph with such an op in parts along an axis that it treats place by place, where its kernel
// cannot take the tensors in shards. What no part fits stays, and is refused with its size.
Graph split_large(const Graph& graph, const DeviceTraits& traits);

}  // namespace rlx
