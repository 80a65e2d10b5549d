// What the references make of constants alone is a constant, where it is small: shapes, axes, the
// numbers of formulas. Larger values are computed once, when a program is prepared.

#include "rlx/ir/known.h"
#include "rlx/passes/passes.h"

namespace rlx {
namespace {

bool is_known(const Graph& graph, int at) {
  const size_t results = graph.node(at).types.size();
  for (size_t r = 0; r < results; ++r)
    if (!known_tensor(graph.value(at, static_cast<int>(r)))) return false;
  return true;
}

PassResult run(const Graph& graph) {
  int64_t changes = 0;
  for (int at = 0; at < static_cast<int>(graph.nodes().size()); ++at)
    changes += !is_source(graph.node(at)) && is_known(graph, at);
  if (changes == 0) return {};
  Graph result = rebuild(graph, [&](const RewriteSite& site) -> std::optional<Values> {
    if (!is_known(graph, site.at)) return std::nullopt;
    Values constants;
    for (size_t r = 0; r < site.node.types.size(); ++r)
      constants.push_back(
          site.to.constant(*known_tensor(graph.value(site.at, static_cast<int>(r)))));
    return constants;
  });
  return {std::move(result), changes};
}

}  // namespace

const Pass fold_constants{"fold-constants", "Computes small values that constants alone decide.",
                          run};

}  // namespace rlx
