// A transpose of [1, 12, S, D] that moves the first axis is a reshape, or a transpose of the others
// and a reshape: extents of 1 lie anywhere. Passes behind this one then see less of an order.

#include "rlx/ops/ops_core.h"
#include "rlx/ops/views.h"
#include "rlx/passes/passes.h"
#include "rlx/passes/rules.h"

namespace rlx {
namespace {

// The order with axes of 1 where they are, the others among themselves as they were to be.
Ints without_units(const Ints& order, const Dims& shape) {
  std::vector<int64_t> others;
  for (const int64_t axis : order)
    if (!shape[size_t(axis)].is(1)) others.push_back(axis);
  Ints result;
  auto next = others.begin();
  for (size_t axis = 0; axis < shape.size(); ++axis)
    result.push_back(shape[axis].is(1) ? int64_t(axis) : *next++);
  return result;
}

int64_t run(Changing& graph, NearMisses* misses) {
  static const Rules rules = [] {
    const Pattern x = any(), root = op("transpose", {x});
    return Rules{{root, [=](const Found& found) {
                    const Node& node = found.node(root);
                    const TensorType type = found[x].type();
                    const Ints order = transpose_order(node.attrs.get<Ints>("order"), type);
                    const Ints less = without_units(order, type.shape);
                    if (less == order) return Value{};
                    const Value moved = merged_transpose(found[x], less);
                    return reshape(moved, found.type().shape);
                  }}};
  }();
  return apply_rules(graph, rules, misses);
}

}  // namespace

const Pass unit_transposes{"unit-transposes",
                           "Makes reshapes of what transposes do to extents of 1.", run};

}  // namespace rlx
