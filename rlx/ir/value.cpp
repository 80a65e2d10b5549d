// What a value and a graph tell of their nodes.
#include "rlx/ir/value.h"

#include "rlx/ir/graph.h"

namespace rlx {

const Node& Value::producer() const { return graph->nodes[static_cast<size_t>(node)]; }
const TensorType& Value::type() const { return producer().types[static_cast<size_t>(result)]; }
Value Value::apply(const OpDef& op, const Values& inputs) const { return apply(op, inputs, {}); }

Value Graph::add(OpRef op, const Values& inputs) { return add(std::move(op), inputs, {}); }
Value Graph::add(const OpDef& op, const Values& inputs) { return add(static_op(op), inputs, {}); }
Value Graph::add(const OpDef& op, const Values& inputs, const Attrs& attrs,
                 const std::string& name) {
  return add(static_op(op), inputs, attrs, name);
}

const Nodes& Graph::nodes() const { return data_->nodes; }
const Node& Graph::node(int index) const { return data_->nodes[static_cast<size_t>(index)]; }
const std::vector<GraphOutput>& Graph::outputs() const { return data_->outputs; }
const std::vector<StateUpdate>& Graph::updates() const { return data_->updates; }
const std::map<std::string, Interval>& Graph::symbols() const { return data_->symbols; }

}  // namespace rlx
