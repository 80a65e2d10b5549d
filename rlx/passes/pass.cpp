#include "rlx/passes/pass.h"

#include "rlx/ir/renaming.h"

namespace rlx {
Graph rebuild(const Graph& from, const Rewrite& rewrite, const std::vector<bool>* keep) {
  Graph to;
  for (const auto& [name, range] : from.symbols()) to.symbol(name, range.high, range.low);
  std::vector<Values> moved;
  Renaming renaming;
  const std::function<Value(const Value&)> moved_to = [&](const Value& value) {
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
      renaming.note(node, results);
      continue;
    }
    Values inputs;
    for (const Value& input : node.inputs) inputs.push_back(moved_to(input));
    const Attrs attrs = renaming(node.attrs);
    if (auto better = rewrite({node, at, inputs, attrs, to, moved_to})) {
      results = std::move(*better);
      renaming.note(node, results);
      continue;
    }
    const Value first = to.add(node.op, inputs, attrs, node.name);
    to.set_origin(first, node.origin);
    for (size_t r = 0; r < node.types.size(); ++r) results.push_back(first.of(static_cast<int>(r)));
    renaming.note(node, results);
  }
  for (const GraphOutput& output : from.outputs()) to.output(output.name, moved_to(output.value));
  for (const StateUpdate& update : from.updates())
    to.update(moved_to(update.state), moved_to(update.next));
  return to;
}

}  // namespace rlx
