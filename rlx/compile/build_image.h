// From a graph to an image for one device: a pure function of the graph, the device's traits and
// the choices.
#pragma once

#include "rlx/compile/lower_graph.h"

namespace rlx::detail {

image::Image build_image(const Graph& graph, const DeviceTraits& traits,
                         const LowerOptions& options = {});
// The second half of it.
image::Image build_image(const Lowered& lowered, const DeviceTraits& traits);

}  // namespace rlx::detail
