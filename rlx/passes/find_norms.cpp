// Norms that an exporter wrote out, as means, differences and roots, become layer_norm, rms_norm or
// group_norm.

#include <algorithm>
#include <numeric>

#include "rlx/ops/ops_channel_norm.h"
#include "rlx/ops/ops_core.h"
#include "rlx/ops/ops_norm.h"
#include "rlx/ops/views.h"
#include "rlx/passes/passes.h"
#include "rlx/passes/rules.h"
#include "rlx/passes/weights.h"

namespace rlx {
namespace {

// The first of the axes that a reduction is over, where they are the last ones and are kept.
std::optional<int64_t> first_of_last_axes(const Node& node) {
  const int64_t rank_of_x = rank(node.inputs[0].type());
  Ints axes = node.attrs.get<Ints>("axes");
  if (!node.attrs.get<bool>("keep")) return std::nullopt;
  if (axes.empty()) return 0;
  for (int64_t& axis : axes) axis += axis < 0 ? rank_of_x : 0;
  std::sort(axes.begin(), axes.end());
  for (size_t i = 0; i < axes.size(); ++i)
    if (axes[i] != rank_of_x - static_cast<int64_t>(axes.size() - i)) return std::nullopt;
  return axes[0];
}
bool over_last_axes(const Node& node) { return first_of_last_axes(node).has_value(); }

bool has_no_operand(const Node& node, size_t i) {
  return node.inputs.size() <= i || !node.inputs[i].present();
}
bool is_bare(const Node& node) { return has_no_operand(node, 1) && has_no_operand(node, 2); }
bool has_no_beta(const Node& node) { return has_no_operand(node, 2); }

int64_t axis_from_start(const Node& norm) {
  const int64_t axis = norm.attrs.get<int64_t>("axis");
  return axis < 0 ? axis + rank(norm.inputs[0].type()) : axis;
}
double epsilon_of(const Node& norm) { return norm.attrs.get<double>("epsilon"); }

Dims trailing(const Dims& shape, int64_t axis) { return Dims(shape.begin() + axis, shape.end()); }

struct Parts {
  Pattern x = any(), epsilon = number();
  Pattern centre = op("mean", {x}, over_last_axes), distance = sum({x, {centre, -1}});
  // As the mean of squares minus the square of the mean, too, which is less exact than the norm.
  Pattern square = op("mean", {product({{x, 2}})}, over_last_axes);
  Pattern moments = sum({square, {product({{centre, 2}}), -1}});
  Pattern variance =
      either({op("mean", {product({{distance, 2}})}, over_last_axes),
              op("mean_square", {distance}, over_last_axes), moments, op("relu", {moments})});
  Pattern deviation = sum({variance}, epsilon);

  bool have_one_axis(const Found& found) const {
    return first_of_last_axes(found.node(centre)) ==
           first_of_last_axes(found.node(found.has(square) ? square : variance));
  }
};

void add_layer_norm(Rules& rules) {
  const Parts p;
  const Pattern gamma = once(), beta = once();
  const auto whole = [=](const Found& found) {
    const auto axis = first_of_last_axes(found.node(p.centre));
    if (!p.have_one_axis(found)) return Value{};
    const Value x = found[p.x];
    const auto weight = [&](const Pattern& pattern) {
      return found.has(pattern) ? in_shape(found[pattern], trailing(x.shape(), *axis)) : Value{};
    };
    const Value scale = weight(gamma), shift = weight(beta);
    if (found.has(gamma) != scale.present() || found.has(beta) != shift.present()) return Value{};
    return layer_norm(x, scale, shift, *axis, found.number(p.epsilon));
  };
  // TensorFlow: x * s + (beta - mean * s), where s = gamma / deviation.
  rules.push_back({sum({product({p.x, {p.deviation, -0.5}, gamma}),
                        beta,
                        {product({p.centre, {p.deviation, -0.5}, gamma}), -1}}),
                   whole});
  rules.push_back({product({p.distance, {p.deviation, -0.5}, gamma}), whole});
  rules.push_back({product({p.distance, {p.deviation, -0.5}}), whole});

  const Pattern x = any();
  const Pattern bare = op("layer_norm", {x}, is_bare), scaled = op("layer_norm", {x}, has_no_beta);
  rules.push_back({product({bare, gamma}), [=](const Found& found) {
                     const Node& norm = found.node(bare);
                     const int64_t axis = axis_from_start(norm);
                     const Value scale = in_shape(found[gamma], trailing(found[x].shape(), axis));
                     return scale ? layer_norm(found[x], scale, {}, axis, epsilon_of(norm))
                                  : Value{};
                   }});
  rules.push_back({sum({scaled, beta}), [=](const Found& found) {
                     const Node& norm = found.node(scaled);
                     const int64_t axis = axis_from_start(norm);
                     const Value shift = in_shape(found[beta], trailing(found[x].shape(), axis));
                     return shift ? layer_norm(found[x], found.operand(scaled, 1), shift, axis,
                                               epsilon_of(norm))
                                  : Value{};
                   }});
}

// The axis of a reduction over one that is not the last, and is kept.
std::optional<int64_t> inner_axis(const Node& node) {
  const int64_t rank_of_x = rank(node.inputs[0].type());
  const Ints& axes = node.attrs.get<Ints>("axes");
  if (axes.size() != 1 || !node.attrs.get<bool>("keep")) return std::nullopt;
  const int64_t axis = axes[0] < 0 ? axes[0] + rank_of_x : axes[0];
  return axis + 1 < rank_of_x ? std::optional(axis) : std::nullopt;
}
bool over_inner_axis(const Node& node) { return inner_axis(node).has_value(); }

// layer_norm over an axis that is brought to the end, and back behind it.
Value norm_along(Value x, int64_t axis, Value gamma, Value beta, double epsilon) {
  Ints there(x.shape().size()), back;
  std::iota(there.begin(), there.end(), 0);
  std::rotate(there.begin() + axis, there.begin() + axis + 1, there.end());
  for (size_t d = 0; d < there.size(); ++d)
    back.push_back(std::find(there.begin(), there.end(), static_cast<int64_t>(d)) - there.begin());
  return transpose(layer_norm(transpose(x, there), gamma, beta, -1, epsilon), back);
}

// Over channels that come first, as convolutions have them.
void add_channels_first(Rules& rules) {
  const Pattern x = any(), epsilon = number(), weight = once();
  const Pattern centre = op("mean", {x}, over_inner_axis), distance = sum({x, {centre, -1}});
  const Pattern variance = either({op("mean", {product({{distance, 2}})}, over_inner_axis),
                                   op("mean_square", {distance}, over_inner_axis)});
  rules.push_back({product({distance, {sum({variance}, epsilon), -0.5}}), [=](const Found& found) {
                     const auto axis = inner_axis(found.node(centre));
                     if (axis != inner_axis(found.node(variance))) return Value{};
                     return norm_along(found[x], *axis, {}, {}, found.number(epsilon));
                   }});
  const auto is_back = [](const Node& node) {
    const int64_t last = rank(node.types[0]) - 1;
    return transpose_order(node.attrs.get<Ints>("order"), node.inputs[0].type()).back() != last;
  };
  const auto weighed = [&](const Pattern& norm, bool adds) {
    const Pattern back = op("transpose", {norm}, is_back);
    rules.push_back({adds ? sum({back, weight}) : product({back, weight}), [=](const Found& found) {
                       const Node& node = found.node(norm);
                       const Ints order = transpose_order(found.node(back).attrs.get<Ints>("order"),
                                                          node.types[0]);
                       const auto last = static_cast<int64_t>(order.size()) - 1;
                       const auto axis =
                           std::find(order.begin(), order.end(), last) - order.begin();
                       const Value by = in_shape(found[weight], {node.types[0].shape.back()},
                                                 static_cast<size_t>(last - axis));
                       if (!by || axis_from_start(node) != last) return Value{};
                       const Value own = found.operand(norm, 1);
                       return transpose(layer_norm(found.operand(norm, 0), adds ? own : by,
                                                   adds ? by : Value{}, -1, epsilon_of(node)),
                                        order);
                     }});
  };
  weighed(op("layer_norm", {any()}, is_bare), false);
  weighed(op("layer_norm", {any()}, has_no_beta), true);
}

void add_rms_norm(Rules& rules) {
  const Pattern x = any(), epsilon = number(), gamma = once();
  const Pattern square = either(
      {op("mean", {product({{x, 2}})}, over_last_axes), op("mean_square", {x}, over_last_axes)});
  rules.push_back({product({x, {sum({square}, epsilon), -0.5}}), [=](const Found& found) {
                     return rms_norm(found[x], {}, *first_of_last_axes(found.node(square)),
                                     found.number(epsilon));
                   }});
  const Pattern bare = op("rms_norm", {x}, is_bare);
  rules.push_back({product({bare, gamma}), [=](const Found& found) {
                     const int64_t axis = axis_from_start(found.node(bare));
                     const Value scale = in_shape(found[gamma], trailing(found[x].shape(), axis));
                     return scale ? rms_norm(found[x], scale, axis, epsilon_of(found.node(bare)))
                                  : Value{};
                   }});
}

// A norm of x in f32 that is made of and rounded to a narrower dtype is one of that dtype: norms
// are computed in f32 anyway.
void add_narrow(Rules& rules) {
  const Pattern x = any([](const Value& value) {
    return value.dtype() == DType::f16 || value.dtype() == DType::bf16;
  });
  const auto wide = [](const Node& node) { return node.types[0].dtype == DType::f32; };
  const auto bare = [=](const Node& node) { return wide(node) && is_bare(node); };
  const Pattern wider = op("cast", {x}, wide), layer = op("layer_norm", {wider}, bare),
                rms = op("rms_norm", {wider}, bare);
  rules.push_back({op("cast", {layer}), [=](const Found& found) {
                     const Node& norm = found.node(layer);
                     return layer_norm(found[x], {}, {}, axis_from_start(norm), epsilon_of(norm));
                   }});
  rules.push_back({op("cast", {rms}), [=](const Found& found) {
                     const Node& norm = found.node(rms);
                     return rms_norm(found[x], {}, axis_from_start(norm), epsilon_of(norm));
                   }});
}

// group_norm of channels x [B, C, ..] with gamma and beta [C].
Value channel_norm(Value x, Value gamma, Value beta, int64_t groups, double epsilon) {
  return groups == 0 ? instance_norm(x, gamma, beta, epsilon)
                     : group_norm(x, gamma, beta, groups, epsilon);
}
Value per_channel_weight(Value weight, Value x) {
  return x.shape().size() < 3 ? Value{} : in_shape(weight, {x.shape()[1]}, x.shape().size() - 2);
}

void add_group_norm(Rules& rules) {
  const Pattern x = any(), gamma = once(), beta = once();
  // Each channel for itself: a layer_norm over all positions, times gamma [C, 1, ..].
  const Pattern positions = op("layer_norm", {x}, [](const Node& node) {
    return is_bare(node) && axis_from_start(node) == 2;
  });
  rules.push_back({product({positions, gamma}), [=](const Found& found) {
                     const Value scale = per_channel_weight(found[gamma], found[x]);
                     return scale ? instance_norm(found[x], scale, {},
                                                  epsilon_of(found.node(positions)))
                                  : Value{};
                   }});
  // Groups of channels: [B, groups, ..] seen as rows.
  const Pattern rows = op("reshape", {x});
  const Pattern of_rows =
      either({op("layer_norm", {rows},
                 [](const Node& node) { return is_bare(node) && axis_from_start(node) == 2; }),
              op("group_norm", {rows},
                 [](const Node& node) { return node.attrs.get<int64_t>("groups") == 0; })});
  rules.push_back(
      {op("reshape", {of_rows}), [=](const Found& found) {
         const Value of = found[x];
         const Dims& parted = found[rows].shape();
         if (of.shape().size() < 2 || parted.size() < 3 || !(parted[0] == of.shape()[0]) ||
             !parted[1].is_number() || !of.shape()[1].is_number() || parted[1].number() == 0)
           return Value{};
         const int64_t groups = parted[1].number(), channels = of.shape()[1].number();
         const auto spread = [&](Value weight) {  // [groups] to [channels]
           if (!weight.present()) return weight;
           const Dims each{groups, channels / groups};
           return reshape(expand(reshape(weight, Dims{groups, 1}), each), Dims{channels});
         };
         return group_norm(of, spread(found.operand(of_rows, 1)), spread(found.operand(of_rows, 2)),
                           groups, epsilon_of(found.node(of_rows)));
       }});
  const Pattern norm = op("group_norm", {x}, has_no_beta);
  rules.push_back({product({norm, gamma}), [=](const Found& found) {
                     const Value by = per_channel_weight(found[gamma], found[x]),
                                 own = found.operand(norm, 1);
                     const Node& node = found.node(norm);
                     return by ? channel_norm(found[x], own ? own * by : by, {},
                                              node.attrs.get<int64_t>("groups"), epsilon_of(node))
                               : Value{};
                   }});
  rules.push_back({sum({norm, beta}), [=](const Found& found) {
                     const Value shift = per_channel_weight(found[beta], found[x]);
                     const Node& node = found.node(norm);
                     return shift
                                ? channel_norm(found[x], found.operand(norm, 1), shift,
                                               node.attrs.get<int64_t>("groups"), epsilon_of(node))
                                : Value{};
                   }});
}

int64_t run(Changing& graph, NearMisses* misses) {
  static const Rules rules = [] {
    Rules all;
    add_layer_norm(all);
    add_channels_first(all);
    add_rms_norm(all);
    add_narrow(all);
    add_group_norm(all);
    return all;
  }();
  return apply_rules(graph, rules, misses);
}

}  // namespace

const Pass find_norms{"find-norms", "Finds norms that are written out.", run};

}  // namespace rlx
