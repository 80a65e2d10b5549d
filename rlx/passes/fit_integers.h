// 64-bit integers on a device, which has none.
#pragma once

#include "rlx/lower/site.h"

namespace rlx {

inline const char* const kFitIntegersPass = "fit-integers";

// The graph with arithmetic of i64 in 32 bits where all of it is known to fit them, and in two
// words where it is not; the host is left with what has no such form. Bodies as well.
Graph fit_integers(const Graph& graph, const DeviceTraits& traits);

}  // namespace rlx
