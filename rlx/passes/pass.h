// A pass makes a graph that computes the same outputs.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "rlx/ir/graph.h"

namespace rlx {

struct PassResult {
  Graph graph;
  int64_t changes = 0;  // how many nodes, or groups of them, became others or none
};

struct Pass {
  std::string name;
  std::string summary;  // one sentence
  PassResult (*run)(const Graph& graph);
};

// Rebuilds `from` node by node. `rewrite` may offer the values that stand for a node's results; a
// node it does not touch is copied. Names, origins, symbols, outputs and updates come along.
struct RewriteSite {
  const Node& node;
  int at;                // where it is in the old graph
  const Values& inputs;  // those of `to`
  const Attrs& attrs;    // in the symbols of `to`
  Graph& to;
  const std::function<Value(const Value& value)>& moved;  // what an older value is in `to`
};
using Rewrite = std::function<std::optional<Values>(const RewriteSite& site)>;
Graph rebuild(const Graph& from, const Rewrite& rewrite, const std::vector<bool>* keep = nullptr);
// The same nodes in another order, in which each comes behind its operands.
Graph reordered(const Graph& from, const std::vector<int>& order);

}  // namespace rlx
