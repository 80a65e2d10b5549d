// What lowering asks of a graph before it makes steps of its nodes.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "rlx/lower/step.h"

namespace rlx::detail {

// A body as a graph of its own over the operands' types, so that it speaks the outer symbols.
std::shared_ptr<Graph> instantiate(const Graph& body, const std::vector<Operand>& inputs,
                                   const std::optional<Dim>& iteration, const std::string& prefix,
                                   int& fresh_symbols);

// Nodes that the host computes when a run is bound, because symbols are elements of their results.
std::vector<int> nodes_to_evaluate(const Graph& graph, const std::vector<bool>& bindable);

}  // namespace rlx::detail
