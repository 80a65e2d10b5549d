// softmax(q . k^T * scale + bias) . v becomes attention, which keeps no matrix of scores. So does
// one with a sink: a last column of scores, the same for all of a head, whose weights are cut off.
//
// A key of weight 0 counts for nothing then, also where v is NaN or infinite and the product would
// be NaN.
//
// A row whose keys are all masked by -inf is NaN, as softmax makes it. Where a run may have no keys
// at all the result is 0, as an empty sum is; attention cannot tell both apart, so that there only
// scores without a mask are taken. Weights whose NaN are made 0 are those of attention with empty
// rows of 0; one that is NaN because q, k or the bias is stays NaN.

#include <cmath>
#include <functional>

#include "rlx/ir/known.h"
#include "rlx/ops/kernel.h"
#include "rlx/ops/ops_attention.h"
#include "rlx/ops/ops_core.h"
#include "rlx/ops/views.h"
#include "rlx/passes/masks.h"
#include "rlx/passes/passes.h"
#include "rlx/passes/rules.h"
#include "rlx/passes/slices.h"

namespace rlx {
namespace {

bool is_last_axis(const Node& softmax) {
  const int64_t axis = softmax.attrs.get<int64_t>("axis");
  return axis == -1 || axis == rank(softmax.types[0]) - 1;
}
bool takes_rows(const Node& matmul) {
  const auto fits = [](const Value& value) {
    return rank(value.type()) >= 2 && rank(value.type()) <= 4;
  };
  return !matmul.attrs.get<bool>("transpose_a") && is_float(matmul.types[0].dtype) &&
         fits(matmul.inputs[0]) && fits(matmul.inputs[1]) &&
         rank(matmul.inputs[0].type()) == rank(matmul.inputs[1].type());
}
bool turns_second(const Node& matmul) { return matmul.attrs.get<bool>("transpose_b"); }

Value last_two_swapped(Value x) {
  Ints order;
  for (int64_t axis = 0; axis < rank(x.type()); ++axis) order.push_back(axis);
  std::swap(order[order.size() - 1], order[order.size() - 2]);
  return merged_transpose(x, order);
}

struct Scores {
  Pattern q = any(), k = any(), v = any();
  Pattern q_scale = number(), k_scale = number(), scale = number(), cap_scale = number(),
          cap = number();
  // Keys may be scaled before they are transposed, or behind that.
  Pattern turned = op("transpose", {product({k}, k_scale)});
  Pattern dots =
      op("matmul", {product({q}, q_scale), either({turned, product({k}, k_scale)})}, takes_rows);
  Pattern capped = product({op("tanh", {product({dots}, cap_scale)})}, cap);
  Pattern plain = either({capped, product({dots}, scale)});
  Pattern narrow = either({plain, op("cast", {plain})});
};

Pattern cast_or_not(const Pattern& x) { return either({x, op("cast", {x})}); }

bool joins_two(const Node& concat) {
  const int64_t axis = concat.attrs.get<int64_t>("axis");
  return concat.inputs.size() == 2 && (axis == -1 || axis == rank(concat.types[0]) - 1);
}
bool is_over_last_axis(const Node& reduction) {
  const Ints& axes = reduction.attrs.get<Ints>("axes");
  return axes.size() == 1 && (axes[0] == -1 || axes[0] == rank(reduction.inputs[0].type()) - 1);
}
bool drops_last_column(const Node& slice) {
  const Dims &from = slice.inputs[0].shape(), &to = slice.types[0].shape;
  const Ints &axes = slice.attrs.get<Ints>("axes"), &steps = slice.attrs.get<Ints>("steps");
  const auto starts = starts_of(slice);
  if (!starts || starts->size() != 1 || axes.size() != 1 || !(*starts)[0].is(0)) return false;
  const bool has_last = axes[0] == -1 || axes[0] == rank(slice.types[0]) - 1;
  return has_last && (steps.empty() || steps[0] == 1) && from.back() == to.back() + 1;
}

// Weights of scores and a sink. The largest may be taken off first, which changes none of them.
struct Sunk {
  Pattern scores;
  Pattern sink = any(), column = either({op("expand", {sink}), sink});
  Pattern joined = op("concat", {scores, column}, joins_two);
  Pattern largest = op("reduce_max", {joined}, is_over_last_axis);
  Pattern soft =
      op("softmax", {cast_or_not(either({joined, sum({joined, {largest, -1}})}))}, is_last_axis);
  Pattern weights = op("slice", {cast_or_not(soft)}, drops_last_column);

  // One number a head, [1, H, 1, 1]; none where it is something else.
  Value of(const Found& found, const Dims& q) const {
    const Dims& shape = found[sink].shape();
    const bool fits = q.size() == 4 && shape.size() >= 3 && shape.back().is(1) &&
                      shape[shape.size() - 2].is(1) && shape[shape.size() - 3] == q[1] &&
                      (shape.size() == 3 || shape[0].is(1));
    return fits ? reshape(found[sink], Dims{q[1]}) : Value{};
  }
};

Value keys_of(const Found& found, const Scores& s) {
  Value k = found[s.k];
  if (found.has(s.turned)) {
    Ints order = found.node(s.turned).attrs.get<Ints>("order");
    k = merged_transpose(k, transpose_order(order, k.type()));
  }
  return turns_second(found.node(s.dots)) ? k : last_two_swapped(k);
}

// Before a first axis there are ones until there are four; [B, S, D] is [B, 1, S, D].
Value with_four_axes(Value x) {
  const int64_t axes = rank(x.type());
  return axes == 4 ? x : axes == 3 ? unsqueeze(x, {1}) : unsqueeze(x, {0, 1});
}
// What broadcasts to scores of so many axes, so that it does to those of four.
Value with_four_axes(Value bias, size_t score_axes) {
  require(bias.shape().size() <= score_axes, "more axes than scores");
  return score_axes == 3 && bias.shape().size() == 3 ? unsqueeze(bias, {1}) : bias;
}

// A mask may have more rows than q, which are then repeated: a run decides that they are not.
Value with_rows(Value q, const TensorType& result) {
  Dims shape = q.shape();
  const Dim& rows = result.shape[shape.size() - 2];
  if (shape[shape.size() - 2] == rows) return q;
  shape[shape.size() - 2] = rows;
  if (!is_op(q.producer(), "transpose")) return expand(q, shape);
  // Behind it heads are seen to be brought forward.
  const Ints order = transpose_order(q.producer().attrs.get<Ints>("order"), q.type());
  Dims inside(shape.size());
  for (size_t d = 0; d < shape.size(); ++d) inside[size_t(order[d])] = shape[d];
  return transpose(expand(q.producer().inputs[0], inside), order);
}

// Of what was found, with masks as the rule has made them.
Value attention_of(const Found& found, const Scores& s, const Pattern& product, Value bias,
                   Value mask, Value sink, bool empty_is_zero) {
  const Node& dots = found.node(s.dots);
  const size_t axes = dots.types[0].shape.size();
  const Value q = with_four_axes(with_rows(found[s.q], found.type())),
              k = with_four_axes(keys_of(found, s)),
              v = with_four_axes(turns_second(found.node(product)) ? last_two_swapped(found[s.v])
                                                                   : found[s.v]);
  AttentionOptions options;
  options.scale = found.number(s.q_scale) * found.number(s.k_scale);
  if (found.has(s.capped)) {
    options.softcap = found.number(s.cap);
    options.scale *= found.number(s.cap_scale) * options.softcap;
    if (!(options.softcap > 0)) return {};
  } else {
    options.scale *= found.number(s.scale);
  }
  if (!std::isfinite(options.scale) || options.scale == 0) return {};
  const Dim queries = found[s.q].shape()[axes - 2], &keys = k.shape()[2];
  const SymbolRanges& symbols = q.graph->symbols;
  if (empty_is_zero)
    options.empty_row = "zero";
  else if (sink || is_never_less(keys, 1, symbols) || is_never_less(keys, queries, symbols))
    options.empty_row = "nan";
  else if (bias.present() || mask.present())
    return {};
  if (bias) bias = with_four_axes(bias, axes);
  if (mask) mask = with_four_axes(mask, axes);
  const Value y = attention(q, k, v, bias ? bias : mask, options, bias ? mask : Value{}, sink);
  return axes == 4 ? y : axes == 3 ? squeeze(y, {1}) : squeeze(y, {0, 1});
}

// What is added to scores, and which keys are seen; either may be absent.
struct Masks {
  Value bias, seen;
};
Value plus(Value a, Value b) { return !a ? b : !b ? a : a + b; }

// Scores where `seen` holds, or does not, and a low number elsewhere. -inf: a key that is not seen;
// another: also one, unless none of the row is.
struct Lowered {
  Pattern like;  // a value of the dtype that numbers are made in
  Pattern seen = any(), low = number();

  Patterns of(const Pattern& scores) const {
    return {op("where", {seen, scores, low}), op("where", {seen, low, scores})};
  }
  // scores * seen + low * (1 - seen)
  Pattern product_of(const Pattern& scores) const {
    const Pattern factor = op(
        "cast", {seen}, [](const Node& node) { return node.inputs[0].dtype() == DType::boolean; });
    return sum({product({scores, factor}), product({sum({{factor, -1}}, 1)}, low)});
  }
  // The same of a table of 1 and 0, and what constants make of it: low where it is 0.
  Pattern table = any([](const Value&value) { return is_float(value.dtype()); }), lows = any();
  Pattern weighed(const Pattern& scores, double sign) const {
    return sum({product({scores, table}), {product({sum({{table, -1}}, 1)}, low), sign}});
  }
  Pattern weighed_and_lowered(const Pattern& scores) const {
    return sum({product({scores, table}), lows});
  }
  // With what is added to scores before that. `alone`: nothing is added behind it either.
  std::optional<Masks> masks(const Found& found, bool where_seen, Value bias, bool alone) const {
    const double number = found.number(low);
    const Value kept = found[seen];
    const bool hides = std::isinf(number) || (alone && !bias && hides_keys(found, where_seen));
    if (number < 0 && hides) return Masks{bias, where_seen ? kept : logical_not(kept)};
    if (!(number <= kLowest)) return std::nullopt;
    const Value zero = bias ? bias : scalar(found[like], 0), none = scalar(found[like], number);
    return Masks{where_seen ? where(kept, zero, none) : where(kept, none, zero), {}};
  }

  // Of a table: it hides keys where it is 0, and each row sees one. No sign: by what is in `lows`.
  std::optional<Masks> masks_of_table(const Found& found, double sign) const {
    const bool lowered = sign == 0;
    Diagonals diagonals;
    const auto along = diagonals(found.was(table));
    if (!along || along->ramp || along->is_number()) return std::nullopt;
    const auto of_lows = lowered ? diagonals(found.was(lows)) : std::nullopt;
    if (lowered && (!of_lows || of_lows->ramp || of_lows->slopes != along->slopes ||
                    of_lows->steps.size() != along->steps.size()))
      return std::nullopt;
    const auto fits = [&](double seen_here, double low_here) {
      return seen_here == 1 ? !lowered || low_here == 0
                            : seen_here == 0 && low_here <= kLowerThanScores;
    };
    const double number = lowered ? 0 : sign * found.number(low);
    bool all = fits(along->rest, lowered ? of_lows->rest : number);
    for (size_t i = 0; i < along->steps.size(); ++i) {
      all &= fits(along->steps[i].value, lowered ? of_lows->steps[i].value : number);
      all &= !lowered || of_lows->steps[i].last == along->steps[i].last;
    }
    if (!all || !sees_one(found, *along, true)) return std::nullopt;
    return Masks{{}, cast(found[table], DType::boolean)};
  }

 private:
  bool hides_keys(const Found& found, bool where_seen) const {
    if (!(found.number(low) <= kLowerThanScores)) return false;
    Diagonals diagonals;
    const auto along = diagonals(found.was(seen));
    return along && sees_one(found, *along, where_seen);
  }
  // Does each row see its own key, or one before that?
  bool sees_one(const Found& found, const Along& along, bool where_seen) const {
    const auto sight = sight_of(DType::boolean, along, !where_seen);
    return sight && !sight->first && is_never_less(sight->last, 0, found.was(like).graph->symbols);
  }
};

// In all the ways that scores are masked in: a bias is added, before keys are lowered or behind
// that.
void add_scores(Rules& rules) {
  const Scores s;
  using MasksOf = std::function<std::optional<Masks>(const Found& found)>;
  const auto add = [&](const Pattern& masked, const MasksOf& masks) {
    const Pattern soft = op("softmax", {cast_or_not(masked)}, is_last_axis);
    const Sunk sunk{cast_or_not(masked)};
    const Pattern plain = cast_or_not(either({soft, sunk.weights}));
    const Pattern no_nan = op("where", {op("is_nan", {plain}), number(0), plain});
    const Pattern product = op("matmul", {either({plain, cast_or_not(no_nan)}), s.v}, takes_rows);
    rules.push_back({product, [=](const Found& found) {
                       const auto found_masks = masks(found);
                       const bool has_sink = found.has(sunk.weights);
                       const Value sink = has_sink ? sunk.of(found, found[s.q].shape()) : Value{};
                       if (!found_masks || (has_sink && !sink)) return Value{};
                       return attention_of(found, s, product, found_masks->bias, found_masks->seen,
                                           sink, found.has(no_nan));
                     }});
  };
  const Pattern bias = any([](const Value& value) { return is_float(value.dtype()); });
  const Lowered lowered{s.q};
  for (const bool where_seen : {true, false}) {
    const auto low = [&](const Pattern& scores) { return lowered.of(scores)[where_seen ? 0 : 1]; };
    add(sum({low(s.narrow), bias}), [=](const Found& found) {
      auto masks = lowered.masks(found, where_seen, {}, false);
      if (masks) masks->bias = plus(masks->bias, found[bias]);
      return masks;
    });
    add(low(sum({s.narrow, bias})),
        [=](const Found& found) { return lowered.masks(found, where_seen, found[bias], false); });
    add(low(s.narrow),
        [=](const Found& found) { return lowered.masks(found, where_seen, {}, true); });
  }
  add(lowered.product_of(s.narrow),
      [=](const Found& found) { return lowered.masks(found, true, {}, true); });
  for (const double sign : {1.0, -1.0})
    add(lowered.weighed(s.narrow, sign),
        [=](const Found& found) { return lowered.masks_of_table(found, sign); });
  add(lowered.weighed_and_lowered(s.narrow),
      [=](const Found& found) { return lowered.masks_of_table(found, 0); });
  add(sum({s.narrow, bias}), [=](const Found& found) { return Masks{found[bias], {}}; });
  const Pattern other = any([](const Value& value) { return is_float(value.dtype()); });
  add(sum({s.narrow, bias, other}), [=](const Found& found) {
    return Masks{found[bias] + found[other], {}};
  });
  add(s.plain, [](const Found&) { return Masks{}; });
}

const Ints kHeadsInside{0, 2, 1, 3};

bool is_heads_first(const Node& node) {
  return node.attrs.get<std::string>("layout") == "bhsd" && rank(node.types[0]) == 4;
}

// The same attention of other operands.
Value again(const Found& found, const Pattern& attention, Value q, Value k, Value v) {
  const Node& node = found.node(attention);
  Values operands{q, k, v};
  for (const Value& each : found.operands(attention, 3)) operands.push_back(each);
  return q.apply(*node.op, operands, node.attrs);
}

bool swaps_heads(const Node& transpose) {
  return transpose.attrs.get<Ints>("order") == kHeadsInside;
}

// Heads of k and v that are repeated for those of q: [B, H, S, D] as [B, H, 1, S, D], repeated n
// times, as [B, H * n, S, D], or gathered by their numbers 0, 0, 1, 1, ..; or so where heads lie
// inside, and are brought forward behind it.
void add_groups(Rules& rules) {
  const Pattern q = any();
  struct Repeated {
    Pattern x = any(), with_axis = either({op("unsqueeze", {x}), op("reshape", {x})}),
            repeated = either({op("expand", {with_axis}), op("tile", {with_axis})}), places = any(),
            gathered = op("gather", {x, places}), y = either({op("reshape", {repeated}), gathered}),
            turned = op("transpose", {y}, swaps_heads);

    bool holds(const Found& found, size_t heads) const {
      if (found.has(gathered)) return gathers_each(found, heads);
      const Dims &of = found[x].shape(), &all = found[repeated].shape();
      if (of.size() != 4 || all.size() != 5) return false;
      Dims parted = of, whole = of;
      const auto behind = static_cast<int64_t>(heads) + 1;
      parted.insert(parted.begin() + behind, 1);
      if (!(found[with_axis].shape() == parted)) return false;
      parted[heads + 1] = all[heads + 1];
      whole[heads] = whole[heads] * all[heads + 1];
      return all == parted && found[y].shape() == whole;
    }
    // Each head as often as any other, side by side.
    bool gathers_each(const Found& found, size_t heads) const {
      const Node& node = found.node(gathered);
      const TensorType& from = node.inputs[0].type();
      const auto known = known_tensor(found.was(places));
      const Dim& of = from.shape[heads];
      if (!known || known->shape().size() != 1 || !of.is_number() || of.is(0) ||
          axis_of("gather", node.attrs.get<int64_t>("axis"), from) != heads)
        return false;
      const int64_t times = known->count() / of.number();
      if (times == 0 || times * of.number() != known->count()) return false;
      for (int64_t i = 0; i < known->count(); ++i) {
        const int64_t index = known->integer_at(i);
        if ((index < 0 ? index + of.number() : index) != i / times) return false;
      }
      return true;
    }
  };
  const Repeated k, v;
  const auto with_four = [](const Node& node) { return rank(node.types[0]) == 4; };
  const Pattern grouped = op("attention", {q, k.y, v.y}, with_four),
                behind = op("attention", {q, k.turned, v.turned}, is_heads_first);
  rules.push_back({grouped, [=](const Found& found) {
                     const Attrs& attrs = found.node(grouped).attrs;
                     const size_t heads = attrs.get<std::string>("layout") == "bshd" ? 2 : 1;
                     if (!k.holds(found, heads) || !v.holds(found, heads)) return Value{};
                     return again(found, grouped, found[q], found[k.x], found[v.x]);
                   }});
  rules.push_back({behind, [=](const Found& found) {
                     if (!k.holds(found, 2) || !v.holds(found, 2)) return Value{};
                     return again(found, behind, found[q], transpose(found[k.x], kHeadsInside),
                                  transpose(found[v.x], kHeadsInside));
                   }});
}

// Heads that PyTorch's layers put beside the batch: x [S, B, H * D] as [S, B * H, D], brought
// forward for the scores and back behind them. Heads of their own are read where they lie.
void add_heads(Rules& rules) {
  static const auto swaps_first = [](const Node& transpose) {
    return transpose.attrs.get<Ints>("order") == Ints{1, 0, 2};
  };
  struct Beside {
    Pattern x = any(), heads = op("reshape", {x}), turned = op("transpose", {heads}, swaps_first),
            y = either({op("unsqueeze", {turned}), op("reshape", {turned})});

    // [B, H, S, D]; none where the heads are no parts of the last axis.
    Value parted(const Found& found) const {
      const Dims &whole = found[x].shape(), &by_head = found[heads].shape();
      if (whole.size() != 3 || by_head.size() != 3) return {};
      if (!whole[2].is_number() || !by_head[2].is_number() || by_head[2].is(0)) return {};
      const int64_t number = whole[2].number() / by_head[2].number();
      const Dims shape{whole[0], whole[1], number, by_head[2]};
      if (number * by_head[2].number() != whole[2].number() || !(by_head[0] == whole[0]) ||
          !(by_head[1] == whole[1] * number) || !(found[y].shape() == in_front(by_head)))
        return {};
      return transpose(reshape(found[x], shape), {1, 2, 0, 3});
    }
    static Dims in_front(const Dims& by_head) { return {by_head[1], 1, by_head[0], by_head[2]}; }
  };
  const Beside q, k, v;
  const Pattern scored = op("attention", {q.y, k.y, v.y}, is_heads_first);
  const Pattern heads = either({op("squeeze", {scored}), op("reshape", {scored})});
  const auto with_heads = [](Value mask, const Dims& to, bool* fits) {
    if (!mask || mask.shape().size() < 3) return mask;
    const Dims& shape = mask.shape();
    const bool every = shape.size() == 4 && shape[0] == to[0] * to[1] && shape[1].is(1);
    const bool none = shape[shape.size() - 3].is(1) && (shape.size() == 3 || shape[0].is(1));
    *fits &= every || none;
    return none || !every ? mask : reshape(mask, {to[0], to[1], shape[2], shape[3]});
  };
  rules.push_back({op("transpose", {heads}, swaps_first), [=](const Found& found) {
                     const Value of_q = q.parted(found), of_k = k.parted(found),
                                 of_v = v.parted(found);
                     if (!of_q || !of_k || !of_v || found.operand(scored, 5)) return Value{};
                     bool fits = of_k.shape()[1] == of_q.shape()[1];
                     Values operands{of_q, of_k, of_v};
                     for (const Value& mask : found.operands(scored, 3))
                       operands.push_back(with_heads(mask, of_q.shape(), &fits));
                     if (!fits) return Value{};
                     const Node& node = found.node(scored);
                     const Value y = of_q.apply(*node.op, operands, node.attrs);
                     return reshape(transpose(y, {2, 0, 1, 3}), found.type().shape);
                   }});
}

int64_t run(Changing& graph, NearMisses* misses) {
  static const Rules rules = [] {
    Rules all;
    add_scores(all);
    add_groups(all);
    add_heads(all);
    return all;
  }();
  return apply_rules(graph, rules, misses);
}

}  // namespace

const Pass find_attention{"find-attention", "Finds attention that is written out.", run};

}  // namespace rlx
