// What the references make of constants alone is a constant, where it is small: shapes, axes, the
// numbers of formulas. Larger values are computed once, when a program is prepared.

#include "rlx/ir/known.h"
#include "rlx/passes/passes.h"

namespace rlx {
namespace {

PassResult run(const Graph& graph) {
  int64_t changes = 0;
  Graph result = rebuild(graph, [&](const RewriteSite& site) -> std::optional<Values> {
    Values constants;
    for (size_t r = 0; r < site.node.types.size(); ++r) {
      const auto known = known_tensor(graph.value(site.at, static_cast<int>(r)));
      if (!known) return std::nullopt;
      constants.push_back(site.to.constant(*known));
    }
    ++changes;
    return constants;
  });
  return {std::move(result), changes};
}

}  // namespace

const Pass fold_constants{"fold-constants", "Computes small values that constants alone decide.",
                          run};

}  // namespace rlx
