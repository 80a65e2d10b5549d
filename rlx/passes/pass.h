// A pass makes a graph that computes the same outputs.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "rlx/ir/graph.h"

namespace rlx {

struct PassResult {
  std::optional<Graph> graph = {};  // none: it stays as it is
  int64_t changes = 0;              // how many nodes, or groups of them, became others or none
};

class NearMisses;

// What a pass does. One that looks for formulas tells those that it found in part, where somebody
// asks; the others have nothing to tell.
class PassFunction {
 public:
  using Plain = PassResult(const Graph& graph);
  using Telling = PassResult(const Graph& graph, NearMisses* misses);
  PassFunction(Plain* plain) : plain_(plain) {}          // NOLINT(google-explicit-constructor)
  PassFunction(Telling* telling) : telling_(telling) {}  // NOLINT(google-explicit-constructor)
  PassResult operator()(const Graph& graph, NearMisses* misses) const {
    return telling_ ? telling_(graph, misses) : plain_(graph);
  }

 private:
  Plain* plain_ = nullptr;
  Telling* telling_ = nullptr;
};

struct Pass {
  std::string name;
  std::string summary;  // one sentence
  PassFunction function;

  // The graph that it makes, which may be as it was.
  struct Made {
    Graph graph;
    int64_t changes;
  };
  Made run(const Graph& graph, NearMisses* misses = nullptr) const {
    PassResult result = function(graph, misses);
    return {result.graph ? std::move(*result.graph) : graph.clone(), result.changes};
  }
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
// The node of a site over operands of `to`. What its types were found to be is copied where the
// operands have the types they had: most nodes are copied by most passes.
Values copy_node(const RewriteSite& site, const Values& inputs);
// The same nodes in another order, in which each comes behind its operands.
Graph reordered(const Graph& from, const std::vector<int>& order);

}  // namespace rlx
