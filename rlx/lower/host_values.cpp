#include "rlx/lower/host_values.h"

#include <algorithm>
#include <set>

#include "rlx/ir/known.h"

namespace rlx {
namespace {

bool is_host_operand(const OpDef& op, size_t input) {
  return std::count(op.host_inputs.begin(), op.host_inputs.end(), input) != 0;
}

}  // namespace

std::vector<bool> host_only_nodes(const Graph& graph, bool is_body) {
  const size_t size = graph.nodes().size();
  std::vector<bool> used(size, false), on_device(size, false);
  for (const GraphOutput& output : graph.outputs()) on_device[size_t(output.value.node)] = true;
  for (const StateUpdate& update : graph.updates()) on_device[size_t(update.next.node)] = true;
  const std::vector<bool> bindable = bindable_nodes(graph, is_body);
  for (size_t at = size; at-- > 0;) {
    const Node& node = graph.nodes()[at];
    const bool host = used[at] && !on_device[at] && !is_state(node);
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      if (!node.inputs[i].present()) continue;
      const Value input = node.inputs[i];
      const size_t producer = size_t(input.node);
      used[producer] = true;
      // A host operand that the host cannot compute (of floats, for instance) is computed on the
      // device.
      const bool written = input.producer().host_values[size_t(input.result)].has_value();
      const bool reads = !host || (!bindable[at] && !written);
      if (reads && !is_host_operand(*node.op, i)) on_device[producer] = true;
    }
  }
  std::vector<bool> host_only(size);
  for (size_t at = 0; at < size; ++at) host_only[at] = used[at] && !on_device[at] && bindable[at];
  return host_only;
}

std::vector<bool> bindable_nodes(const Graph& graph, bool is_body) {
  std::vector<bool> bindable;
  std::vector<bool> at_bind;   // the elements are known when a run is bound: no step binds them
  std::set<std::string> told;  // the symbols that are known then
  const auto note = [&](const std::vector<Dim>& dims) {
    for (const Dim& dim : dims)
      if (const auto symbol = dim.symbol()) told.insert(*symbol);
  };
  const auto is_told = [&](const Dim& dim) {
    const std::vector<std::string> symbols = dim.symbols();
    return std::all_of(symbols.begin(), symbols.end(),
                       [&](const std::string& symbol) { return told.count(symbol) != 0; });
  };
  for (const Node& node : graph.nodes())
    if (is_input(node)) note(node.types[0].shape);
  for (const Node& node : graph.nodes()) {
    const bool small = std::all_of(node.types.begin(), node.types.end(), has_host_elements);
    const auto at_hand = [&](const Value& input) {
      return !input.present() || at_bind[size_t(input.node)];
    };
    // A result whose elements are expressions already needs no operand's data.
    const bool symbolic = !is_source(node) &&
                          std::all_of(node.host_values.begin(), node.host_values.end(),
                                      [](const auto& host) { return host && !host->own_symbols; });
    const bool counter = is_body && is_input(node) && node.host_values[0].has_value() &&
                         !node.host_values[0]->own_symbols;
    const bool sources = is_constant(node) || counter || (is_input(node) && !is_body);
    const bool computed = !is_body && !is_source(node) && node.op->reference &&
                          std::all_of(node.inputs.begin(), node.inputs.end(), at_hand);
    bindable.push_back(small && (sources || symbolic || computed));
    for (const auto& [symbol, meaning] : node.definitions)
      if (is_told(meaning)) told.insert(symbol);
    const std::optional<HostValue>& host = node.host_values[0];
    at_bind.push_back(bindable.back() && (!symbolic || std::all_of(host->elements.begin(),
                                                                   host->elements.end(), is_told)));
    if (at_bind.back())
      for (const auto& each : node.host_values)
        if (each && each->own_symbols) note(each->elements);
  }
  return bindable;
}

std::vector<bool> live_nodes(const Graph& graph) {
  std::vector<bool> live(graph.nodes().size(), false);
  for (const GraphOutput& output : graph.outputs()) live[size_t(output.value.node)] = true;
  for (const StateUpdate& update : graph.updates()) live[size_t(update.next.node)] = true;
  for (size_t at = live.size(); at-- > 0;)
    if (live[at])
      for (const Value& input : graph.nodes()[at].inputs)
        if (input.present()) live[size_t(input.node)] = true;
  return live;
}

std::string running_symbol(size_t body) { return text("body ", body, " runs"); }

}  // namespace rlx
