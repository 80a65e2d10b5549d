// A graph as its author sees it: values, what adds them, and the ops there are. What a node is made
// of, and an op, is in rlx/op.h.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "rlx/base/shared.h"
#include "rlx/tensor/tensor.h"

namespace rlx {

class Attrs;
struct GraphData;
struct Node;
struct Nodes;
struct OpDef;
struct OpRef;
struct Value;
using Values = std::vector<Value>;

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
  Value apply(const OpDef& op, const Values& inputs) const;
  Value apply(const OpDef& op, const Values& inputs, const Attrs& attrs) const;
  bool operator==(const Value&) const = default;
};

struct GraphOutput {
  std::string name;
  Value value;
};
struct StateUpdate {
  Value state, next;  // after a run the state holds `next`
};

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
  Value add(OpRef op, const Values& inputs);
  Value add(OpRef op, const Values& inputs, const Attrs& attrs, const std::string& name = "");
  Value add(const OpDef& op, const Values& inputs);  // one that lives longer than the graph
  Value add(const OpDef& op, const Values& inputs, const Attrs& attrs,
            const std::string& name = "");
  // Appends a source node as it stands; for parse and rebuild.
  Value add_source(const OpDef& op, const TensorType& type, const Attrs& attrs,
                   const std::string& name);
  void set_name(Value value, const std::string& name);
  void set_origin(Value value, const std::string& origin);

  const Nodes& nodes() const;  // in an order in which they can be computed
  const Node& node(Value value) const { return node(value.node); }
  const Node& node(int index) const;
  Value value(int node, int result = 0) const { return {data_.get(), node, result}; }
  const std::vector<GraphOutput>& outputs() const;
  const std::vector<StateUpdate>& updates() const;
  const std::map<std::string, Interval>& symbols() const;
  GraphData* data() const { return data_.get(); }

 private:
  Shared<GraphData> data_;
};

// The ops a graph may use: the catalogue, and a user's own.
class OpSet {
 public:
  OpSet();
  OpSet(const OpSet& other);
  OpSet(OpSet&& other) noexcept;
  OpSet& operator=(OpSet other) noexcept;
  ~OpSet();

  void add(OpRef op);  // an Error when the name is taken
  const OpRef* find(std::string_view name) const;
  const OpRef& at(std::string_view name) const;  // or an Error that offers the nearest name
  std::vector<OpRef> all() const;                // by name

 private:
  struct Ops;
  Shared<Ops> ops_;  // no other set has it
};

// Throws where a graph breaks a rule: order, arity, types, names, bodies.
void verify(const Graph& graph);

}  // namespace rlx
