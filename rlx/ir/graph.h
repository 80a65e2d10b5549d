// What a graph is made of: nodes in topological order, each with several operands and results.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "rlx/ir/op_def.h"
#include "rlx/ir/value.h"

namespace rlx {

struct Node {
  OpRef op;
  Values inputs = {};
  Attrs attrs = {};
  Types types = {};  // of the results
  std::string name = {};
  std::string origin = {};  // where it came from: a file's node, a pass
  std::vector<DimCheck> checks = {};
  std::vector<std::optional<HostValue>> host_values = {};  // of the results, where known
  std::map<std::string, Dim> definitions = {};             // symbols in its types that infer made
  // What known_tensor found for its results; empty: they are not known.
  std::optional<std::vector<Tensor>> known = {};
};

struct Nodes : std::deque<Node> {
  using deque::deque;
};

struct GraphData {
  Nodes nodes;
  std::vector<GraphOutput> outputs;
  std::vector<StateUpdate> updates;
  std::map<std::string, Interval> symbols;  // those with bounds
  std::string host_prefix;  // of the symbols of elements, where graphs share their symbols
  int fresh_symbols = 0;    // the next extent that only a run can tell is s<this>
  // The names that are taken, so that one more is looked up rather than compared with all.
  std::set<std::pair<const OpDef*, std::string>> source_names;
  std::set<std::string> output_names;
  std::set<int> updated_states;
  // An Error beyond: set by who builds a graph from a file, where a few bytes may ask for any
  // number.
  size_t most_nodes = SIZE_MAX;
  int64_t known_elements = 0;  // that known_tensor has computed and remembers
};

// Those from now on come after `symbol`, where it is such a name.
void skip_fresh_symbol(GraphData& graph, std::string_view symbol);

// A constant in the graph of a value.
Value constant_beside(Value value, const Tensor& tensor);

// The sources, which have no operands and no computation.
const OpDef& input_op();
const OpDef& weight_op();
const OpDef& constant_op();
const OpDef& state_op();
bool is_source(const Node& node);
bool is_input(const Node& node);
bool is_weight(const Node& node);
bool is_constant(const Node& node);
bool is_state(const Node& node);
bool has_body(const Node& node);  // a graph among its attributes
// The tensor of a constant, or of a weight that has one; else null.
const Tensor* tensor_of(const Node& node);
// What a state starts as; null: zeros.
const Tensor* initial_of(const Node& node);

// What infer finds for an op applied to types and host values; used by add, verify and binding.
struct Inferred {
  Types types;
  std::vector<DimCheck> checks;
  std::vector<std::optional<HostValue>> host_values;
  std::map<std::string, Dim> definitions;
};
Inferred infer_types(const OpDef& op, const std::vector<const TensorType*>& inputs,
                     const std::vector<const HostValue*>& host_values, const Attrs& attrs,
                     const std::function<Dim()>& fresh_symbol);

}  // namespace rlx
