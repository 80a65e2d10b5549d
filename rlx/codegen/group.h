// Fused groups: a body of ops on single elements and maps, with at most one other op among them,
// the anchor, becomes one kernel. The anchor's kernel is not changed: the functions that it loads
// operands with compute what comes before it for the element at hand, and the one that it stores
// its result with computes what comes behind.
#pragma once

#include <optional>

#include "rlx/codegen/pointwise.h"
#include "rlx/lower/site.h"

namespace rlx {

// What the steps of an op say about its operands and its first result.
struct AnchorTraits {
  bool stores = false;   // one kernel stores each element once, and no step reads it again
  int64_t bindings = 0;  // of storage buffers in that kernel, the result's among them
  // By operand, how many loads of single elements read it, if that is known and they can be written
  // anew: one kernel reads the operand, element by element.
  std::vector<std::optional<Dim>> loads = {};
};
AnchorTraits anchor_traits(const Node& node, const DeviceTraits& traits, const Choices& choices);

// `body` speaks the symbols of the site. None where it cannot be one kernel on this device.
std::optional<Steps> lower_group(const LowerSite& site, const Graph& body);

}  // namespace rlx
