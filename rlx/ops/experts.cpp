// Gates and mixtures of experts, made of other ops.

#include <limits>

#include "rlx/base/error.h"
#include "rlx/ops/ops_blocks.h"
#include "rlx/ops/ops_core.h"
#include "rlx/ops/ops_experts.h"
#include "rlx/ops/ops_linear.h"
#include "rlx/ops/ops_scatter.h"
#include "rlx/ops/ops_sort.h"

namespace rlx {
namespace {

Value normalised(Value weights) { return weights / sum(weights, {-1}, true); }

// Weights that are all 0 stay 0, as in DeepSeek-V3, whose sum is 1e-20 more. f16 has no such
// number.
Value normalised_or_zero(Value weights) {
  const Value wide = bytes_of(weights.dtype()) < 4 ? cast(weights, DType::f32) : weights;
  const Value total = sum(wide, {-1}, true);
  return cast(wide / (total + scalar(total, 1e-20)), weights.dtype());
}

void check_scores(const char* op, Value scores) {
  require(is_float(scores.dtype()) && rank(scores.type()) == 2, op, ": scores are ", scores.type(),
          ", they need to be floats [T, E]");
}

Value silu(Value x) { return x * sigmoid(x); }

// Rows of x that `rows` tells, times the experts that `expert` names.
Value product(Value x, Value w, Value expert, const ExpertWeights& experts) {
  return experts.format.empty() ? grouped_matmul(x, w, expert)
                                : grouped_matmul(x, w, expert, experts.format, experts.block);
}

Value expert_layer(Value x, Value expert, const ExpertWeights& experts) {
  Value hidden = product(x, experts.up, expert, experts);
  hidden = experts.gate.present() ? silu(product(x, experts.gate, expert, experts)) * hidden
                                  : silu(hidden);
  return product(hidden, experts.down, expert, experts);
}

}  // namespace

Gate softmax_gate(Value logits, int64_t k, bool normalise) {
  check_scores("softmax_gate", logits);
  const TopK best = top_k(softmax(logits, -1), k, -1);
  return {best.indices, normalise ? normalised(best.values) : best.values};
}

Gate group_limited_gate(Value scores, Value routing, const GroupLimits& limits) {
  check_scores("group_limited_gate", scores);
  const Dim tokens = scores.shape()[0], all = scores.shape()[1];
  require(routing.type() == scores.type(), "group_limited_gate: scores are ", scores.type(),
          ", routing scores ", routing.type());
  require(all.is_number() && limits.groups > 0 && all.number() % limits.groups == 0,
          "group_limited_gate: ", all, " experts are no ", limits.groups, " groups of one size");
  const int64_t size = all.number() / limits.groups;
  require(limits.kept_groups > 0 && limits.kept_groups <= limits.groups && limits.k > 0 &&
              limits.k <= limits.kept_groups * size,
          "group_limited_gate: ", limits.k, " experts of ", limits.kept_groups, " of ",
          limits.groups, " groups of ", size);
  const Value grouped = reshape(stop_gradient(routing), Dims{tokens, limits.groups, size});
  const Value of_group = sum(top_k(grouped, size < 2 ? size : 2, -1).values, {-1});
  const Value kept = top_k(of_group, limits.kept_groups, -1).indices;
  // [T, kept, groups]: which group is which kept one, then whether it is any.
  const Value numbers = reshape(counting(kept, limits.groups), Dims{1, 1, limits.groups});
  const Value is_kept =
      reduce_max(cast(equal(unsqueeze(cast(kept, DType::i64), {2}), numbers), DType::i32), {1});
  const Value open =
      expand(unsqueeze(cast(is_kept, DType::boolean), {2}), Dims{tokens, limits.groups, size});
  const Value low = expand(scalar(routing, -std::numeric_limits<double>::infinity()),
                           Dims{tokens, limits.groups, size});
  const Value masked = reshape(where(open, grouped, low), Dims{tokens, all});
  const Value chosen = top_k(masked, limits.k, -1).indices;
  Value weights = gather_elements(scores, chosen, 1);
  if (limits.normalise) weights = normalised_or_zero(weights);
  return {chosen, weights * scalar(weights, limits.scale)};
}

Value mixture_of_experts(Value x, const Gate& gate, const ExpertWeights& experts) {
  require(
      rank(x.type()) == 2 && rank(gate.indices.type()) == 2 && gate.indices.shape()[1].is_number(),
      "mixture_of_experts: x is ", x.type(), ", experts are ", gate.indices.type(),
      "; they need to be [T, K] and [T, k]");
  const Dim tokens = x.shape()[0];
  const int64_t k = gate.indices.shape()[1].number();
  const Value named = reshape(cast(gate.indices, DType::i32), Dims{tokens * Dim(k)});
  const Value order = cast(argsort(named, 0), DType::i32);
  const Value sorted = gather(named, order, 0);
  const Value results =
      expert_layer(gather(x, order / scalar(order, static_cast<double>(k)), 0), sorted, experts);
  // Back to the order of the tokens, k results each.
  const Value back = gather(results, argsort(order, 0), 0);
  const Value by_token = reshape(back, Dims{tokens, k, results.shape()[1]});
  return sum(by_token * unsqueeze(cast(gate.weights, x.dtype()), {2}), {1});
}

}  // namespace rlx
