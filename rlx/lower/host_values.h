// Which values of a graph belong to the binding of a run rather than to its steps.
#pragma once

#include <string>
#include <vector>

#include "rlx/ir/graph.h"

namespace rlx {

// Which nodes' results can be computed on the host when a run is bound, before any step. A body's
// inputs come from steps, so nothing of a body can.
std::vector<bool> bindable_nodes(const Graph& graph, bool is_body = false);
// Those of them that only feed host operands: shape arithmetic, which needs no step at all.
std::vector<bool> host_only_nodes(const Graph& graph, bool is_body = false);

// Those whose result is used: by an output, an update, or another of them.
std::vector<bool> live_nodes(const Graph& graph);
// A symbol that is bound while the body with this number runs: the checks of a body count only
// then.
std::string running_symbol(size_t body);

}  // namespace rlx
