// What a value and a graph tell of their nodes.
#include "rlx/ir/value.h"

#include "rlx/ir/graph.h"

namespace rlx {

namespace {

const GraphData& made(const GraphData* data) {
  if (!data) fail(ErrorKind::invalid_input, "graph: it was moved, there is nothing in it");
  return *data;
}

}  // namespace

const Node& Value::producer() const {
  if (!graph) fail(ErrorKind::invalid_input, "a value is absent where one is needed");
  const auto at = static_cast<size_t>(node);
  if (at >= graph->nodes.size())
    fail(ErrorKind::invalid_input, "a value is of node ", node, ", the graph has ",
         graph->nodes.size());
  return graph->nodes[at];
}
const TensorType& Value::type() const { return producer().types[static_cast<size_t>(result)]; }
Value Value::apply(const OpDef& op, const Values& inputs) const { return apply(op, inputs, {}); }

Value Graph::add(OpRef op, const Values& inputs) { return add(std::move(op), inputs, {}); }
Value Graph::add(const OpDef& op, const Values& inputs) { return add(static_op(op), inputs, {}); }
Value Graph::add(const OpDef& op, const Values& inputs, const Attrs& attrs,
                 const std::string& name) {
  return add(static_op(op), inputs, attrs, name);
}

const Nodes& Graph::nodes() const { return made(data_.get()).nodes; }
const Node& Graph::node(int index) const {
  return made(data_.get()).nodes[static_cast<size_t>(index)];
}
const std::vector<GraphOutput>& Graph::outputs() const { return made(data_.get()).outputs; }
const std::vector<StateUpdate>& Graph::updates() const { return made(data_.get()).updates; }
const std::map<std::string, Interval>& Graph::symbols() const { return made(data_.get()).symbols; }

}  // namespace rlx
