// Nodes that compute or pass on single elements: what groups are made of beside their anchors.
#pragma once

#include <optional>

#include "rlx/ir/graph.h"

namespace rlx {

// How a view lies; none where the node is not one of what lies as `input` says.
std::optional<Layout> layout_of_part(const Node& node, const Layout& input);

// Is the result a view of operand 0? A cast is one only of what is of its dtype already.
bool gives_view(const Node& node);

// A node that passes elements on in their order: reshapes, and transposes of extents of 1.
bool keeps_order(const Node& node);

// Of a transpose, where each axis of its operand lies in its result.
std::optional<Dims> permuted_strides(const Node& node);
// A node that passes on what a transpose gives in an order that no view has: a copy, but where a
// kernel stores its result there.
bool copies_permuted(const Node& node);

// What a group may contain beside its anchor: ops on single elements and what keeps their order.
bool is_pointwise(const Node& node);

}  // namespace rlx
