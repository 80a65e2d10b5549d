// Fused groups of the host: the call of the anchor, which goes on with a tile program of the rest
// of the body; without an anchor a call of the tile alone.
#pragma once

#include <optional>

#include "rlx/lower/site.h"

namespace rlx {

// Can the node be an instruction of a tile? Truth is only passed on there, and not stored.
bool is_tile_op(const Node& node, const DeviceTraits& traits);
// Can a call of the node's op go on with a tile?
bool may_go_on(const Node& node, const DeviceTraits& traits);

// The one node of a body that is no such instruction; -1: there is none. No value where the body
// cannot be one call of the device.
std::optional<int> anchor_of(const Graph& body, const DeviceTraits& traits);

// One such instruction as a call of the host.
Call tile_call(const Node& node, const std::vector<Operand>& inputs, const Operand& result);

// `body` speaks the symbols of the site. None where it cannot be one call.
std::optional<Steps> lower_host_group(const LowerSite& site, const Graph& body);

}  // namespace rlx
