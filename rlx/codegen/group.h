// Fused groups: a body of ops on single elements, with at most one other op among them, the anchor,
// becomes one kernel. The anchor's kernel is not changed: the function that it stores its result
// with computes the rest of the body for the element at hand.
#pragma once

#include <optional>

#include "rlx/lower/site.h"

namespace rlx {

// A node that passes elements on in their order: reshapes, and transposes of extents of 1.
bool keeps_order(const Node& node);

// Of a transpose, where each axis of its operand lies in its result.
std::optional<Dims> permuted_strides(const Node& node);
// A node that passes on what a transpose gives in an order that no view has: a copy, but where a
// kernel stores its result there.
bool copies_permuted(const Node& node);

// What a group may contain beside its anchor: ops on single elements and what keeps their order.
bool is_pointwise(const Node& node);

// What the steps of an op say about its first result.
struct FinalStore {
  bool exists = false;   // one kernel stores each element once, and no step reads it again
  int64_t bindings = 0;  // of storage buffers in that kernel, the result's among them
};
FinalStore final_store(const Node& node, const DeviceTraits& traits, const Choices& choices);

// `body` speaks the symbols of the site. None where it cannot be one kernel on this device.
std::optional<Steps> lower_group(const LowerSite& site, const Graph& body);

}  // namespace rlx
