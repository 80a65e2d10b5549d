// Groups of nodes that one kernel computes.
#pragma once

#include "rlx/lower/site.h"
#include "rlx/passes/near_misses.h"

namespace rlx {

// The graph with fused nodes in it: ops on single elements joined with each other, and with the op
// whose operands they compute and whose result they finish, as far as this device can run them as
// one kernel and fuse_cost.h finds it worth it. Bodies as well. `misses` gets what was not.
Graph fuse(const Graph& graph, const DeviceTraits& traits, const Choices& choices,
           std::vector<NearMiss>* misses = nullptr);

}  // namespace rlx
