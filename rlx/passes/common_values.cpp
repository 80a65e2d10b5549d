// Two nodes with the same op, operands and attributes compute the same: the second becomes the
// first.

#include "rlx/passes/passes.h"

namespace rlx {
namespace {

Graph run(const Graph& graph) {
  std::multimap<std::pair<const OpDef*, int>, Value> seen;  // by op and first operand
  return rebuild(graph, [&](const RewriteSite& site) -> std::optional<Values> {
    const Node& node = site.node;
    const Values& inputs = site.inputs;
    const std::pair key(node.op.get(), inputs.empty() ? -1 : inputs[0].node);
    const auto [begin, end] = seen.equal_range(key);
    for (auto it = begin; it != end; ++it) {
      const Node& other = it->second.producer();
      if (other.inputs != inputs || !(other.attrs == site.attrs)) continue;
      Values same;
      for (size_t r = 0; r < node.types.size(); ++r)
        same.push_back(it->second.of(static_cast<int>(r)));
      return same;
    }
    const Value first = site.to.add(node.op, inputs, site.attrs, node.name);
    site.to.set_origin(first, node.origin);
    seen.emplace(key, first);
    Values results;
    for (size_t r = 0; r < node.types.size(); ++r) results.push_back(first.of(static_cast<int>(r)));
    return results;
  });
}

}  // namespace

const Pass common_values{"common-values", "Computes equal nodes once.", run};

}  // namespace rlx
