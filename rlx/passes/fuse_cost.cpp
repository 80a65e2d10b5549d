// One model for every device of a class: a dispatch costs a launch and an invocation for each
// element, bytes that move cost bandwidth, and what is computed again costs arithmetic.

#include "rlx/passes/fuse_cost.h"

#include <algorithm>
#include <iomanip>
#include <optional>
#include <sstream>

#include "rlx/codegen/scalar_formula.h"

namespace rlx {
namespace {

struct Rates {
  double launch;          // nanoseconds, with the wait for what came before
  double invocation;      // nanoseconds
  double bytes, numbers;  // moved and computed in a nanosecond
};

Rates rates_of(DeviceClass device) {
  switch (device) {
    case DeviceClass::discrete:
      return {4000, 0.002, 400, 4000};
    case DeviceClass::integrated:
      return {8000, 0.01, 50, 800};
    default:  // the cores of a CPU, where invocations take turns
      return {10000, 5, 10, 8};
  }
}

constexpr double kCached = 0.25;  // what reading again costs of reading
constexpr int64_t kUsualExtent = 128;
constexpr double kUsualElements = 1 << 16;

// None where extents that were taken for it do not go together.
std::optional<double> number_of(const Dim& dim, const SymbolRanges& symbols) {
  SymbolValues values;
  for (const std::string& name : dim.symbols()) {
    const auto range = symbols.find(name);
    const bool bounded = range != symbols.end() && range->second.high < kUnbounded;
    values[name] = bounded ? range->second.high : kUsualExtent;
  }
  try {
    return static_cast<double>(std::max<int64_t>(dim.value(values), 0));
  } catch (const Error&) {
    return std::nullopt;
  }
}

// How often each element is loaded, where that is so whatever the extents are.
std::optional<double> whole_ratio(const Dim& loads, const Dim& elements) {
  for (int64_t times = 1; times <= 8; ++times)
    if (loads == elements * Dim(times)) return static_cast<double>(times);
  return std::nullopt;
}

std::string short_text(double number) {
  std::ostringstream out;
  const char* unit = number >= 1e9 ? " G" : number >= 1e6 ? " M" : number >= 1e3 ? " k" : " ";
  const double scale = number >= 1e9 ? 1e9 : number >= 1e6 ? 1e6 : number >= 1e3 ? 1e3 : 1;
  out << std::setprecision(3) << number / scale << unit;
  return out.str();
}

}  // namespace

double operations_of(const Node& node) {
  constexpr double kFunction = 20;  // exponentials and their like are made of so many
  const std::optional<ScalarFormula> formula = scalar_formula(node);
  if (!formula) return 0;
  return formula->expression.find("_f32(") == std::string::npos ? 1 : kFunction;  // of ops/lib
}

Verdict judge(const ComputedLoad& load, const DeviceTraits& traits, const SymbolRanges& symbols) {
  const Rates rates = rates_of(traits.device_class);
  const double elements = number_of(load.elements, symbols).value_or(kUsualElements);
  const std::optional<double> ratio = whole_ratio(load.loads, load.elements);
  const std::optional<double> counted =
      ratio ? std::optional(*ratio * elements) : number_of(load.loads, symbols);
  if (!counted) return {false, text("it is loaded ", load.loads, " times, which is not known")};
  const double loads = *counted;
  const double again = std::max(loads - elements, 0.0);
  const double reads = std::min(loads, elements) + kCached * again;
  const double apart = elements * (load.bytes_read + load.bytes) + reads * load.bytes;
  const double stored = load.stored ? elements * (kCached * load.bytes_read + load.bytes) : 0;
  const double together = reads * load.bytes_read + stored;
  const double repeated = (again + (load.stored ? elements : 0)) * load.operations;
  const double saved =
      rates.launch + elements * rates.invocation + (apart - together) / rates.bytes;
  Verdict verdict{saved > repeated / rates.numbers, ""};
  verdict.reason =
      text("each element would be computed ", short_text(elements > 0 ? loads / elements : 0),
           "times; saves ", short_text(std::max(apart - together, 0.0)), "B and a step, repeats ",
           short_text(repeated), "FLOP");
  return verdict;
}

}  // namespace rlx
