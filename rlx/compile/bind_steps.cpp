#include "rlx/compile/bind_steps.h"

#include <algorithm>
#include <map>

#include "rlx/compile/instantiate.h"
#include "rlx/ir/graph.h"
#include "rlx/lower/host_values.h"

namespace rlx::detail {
namespace {

class BindSteps {
 public:
  BindSteps(const Graph& graph, Lowered& lowered, Emission& emission)
      : graph_(graph), lowered_(lowered), emission_(emission) {}

  void add() {
    for (const int at : nodes_to_evaluate(graph_, bindable_nodes(graph_))) {
      const Node& node = graph_.node(at);
      const bool told = std::all_of(node.host_values.begin(), node.host_values.end(),
                                    [](const auto& host) { return host && !host->own_symbols; });
      if (!told) add_call(node, at);  // else as expressions, written where a call reads them
    }
  }

 private:
  void add_call(const Node& node, int at) {
    Call call{node.op->name, node.attrs, {}, {}, ""};
    call.version = node.op->version;
    bool at_hand = true;
    for (const Value& input : node.inputs) {
      call.inputs.push_back(operand_of(input));
      at_hand &= !input.present() || call.inputs.back().value >= 0;
    }
    if (!at_hand) return;  // a step of the run will tell
    for (size_t r = 0; r < node.types.size(); ++r) {
      const ValueId value = emission_.make_host_value(node.types[r], node.name);
      made_[{at, static_cast<int>(r)}] = value;
      call.results.push_back(value);
    }
    const std::vector<ValueId> results = call.results;
    Emission::add(std::move(call), at, lowered_.bind);
    for (size_t r = 0; r < results.size(); ++r)
      if (const auto& host = node.host_values[r]; host && host->own_symbols)
        Emission::add(Fetch{results[r], node.types[r].dtype, host->elements, ""}, at,
                      lowered_.bind);
  }

  Operand operand_of(const Value& input) {
    if (!input.present()) return {};
    const auto [at, added] = made_.emplace(std::pair(input.node, input.result), -1);
    if (added) at->second = value_of(input);
    return Emission::whole(at->second, input.type());
  }

  // -1 where only a step of the run can tell.
  ValueId value_of(const Value& input) {
    const Node& node = input.producer();
    const auto& host = node.host_values[size_t(input.result)];
    if (is_input(node)) return input_on_host(node.name);
    if (const Tensor* tensor = tensor_of(node)) {
      const ValueId value = emission_.make_host_value(input.type(), node.name);
      lowered_.values.back().kind = ValueKind::constant;
      lowered_.values.back().source = *tensor;
      return value;
    }
    if (!host) return -1;
    const ValueId value = emission_.make_host_value(input.type(), node.name);
    Emission::add(Write{value, {host->elements.begin(), host->elements.end()}}, input.node,
                  lowered_.bind);
    return value;
  }

  // An input that only the host reads has a value all the same, of which a device sees nothing.
  ValueId input_on_host(const std::string& name) {
    for (Lowered::Source& input : lowered_.inputs) {
      if (input.name != name) continue;
      if (input.value < 0) {
        input.value = emission_.make_host_value(input.type, name);
        lowered_.values.back().kind = ValueKind::input;
      }
      return input.value;
    }
    return -1;
  }

  const Graph& graph_;
  Lowered& lowered_;
  Emission& emission_;
  std::map<std::pair<int, int>, ValueId> made_;  // by node and result
};

}  // namespace

void add_bind_steps(const Graph& graph, Lowered& lowered, Emission& emission) {
  BindSteps(graph, lowered, emission).add();
}

}  // namespace rlx::detail
