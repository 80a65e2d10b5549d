// x * cos + rotated(x) * sin becomes rope, where rotated(x) is [-x2, x1] for the halves [x1, x2] of
// x and both halves of the tables are seen to be equal; or where it is that for each pair of
// neighbours, and those of the tables are equal. So does what multiplies both parts as one complex
// number: [x1 * cos - x2 * sin, x1 * sin + x2 * cos], whose tables are of half the size anyway.

#include <algorithm>

#include "rlx/ir/extent_facts.h"
#include "rlx/ops/ops_core.h"
#include "rlx/ops/ops_rope.h"
#include "rlx/passes/passes.h"
#include "rlx/passes/rules.h"
#include "rlx/passes/slices.h"

namespace rlx {
namespace {

// Which elements of the last axis a slice has, if it has all of the others.
std::optional<Stretch> part_of_last_axis(const Node& node) {
  const auto part = stretch_of(node);
  return part && part->axis + 1 == node.types[0].shape.size() ? part : std::nullopt;
}
bool is_part(const Node& node) { return part_of_last_axis(node).has_value(); }

bool joins_last_axis(const Node& concat) {
  const int64_t axis = concat.attrs.get<int64_t>("axis");
  return concat.inputs.size() == 2 && (axis == -1 || axis == rank(concat.types[0]) - 1);
}

// Are the two halves of the last axis equal?
bool joins_equal_halves(const Value& value) {
  const Node& node = value.producer();
  return is_op(node, "concat") && joins_last_axis(node) && node.inputs[0] == node.inputs[1];
}
// Are neighbours? As [.., n, 1] is repeated to [.., n, 2] and seen as [.., 2n].
bool joins_equal_neighbours(const Value& value) {
  const Node& node = value.producer();
  if (!is_op(node, "reshape")) return false;
  const Value pairs = node.inputs[0];
  const Node& repeats = pairs.producer();
  if (is_source(repeats) || rank(pairs.type()) < 2) return false;
  const Dims &shape = pairs.shape(), &single = repeats.inputs[0].shape();
  if (!shape.back().is(2) || !(value.shape().back() == shape[shape.size() - 2] * Dim(2)) ||
      single.size() != shape.size() || !single.back().is(1) ||
      !(single[shape.size() - 2] == shape[shape.size() - 2]))
    return false;
  return is_one_of(repeats, {"expand", "tile"}) || joins_equal_halves(pairs);
}

// Has the last axis equal parts so? Functions of elements and views of rows keep that.
using Equal = bool (*)(const Value& value);
bool has_equal(Equal parts, const Value& value, int depth = 12) {
  const Node& node = value.producer();
  if (depth == 0 || value.shape().empty() || is_source(node)) return false;
  if (parts(value)) return true;
  const auto goes_on = [&](size_t i) { return has_equal(parts, node.inputs[i], depth - 1); };
  if (node.op->elementwise && node.inputs.size() == 1) return goes_on(0);
  if (is_op(node, "mul")) {
    if (number_of(node.inputs[1])) return goes_on(0);
    return number_of(node.inputs[0]) && goes_on(1);
  }
  const bool keeps_rows = is_one_of(node, {"cast", "unsqueeze", "squeeze", "reshape"});
  return keeps_rows && !node.inputs[0].shape().empty() &&
         node.inputs[0].shape().back() == value.shape().back() && goes_on(0);
}

struct Table {
  std::string layout;
  Value half;  // [S, D / 2] or [B, S, D / 2]
};

// The half of a table that broadcasts to x, as rope takes it: the first, every second element, or
// all of what is no more than a half.
enum class Half { first, every_second, all };
std::optional<Table> table_of(Value table, const Dims& x, Half which = Half::first) {
  const Dims& shape = table.shape();
  if (shape.size() < 2 || shape.size() > x.size() || !(shape.back() == x.back()))
    return std::nullopt;
  const size_t extra = x.size() - shape.size();
  const auto dim = [&](size_t d) { return d < extra ? Dim(1) : shape[d - extra]; };
  for (const size_t behind : {size_t{1}, size_t{2}}) {  // axes behind the positions
    if (x.size() < behind + 1) continue;
    const size_t positions = x.size() - 1 - behind;
    if (!same_extent(dim(positions), x[positions]) || (behind == 2 && !dim(positions + 1).is(1)))
      continue;
    bool alike = true, own = positions > 0 && !dim(0).is(1);
    for (size_t d = own ? 1 : 0; d < positions; ++d) alike &= dim(d).is(1);
    if (!alike || (own && !(dim(0) == x[0]))) continue;
    Ints ones;
    for (size_t d = own ? 1 : 0; d + 1 < x.size(); ++d)
      if (d != positions && d >= extra) ones.push_back(static_cast<int64_t>(d - extra));
    const int64_t all = which == Half::all ? 0 : x.back().number();
    const Value half = which == Half::all            ? table
                       : which == Half::every_second ? slice(table, {0}, {all}, {-1}, {2})
                                                     : slice(table, {0}, {all / 2}, {-1});
    return Table{behind == 1 ? "bhsd" : "bshd", ones.empty() ? half : squeeze(half, ones)};
  }
  return std::nullopt;
}

void add_halves(Rules& rules) {
  const Pattern x = any(), cosines = any(), sines = any();
  const Pattern low = op("slice", {x}, is_part), high = op("slice", {x}, is_part);
  const Pattern rotated = op("concat", {op("neg", {high}), low}, joins_last_axis);
  rules.push_back(
      {sum({product({x, cosines}), product({rotated, sines})}), [=](const Found& found) {
         const Value of = found[x];
         const auto first = part_of_last_axis(found.node(low)),
                    second = part_of_last_axis(found.node(high));
         const int64_t half = first->count;
         if (first->first != 0 || second->first != half || second->count != half ||
             !of.shape().back().is(2 * half))
           return Value{};
         if (!has_equal(joins_equal_halves, found[cosines]) ||
             !has_equal(joins_equal_halves, found[sines]))
           return Value{};
         const auto cos = table_of(found[cosines], of.shape()),
                    sin = table_of(found[sines], of.shape());
         if (!cos || !sin || cos->layout != sin->layout) return Value{};
         return rope(of, cos->half, sin->half, false, cos->layout);
       }});
}

void add_neighbours(Rules& rules) {
  const Pattern x = any(), cosines = any(), sines = any();
  const auto second = [](int64_t first) {
    return [=](const Node& node) { return every_second(node) == first; };
  };
  const auto with_axis = [](const Pattern& of) {
    return either({op("unsqueeze", {of}), op("reshape", {of})});
  };
  const Pattern even = op("slice", {x}, second(0)), odd = op("slice", {x}, second(1));
  const Pattern pairs =
      op("concat", {with_axis(op("neg", {odd})), with_axis(even)}, joins_last_axis);
  const Pattern rotated = op("reshape", {pairs});
  rules.push_back(
      {sum({product({x, cosines}), product({rotated, sines})}), [=](const Found& found) {
         const Value of = found[x];
         Dims parted = of.shape();
         parted.back() = found[even].shape().back();
         parted.emplace_back(2);
         if (!(found[pairs].shape() == parted) || !(found[rotated].shape() == of.shape()))
           return Value{};
         if (!has_equal(joins_equal_neighbours, found[cosines]) ||
             !has_equal(joins_equal_neighbours, found[sines]))
           return Value{};
         const auto cos = table_of(found[cosines], of.shape(), Half::every_second),
                    sin = table_of(found[sines], of.shape(), Half::every_second);
         if (!cos || !sin || cos->layout != sin->layout) return Value{};
         return rope(of, cos->half, sin->half, true, cos->layout);
       }});
}

// Both parts as they are turned by one angle.
struct Turned {
  Pattern first, second, cosines = any(), sines = any();
  Pattern real = sum({product({first, cosines}), {product({second, sines}), -1}}),
          imaginary = sum({product({first, sines}), product({second, cosines})});

  Value rope_of(const Found& found, Value x, bool interleaved) const {
    Dims half = x.shape();
    half.back() = floor_div(half.back(), 2);
    const auto cos = table_of(found[cosines], half, Half::all),
               sin = table_of(found[sines], half, Half::all);
    if (!cos || !sin || cos->layout != sin->layout) return {};
    return rope(x, cos->half, sin->half, interleaved, cos->layout);
  }
};

void add_complex_halves(Rules& rules) {
  const Pattern x = any();
  const Pattern low = op("slice", {x}, is_part), high = op("slice", {x}, is_part);
  const Turned turned{low, high};
  rules.push_back(
      {op("concat", {turned.real, turned.imaginary}, joins_last_axis), [=](const Found& found) {
         const auto first = part_of_last_axis(found.node(low)),
                    second = part_of_last_axis(found.node(high));
         const int64_t half = first->count;
         if (first->first != 0 || second->first != half || second->count != half ||
             !found[x].shape().back().is(2 * half))
           return Value{};
         return turned.rope_of(found, found[x], false);
       }});
}

// Neighbours: every second element, or x as pairs, of which one is taken.
void add_complex_neighbours(Rules& rules) {
  const Pattern x = any(), pairs = op("reshape", {x});
  const auto with_axis = [](const Pattern& of) {
    return either({op("unsqueeze", {of}), op("reshape", {of})});
  };
  const auto one_of = [&](int64_t which) {
    const auto is_second = [=](const Node& node) { return every_second(node) == which; };
    const auto is_one = [=](const Node& node) {
      const auto part = part_of_last_axis(node);
      return part && part->first == which && part->count == 1 &&
             node.inputs[0].shape().back().is(2);
    };
    const Pattern of_pairs = op("slice", {pairs}, is_one);
    return either(
        {op("slice", {x}, is_second), op("squeeze", {of_pairs}), op("reshape", {of_pairs})});
  };
  const Turned turned{one_of(0), one_of(1)};
  const Pattern both =
      op("concat", {with_axis(turned.real), with_axis(turned.imaginary)}, joins_last_axis);
  const Pattern whole = op("reshape", {both});
  rules.push_back({whole, [=](const Found& found) {
                     const Value of = found[x];
                     if (of.shape().empty() || !of.shape().back().is_number() ||
                         of.shape().back().number() % 2 != 0)
                       return Value{};
                     Dims half = of.shape();
                     half.back() = half.back().number() / 2;
                     Dims parted = half;
                     parted.emplace_back(2);
                     if (!(found[turned.first].shape() == half) ||
                         !(found[turned.second].shape() == half) ||
                         (found.has(pairs) && !(found[pairs].shape() == parted)) ||
                         !(found[both].shape() == parted) || !(found.type().shape == of.shape()))
                       return Value{};
                     return turned.rope_of(found, of, true);
                   }});
}

// The rest of the last axis behind what was turned is what rope leaves alone.
void add_rest(Rules& rules) {
  const Pattern x = any();
  const Pattern turned_part = op("slice", {x}, is_part), rest = op("slice", {x}, is_part);
  const Pattern turned = op("rope", {turned_part, any(), any()});
  rules.push_back({op("concat", {turned, rest}, joins_last_axis), [=](const Found& found) {
                     const auto first = part_of_last_axis(found.node(turned_part)),
                                second = part_of_last_axis(found.node(rest));
                     if (first->first != 0 || second->first != first->count ||
                         !found[x].shape().back().is(first->count + second->count))
                       return Value{};
                     const Attrs& attrs = found.node(turned).attrs;
                     return rope(found[x], found.operand(turned, 1), found.operand(turned, 2),
                                 attrs.get<bool>("interleaved"), attrs.get<std::string>("layout"));
                   }});
}

int64_t run(Changing& graph, NearMisses* misses) {
  static const Rules rules = [] {
    Rules all;
    add_halves(all);
    add_neighbours(all);
    add_complex_halves(all);
    add_complex_neighbours(all);
    add_rest(all);
    return all;
  }();
  return apply_rules(graph, rules, misses);
}

}  // namespace

const Pass find_rope{"find-rope", "Finds rotary embeddings that are written out.", run};

}  // namespace rlx
