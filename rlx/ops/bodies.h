// What ops that hold graphs share: bodies as lists of inputs, put into other graphs, and their
// types.
#pragma once

#include <set>
#include <string>

#include "rlx/lower/site.h"

namespace rlx {

Values body_inputs(const Graph& body);

// Appends a body's nodes to a graph, `inputs` standing for its inputs; its outputs.
Values inline_body(const Graph& body, const Values& inputs, Graph& into);

// The same in the graph of `inputs`, for graphs of built-in ops.
Values append_graph(const Graph& graph, const Values& inputs);

// The types of a body's outputs for operands of these types. A symbol of the body's own stays.
Types output_types(const Graph& body, const Types& operands);
// The symbols that a body's inputs have. An extent with another one is decided by its data.
class GivenSymbols {
 public:
  explicit GivenSymbols(const Graph& body);
  bool tell(const Dim& dim) const;

 private:
  std::set<std::string> symbols_;
};

// An Error unless operand and input agree in dtype and rank.
void check_body_input(const std::string& op, const std::string& body, const Node& input,
                      const TensorType& operand);

// A host operand of one element as a number of the binding; a constant is just that.
Dim host_number(const LowerSite& site, size_t i);

// All results of the node that a value is the first of.
Values results_of(Value first);

inline GraphPtr shared_graph(Graph graph) {
  return std::make_shared<const Graph>(std::move(graph));
}

}  // namespace rlx
