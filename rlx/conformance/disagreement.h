// Whether a device computes a whole graph as the reference does.
#pragma once

#include <optional>
#include <string>

#include "rlx/conformance/random_graphs.h"
#include "rlx/runtime/device.h"

namespace rlx {

// What differs of these outputs from those of the graph: an output and its worst element. Errors of
// rounding are told from others by running the reference again with every float a little off.
std::optional<std::string> disagreement(const RandomGraph& random, const TensorMap& got);
// What differs: an output and its worst element, or an Error of the device.
std::optional<std::string> disagreement(const RandomGraph& random, const Device& device,
                                        bool optimise);

}  // namespace rlx
