// A reshape or expand whose shape is computed, but known as expressions of symbols, has it as an
// attribute: the arithmetic behind it, and its use of other values' shapes, is then dead.

#include "rlx/ops/ops_core.h"
#include "rlx/passes/passes.h"

namespace rlx {

const OpDef& reshape_op();
const OpDef& expand_op();

namespace {

bool is_known(const Value& value) {
  const auto& host = value.producer().host_values[static_cast<size_t>(value.result)];
  return host && !host->own_symbols;
}

PassResult run(const Graph& graph) {
  int64_t changes = 0;
  Graph result = rebuild(graph, [&](const RewriteSite& site) -> std::optional<Values> {
    const Node& node = site.node;
    const bool shaped = node.op.get() == &reshape_op() || node.op.get() == &expand_op();
    if (!shaped || node.inputs.size() < 2 || !node.inputs[1].present()) return std::nullopt;
    if (!is_known(site.inputs[1]) || !node.definitions.empty()) return std::nullopt;
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
