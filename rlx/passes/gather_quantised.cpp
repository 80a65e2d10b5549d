// gather(dequantise(table), i) -> dequantise(gather(table, i)): the few rows that are asked for
// become floats, not the whole table. Scales and zero points that vary along the gathered axis are
// gathered, too.

#include <algorithm>

#include "rlx/ops/ops_core.h"
#include "rlx/passes/passes.h"

namespace rlx {

const OpDef& dequantise_op();
const OpDef& gather_op();

namespace {

// A scale or zero point of x as it fits gather(x, indices, axis).
Value gathered(Value operand, const TensorType& x, Value indices, size_t axis) {
  if (!operand || operand.shape().empty()) return operand;
  Dims shape(x.shape.size() - operand.shape().size(), Dim(1));
  shape.insert(shape.end(), operand.shape().begin(), operand.shape().end());
  if (!shape[axis].is(1))
    return gather(reshape(operand, shape), indices, static_cast<int64_t>(axis));
  const auto at = shape.begin() + static_cast<int64_t>(axis);
  shape.insert(shape.erase(at), indices.shape().size(), Dim(1));
  return reshape(operand, shape);
}

// Extents that a run tells would have to be asked for in other places.
bool are_known(const Values& values) {
  for (const Value& value : values)
    if (value.present() && !is_concrete(value.shape())) return false;
  return true;
}

bool reads_floats_of_bytes(const Node& node) {
  return node.op.get() == &gather_op() && node.inputs[0].producer().op.get() == &dequantise_op();
}

PassResult run(const Graph& graph) {
  int64_t changes = 0;
  if (std::none_of(graph.nodes().begin(), graph.nodes().end(), reads_floats_of_bytes)) return {};
  Graph result = rebuild(graph, [&](const RewriteSite& site) -> std::optional<Values> {
    if (!reads_floats_of_bytes(site.node)) return std::nullopt;
    const Node& inner = site.inputs[0].producer();
    if (inner.op.get() != &dequantise_op() || !are_known(inner.inputs)) return std::nullopt;
    const Value table = inner.inputs[0], indices = site.inputs[1];
    const int64_t given = site.attrs.get<int64_t>("axis");
    const auto axis = static_cast<size_t>(given < 0 ? given + rank(table.type()) : given);
    Values operands{gather(table, indices, static_cast<int64_t>(axis))};
    for (size_t i = 1; i < inner.inputs.size(); ++i)
      operands.push_back(gathered(inner.inputs[i], table.type(), indices, axis));
    ++changes;
    return Values{operands[0].apply(dequantise_op(), operands)};
  });
  return {std::move(result), changes};
}

}  // namespace

const Pass gather_quantised{"gather-quantised",
                            "Gathers rows of a quantised table before they become floats.", run};

}  // namespace rlx
