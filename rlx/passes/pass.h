// A pass makes a graph that computes the same outputs.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "rlx/lower/site.h"

namespace rlx {

// A graph that a pass may change: the one that is there, or a copy that is made when it is needed.
class Changing {
 public:
  explicit Changing(Graph& graph) : given_(&graph), graph_(&graph), own_(&graph) {}
  explicit Changing(const Graph& graph) : given_(&graph), graph_(&graph) {}
  Changing(const Changing&) = delete;

  const Graph& operator*() const { return *graph_; }
  const Graph* operator->() const { return graph_; }
  Graph& edit() {
    if (!own_) set(graph_->clone());
    return *own_;
  }
  void set(Graph graph) {
    if (own_) {
      *own_ = std::move(graph);
      return;
    }
    copy_ = std::move(graph);
    graph_ = own_ = &*copy_;
  }
  // After nothing was changed: a copy was made for nothing.
  void drop_copy() {
    if (!copy_) return;
    copy_.reset();
    graph_ = given_;
    own_ = nullptr;
  }
  Graph take() { return std::move(edit()); }

 private:
  std::optional<Graph> copy_;
  const Graph* given_;
  const Graph* graph_;
  Graph* own_ = nullptr;
};

struct PassResult {
  std::optional<Graph> graph = {};  // none: it stays as it is
  int64_t changes = 0;              // how many nodes, or groups of them, became others or none
};

class NearMisses;

// What a graph is made for.
struct PassTarget {
  DeviceTraits traits = {};
  Choices choices = {};
};
// What there is beside a graph.
struct PassSite {
  NearMisses* misses = nullptr;        // where somebody asks
  const PassTarget* target = nullptr;  // none: passes for a device change nothing
  bool is_body = false;
};

// What a pass does: it changes a graph, or makes another, perhaps for a device. One that looks for
// formulas tells those that it found in part, where somebody asks; the others have nothing to tell.
class PassFunction {
 public:
  using Plain = PassResult(const Graph& graph);
  using Telling = PassResult(const Graph& graph, NearMisses* misses);
  using Editing = int64_t(Changing& graph, NearMisses* misses);
  using Aiming = PassResult(const Graph& graph, const PassTarget& target, const PassSite& site);
  PassFunction(Plain* plain) : plain_(plain) {}          // NOLINT(google-explicit-constructor)
  PassFunction(Telling* telling) : telling_(telling) {}  // NOLINT(google-explicit-constructor)
  PassFunction(Editing* editing) : editing_(editing) {}  // NOLINT(google-explicit-constructor)
  PassFunction(Aiming* aiming) : aiming_(aiming) {}      // NOLINT(google-explicit-constructor)
  // How many changes there were.
  int64_t operator()(Changing& graph, const PassSite& site) const {
    if (editing_) return editing_(graph, site.misses);
    if (aiming_ && !site.target) return 0;
    PassResult result = aiming_    ? aiming_(*graph, *site.target, site)
                        : telling_ ? telling_(*graph, site.misses)
                                   : plain_(*graph);
    if (result.graph) graph.set(std::move(*result.graph));
    return result.changes;
  }

 private:
  Plain* plain_ = nullptr;
  Telling* telling_ = nullptr;
  Editing* editing_ = nullptr;
  Aiming* aiming_ = nullptr;
};

struct Pass {
  std::string name;
  std::string summary;  // one sentence
  PassFunction function;
  bool enters_groups = true;  // as it does other bodies

  // The graph that it makes, which may be as it was.
  struct Made {
    Graph graph;
    int64_t changes;
  };
  // Without bodies.
  Made run(const Graph& graph, const PassSite& site = {}) const {
    Changing changing(graph);
    const int64_t changes = function(changing, site);
    return {changing.take(), changes};
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
Graph rebuild(const Graph& from, const Rewrite& rewrite);
// The node of a site over operands of `to`. What its types were found to be is copied where the
// operands have the types they had: most nodes are copied by most passes.
Values copy_node(const RewriteSite& site, const Values& inputs);
// These nodes, in an order in which each comes behind its operands; the others are read by none of
// them. They are moved as they are: nothing is found out again, unless symbols have to be renamed.
Graph with_nodes(Graph from, const std::vector<int>& order);
// Those nodes of an order that reach an output or a state, inputs and states included.
std::vector<int> live_of(const Graph& graph, const std::vector<int>& order);

}  // namespace rlx
