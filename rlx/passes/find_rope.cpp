// x * cos + rotated(x) * sin becomes rope, where rotated(x) is [-x2, x1] for the halves [x1, x2] of
// x and both halves of the tables are seen to be equal.

#include <algorithm>

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

// Are the two halves of the last axis equal? Functions of elements and views of rows keep that.
bool has_equal_halves(const Value& value, int depth = 12) {
  const Node& node = value.producer();
  if (depth == 0 || value.shape().empty() || is_source(node)) return false;
  if (node.op->name == "concat") return joins_last_axis(node) && node.inputs[0] == node.inputs[1];
  const auto goes_on = [&](size_t i) { return has_equal_halves(node.inputs[i], depth - 1); };
  if (node.op->elementwise && node.inputs.size() == 1) return goes_on(0);
  if (node.op->name == "mul") {
    if (number_of(node.inputs[1])) return goes_on(0);
    return number_of(node.inputs[0]) && goes_on(1);
  }
  const bool keeps_rows = node.op->name == "cast" || node.op->name == "unsqueeze" ||
                          node.op->name == "squeeze" || node.op->name == "reshape";
  return keeps_rows && !node.inputs[0].shape().empty() &&
         node.inputs[0].shape().back() == value.shape().back() && goes_on(0);
}

struct Table {
  std::string layout;
  Value half;  // [S, D / 2] or [B, S, D / 2]
};

// The first half of a table that broadcasts to x, as rope takes it.
std::optional<Table> table_of(Value table, const Dims& x) {
  const Dims& shape = table.shape();
  if (shape.size() < 2 || shape.size() > x.size() || !(shape.back() == x.back()))
    return std::nullopt;
  const size_t extra = x.size() - shape.size();
  const auto dim = [&](size_t d) { return d < extra ? Dim(1) : shape[d - extra]; };
  for (const size_t behind : {size_t{1}, size_t{2}}) {  // axes behind the positions
    if (x.size() < behind + 1) continue;
    const size_t positions = x.size() - 1 - behind;
    if (!(dim(positions) == x[positions]) || (behind == 2 && !dim(positions + 1).is(1))) continue;
    bool alike = true, own = positions > 0 && !dim(0).is(1);
    for (size_t d = own ? 1 : 0; d < positions; ++d) alike &= dim(d).is(1);
    if (!alike || (own && !(dim(0) == x[0]))) continue;
    Ints ones;
    for (size_t d = own ? 1 : 0; d + 1 < x.size(); ++d)
      if (d != positions && d >= extra) ones.push_back(static_cast<int64_t>(d - extra));
    const Value half = slice(table, {0}, {x.back().number() / 2}, {-1});
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
         if (!has_equal_halves(found[cosines]) || !has_equal_halves(found[sines])) return Value{};
         const auto cos = table_of(found[cosines], of.shape()),
                    sin = table_of(found[sines], of.shape());
         if (!cos || !sin || cos->layout != sin->layout) return Value{};
         return rope(of, cos->half, sin->half, false, cos->layout);
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

PassResult run(const Graph& graph) {
  static const Rules rules = [] {
    Rules all;
    add_halves(all);
    add_rest(all);
    return all;
  }();
  return apply_rules(graph, rules);
}

}  // namespace

const Pass find_rope{"find-rope", "Finds rotary embeddings that are written out.", run};

}  // namespace rlx
