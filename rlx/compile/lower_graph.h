// From a graph to steps for one device: views become layouts, ops become what their lower() says,
// and what a device cannot do becomes a host step with a reason.
#pragma once

#include "rlx/lower/lowered.h"
#include "rlx/lower/site.h"

namespace rlx::detail {

struct LowerOptions {
  Choices choices = {};
  bool strict = false;  // tensor compute on the host of another device is an Error
};

// The graph must outlive what is made of it.
Lowered lower_graph(const Graph& graph, const DeviceTraits& traits,
                    const LowerOptions& options = {});

}  // namespace rlx::detail
