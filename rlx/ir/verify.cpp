// The rules every graph keeps; a pass or a parser that breaks one is caught here.

#include <set>

#include "rlx/ir/graph.h"

namespace rlx {
namespace {

void check_operands(const Graph& graph, const Node& node, int index) {
  for (const Value& input : node.inputs) {
    if (!input.present()) continue;
    require(input.graph == graph.data(), node.op->name, ": an operand is of another graph");
    require(input.node >= 0 && input.node < index, node.op->name, ": operand ", input.node,
            " does not come before its reader");
    require(input.result >= 0 && input.result < static_cast<int>(input.producer().types.size()),
            node.op->name, ": there is no result ", input.result, " of '", input.producer().name,
            "'");
  }
}

void check_types(const Node& node) {
  std::vector<const TensorType*> types;
  std::vector<const HostValue*> host_values;
  for (const Value& input : node.inputs) {
    types.push_back(input.present() ? &input.type() : nullptr);
    const auto* known =
        input.present() ? &input.producer().host_values[size_t(input.result)] : nullptr;
    host_values.push_back(known && known->has_value() ? &**known : nullptr);
  }
  // A fresh extent has the name it was given when the node was made.
  bool fresh = false;
  const auto any = [&] { return fresh = true, Dim("any"); };
  const Inferred inferred = infer_types(*node.op, types, host_values, node.attrs, any);
  require(inferred.types.size() == node.types.size(), node.op->name, ": has ", node.types.size(),
          " results, its rule gives ", inferred.types.size());
  for (size_t i = 0; i < node.types.size() && !fresh; ++i)
    require(inferred.types[i] == node.types[i], node.op->name, ": result ", i, " is ",
            node.types[i], ", its rule gives ", inferred.types[i]);
}

}  // namespace

void verify(const Graph& graph) {
  std::set<std::pair<const OpDef*, std::string>> names;
  int index = 0;
  for (const Node& node : graph.nodes()) {
    try {
      require(node.op != nullptr, "a node has no op");
      require(!node.types.empty(), node.op->name, ": has no result");
      check_operands(graph, node, index);
      if (is_source(node)) {
        require(is_constant(node) || names.emplace(node.op.get(), node.name).second, node.op->name,
                ": there are two named '", node.name, "'");
      } else {
        check_types(node);
      }
      for (const auto& [name, attr] : node.attrs)
        if (const auto* body = std::get_if<GraphPtr>(&attr.variant())) verify(**body);
    } catch (Error& error) {
      error.add_note(text("at node '", node.name, "'"));
      throw;
    }
    ++index;
  }
  std::set<std::string> outputs;
  for (const GraphOutput& output : graph.outputs()) {
    require(outputs.insert(output.name).second, "output: there are two named '", output.name, "'");
    require(output.value.graph == graph.data() && output.value.node < index, "output '",
            output.name, "': its value is not in the graph");
  }
  for (const StateUpdate& update : graph.updates())
    require(is_state(update.state.producer()) && update.state.type() == update.next.type(),
            "update: state '", update.state.producer().name, "' and its next value differ in type");
}

}  // namespace rlx
