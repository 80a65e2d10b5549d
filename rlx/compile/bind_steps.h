// Shape arithmetic that expressions cannot say: calls on the host when a run is bound, whose
// results tell symbols.
#pragma once

#include "rlx/compile/emission.h"

namespace rlx::detail {

// Adds to Lowered::bind what the nodes of the outermost graph need.
void add_bind_steps(const Graph& graph, Lowered& lowered, Emission& emission);

}  // namespace rlx::detail
