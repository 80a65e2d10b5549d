#include "rlx/compile/instantiate.h"

#include <algorithm>

#include "rlx/ir/graph.h"
#include "rlx/ir/renaming.h"

namespace rlx::detail {

std::shared_ptr<Graph> instantiate(const Graph& body, const std::vector<Operand>& inputs,
                                   const std::optional<Dim>& iteration, const std::string& prefix,
                                   int& fresh_symbols) {
  auto graph = std::make_shared<Graph>();
  graph->data()->fresh_symbols = fresh_symbols;
  graph->data()->host_prefix = prefix;
  Renaming renaming;
  std::vector<int> moved;
  size_t next = 0;
  for (const Node& node : body.nodes()) {
    if (is_source(node)) {
      const bool input = is_input(node);
      const TensorType type = input && inputs.at(next).value >= -1
                                  ? TensorType{inputs[next].dtype, inputs[next].shape}
                                  : node.types[0];
      const Value value = graph->add_source(*node.op, type, node.attrs, node.name);
      if (input && next == 0 && iteration)
        graph->data()->nodes.back().host_values[0] = HostValue{concrete(type.shape), {*iteration}};
      next += input;
      moved.push_back(value.node);
      renaming.note(node, {value});
      continue;
    }
    Values operands;
    for (const Value& operand : node.inputs)
      operands.push_back(
          operand.present() ? graph->value(moved[size_t(operand.node)], operand.result) : Value{});
    const Value first = graph->add(node.op, operands, renaming(node.attrs), node.name);
    moved.push_back(first.node);
    Values results;
    for (size_t r = 0; r < node.types.size(); ++r) results.push_back(first.of(static_cast<int>(r)));
    renaming.note(node, results);
  }
  for (const GraphOutput& output : body.outputs())
    graph->output(output.name, graph->value(moved[size_t(output.value.node)], output.value.result));
  fresh_symbols = graph->data()->fresh_symbols;
  return graph;
}

std::vector<int> nodes_to_evaluate(const Graph& graph, const std::vector<bool>& bindable) {
  const int size = static_cast<int>(graph.nodes().size());
  std::vector<bool> needed(size_t(size), false);
  for (int at = size; at-- > 0;) {
    const Node& node = graph.node(at);
    const bool symbols = std::any_of(node.host_values.begin(), node.host_values.end(),
                                     [](const auto& host) { return host && host->own_symbols; });
    if (is_source(node) || !bindable[size_t(at)]) continue;
    if (symbols) needed[size_t(at)] = true;
    if (!needed[size_t(at)]) continue;
    for (const Value& input : node.inputs)
      if (input.present() && bindable[size_t(input.node)]) needed[size_t(input.node)] = true;
  }
  std::vector<int> nodes;
  for (int at = 0; at < size; ++at)
    if (needed[size_t(at)] && !is_source(graph.node(at))) nodes.push_back(at);
  return nodes;
}

}  // namespace rlx::detail
