#include "rlx/passes/pass.h"

namespace rlx {

Graph rebuild(const Graph& from, const Rewrite& rewrite, const std::vector<bool>* keep) {
  Graph to;
  for (const auto& [name, range] : from.symbols()) to.symbol(name, range.high, range.low);
  std::vector<Values> moved;
  const auto moved_to = [&](Value value) {
    return value.present() ? moved[size_t(value.node)][size_t(value.result)] : Value{};
  };
  for (int at = 0; at < static_cast<int>(from.nodes().size()); ++at) {
    const Node& node = from.node(at);
    Values& results = moved.emplace_back();
    if (keep && !(*keep)[size_t(at)]) {
      results.resize(node.types.size());
      continue;
    }
    if (is_source(node)) {
      results = {to.add_source(*node.op, node.types[0], node.attrs, node.name)};
      continue;
    }
    Values inputs;
    for (const Value& input : node.inputs) inputs.push_back(moved_to(input));
    if (auto better = rewrite(from, at, inputs, to)) {
      results = std::move(*better);
      continue;
    }
    const Value first = to.add(node.op, inputs, node.attrs, node.name);
    to.set_origin(first, node.origin);
    for (size_t r = 0; r < node.types.size(); ++r) results.push_back(first.of(static_cast<int>(r)));
  }
  for (const GraphOutput& output : from.outputs()) to.output(output.name, moved_to(output.value));
  for (const StateUpdate& update : from.updates())
    to.update(moved_to(update.state), moved_to(update.next));
  return to;
}

}  // namespace rlx
