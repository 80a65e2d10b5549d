// A reshape or expand whose shape is computed, but known as expressions of symbols, has it as an
// attribute, and so has a slice its ends: the arithmetic behind them, and its use of other values'
// shapes, is then dead.

#include <algorithm>

#include "rlx/ops/ops_core.h"
#include "rlx/passes/passes.h"

namespace rlx {

const OpDef& reshape_op();
const OpDef& expand_op();
const OpDef& slice_op();

namespace {

bool is_known(const Value& value) {
  const auto& host = value.producer().host_values[static_cast<size_t>(value.result)];
  return host && !host->own_symbols;
}

Dims elements_of(const Value& value) {
  const auto& host = *value.producer().host_values[static_cast<size_t>(value.result)];
  return {host.elements.begin(), host.elements.end()};
}

// Has it operands that may be attributes?
bool may_change(const Node& node, const Values& in) {
  if (!node.definitions.empty() || in.size() < 2 || !in[1].present() || !is_known(in[1]))
    return false;
  if (node.op.get() == &slice_op()) return in.size() > 2 && in[2].present() && is_known(in[2]);
  return node.op.get() == &reshape_op() || node.op.get() == &expand_op();
}

// The slice with its ends as attributes; none where a run tells them.
std::optional<Value> known_slice(const RewriteSite& site) {
  const Values& in = site.inputs;
  if (site.node.op.get() != &slice_op()) return std::nullopt;
  Attrs attrs = site.attrs;
  attrs.set("starts", elements_of(in[1]));
  attrs.set("ends", elements_of(in[2]));
  return in[0].apply(slice_op(), {in[0]}, attrs);
}

PassResult run(const Graph& graph) {
  int64_t changes = 0;
  const Nodes& nodes = graph.nodes();
  if (std::none_of(nodes.begin(), nodes.end(),
                   [](const Node& node) { return may_change(node, node.inputs); }))
    return {};
  Graph result = rebuild(graph, [&](const RewriteSite& site) -> std::optional<Values> {
    const Node& node = site.node;
    if (!may_change(node, site.inputs)) return std::nullopt;
    if (const auto sliced = known_slice(site)) {
      site.to.set_name(*sliced, node.name);
      site.to.set_origin(*sliced, node.origin);
      ++changes;
      return Values{*sliced};
    }
    // The type that the operand decides in the new graph, in whose symbols the attribute speaks.
    const Dims shape = site.to.add(node.op, site.inputs, site.attrs, node.name).shape();
    for (const Dim& dim : shape)
      if (dim.is(0)) return std::nullopt;  // which copies an extent
    const Value x = site.inputs[0];
    const Value made = node.op.get() == &reshape_op() ? reshape(x, shape) : expand(x, shape);
    site.to.set_name(made, node.name);
    site.to.set_origin(made, node.origin);
    ++changes;
    return Values{made};
  });
  return {std::move(result), changes};
}

}  // namespace

const Pass known_shapes{"known-shapes", "Makes shapes that symbols decide attributes.", run};

}  // namespace rlx
