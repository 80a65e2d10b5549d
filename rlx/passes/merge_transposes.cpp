// transpose(transpose(x)) -> transpose(x), or x itself when the two cancel.

#include <algorithm>

#include "rlx/ops/ops_core.h"
#include "rlx/ops/views.h"
#include "rlx/passes/passes.h"

namespace rlx {

const OpDef& transpose_op();

namespace {

Ints compose(const Ints& inner, const Ints& outer) {
  Ints order;
  for (const int64_t axis : outer) order.push_back(inner[size_t(axis)]);
  return order;
}

bool is_identity(const Ints& order) {
  for (size_t i = 0; i < order.size(); ++i)
    if (order[i] != static_cast<int64_t>(i)) return false;
  return true;
}

Ints order_of(const Attrs& attrs, const TensorType& x) {
  return transpose_order(attrs.get<Ints>("order"), x);
}

bool is_transpose(const Node& node) { return node.op.get() == &transpose_op(); }

PassResult run(const Graph& graph) {
  int64_t changes = 0;
  const Nodes& nodes = graph.nodes();
  if (std::none_of(nodes.begin(), nodes.end(), [](const Node& node) {
        return is_transpose(node) && is_transpose(node.inputs[0].producer());
      }))
    return {};
  Graph result = rebuild(graph, [&](const RewriteSite& site) -> std::optional<Values> {
    if (!is_transpose(site.node) || !is_transpose(site.inputs[0].producer())) return std::nullopt;
    ++changes;
    return Values{merged_transpose(site.inputs[0], order_of(site.attrs, site.inputs[0].type()))};
  });
  return {std::move(result), changes};
}

}  // namespace

Value merged_transpose(Value x, Ints order) {
  const Node& inner = x.producer();
  if (is_transpose(inner)) {
    x = inner.inputs[0];
    order = compose(order_of(inner.attrs, x.type()), order);
  }
  return is_identity(order) ? x : transpose(x, order);
}

const Pass merge_transposes{"merge-transposes",
                            "Merges a transpose of a transpose into one, or none.", run};

}  // namespace rlx
