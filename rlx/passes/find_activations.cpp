// Activations and softmax that an exporter wrote out become the one op each is.
//
// Some are then more exact than what they stand for: log(1 + exp(x)) overflows where softplus does
// not, and log(softmax(x)) is -inf where log_softmax is a number.

#include <cmath>

#include "rlx/ops/ops_activation.h"
#include "rlx/ops/ops_core.h"
#include "rlx/passes/passes.h"
#include "rlx/passes/rules.h"

namespace rlx {
namespace {

constexpr double kSqrtHalf = 0.70710678118654752, kSqrtTwoOverPi = 0.79788456080286536,
                 kCubic = 0.044715;

WhereNode clips(double low, double high) {
  return [=](const Node& node) {
    return node.attrs.get<double>("min") == low && node.attrs.get<double>("max") == high;
  };
}

using Unary = Value (*)(Value);
Rule unary(const Pattern& x, const Pattern& pattern, Unary function) {
  return {pattern, [=](const Found& found) { return function(found[x]); }};
}

void add_clips(Rules& rules) {
  const Pattern x = any(), low = number(), high = number();
  const auto clipped = [=](const Found& found) {
    const double least = found.number(low), most = found.number(high);
    return least <= most ? clip(found[x], least, most) : Value{};
  };
  rules.push_back({op("min", {op("max", {x, low}), high}), clipped});
  rules.push_back({op("max", {op("min", {x, high}), low}), clipped});
  rules.push_back(unary(x, op("max", {x, number(0)}), relu));
  const Pattern slope = number();
  rules.push_back({op("max", {x, product({x}, slope)}), [=](const Found& found) {
                     const double alpha = found.number(slope);
                     return 0 < alpha && alpha < 1 ? leaky_relu(found[x], alpha) : Value{};
                   }});
}

void add_sigmoids(Rules& rules) {
  const Pattern x = any();
  const Pattern below = sum({op("exp", {product({x}, -1)})}, 1);  // 1 + exp(-x)
  rules.push_back(unary(x, product({{below, -1}}), sigmoid));
  rules.push_back(unary(x, product({x, {below, -1}}), silu));
  rules.push_back(unary(x, product({x, op("sigmoid", {x})}), silu));
}

void add_hard_ones(Rules& rules) {
  const Pattern x = any(), alpha = number(), beta = number();
  const Pattern six = op("clip", {sum({x}, 3)}, clips(0, 6));
  rules.push_back(unary(x, product({x, six}, 1.0 / 6), hard_swish));
  const Pattern sixth = op("hard_sigmoid", {x}, [](const Node& node) {
    return same_number(node.attrs.get<double>("alpha"), 1.0 / 6, DType::f32) &&
           node.attrs.get<double>("beta") == 0.5;
  });
  rules.push_back(unary(x, product({x, sixth}), hard_swish));
  const auto six_parts = [](Value of) { return hard_sigmoid(of, 1.0 / 6, 0.5); };
  rules.push_back(unary(x, product({six}, 1.0 / 6), six_parts));
  const Pattern line = sum({product({x}, alpha)}, beta);
  rules.push_back({op("clip", {line}, clips(0, 1)), [=](const Found& found) {
                     return hard_sigmoid(found[x], found.number(alpha), found.number(beta));
                   }});
}

void add_soft_ones(Rules& rules) {
  const Pattern x = any();
  rules.push_back(unary(x, op("log", {sum({op("exp", {x})}, 1)}), softplus));
  rules.push_back(unary(x, op("log1p", {op("exp", {x})}), softplus));
  rules.push_back(unary(x, product({x, op("tanh", {op("softplus", {x})})}), mish));
  rules.push_back(unary(x, product({x, {sum({op("abs", {x})}, 1), -1}}), softsign));
}

void add_gelus(Rules& rules) {
  const Pattern x = any();
  const Pattern bell = op("erf", {product({x}, kSqrtHalf)});
  rules.push_back(unary(x, product({x, sum({bell}, 1)}, 0.5), gelu));
  rules.push_back(unary(x, product({x, sum({product({bell}, 0.5)}, 0.5)}), gelu));
  const auto curve = [&](double scale) {
    return either({product({sum({x, product({{x, 3}}, kCubic)})}, scale),
                   product({x, sum({product({{x, 2}}, kCubic)}, 1)}, scale)});
  };
  const Pattern turn = op("tanh", {curve(kSqrtTwoOverPi)});
  rules.push_back(unary(x, product({x, sum({turn}, 1)}, 0.5), gelu_tanh));
  rules.push_back(unary(x, product({x, sum({product({turn}, 0.5)}, 0.5)}), gelu_tanh));
  const Pattern gate = op("sigmoid", {curve(2 * kSqrtTwoOverPi)});
  rules.push_back(unary(x, product({x, gate}), gelu_tanh));
}

// The axis of a reduction over one, which keeps it.
std::optional<int64_t> kept_axis(const Node& node) {
  const Ints& axes = node.attrs.get<Ints>("axes");
  if (axes.size() != 1 || !node.attrs.get<bool>("keep")) return std::nullopt;
  return axes[0] < 0 ? axes[0] + rank(node.inputs[0].type()) : axes[0];
}
bool keeps_axis(const Node& node) { return kept_axis(node).has_value(); }

void add_softmax(Rules& rules) {
  const Pattern x = any();
  const Pattern highest = op("reduce_max", {x}, keeps_axis);
  const Pattern shifted = sum({x, {highest, -1}}), weight = op("exp", {shifted});
  const Pattern total = op("sum", {weight}, keeps_axis);
  const auto along = [=](Value (*function)(Value, int64_t)) {
    return [=](const Found& found) {
      const auto axis = kept_axis(found.node(total));
      return axis == kept_axis(found.node(highest)) ? function(found[x], *axis) : Value{};
    };
  };
  rules.push_back({product({weight, {total, -1}}), along(softmax)});
  rules.push_back({sum({x, {highest, -1}, {op("log", {total}), -1}}), along(log_softmax)});
  rules.push_back({sum({shifted, {op("log", {total}), -1}}), along(log_softmax)});
  // As rows of a matrix, which older exporters mean by an axis.
  const Pattern rows = op("reshape", {x}), of_rows = op("softmax", {rows}, [](const Node&node) {
                                             const int64_t axis = node.attrs.get<int64_t>("axis");
                                             return axis == -1 || axis == rank(node.types[0]) - 1;
                                           });
  rules.push_back({op("reshape", {of_rows}), [=](const Found& found) {
                     const Dims& shape = found[x].shape();
                     return !shape.empty() && shape.back() == found[rows].shape().back()
                                ? softmax(found[x])
                                : Value{};
                   }});
  // x - logsumexp(x) is none: beside an infinity it has -inf where log_softmax has NaN.
  const Pattern soft = op("softmax", {x});
  rules.push_back({op("log", {soft}), [=](const Found& found) {
                     return log_softmax(found[x], found.node(soft).attrs.get<int64_t>("axis"));
                   }});
}

int64_t run(Changing& graph, NearMisses* misses) {
  static const Rules rules = [] {
    Rules all;
    add_clips(all);
    add_sigmoids(all);
    add_hard_ones(all);
    add_soft_ones(all);
    add_gelus(all);
    add_softmax(all);
    return all;
  }();
  return apply_rules(graph, rules, misses);
}

}  // namespace

const Pass find_activations{"find-activations", "Finds activations that are written out.", run};

}  // namespace rlx
