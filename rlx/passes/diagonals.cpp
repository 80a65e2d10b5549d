#include "rlx/passes/diagonals.h"

#include <algorithm>
#include <cmath>

#include "rlx/ops/views.h"
#include "rlx/passes/match.h"
#include "rlx/passes/slices.h"

namespace rlx {
namespace {

constexpr int64_t kFarthest = int64_t{1} << 40;  // of numbers that places are computed with

// In which places are counted without rounding or wrapping.
bool counts(DType dtype) {
  return dtype == DType::i32 || dtype == DType::i64 || dtype == DType::f32 || dtype == DType::f64;
}

Along number(size_t axes, double value) { return {Ints(axes, 0), {}, {}, value}; }
Along ramp(Ints slopes, const Dim& first) { return {std::move(slopes), first}; }

bool is_flat(const Along& along) {
  return std::all_of(along.slopes.begin(), along.slopes.end(),
                     [](int64_t slope) { return slope == 0; });
}

// A whole number counts as a ramp that does not rise.
std::optional<Dim> ramp_of(const Along& along) {
  if (along.ramp) return along.ramp;
  if (!along.is_number() || along.rest != std::floor(along.rest) ||
      std::abs(along.rest) > static_cast<double>(kFarthest))
    return std::nullopt;
  return Dim(static_cast<int64_t>(along.rest));
}

// With the last slope that is not 0 above it, so that equal diagonals look equal.
Along turned(Along along) {
  const auto last = std::find_if(along.slopes.rbegin(), along.slopes.rend(),
                                 [](int64_t slope) { return slope != 0; });
  if (along.ramp || last == along.slopes.rend() || *last > 0) return along;
  Along other{along.slopes, {}, {}, along.steps.empty() ? along.rest : along.steps[0].value};
  for (int64_t& slope : other.slopes) slope = -slope;
  for (size_t i = along.steps.size(); i-- > 0;)
    other.steps.push_back({Dim(0) - along.steps[i].last - 1,
                           i + 1 < along.steps.size() ? along.steps[i + 1].value : along.rest});
  return other;
}

Along tidy(Along along) {
  std::vector<Along::Step> steps;
  for (const Along::Step& step : along.steps) {
    if (!steps.empty() && steps.back().value == step.value)
      steps.back().last = step.last;
    else
      steps.push_back(step);
  }
  while (!steps.empty() && steps.back().value == along.rest) steps.pop_back();
  along.steps = std::move(steps);
  if (along.is_number()) along.slopes.assign(along.slopes.size(), 0);
  return turned(std::move(along));
}

double value_at(const Along& along, const Dim& sum, const SymbolRanges& symbols) {
  for (const Along::Step& step : along.steps)
    if (is_never_less(step.last, sum, symbols)) return step.value;
  return along.rest;
}

// Sums in order; none where a run would tell it.
std::optional<Dims> in_order(Dims sums, const SymbolRanges& symbols) {
  Dims ordered;
  for (const Dim& sum : sums) {
    if (std::find(ordered.begin(), ordered.end(), sum) != ordered.end()) continue;
    auto at = ordered.begin();
    while (at != ordered.end() && !is_never_less(*at, sum, symbols)) {
      if (!is_never_less(sum, *at, symbols)) return std::nullopt;
      ++at;
    }
    ordered.insert(at, sum);
  }
  return ordered;
}

// Values of operands on each stretch of sums, to those of the result.
using Function = std::function<std::optional<std::vector<double>>(
    const std::vector<std::vector<double>>& operands)>;

std::optional<Along> combined(const std::vector<Along>& operands, const SymbolRanges& symbols,
                              const Function& function) {
  Along result{operands[0].slopes};
  Dims sums;
  for (const Along& each : operands) {
    if (each.ramp) return std::nullopt;
    if (each.is_number()) continue;
    if (!is_flat(result) && result.slopes != each.slopes) return std::nullopt;
    result.slopes = each.slopes;
    for (const Along::Step& step : each.steps) sums.push_back(step.last);
  }
  constexpr size_t kMost = 8;
  const auto ordered = in_order(std::move(sums), symbols);
  if (!ordered || ordered->size() > kMost) return std::nullopt;
  std::vector<std::vector<double>> values;
  for (const Along& each : operands) {
    values.emplace_back();
    for (const Dim& sum : *ordered) values.back().push_back(value_at(each, sum, symbols));
    values.back().push_back(each.rest);
  }
  const auto made = function(values);
  if (!made) return std::nullopt;
  for (size_t i = 0; i < ordered->size(); ++i) result.steps.push_back({(*ordered)[i], (*made)[i]});
  result.rest = made->back();
  return tidy(std::move(result));
}

// As it is seen in a shape that it broadcasts to.
std::optional<Along> seen_in(Along along, const Dims& from, const Dims& to) {
  if (from.size() > to.size()) return std::nullopt;
  const size_t extra = to.size() - from.size();
  for (size_t d = 0; d < from.size(); ++d) {
    if (from[d].is(1)) along.slopes[d] = 0;
    if (along.slopes[d] != 0 && !(from[d] == to[d + extra])) return std::nullopt;
  }
  along.slopes.insert(along.slopes.begin(), extra, 0);
  return along;
}

// As it is seen with other axes of one element.
std::optional<Along> seen_as(const Along& along, const Dims& from, const Dims& to) {
  Along other = along;
  other.slopes.assign(to.size(), 0);
  size_t next = 0;
  for (size_t d = 0; d < from.size(); ++d) {
    if (from[d].is(1)) continue;
    while (next < to.size() && to[next].is(1)) ++next;
    if (next == to.size() || !(to[next] == from[d])) return std::nullopt;
    other.slopes[next++] = along.slopes[d];
  }
  for (; next < to.size(); ++next)
    if (!to[next].is(1)) return std::nullopt;
  return other;
}

// What is found `by` further on along an axis.
Along moved(Along along, size_t axis, const Dim& by) {
  const Dim sum = Dim(along.slopes[axis]) * by;
  if (along.ramp) along.ramp = *along.ramp + sum;
  for (Along::Step& step : along.steps) step.last = step.last - sum;
  return along;
}

std::optional<Along> progression(const Dims& shape, const std::vector<Dim>& elements) {
  Along along = number(shape.size(), 0);
  const auto rises =
      std::find_if(shape.begin(), shape.end(), [](const Dim& d) { return !d.is(1); });
  if (elements.empty()) return std::nullopt;
  along.ramp = elements[0];
  if (elements.size() == 1) return along;
  const Dim step = elements[1] - elements[0];
  if (!step.is_number() || !(*rises == Dim(elements.size()))) return std::nullopt;
  for (size_t i = 1; i < elements.size(); ++i)
    if (!(elements[i] - elements[i - 1] == step)) return std::nullopt;
  along.slopes[static_cast<size_t>(rises - shape.begin())] = step.number();
  return along;
}

// A table whose elements are equal along each diagonal of its last two axes.
std::optional<Along> table(const Tensor& tensor) {
  constexpr int64_t kMost = int64_t{1} << 22;
  constexpr size_t kMostSteps = 4;
  const Shape& shape = tensor.shape();
  if (shape.size() < 2 || tensor.count() == 0 || tensor.count() > kMost ||
      tensor.dtype() == DType::c64)
    return std::nullopt;
  const int64_t columns = shape.back(), rows = shape[shape.size() - 2];
  if (rows * columns != tensor.count()) return std::nullopt;
  const auto at = [&](int64_t row, int64_t column) { return tensor.at(row * columns + column); };
  Along along = number(shape.size(), at(0, columns - 1));
  along.slopes[shape.size() - 1] = 1;
  along.slopes[shape.size() - 2] = -1;
  for (int64_t sum = 1 - rows; sum < columns; ++sum) {
    const double value = sum < 0 ? at(-sum, 0) : at(0, sum);
    if (along.steps.empty() || along.steps.back().value != value)
      along.steps.push_back({sum, value});
    along.steps.back().last = sum;
    if (along.steps.size() > kMostSteps) return std::nullopt;
  }
  along.steps.pop_back();  // the rest
  for (int64_t row = 1; row < rows; ++row)
    for (int64_t column = 1; column < columns; ++column)
      if (at(row, column) != at(row - 1, column - 1)) return std::nullopt;
  return tidy(std::move(along));
}

std::optional<Along> constant(const Tensor& tensor) {
  const Shape& shape = tensor.shape();
  const int64_t longest = shape.empty() ? 1 : *std::max_element(shape.begin(), shape.end());
  constexpr int64_t kMost = 1 << 16;
  if (longest != tensor.count() || !counts(tensor.dtype()) || longest > kMost) return table(tensor);
  std::vector<Dim> elements;
  for (int64_t i = 0; i < tensor.count(); ++i) {
    const double element = tensor.at(i);
    if (element != std::floor(element) || std::abs(element) > static_cast<double>(kFarthest))
      return table(tensor);
    elements.emplace_back(static_cast<int64_t>(element));
  }
  const auto found = progression(Dims(shape.begin(), shape.end()), elements);
  return found ? found : table(tensor);
}

std::optional<Dim> host_element(const Node& node, size_t operand) {
  if (operand >= node.inputs.size() || !node.inputs[operand].present()) return std::nullopt;
  const Value& value = node.inputs[operand];
  const auto& host = value.producer().host_values[static_cast<size_t>(value.result)];
  return host && host->elements.size() == 1 ? std::optional(host->elements[0]) : std::nullopt;
}

std::optional<Along> range_of_places(const Node& node) {
  Dims bounds = dims_attr(node.attrs, "integers");
  for (size_t i = 0; bounds.size() < 3 && i < 3; ++i) {
    const auto element = host_element(node, i);
    if (!element) return std::nullopt;
    bounds.push_back(*element);
  }
  return bounds[2].is_number() ? std::optional(ramp({bounds[2].number()}, bounds[0]))
                               : std::nullopt;
}

}  // namespace

bool is_never_less(const Dim& a, const Dim& b, const SymbolRanges& symbols) {
  const Dim difference = a - b;
  SymbolRanges ranges = symbols;
  for (const std::string& symbol : difference.symbols())  // elements of tensors may be negative
    if (symbol.find('.') != std::string::npos) ranges[symbol] = {-kUnbounded, kUnbounded};
  return difference.range(ranges).low >= 0;
}

std::optional<Along> Diagonals::operator()(const Value& value) {
  constexpr int kDeepest = 40;
  const auto key = std::pair(value.node, value.result);
  if (const auto at = known_.find(key); at != known_.end()) return at->second;
  if (depth_ == kDeepest) return std::nullopt;
  ++depth_;
  std::optional<Along> along = found(value);
  --depth_;
  if (along && along->ramp && is_flat(*along) && along->ramp->is_number())
    along = number(along->slopes.size(), static_cast<double>(along->ramp->number()));
  known_[key] = along;
  return along;
}

std::optional<Along> Diagonals::found(const Value& value) {
  const Node& node = value.producer();
  const auto& host = node.host_values[static_cast<size_t>(value.result)];
  if (host && !host->elements.empty() && value.dtype() != DType::boolean)
    if (const auto found = progression(value.shape(), host->elements)) return found;
  if (is_source(node)) return of_source(value);
  if (const auto same = number_of(value)) return number(value.shape().size(), *same);
  if (is_one_of(node, {"range"})) return range_of_places(node);
  if (is_one_of(node, {"reshape", "unsqueeze", "squeeze", "expand", "transpose", "slice"}))
    return of_view(value);
  if (is_one_of(node, {"concat"})) return of_concat(value);
  if (is_one_of(node, {"trilu", "causal_mask"})) return of_triangle(value);
  if (!node.op->elementwise && !is_one_of(node, {"cast"})) return std::nullopt;
  const auto ramps = of_ramps(value);
  return ramps ? ramps : of_elements(value);
}

std::optional<Along> Diagonals::of_source(const Value& value) {
  const Node& node = value.producer();
  if (is_weight(node) && weight_.empty()) weight_ = node.name;
  if (!is_constant(node)) return std::nullopt;
  if (const auto same = number_of(value)) return number(value.shape().size(), *same);
  return constant(*tensor_of(node));
}

std::optional<Along> Diagonals::of_view(const Value& value) {
  const Node& node = value.producer();
  const auto inside = (*this)(node.inputs[0]);
  if (!inside) return std::nullopt;
  const Dims &from = node.inputs[0].shape(), &to = value.shape();
  if (is_one_of(node, {"expand"})) return seen_in(*inside, from, to);
  if (is_one_of(node, {"transpose"})) {
    Along along = *inside;
    const Ints order = transpose_order(node.attrs.get<Ints>("order"), node.inputs[0].type());
    for (size_t d = 0; d < order.size(); ++d) along.slopes[d] = inside->slopes[size_t(order[d])];
    return turned(std::move(along));
  }
  if (!is_one_of(node, {"slice"})) return seen_as(*inside, from, to);
  const auto starts = starts_of(node);
  const Ints &axes = node.attrs.get<Ints>("axes"), &steps = node.attrs.get<Ints>("steps");
  if (!starts || std::any_of(steps.begin(), steps.end(), [](int64_t step) { return step != 1; }))
    return std::nullopt;
  Along along = *inside;
  for (size_t i = 0; i < starts->size(); ++i) {
    const int64_t given = axes.empty() ? static_cast<int64_t>(i) : axes[i];
    const auto axis = static_cast<size_t>(given < 0 ? given + rank(value.type()) : given);
    if (from[axis] == to[axis] || along.slopes[axis] == 0) continue;
    // Where a start lies behind the end there are no elements to be wrong about.
    if (!is_never_less((*starts)[i], 0, value.graph->symbols)) return std::nullopt;
    along = moved(std::move(along), axis, (*starts)[i]);
  }
  return along;
}

// One number beside what begins with it: the columns of a cache, which every query sees.
std::optional<Along> Diagonals::of_concat(const Value& value) {
  const Node& node = value.producer();
  if (node.inputs.size() != 2) return std::nullopt;
  const int64_t given = node.attrs.get<int64_t>("axis");
  const auto axis = static_cast<size_t>(given < 0 ? given + rank(value.type()) : given);
  const auto first = (*this)(node.inputs[0]), second = (*this)(node.inputs[1]);
  if (axis + 1 != value.shape().size() || axis == 0 || !first || !second || !first->is_number() ||
      second->ramp)
    return std::nullopt;
  if (second->is_number()) return second->rest == first->rest ? second : std::nullopt;
  if (second->slopes[axis] != 1) return std::nullopt;
  // Places before the first column have sums of less than 0, whatever the row.
  const bool falls = std::all_of(second->slopes.begin(), second->slopes.end() - 1,
                                 [](int64_t slope) { return slope <= 0; });
  if (!falls || second->steps[0].value != first->rest ||
      !is_never_less(second->steps[0].last, -1, value.graph->symbols))
    return std::nullopt;
  return moved(*second, axis, Dim(0) - node.inputs[0].shape()[axis]);
}

// Arithmetic and comparisons of places.
std::optional<Along> Diagonals::of_ramps(const Value& value) {
  const Node& node = value.producer();
  std::vector<Along> operands;
  Dims firsts;
  bool rises = false;
  for (const Value& input : node.inputs) {
    if (!input.present() || !counts(input.dtype())) return std::nullopt;
    const auto inside = (*this)(input);
    const auto seen = inside ? seen_in(*inside, input.shape(), value.shape()) : std::nullopt;
    const auto first = seen ? ramp_of(*seen) : std::nullopt;
    if (!first) return std::nullopt;
    rises |= seen->ramp.has_value();
    operands.push_back(*seen);
    firsts.push_back(*first);
  }
  if (!rises || operands.empty()) return std::nullopt;
  const auto scaled = [&](int64_t a, int64_t b) {
    Along sum = ramp(operands[0].slopes, firsts[0] * Dim(a));
    for (size_t d = 0; d < sum.slopes.size(); ++d)
      sum.slopes[d] = a * sum.slopes[d] + (b == 0 ? 0 : b * operands[1].slopes[d]);
    if (b != 0) sum.ramp = *sum.ramp + firsts[1] * Dim(b);
    return sum;
  };
  if (counts(value.dtype())) {
    if (is_one_of(node, {"cast"})) return scaled(1, 0);
    if (is_one_of(node, {"neg"})) return scaled(-1, 0);
    if (is_one_of(node, {"add"})) return scaled(1, 1);
    if (is_one_of(node, {"sub"})) return scaled(1, -1);
    if (is_one_of(node, {"mul"}))
      for (const size_t by : {size_t{0}, size_t{1}})
        if (is_flat(operands[by]) && firsts[by].is_number()) {
          std::swap(operands[0], operands[1 - by]);
          std::swap(firsts[0], firsts[1 - by]);
          return scaled(firsts[1].number(), 0);
        }
    return std::nullopt;
  }
  if (!is_one_of(node, {"lt", "le", "gt", "ge"})) return std::nullopt;
  // a < b: the sum of a - b is at most -1 - its first.
  Along along = scaled(1, -1);
  const Dim first = *along.ramp;
  along.ramp.reset();
  const bool is_less = is_one_of(node, {"lt", "le"});
  along.steps = {{Dim(0) - first - (is_one_of(node, {"lt", "ge"}) ? 1 : 0), is_less ? 1.0 : 0.0}};
  along.rest = is_less ? 0 : 1;
  if (is_flat(along)) {  // a run may decide it, or nobody needs to
    if (!along.steps[0].last.is_number()) return std::nullopt;
    along.rest = along.steps[0].last.number() >= 0 ? along.steps[0].value : along.rest;
    along.steps.clear();
  }
  return turned(std::move(along));
}

std::optional<Along> Diagonals::of_elements(const Value& value) {
  const Node& node = value.producer();
  std::vector<Along> operands;
  if (node.types.size() != 1 || !node.op->reference) return std::nullopt;
  for (const Value& input : node.inputs) {
    const auto inside = input.present() ? (*this)(input) : std::nullopt;
    const auto seen = inside ? seen_in(*inside, input.shape(), value.shape()) : std::nullopt;
    if (!seen) return std::nullopt;
    operands.push_back(*seen);
  }
  if (operands.empty()) return std::nullopt;
  return combined(operands, value.graph->symbols,
                  [&](const auto& values) -> std::optional<std::vector<double>> {
                    const auto count = static_cast<int64_t>(values[0].size());
                    std::vector<Tensor> tensors, results;
                    std::vector<const Tensor*> pointers;
                    for (size_t i = 0; i < values.size(); ++i)
                      tensors.push_back(Tensor::of(node.inputs[i].dtype(), {count}, values[i]));
                    for (const Tensor& tensor : tensors) pointers.push_back(&tensor);
                    results.emplace_back(value.dtype(), Shape{count});
                    const SymbolValues none;
                    try {
                      node.op->reference({*node.op, pointers, node.attrs, results, none});
                    } catch (const Error&) {
                      return std::nullopt;
                    }
                    std::vector<double> made;
                    for (int64_t i = 0; i < count; ++i) made.push_back(results[0].at(i));
                    return made;
                  });
}

std::optional<Along> Diagonals::of_triangle(const Value& value) {
  const Node& node = value.producer();
  const Dims& shape = value.shape();
  Along kept = number(shape.size(), 0);
  kept.slopes[shape.size() - 1] = 1;
  kept.slopes[shape.size() - 2] = -1;
  if (is_one_of(node, {"causal_mask"})) {
    const Dim own = shape[1] - shape[0];
    const int64_t window = node.attrs.get<int64_t>("window");
    if (window >= 0) kept.steps.push_back({own - window - 1, 0});
    kept.steps.push_back({own, 1});
    return kept;
  }
  const auto inside = (*this)(node.inputs[0]);
  const bool operand = node.inputs.size() > 1 && node.inputs[1].present();
  const auto k = operand ? host_element(node, 1) : Dim(node.attrs.get<int64_t>("k"));
  if (!inside || !k) return std::nullopt;
  if (node.attrs.get<bool>("upper")) {
    kept.steps = {{*k - 1, 0}};
    kept.rest = 1;
  } else {
    kept.steps = {{*k, 1}};
  }
  return combined({*inside, kept}, value.graph->symbols,
                  [](const auto& values) -> std::optional<std::vector<double>> {
                    std::vector<double> made;
                    for (size_t i = 0; i < values[0].size(); ++i)
                      made.push_back(values[1][i] != 0 ? values[0][i] : 0);
                    return made;
                  });
}

}  // namespace rlx
