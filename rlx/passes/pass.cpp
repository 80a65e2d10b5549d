#include "rlx/passes/pass.h"

#include "rlx/ir/host_symbols.h"

namespace rlx {
namespace {

// Symbols that are told by running a node are numbered by it. Where nodes before it went, it has
// others, and attributes that speak of the old ones are to speak of these.
class Renaming {
 public:
  void note(const Node& from, const Values& to) {
    for (size_t r = 0; r < to.size(); ++r) {
      const Dims &was = from.types[r].shape, &is = to[r].shape();
      for (size_t d = 0; d < std::min(was.size(), is.size()); ++d) note(was[d], is[d]);
      const std::optional<HostValue>& host = from.host_values[r];
      if (!host || !host->own_symbols) continue;
      const std::optional<HostValue>& now = to[r].producer().host_values[size_t(to[r].result)];
      if (!now) make_symbols(to[r]);
      for (size_t i = 0; now && i < host->elements.size(); ++i)
        note(host->elements[i], now->elements[i]);
    }
  }

  Attrs operator()(const Attrs& attrs) const {
    Attrs result = attrs;
    if (renamed_.empty()) return result;
    for (const auto& [name, attr] : attrs)
      if (const auto* dims = std::get_if<Dims>(&attr.variant())) {
        Dims now;
        for (const Dim& dim : *dims) now.push_back(dim.substitute(renamed_));
        result.set(name, now);
      }
    return result;
  }

 private:
  void note(const Dim& was, const Dim& is) {
    if (const auto symbol = was.symbol(); symbol && !(was == is))
      renamed_.insert_or_assign(*symbol, is);
  }

  std::map<std::string, Dim> renamed_;
};

}  // namespace

Graph rebuild(const Graph& from, const Rewrite& rewrite, const std::vector<bool>* keep) {
  Graph to;
  for (const auto& [name, range] : from.symbols()) to.symbol(name, range.high, range.low);
  std::vector<Values> moved;
  Renaming renaming;
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
      renaming.note(node, results);
      continue;
    }
    Values inputs;
    for (const Value& input : node.inputs) inputs.push_back(moved_to(input));
    const Attrs attrs = renaming(node.attrs);
    if (auto better = rewrite({node, at, inputs, attrs, to})) {
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
