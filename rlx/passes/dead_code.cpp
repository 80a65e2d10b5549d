// Nodes whose results reach no output and no state are dropped. Inputs stay: they are the
// interface.

#include <numeric>

#include "rlx/passes/passes.h"

namespace rlx {
namespace {

std::vector<int> live_nodes_of(const Graph& graph) {
  std::vector<int> order(graph.nodes().size());
  std::iota(order.begin(), order.end(), 0);
  return live_of(graph, order);
}

PassResult run(const Graph& graph) {
  const std::vector<int> live = live_nodes_of(graph);
  const size_t dead = graph.nodes().size() - live.size();
  if (dead == 0) return {};
  return {with_nodes(graph.clone(), live), static_cast<int64_t>(dead)};
}

}  // namespace

Graph alive(Graph graph) {
  const std::vector<int> live = live_nodes_of(graph);
  if (live.size() == graph.nodes().size()) return graph;
  return with_nodes(std::move(graph), live);
}

const Pass dead_code{"dead-code", "Drops nodes that reach no output.", run};

}  // namespace rlx
