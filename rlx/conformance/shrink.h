// Makes a graph that fails a test smaller, as long as it still fails.
#pragma once

#include <functional>

#include "rlx/conformance/random_graphs.h"

namespace rlx {

// May throw an Error for a graph that is none; that counts as not failing.
using Fails = std::function<bool(const RandomGraph&)>;

// Drops outputs and nodes, replaces values by inputs that hold them, halves extents.
RandomGraph shrink(RandomGraph random, const Fails& fails);

}  // namespace rlx
