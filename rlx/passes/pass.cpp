#include "rlx/passes/pass.h"

#include <numeric>

#include "rlx/ir/renaming.h"

namespace rlx {
namespace {

Graph rebuild(const Graph& from, const Rewrite& rewrite, const std::vector<bool>* keep,
              const std::vector<int>& order) {
  Graph to;
  for (const auto& [name, range] : from.symbols()) to.symbol(name, range.high, range.low);
  std::vector<Values> moved(from.nodes().size());
  Renaming renaming;
  const std::function<Value(const Value&)> moved_to = [&](const Value& value) {
    return value.present() ? moved[size_t(value.node)][size_t(value.result)] : Value{};
  };
  for (const int at : order) {
    const Node& node = from.node(at);
    Values& results = moved[size_t(at)];
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

}  // namespace

Graph rebuild(const Graph& from, const Rewrite& rewrite, const std::vector<bool>* keep) {
  std::vector<int> order(from.nodes().size());
  std::iota(order.begin(), order.end(), 0);
  return rebuild(from, rewrite, keep, order);
}

Graph reordered(const Graph& from, const std::vector<int>& order) {
  return rebuild(
      from, [](const RewriteSite&) { return std::nullopt; }, nullptr, order);
}

}  // namespace rlx
