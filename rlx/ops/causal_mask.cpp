// causal_mask(scores): which keys each query sees, as bool[S_q, S_k]; only the shape of
// scores[.., S_q, S_k] counts. Queries are the last S_q of S_k positions.

#include <algorithm>

#include "rlx/codegen/elementwise.h"
#include "rlx/ops/kernel.h"
#include "rlx/ops/ops_attention.h"

namespace rlx {

const OpDef& causal_mask_op();

namespace {

Types infer(const InferSite& site) {
  const TensorType& x = site.in(0);
  const int64_t window = site.attrs.get<int64_t>("window");
  require(rank(x) >= 2, "causal_mask: scores are ", x, ", they need rank 2 or more");
  require(window >= -1, "causal_mask: window ", window, " is negative");
  return {boolean({x.shape[x.shape.size() - 2], x.shape.back()})};
}

void reference(const ReferenceSite& site) {
  const int64_t queries = site.out().shape()[0], keys = site.out().shape()[1],
                window = site.attrs.get<int64_t>("window");
  for (int64_t i = 0; i < site.out().count(); ++i) {
    const int64_t position = i / keys + keys - queries, key = i % keys;
    site.out().set(i, key <= position && (window < 0 || key >= position - window));
  }
}

Steps lower(const LowerSite& site) {
  const int64_t window = site.attrs().get<int64_t>("window");
  constexpr int64_t kFarthest = 1 << 30;
  Formula formula;
  formula.name = "causal_mask";
  formula.result = site.results[0];
  formula.params = {{"queries", site.out().shape[0]},
                    {"keys", site.out().shape[1]},
                    {"window", Dim(window < 0 ? kFarthest : std::min(window, kFarthest))}};
  formula.expression =
      "i % keys + queries <= i / keys + keys && i % keys + queries + window >= i / keys + keys";
  return generate(formula, site.traits);
}

}  // namespace

const OpDef& causal_mask_op() {
  static const OpDef op{
      .name = "causal_mask",
      .family = "attention",
      .inputs = {1, 1, {"scores"}},
      .attrs = {{"window", -1}},
      .infer = infer,
      .reference = reference,
      .lower = lower,
      .gradient = [](const GradientSite&) { return Gradients{std::nullopt}; },
      .never_fails = true,
  };
  return op;
}

Value causal_mask(Value scores, int64_t window) {
  return scores.apply(causal_mask_op(), {scores}, {{"window", window}});
}

}  // namespace rlx
