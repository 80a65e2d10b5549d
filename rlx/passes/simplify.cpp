// Nodes that change nothing go: x * 1, a cast there and back, a reshape to the same shape; and
// those of a chain of views become one.
//
// x + 0 stays, since it makes 0 of -0. Division becomes a product where that is exact.

#include <algorithm>
#include <cmath>

#include "rlx/ir/known.h"
#include "rlx/ops/ops_core.h"
#include "rlx/passes/passes.h"
#include "rlx/passes/rules.h"
#include "rlx/passes/slices.h"

namespace rlx {
namespace {

Rule drops(const Pattern& x, const Pattern& pattern) {
  return {pattern, [=](const Found& found) { return found[x]; }};
}

bool is_float_node(const Node& node) { return is_float(node.types[0].dtype); }
bool is_integer_node(const Node& node) { return is_integer(node.types[0].dtype); }

void add_arithmetic(Rules& rules) {
  const Pattern x = any(), c = number();
  const Pattern one = number(1), zero = number(0);
  rules.push_back(drops(x, op("mul", {x, one})));
  rules.push_back(drops(x, op("div", {x, one})));
  rules.push_back(drops(x, op("pow", {x, one})));
  rules.push_back(drops(x, op("add", {x, zero}, is_integer_node)));
  rules.push_back({op("mul", {x, zero}, is_integer_node), [=](const Found& found) {
                     const Dims& shape = found.type().shape;
                     if (!is_concrete(shape) || count(shape).number() > kMostKnownElements)
                       return Value{};
                     Tensor zeros(found.type().dtype, concrete(shape));
                     for (int64_t i = 0; i < zeros.count(); ++i) zeros.set_integer(i, 0);
                     return constant_beside(found[x], zeros);
                   }});
  rules.push_back({op("sub", {x, zero}), [=](const Found& found) {
                     // -0 - (-0) is 0
                     const bool plain = !std::signbit(found.number(zero));
                     return plain ? found[x] : Value{};
                   }});
  rules.push_back(drops(x, op("neg", {op("neg", {x})})));
  rules.push_back(drops(x, op("dropout", {x}, [](const Node& node) {
                          return node.attrs.get<double>("ratio") == 0;
                        })));
  rules.push_back({op("pow", {x, number(2)}, is_float_node),
                   [=](const Found& found) { return found[x] * found[x]; }});
  rules.push_back({op("div", {x, c}, is_float_node), [=](const Found& found) {
                     int exponent = 0;
                     const double by = found.number(c);
                     constexpr int kMost = 14;  // of which every float dtype has the reciprocal
                     if (std::abs(std::frexp(by, &exponent)) != 0.5 || std::abs(exponent) > kMost)
                       return Value{};
                     return found[x] * scalar(found[x], 1 / by);
                   }});
}

// Does every number of `narrow` have its own in `wide`?
bool holds_all(DType wide, DType narrow) {
  if (wide == narrow) return true;
  if (narrow == DType::boolean) return wide != DType::c64;
  if (wide == DType::boolean || wide == DType::c64 || narrow == DType::c64) return false;
  struct Range {
    int bits;  // of a number without its sign
    bool is_signed;
  };
  const auto range = [](DType dtype) -> Range {
    switch (dtype) {
      case DType::i8:
        return {7, true};
      case DType::u8:
        return {8, false};
      case DType::i16:
        return {15, true};
      case DType::u16:
        return {16, false};
      case DType::i32:
        return {31, true};
      case DType::u32:
        return {32, false};
      case DType::i64:
        return {63, true};
      case DType::u64:
        return {64, false};
      case DType::bf16:
        return {8, true};
      case DType::f16:
        return {11, true};
      case DType::f32:
        return {24, true};
      default:
        return {53, true};  // f64
    }
  };
  if (is_float(narrow)) {
    return wide == DType::f64 || (wide == DType::f32 && narrow != DType::f64);
  }
  return range(wide).bits >= range(narrow).bits &&
         (range(wide).is_signed || !range(narrow).is_signed);
}

void add_casts(Rules& rules) {
  const Pattern x = any(), first = op("cast", {x}), second = op("cast", {first});
  rules.push_back(drops(x, op("cast", {x})));  // to its own dtype
  rules.push_back({second, [=](const Found& found) {
                     const Value from = found[x];
                     const DType between = found.node(first).types[0].dtype,
                                 to = found.type().dtype;
                     if (!holds_all(between, from.dtype())) return Value{};
                     if (to == from.dtype()) return from;
                     const bool alike =
                         (is_float(between) && is_float(from.dtype())) ||
                         (is_integer(between) && is_integer(from.dtype()) && is_integer(to));
                     return alike ? cast(from, to) : Value{};
                   }});
}

// Has the shape only symbols that the value has, too? Others may be told by the nodes that go.
bool knows_symbols(const Value& value, const Dims& shape) {
  std::vector<std::string> known;
  for (const Dim& dim : value.shape())
    for (const std::string& symbol : dim.symbols()) known.push_back(symbol);
  for (const Dim& dim : shape)
    for (const std::string& symbol : dim.symbols())
      if (std::find(known.begin(), known.end(), symbol) == known.end()) return false;
  return true;
}

void add_views(Rules& rules) {
  const Pattern x = any();
  for (const char* view : {"reshape", "squeeze", "unsqueeze", "expand", "tile"})
    rules.push_back(drops(x, op(view, {x})));  // of the same type
  rules.push_back(drops(x, op("slice", {x}, [](const Node& node) {
                          const Ints& steps = node.attrs.get<Ints>("steps");
                          return std::all_of(steps.begin(), steps.end(),
                                             [](int64_t step) { return step == 1; });
                        })));
  rules.push_back(drops(x, op("pad", {x}, [](const Node& node) {
                          const auto pads = pads_of(node);
                          return pads && std::all_of(pads->begin(), pads->end(),
                                                     [](const Dim& each) { return each.is(0); });
                        })));
  rules.push_back(
      drops(x, op("concat", {x}, [](const Node& node) { return node.inputs.size() == 1; })));
  const auto shaped = [](const Pattern& of) {
    return either({op("reshape", {of}), op("squeeze", {of}), op("unsqueeze", {of})});
  };
  rules.push_back({shaped(shaped(x)), [=](const Found& found) {
                     return knows_symbols(found[x], found.type().shape)
                                ? reshape(found[x], found.type().shape)
                                : Value{};
                   }});
}

int64_t run(Changing& graph, NearMisses* misses) {
  static const Rules rules = [] {
    Rules all;
    add_arithmetic(all);
    add_casts(all);
    add_views(all);
    return all;
  }();
  return apply_rules(graph, rules, misses);
}

}  // namespace

const Pass simplify{"simplify", "Drops nodes that change nothing.", run};

}  // namespace rlx
