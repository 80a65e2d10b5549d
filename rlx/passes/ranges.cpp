#include "rlx/passes/ranges.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>

#include "rlx/ops/views.h"
#include "rlx/ops/words.h"
#include "rlx/passes/match.h"

namespace rlx {
namespace {

constexpr double kInfinite = std::numeric_limits<double>::infinity();
constexpr Range kWord{INT32_MIN, INT32_MAX};

Range range_of(DType dtype) {
  if (dtype == DType::boolean) return {0, 1};
  if (!is_integer(dtype)) return {-kInfinite, kInfinite};
  const int bits = 8 * static_cast<int>(bytes_of(dtype));
  if (!is_signed_integer(dtype)) return {0, std::ldexp(1, bits) - 1};
  return {-std::ldexp(1, bits - 1), std::ldexp(1, bits - 1) - 1};
}
bool within(const Range& a, const Range& b) { return a.low >= b.low && a.high <= b.high; }
Range hull(const Range& a, const Range& b) {
  return {std::min(a.low, b.low), std::max(a.high, b.high)};
}
Range hull_of(std::initializer_list<double> numbers) {
  Range range{kInfinite, -kInfinite};
  for (const double number : numbers) {
    if (std::isnan(number)) return {-kInfinite, kInfinite};
    range = hull(range, {number, number});
  }
  return range;
}
double farthest(const Range& x) { return std::max(std::abs(x.low), std::abs(x.high)); }

Range product(const Range& a, const Range& b) {
  const auto times = [](double x, double y) { return x == 0 || y == 0 ? 0 : x * y; };
  return hull_of(
      {times(a.low, b.low), times(a.low, b.high), times(a.high, b.low), times(a.high, b.high)});
}

// What a rule sees of a node: ranges of its operands, and extents.
struct Site {
  const Node& node;
  const std::function<Range(size_t)>& range;      // of operand i
  const std::function<double(const Dim&)>& most;  // that an extent can be
  double largest;                                 // number of elements of a tensor of integers

  Range x() const { return range(0); }
  Range y() const { return range(1); }
  bool has(size_t i) const { return i < node.inputs.size() && node.inputs[i].present(); }
  DType dtype() const { return node.types[0].dtype; }
  double elements(size_t i) const {
    double all = 1;
    for (const Dim& dim : node.inputs[i].shape()) all *= std::max(most(dim), 1.0);
    return std::min(all, largest);
  }
  double longest(size_t i) const {
    double extent = 0;
    for (const Dim& dim : node.inputs[i].shape()) extent = std::max(extent, most(dim));
    return extent;
  }
};
using Rule = std::function<Range(const Site&)>;

Range first(const Site& s) { return s.x(); }
Range with_zero(const Site& s) { return hull(s.x(), {0, 0}); }
Range all_operands(const Site& s) {
  Range range = s.x();
  for (size_t i = 1; i < s.node.inputs.size(); ++i)
    if (s.has(i)) range = hull(range, s.range(i));
  return range;
}
Range place_in_longest(const Site& s) { return {0, std::max(s.longest(0) - 1, 0.0)}; }

Range quotient(const Site& s) {
  const Range x = s.x(), y = s.y();
  if (y.low > 0 || y.high < 0) {
    const Range all = hull_of({x.low / y.low, x.low / y.high, x.high / y.low, x.high / y.high});
    return is_integer(s.dtype()) ? Range{std::trunc(all.low), std::trunc(all.high)} : all;
  }
  if (!is_integer(s.dtype())) return {-kInfinite, kInfinite};
  return {-farthest(x), farthest(x)};
}
Range modulus(const Site& s) {  // with the sign of y
  const Range x = s.x(), y = s.y();
  const double most = is_integer(s.dtype()) ? farthest(y) - 1 : farthest(y);
  const bool by_zero_is_zero = is_integer(s.dtype());
  if (y.low > 0 || (by_zero_is_zero && y.low == 0))
    return {0, std::max(x.low >= 0 ? std::min(x.high, most) : most, 0.0)};
  return {-std::max(most, 0.0), std::max(most, 0.0)};
}
Range remainder(const Site& s) {  // with the sign of x
  const double most = std::min(farthest(s.y()), farthest(s.x()));
  return {s.x().low >= 0 ? 0 : -most, s.x().high <= 0 ? 0 : most};
}
Range bits(const Site& s) {  // of or, and exclusive or
  if (s.x().low < 0 || s.y().low < 0) return range_of(s.dtype());
  double most = 1;
  while (most <= std::max(s.x().high, s.y().high)) most *= 2;
  return {0, most - 1};
}
Range magnitudes(const Site& s) {
  const Range x = s.x();
  return {x.low > 0 ? x.low : x.high < 0 ? -x.high : 0, farthest(x)};
}
Range powers(const Site& s) {
  const Range x = s.x(), y = s.y();
  if (x.low < 1 || y.low < 0) return range_of(s.dtype());
  return {std::pow(x.low, y.low), std::pow(x.high, y.high)};
}
Range shifted(const Site& s) {
  const Range y = s.y();
  if (y.low < 0 || y.high > 62) return range_of(s.dtype());
  return product(s.x(),
                 {std::ldexp(1, static_cast<int>(y.low)), std::ldexp(1, static_cast<int>(y.high))});
}
Range summed(const Site& s) {
  double together = s.elements(0);  // over the axes, as far as these are attributes
  if (s.node.attrs.has("axes") && !s.has(1)) {
    const Ints& axes = s.node.attrs.get<Ints>("axes");
    const Dims& shape = s.node.inputs[0].shape();
    double along = 1;
    for (const int64_t axis : axes)
      along *= s.most(shape[static_cast<size_t>(axis < 0 ? axis + int64_t(shape.size()) : axis)]);
    if (!axes.empty()) together = std::min(together, along);
  }
  return hull(product(s.x(), {1, std::max(together, 1.0)}), {0, 0});
}
Range run_up(const Site& s) {
  return hull(product(s.x(), {1, std::max(s.longest(0), 1.0)}), {0, 0});
}
Range dot(const Site& s) {
  const double length = s.most(s.node.inputs[0].shape().back());
  return hull(product(product(s.x(), s.y()), {1, std::max(length, 1.0)}), {0, 0});
}
Range counted(const Site& s) {
  if (!s.node.inputs.empty()) return all_operands(s);
  if (!s.node.attrs.has("integers")) return range_of(s.dtype());
  Range range{0, 0};
  for (const Dim& bound : dims_attr(s.node.attrs, "integers"))
    range = hull(range, {static_cast<double>(bound.range({}).low), s.most(bound)});
  return range;
}
Range scattered(const Site& s) {
  if (s.node.attrs.get<std::string>("reduction") != "none") return range_of(s.dtype());
  return hull(s.x(), s.range(2));
}
Range clipped(const Site& s) {
  const double low = s.node.attrs.get<double>("min"), high = s.node.attrs.get<double>("max");
  return {std::clamp(s.x().low, low, std::max(low, high)),
          std::clamp(s.x().high, low, std::max(low, high))};
}
Range converted(const Site& s) {
  Range x = s.x();
  if (!is_integer(s.dtype()) && s.dtype() != DType::boolean) return x;
  const Range all = range_of(s.dtype());
  if (s.dtype() == DType::boolean) return all;
  if (!is_integer(s.node.inputs[0].dtype()) && s.node.inputs[0].dtype() != DType::boolean)
    x = hull({std::trunc(std::clamp(x.low, all.low, all.high)),
              std::trunc(std::clamp(x.high, all.low, all.high))},
             {0, 0});  // NaN is 0
  return x;
}

// An increasing function of floats.
Rule rising(double (*f)(double)) {
  return [f](const Site& s) -> Range {
    const double low = f(s.x().low), high = f(s.x().high);
    return {std::isnan(low) ? -kInfinite : low, std::isnan(high) ? kInfinite : high};
  };
}

const std::map<std::string, Rule>& rules() {
  static const std::map<std::string, Rule> table = [] {
    std::map<std::string, Rule> all{
        {"add",
         [](const Site& s) -> Range {
           return {s.x().low + s.y().low, s.x().high + s.y().high};
         }},
        {"sub",
         [](const Site& s) -> Range {
           return {s.x().low - s.y().high, s.x().high - s.y().low};
         }},
        {"mul", [](const Site& s) { return product(s.x(), s.y()); }},
        {"div", quotient},
        {"mod", modulus},
        {"fmod", remainder},
        {"max",
         [](const Site& s) -> Range {
           return {std::max(s.x().low, s.y().low), std::max(s.x().high, s.y().high)};
         }},
        {"min",
         [](const Site& s) -> Range {
           return {std::min(s.x().low, s.y().low), std::min(s.x().high, s.y().high)};
         }},
        {"pow", powers},
        {"neg",
         [](const Site& s) -> Range {
           return {-s.x().high, -s.x().low};
         }},
        {"abs", magnitudes},
        {"sign",
         [](const Site&) -> Range {
           return {-1, 1};
         }},
        {"bitwise_not",
         [](const Site& s) -> Range {
           return {-s.x().high - 1, -s.x().low - 1};
         }},
        {"bitwise_and",
         [](const Site& s) -> Range {
           if (s.x().low < 0 && s.y().low < 0) return range_of(s.dtype());
           const double x = s.x().low < 0 ? kInfinite : s.x().high,
                        y = s.y().low < 0 ? kInfinite : s.y().high;
           return {0, std::min(x, y)};
         }},
        {"bitwise_or", bits},
        {"bitwise_xor", bits},
        {"shift_left", shifted},
        {"shift_right", with_zero},
        {"where", [](const Site& s) { return hull(s.range(1), s.range(2)); }},
        {"clip", clipped},
        {"cast", converted},
        {"sum", summed},
        {"cumsum", run_up},
        {"range", counted},
        {"matmul", dot},
        {"scatter", scattered},
        {"scatter_elements", scattered},
        {"scatter_nd", scattered},
        {"pad",
         [](const Site& s) {
           const double value = s.node.attrs.get<double>("value");
           return hull(s.has(2) ? hull(s.x(), s.range(2)) : s.x(), {value, value});
         }},
        {"trilu", with_zero},
        {"relu",
         [](const Site& s) -> Range {
           return {std::max(s.x().low, 0.0), std::max(s.x().high, 0.0)};
         }},
        {"sigmoid",
         [](const Site&) -> Range {
           return {0, 1};
         }},
        {"softmax",
         [](const Site&) -> Range {
           return {0, 1};
         }},
        {"tanh",
         [](const Site&) -> Range {
           return {-1, 1};
         }},
        {"sin",
         [](const Site&) -> Range {
           return {-1, 1};
         }},
        {"cos",
         [](const Site&) -> Range {
           return {-1, 1};
         }},
        {"exp", rising(std::exp)},
        {"log", rising(std::log)},
        {"sqrt", rising(std::sqrt)},
        {"floor", rising(std::floor)},
        {"ceil", rising(std::ceil)},
        {"round", rising(std::nearbyint)},
    };
    for (const char* name :
         {"reshape", "squeeze", "unsqueeze", "expand", "tile", "transpose", "slice", "gather",
          "gather_nd", "gather_elements", "reverse_sequence", "stop_gradient", "reduce_max",
          "reduce_min", "mean", "sort", "top_k", "unique"})
      all.emplace(name, first);
    for (const char* name : {"concat", "write_slice"}) all.emplace(name, all_operands);
    for (const char* name : {"argmax", "argmin", "non_zero", "non_max_suppression", "sample"})
      all.emplace(name, place_in_longest);
    return all;
  }();
  return table;
}

bool is_read_on_device(const Graph& graph, const std::vector<std::vector<int>>& readers, int at) {
  for (const int reader : readers[size_t(at)]) {
    const Node& node = graph.node(reader);
    const bool arithmetic = node.op->elementwise && !node.op->elementwise->safe_i64;
    if (!node.op->lower || arithmetic || takes_words(*node.op)) continue;
    for (size_t i = 0; i < node.inputs.size(); ++i)
      if (node.inputs[i].present() && node.inputs[i].node == at &&
          std::count(node.op->host_inputs.begin(), node.op->host_inputs.end(), i) == 0)
        return true;
  }
  return false;
}

// Has the result no elements but those of the first operand, as far as it tells of integers?
bool passes_on(const Node& node) {
  return is_one_of(node, {"gather", "cast", "slice", "reshape", "squeeze", "unsqueeze", "transpose",
                          "expand"}) &&
         is_integer(node.inputs[0].dtype()) && node.types[0].dtype == node.inputs[0].dtype();
}

Range range_of(const Tensor& tensor) {
  if (tensor.dtype() == DType::c64 || tensor.count() == 0) return {0, 0};
  Range range{kInfinite, -kInfinite};
  for (int64_t i = 0; i < tensor.count(); ++i) {
    const double x = tensor.at(i);
    if (!std::isnan(x)) range = hull(range, {x, x});
  }
  return range.low <= range.high ? range : Range{0, 0};
}

}  // namespace

Ranges::Ranges(const Graph& graph, const DeviceTraits& traits, bool is_body) {
  const SymbolRanges symbols = graph.symbols();
  // An integer is 4 bytes on a device, and a tensor one buffer.
  const double longest =
      std::min(static_cast<double>(traits.max_buffer_bytes) / 4, double{INT32_MAX});
  const std::function<double(const Dim&)> most = [&](const Dim& dim) {
    const Interval range = dim.range(symbols);
    return range.high == kUnbounded ? longest : std::min(static_cast<double>(range.high), longest);
  };
  std::vector<std::vector<int>> readers(graph.nodes().size());
  for (size_t at = 0; at < graph.nodes().size(); ++at)
    for (const Value& input : graph.nodes()[at].inputs)
      if (input.present()) readers[size_t(input.node)].push_back(static_cast<int>(at));

  for (size_t at = 0; at < graph.nodes().size(); ++at) {
    const Node& node = graph.nodes()[at];
    auto& results = ranges_.emplace_back();
    // What the host makes of any size is checked where it comes to the device.
    const bool held = (is_source(node) && !is_input(node)) || (is_body && is_input(node)) ||
                      is_read_on_device(graph, readers, static_cast<int>(at));
    for (size_t r = 0; r < node.types.size(); ++r) {
      const DType dtype = node.types[r].dtype;
      const bool wide = dtype == DType::i64 || dtype == DType::u64;
      Range range = range_of(dtype);
      if (wide && held) range = kWord;
      const auto rule = rules().find(node.op->name);
      const auto& host = node.host_values[r];
      if (is_constant(node)) {
        range = range_of(*tensor_of(node));
      } else if (is_weight(node) && wide && tensor_of(node) &&
                 !within(range_of(*tensor_of(node)), kWord)) {
        range = range_of(dtype);
      } else if (host) {
        Range all{kInfinite, -kInfinite};
        for (const Dim& element : host->elements) {
          const std::vector<std::string> names = element.symbols();
          const bool is_extent = std::none_of(names.begin(), names.end(), [](const auto& name) {
            return name.find('.') != std::string::npos;
          });
          SymbolRanges known = symbols;  // an element may be any number
          if (!is_extent)
            for (const std::string& name : names)
              if (name.find('.') != std::string::npos) known[name] = {-kUnbounded, kUnbounded};
          const Interval each = element.range(known);
          const bool single = is_extent && element.symbol().has_value();
          all = hull(all, {static_cast<double>(each.low),
                           single ? most(element) : static_cast<double>(each.high)});
        }
        if (all.low <= all.high) range = all;
        // An expression says less than what it is made of: an extent, whatever it mentions.
        const Range also = is_op(node, "shape_of") ? Range{0, longest}
                           : passes_on(node)       ? of(node.inputs[0])
                                                   : range;
        range = {std::max(range.low, also.low), std::min(range.high, also.high)};
        if (range.low > range.high) range = also;
      } else if (rule != rules().end() && r == 0) {
        const std::function<Range(size_t)> operand = [&](size_t i) {
          return node.inputs[i].present() ? of(node.inputs[i]) : Range{0, 0};
        };
        Range found = rule->second({node, operand, most, longest});
        if (!is_integer(dtype) && dtype != DType::boolean) {  // roundings
          found.low -= 1e-5 * std::abs(found.low);
          found.high += 1e-5 * std::abs(found.high);
          range = std::isnan(found.low) || std::isnan(found.high) ? range : found;
        } else {
          range = within(found, range_of(dtype)) ? found : range_of(dtype);
        }
      } else if (r > 0 && wide && !node.inputs.empty() && node.inputs[0].present()) {
        if (is_one_of(node, {"sort", "top_k", "max_pool", "unique"})) {
          double elements = 1;
          for (const Dim& dim : node.inputs[0].shape()) elements *= most(dim);
          range = {0, std::min(elements, longest)};
        }
      }
      results.push_back(range);
    }
  }
}

bool Ranges::fits_word(const Value& value) const { return within(of(value), kWord); }

}  // namespace rlx
