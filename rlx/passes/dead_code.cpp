// Nodes whose results reach no output and no state are dropped. Inputs stay: they are the
// interface.

#include <algorithm>

#include "rlx/passes/passes.h"

namespace rlx {
namespace {

PassResult run(const Graph& graph) {
  std::vector<bool> live(graph.nodes().size(), false);
  for (const GraphOutput& output : graph.outputs()) live[size_t(output.value.node)] = true;
  for (const StateUpdate& update : graph.updates())
    live[size_t(update.state.node)] = live[size_t(update.next.node)] = true;
  for (size_t at = graph.nodes().size(); at-- > 0;) {
    if (is_input(graph.nodes()[at]) || is_state(graph.nodes()[at])) live[at] = true;
    if (!live[at]) continue;
    for (const Value& input : graph.nodes()[at].inputs)
      if (input.present()) live[size_t(input.node)] = true;
  }
  const int64_t dead = std::count(live.begin(), live.end(), false);
  if (dead == 0) return {};
  return {rebuild(
              graph, [](const RewriteSite&) { return std::nullopt; }, &live),
          dead};
}

}  // namespace

Graph alive(Graph graph) {
  PassResult result = run(graph);
  return result.graph ? std::move(*result.graph) : std::move(graph);
}

const Pass dead_code{"dead-code", "Drops nodes that reach no output.", run};

}  // namespace rlx
