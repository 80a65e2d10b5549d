// ONNX operators over rows: reductions, softmax, normalisation, search, losses.

#include "rlx/ops/ops_reduction.h"

#include <algorithm>

#include "rlx/import/onnx/site.h"
#include "rlx/ops/ops_channel_norm.h"
#include "rlx/ops/ops_core.h"
#include "rlx/ops/ops_cumulative.h"
#include "rlx/ops/ops_loss.h"
#include "rlx/ops/ops_norm.h"
#include "rlx/ops/ops_search.h"
#include "rlx/ops/ops_sort.h"

namespace rlx::onnx {
namespace {

using Site = const NodeSite&;

// Axes were an attribute and became an operand, of ReduceSum first.
std::optional<Ints> axes_of(Site site, int64_t operand_since) {
  if (site.opset >= operand_since && site.has(1)) return site.known_ints(1);
  if (site.attribute("axes")) return site.ints("axes");
  return std::nullopt;
}

// Where no axis is to be reduced, squares, logarithms and the like are still taken of each element.
template <Value (*kFunction)(Value, const Ints&, bool), int64_t kOperandSince = 18,
          bool kChangesElements = false>
Items reduction(Site site) {
  const Value x = site.in(0);
  Ints axes = axes_of(site, kOperandSince).value_or(Ints{});
  if (axes.empty() && site.flag("noop_with_empty_axes"))
    return {kChangesElements ? kFunction(unsqueeze(x, {-1}), {-1}, false) : x};
  return {kFunction(x, axes, site.flag("keepdims", true))};
}

template <Value (*kFunction)(Value, int64_t, bool, bool)>
Items extreme(Site site) {
  return {kFunction(site.in(0), site.integer("axis", 0), site.flag("keepdims", true),
                    site.flag("select_last_index"))};
}

// Before opset 13 softmax was taken over all axes from `axis` on.
template <Value (*kFunction)(Value, int64_t)>
Items soft(Site site) {
  const Value x = site.in(0);
  if (site.opset >= 13) return {kFunction(x, site.integer("axis", -1))};
  const int64_t axis = site.integer("axis", 1);
  return {reshape(kFunction(flatten(x, axis), -1), x.shape())};
}

Value one_where_largest(Value x, int64_t axis) {
  const int64_t dims = rank(x.type()), at = axis < 0 ? axis + dims : axis;
  Dims along(static_cast<size_t>(dims), 1);
  along.at(static_cast<size_t>(at)) = x.shape()[static_cast<size_t>(at)];
  const Value places = reshape(counting(x, along[static_cast<size_t>(at)]), along);
  return cast(equal(argmax(x, axis, true, false), places), x.dtype());
}

Items layer_norm_operator(Site site) {
  const Value x = site.in(0);
  const int64_t axis = site.integer("axis", -1);
  const double epsilon = site.real("epsilon", 1e-5);
  Items results{layer_norm(x, site.in(1), site.maybe(2), axis, epsilon)};
  if (site.outputs() < 2) return results;
  Ints axes;
  const int64_t first = axis < 0 ? axis + rank(x.type()) : axis;
  for (int64_t d = first; d < rank(x.type()); ++d) axes.push_back(d);
  const Value centre = mean(x, axes, true), distance = x - centre;
  const Value variance = mean(distance * distance, axes, true);
  results.push_back(centre);
  results.push_back(rsqrt(variance + site.scalar(x.dtype(), epsilon)));
  return results;
}

Items mean_variance(Site site) {
  const Value x = site.in(0);
  const Ints axes = site.ints("axes", {0, 2, 3});
  const Value distance = x - mean(x, axes, true);
  const Value deviation = sqrt(mean(distance * distance, axes, true));
  return {distance / (deviation + site.scalar(x.dtype(), 1e-9))};
}

Items batch_norm_operator(Site site) {
  const double epsilon = site.real("epsilon", 1e-5);
  const bool training = site.opset >= 14 ? site.flag("training_mode") : site.outputs() > 1;
  if (!training)
    return {batch_norm(site.in(0), site.in(1), site.in(2), site.in(3), site.in(4), epsilon)};
  const BatchNorm norm = batch_norm_training(site.in(0), site.in(1), site.in(2), site.in(3),
                                             site.in(4), epsilon, site.real("momentum", 0.9));
  return {norm.y, norm.running_mean, norm.running_variance, norm.mean, norm.variance};
}

Items instance_norm_operator(Site site) {
  return {instance_norm(site.in(0), site.in(1), site.in(2), site.real("epsilon", 1e-5))};
}
Items group_norm_operator(Site site) {
  const Value x = site.in(0);
  const int64_t groups = site.integer("num_groups");
  Value gamma = site.in(1), beta = site.in(2);
  // Opset 18 had one scale for each group.
  if (site.opset < 21) {
    if (rank(x.type()) < 2 || groups <= 0)
      site.fail_node(groups, " groups of the channels of ", x.type(), " cannot be");
    const Dim channels = x.shape()[1];
    const auto spread = [&](Value v) {
      const Dim each = floor_div(channels, groups);
      return reshape(expand(unsqueeze(v, {1}), {Dim(groups), each}), {channels});
    };
    gamma = spread(gamma);
    beta = spread(beta);
  }
  return {group_norm(x, gamma, beta, groups, site.real("epsilon", 1e-5))};
}

Items lrn_operator(Site site) {
  return {lrn(site.in(0), site.integer("size"), site.real("alpha", 1e-4), site.real("beta", 0.75),
              site.real("bias", 1))};
}

// What is nothing but zeros stays so.
Items lp_normalise(Site site) {
  const Value x = site.in(0);
  const Ints axes{site.integer("axis", -1)};
  const Value norm = site.integer("p", 2) == 1 ? l1(x, axes, true) : l2(x, axes, true);
  const auto number = [&](double value) { return site.scalar(x.dtype(), value); };
  return {x / where(equal(norm, number(0)), number(1), norm)};
}

Items cumulative(Site site) {
  const Ints axis = site.known_ints(1);
  return {cumsum(site.in(0), axis.at(0), site.flag("exclusive"), site.flag("reverse"))};
}

Items top_k_operator(Site site) {
  const Value x = site.in(0);
  const int64_t axis = site.integer("axis", -1);
  const bool largest = site.flag("largest", true);
  const auto pair = [](const TopK& found) { return Items{found.values, found.indices}; };
  if (site.opset < 10) return pair(top_k(x, site.integer("k"), axis, largest));
  if (const auto k = site.maybe_ints(1)) return pair(top_k(x, k->at(0), axis, largest));
  return pair(top_k(x, site.in(1), axis, largest));
}

Items unique_operator(Site site) {
  std::optional<int64_t> axis;
  if (site.attribute("axis")) axis = site.integer("axis");
  const Unique found = unique(site.in(0), axis, site.flag("sorted", true));
  return {found.values, found.indices, found.inverse, found.counts};
}
Items non_zero_operator(Site site) { return {non_zero(site.in(0))}; }

// Classes are along axis 1.
ClassLossOptions loss_options(Site site) {
  ClassLossOptions options{.reduction = site.string("reduction", "mean"), .axis = 1};
  if (site.attribute("ignore_index")) options.ignore_index = site.integer("ignore_index");
  return options;
}
Items cross_entropy(Site site) {
  Items results{softmax_cross_entropy(site.in(0), site.in(1), site.maybe(2), loss_options(site))};
  if (site.outputs() > 1) results.emplace_back(log_softmax(site.in(0), 1));
  return results;
}
Items negative_log_likelihood(Site site) {
  return {nll_loss(site.in(0), site.in(1), site.maybe(2), loss_options(site))};
}

}  // namespace

std::span<const Operator> reduction_operators() {
  static constexpr Operator kOperators[] = {
      {"ArgMax", extreme<argmax>},
      {"ArgMin", extreme<argmin>},
      {"BatchNormalization", batch_norm_operator},
      {"CumSum", cumulative},
      {"GroupNormalization", group_norm_operator},
      {"Hardmax", soft<one_where_largest>},
      {"InstanceNormalization", instance_norm_operator},
      {"LRN", lrn_operator},
      {"LayerNormalization", layer_norm_operator},
      {"LogSoftmax", soft<log_softmax>},
      {"LpNormalization", lp_normalise},
      {"MeanVarianceNormalization", mean_variance},
      {"NegativeLogLikelihoodLoss", negative_log_likelihood},
      {"NonZero", non_zero_operator},
      {"ReduceL1", reduction<l1, 18, true>},
      {"ReduceL2", reduction<l2, 18, true>},
      {"ReduceLogSum", reduction<log_sum, 18, true>},
      {"ReduceLogSumExp", reduction<logsumexp>},
      {"ReduceMax", reduction<reduce_max>},
      {"ReduceMean", reduction<mean>},
      {"ReduceMin", reduction<reduce_min>},
      {"ReduceProd", reduction<prod>},
      {"ReduceSum", reduction<sum, 13>},
      {"ReduceSumSquare", reduction<sum_square, 18, true>},
      {"Softmax", soft<softmax>},
      {"SoftmaxCrossEntropyLoss", cross_entropy},
      {"TopK", top_k_operator},
      {"Unique", unique_operator},
  };
  return kOperators;
}

}  // namespace rlx::onnx
