#include "rlx/ops/bodies.h"

#include <algorithm>

namespace rlx {

Values body_inputs(const Graph& body) {
  Values inputs;
  for (size_t at = 0; at < body.nodes().size(); ++at)
    if (is_input(body.nodes()[at])) inputs.push_back(body.value(static_cast<int>(at)));
  return inputs;
}

namespace {

// Copies nodes; `source` and `apply` make a source that is no input, and any other node.
template <class Source, class Apply>
Values copy_nodes(const Graph& body, const Values& inputs, Source source, Apply apply) {
  Values first;  // result of each node
  size_t next = 0;
  const auto moved = [&](Value value) {
    if (!value.present()) return value;
    const Value& to = first[size_t(value.node)];
    return is_source(value.producer()) ? to : to.of(value.result);
  };
  for (const Node& node : body.nodes()) {
    if (is_input(node)) {
      first.push_back(inputs.at(next++));
    } else if (is_source(node)) {
      first.push_back(source(node));
    } else {
      Values operands;
      for (const Value& operand : node.inputs) operands.push_back(moved(operand));
      first.push_back(apply(node, operands));
    }
  }
  Values outputs;
  for (const GraphOutput& output : body.outputs()) outputs.push_back(moved(output.value));
  return outputs;
}

}  // namespace

Values inline_body(const Graph& body, const Values& inputs, Graph& into) {
  return copy_nodes(
      body, inputs,
      [&](const Node& node) {
        return into.add_source(*node.op, node.types[0], node.attrs,
                               is_constant(node) ? "" : node.name);
      },
      [&](const Node& node, const Values& operands) {
        return into.add(node.op, operands, node.attrs);
      });
}

Values append_graph(const Graph& graph, const Values& inputs) {
  const Value like = inputs.at(0);
  return copy_nodes(
      graph, inputs, [&](const Node& node) { return constant_beside(like, *tensor_of(node)); },
      [&](const Node& node, const Values& operands) {
        return like.apply(*node.op, operands, node.attrs);
      });
}

Types output_types(const Graph& body, const Types& operands) {
  std::map<std::string, Dim> known;
  const Values inputs = body_inputs(body);
  for (size_t i = 0; i < std::min(inputs.size(), operands.size()); ++i)
    for (size_t d = 0; d < inputs[i].shape().size(); ++d)
      if (const auto symbol = inputs[i].shape()[d].symbol())
        known.emplace(*symbol, operands[i].shape[d]);
  Types types;
  for (const GraphOutput& output : body.outputs()) {
    TensorType type = output.value.type();
    for (Dim& dim : type.shape) dim = dim.substitute(known);
    types.push_back(std::move(type));
  }
  return types;
}

GivenSymbols::GivenSymbols(const Graph& body) {
  for (const Value& input : body_inputs(body))
    for (const Dim& extent : input.shape())
      if (!extent.is_number())
        for (std::string& symbol : extent.symbols()) symbols_.insert(std::move(symbol));
}
bool GivenSymbols::tell(const Dim& dim) const {
  if (dim.is_number()) return true;
  const std::vector<std::string> symbols = dim.symbols();
  return std::all_of(symbols.begin(), symbols.end(),
                     [&](const std::string& symbol) { return symbols_.count(symbol) != 0; });
}

void check_body_input(const std::string& op, const std::string& body, const Node& input,
                      const TensorType& operand) {
  const TensorType& type = input.types[0];
  require(type.dtype == operand.dtype && rank(type) == rank(operand), op, ": input '", input.name,
          "' of body '", body, "' is ", type, ", the operand is ", operand);
}

Dim host_number(const LowerSite& site, size_t i) {
  if (const Tensor* tensor = tensor_of(site.node.inputs[i].producer()))
    return tensor->integer_at(0);
  return site.host(i).elements[0];
}

Values results_of(Value first) {
  Values results;
  for (size_t i = 0; i < first.producer().types.size(); ++i)
    results.push_back(first.of(static_cast<int>(i)));
  return results;
}

}  // namespace rlx
