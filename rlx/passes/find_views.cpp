// Copies whose elements lie as a view has them: rows gathered by known indices that count up, a
// reduction over extents of 1, a concat of slices that are neighbours in one value, and a slice of
// what a concat has put beside others.

#include <algorithm>

#include "rlx/ir/known.h"
#include "rlx/ops/kernel.h"
#include "rlx/ops/ops_core.h"
#include "rlx/passes/passes.h"
#include "rlx/passes/rules.h"
#include "rlx/passes/slices.h"

namespace rlx {

namespace {

Value sliced(Value x, const Stretch& part) {
  return slice(x, {part.first}, {part.first + part.count}, {static_cast<int64_t>(part.axis)});
}

// Indices that count up by 1, from a row of x to another.
std::optional<Stretch> counted_rows(const Value& x, const Value& indices, size_t axis) {
  const Dim& extent = x.shape()[axis];
  const auto known = known_tensor(indices);
  if (!known || known->count() == 0 || rank(indices.type()) > 1 || !extent.is_number())
    return std::nullopt;
  const auto row = [&](int64_t i) {
    const int64_t index = known->integer_at(i);
    return index < 0 ? index + extent.number() : index;
  };
  const Stretch part{axis, row(0), known->count()};
  if (part.first < 0 || part.first + part.count > extent.number()) return std::nullopt;
  for (int64_t i = 1; i < part.count; ++i)
    if (row(i) != part.first + i) return std::nullopt;
  return part;
}

Rule gathers() {
  const Pattern x = any(), indices = any(), root = op("gather", {x, indices});
  return {root, [=](const Found& found) {
            const Node& node = found.node(root);
            const Value from = node.inputs[0], at = node.inputs[1];
            const size_t axis = axis_of("gather", node.attrs.get<int64_t>("axis"), from.type());
            const auto part = counted_rows(from, at, axis);
            if (!part) return Value{};
            const Value rows = sliced(found[x], *part);
            return rank(at.type()) == 0 ? squeeze(rows, {static_cast<int64_t>(axis)}) : rows;
          }};
}

Rule reductions(const char* name) {
  const Pattern x = any(), root = op(name, {x});
  return {root, [=](const Found& found) {
            const TensorType from = found[x].type();
            const Ints& axes = found.node(root).attrs.get<Ints>("axes");
            const auto is_one = [&](int64_t axis) {
              return from.shape[axis_of(name, axis, from)].is(1);
            };
            const bool all_ones = axes.empty() ? count(from.shape).is(1)
                                               : std::all_of(axes.begin(), axes.end(), is_one);
            return all_ones ? reshape(found[x], found.type().shape) : Value{};
          }};
}

// A slice along an axis; none of another value.
struct Part {
  Value of;
  Stretch stretch;
};
std::optional<Part> part_of(const Value& value, size_t axis) {
  const auto stretch = stretch_of(value.producer());
  if (!stretch || stretch->axis != axis) return std::nullopt;
  return Part{value.producer().inputs[0], *stretch};
}

bool are_neighbours(const Part& a, const Part& b) {
  return a.of == b.of && a.stretch.first + a.stretch.count == b.stretch.first;
}

Rule concats() {
  const Pattern root = op("concat", {any(), any()});
  return {root, [=](const Found& found) {
            const Node& node = found.node(root);
            const size_t axis =
                axis_of("concat", node.attrs.get<int64_t>("axis"), node.inputs[0].type());
            Values parts;
            std::optional<Part> last;
            for (size_t i = 0; i < node.inputs.size(); ++i) {
              const auto next = part_of(node.inputs[i], axis);
              if (!last || !next || !are_neighbours(*last, *next)) {
                parts.push_back(found.operand(root, i));
                last = next;
                continue;
              }
              last->stretch.count += next->stretch.count;
              parts.back() = sliced(found.moved(last->of), last->stretch);
            }
            if (parts.size() == node.inputs.size()) return Value{};
            return parts.size() == 1 ? parts[0] : concat(parts, static_cast<int64_t>(axis));
          }};
}

// What a slice takes of one operand of a concat, which others may read as a whole.
Rule slices() {
  const auto is_of_concat = [](const Node& node) {
    return is_op(node.inputs[0].producer(), "concat") && stretch_of(node).has_value();
  };
  const Pattern part = op("slice", {any()}, is_of_concat);
  return {
      part, [=](const Found& found) {
        const Node& node = found.node(part);
        const Node& concat = node.inputs[0].producer();
        const Stretch taken = *stretch_of(node);
        const size_t axis = axis_of("concat", concat.attrs.get<int64_t>("axis"), concat.types[0]);
        if (axis != taken.axis) return Value{};
        int64_t first = 0;
        for (const Value& input : concat.inputs) {
          if (!input.shape()[axis].is_number()) return Value{};
          const int64_t count = input.shape()[axis].number();
          if (taken.first >= first && taken.first + taken.count <= first + count) {
            const Value whole = found.moved(input);
            return taken.count == count ? whole
                                        : sliced(whole, {axis, taken.first - first, taken.count});
          }
          first += count;
        }
        return Value{};
      }};
}

int64_t run(Changing& graph, NearMisses* misses) {
  static const Rules rules = [] {
    Rules all{gathers(), concats(), slices()};
    for (const char* name : {"sum", "mean", "reduce_max", "reduce_min", "prod"})
      all.push_back(reductions(name));
    return all;
  }();
  return apply_rules(graph, rules, misses);
}

}  // namespace

const Pass find_views{"find-views", "Finds views that are written as copies.", run};

}  // namespace rlx
