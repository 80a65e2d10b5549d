// A graph of tensor ops: nodes in topological order, each with several operands and results.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "rlx/ir/op_def.h"

namespace rlx {

struct GraphData;

// A tensor that a node of a graph produces. Valid while the graph lives, wherever it is moved.
struct Value {
  GraphData* graph = nullptr;  // null: an absent operand
  int node = -1;
  int result = 0;

  bool present() const { return graph != nullptr; }
  explicit operator bool() const { return present(); }
  const Node& producer() const;
  const TensorType& type() const;
  const Dims& shape() const { return type().shape; }
  DType dtype() const { return type().dtype; }
  Value of(int other_result) const { return {graph, node, other_result}; }  // another of its node
  // Appends a node to the value's graph; the first result.
  Value apply(const OpDef& op, const Values& inputs, const Attrs& attrs = {}) const;
  bool operator==(const Value&) const = default;
};

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

struct GraphOutput {
  std::string name;
  Value value;
};
struct StateUpdate {
  Value state, next;  // after a run the state holds `next`
};

struct GraphData {
  std::deque<Node> nodes;
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

class Graph {
 public:
  Graph();
  Graph(Graph&& other) noexcept;
  Graph& operator=(Graph&& other) noexcept;
  ~Graph();
  Graph clone() const;  // nodes keep their numbers

  Value input(const std::string& name, const TensorType& type);
  Value weight(const std::string& name, const Tensor& value);
  Value weight(const std::string& name, const TensorType& type);  // its tensor comes later
  Value constant(const Tensor& value, const std::string& name = "");
  Value state(const std::string& name, const TensorType& type);  // starts as zeros
  Value state(const std::string& name, const Tensor& initial);
  void update(Value state, Value next);
  // Makes a state of a weight, which it starts as: an imported model can then be trained.
  Value turn_into_state(const std::string& weight);
  // Whatever read `old` before, outputs and updates included, reads `replacement`, which must have
  // its type and come before the readers.
  void replace_uses(Value old, Value replacement);
  void output(const std::string& name, Value value);
  // Declares a symbol with an upper bound, so that memory is planned once for all its values.
  Dim symbol(const std::string& name, int64_t max, int64_t min = 0);

  // Appends a node; the first result. Errors name the op and, when it has one, the node.
  Value add(OpRef op, const Values& inputs, const Attrs& attrs = {}, const std::string& name = "");
  Value add(const OpDef& op, const Values& inputs, const Attrs& attrs = {},
            const std::string& name = "") {
    return add(static_op(op), inputs, attrs, name);
  }
  // Appends a source node as it stands; for parse and rebuild.
  Value add_source(const OpDef& op, const TensorType& type, const Attrs& attrs,
                   const std::string& name);
  void set_name(Value value, const std::string& name);
  void set_origin(Value value, const std::string& origin);

  const std::deque<Node>& nodes() const { return data_->nodes; }
  const Node& node(Value value) const { return data_->nodes[static_cast<size_t>(value.node)]; }
  const Node& node(int index) const { return data_->nodes[static_cast<size_t>(index)]; }
  Value value(int node, int result = 0) const { return {data_.get(), node, result}; }
  const std::vector<GraphOutput>& outputs() const { return data_->outputs; }
  const std::vector<StateUpdate>& updates() const { return data_->updates; }
  const std::map<std::string, Interval>& symbols() const { return data_->symbols; }
  GraphData* data() const { return data_.get(); }

 private:
  std::unique_ptr<GraphData> data_;
};

inline const Node& Value::producer() const { return graph->nodes[static_cast<size_t>(node)]; }
inline const TensorType& Value::type() const {
  return producer().types[static_cast<size_t>(result)];
}

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

// Throws where a graph breaks a rule: order, arity, types, names, bodies.
void verify(const Graph& graph);

}  // namespace rlx
