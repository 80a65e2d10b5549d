// The table of ops on single elements, for the catalogue and for kernels that fuse an activation.
#pragma once

#include <span>
#include <string_view>

#include "rlx/ir/graph.h"

namespace rlx {

std::span<const OpDef* const> elementwise_ops();
const OpDef& elementwise_op(std::string_view name);

// NumPy's broadcast of two shapes; dims that cannot be compared become checks of the site.
Dims broadcast_shapes(const InferSite& site, const Dims& a, const Dims& b);

// Whether a tensor of the dtype has these elements as they are; what does not fit one wraps.
bool all_fit(const HostValue& value, DType dtype);

// The gradient of a broadcast: `dy` summed over the axes along which `like` was repeated, or may
// have been in a run.
Value unbroadcast(Value dy, Value like);

}  // namespace rlx
