// Groups of nodes that one kernel computes.
#pragma once

#include "rlx/lower/site.h"

namespace rlx {

// The graph with fused nodes in it: ops on single elements joined with each other, and with the op
// whose result they finish, as far as this device can run them as one kernel. Bodies as well.
Graph fuse(const Graph& graph, const DeviceTraits& traits, const Choices& choices);

}  // namespace rlx
