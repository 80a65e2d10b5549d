// Gradients against central differences of the reference.
#include <algorithm>
#include <cmath>

#include "rlx/autodiff/gradient.h"
#include "rlx/conformance/case_data.h"
#include "rlx/conformance/runner.h"
#include "rlx/ir/evaluate.h"
#include "rlx/ops/ops_core.h"

namespace rlx {
namespace {

using Fill = CaseInput::Fill;
constexpr int64_t kMostElements = 64;  // of an operand that are checked
constexpr int64_t kMostWork = 2'000'000;

Tensor converted(const Tensor& tensor, DType dtype) {
  Tensor result(dtype, tensor.shape());
  for (int64_t i = 0; i < tensor.count(); ++i) result.set(i, tensor.at(i));
  return result;
}

bool is_differentiable(const OpCase& row, const OpSet& ops, size_t i) {
  const std::vector<size_t> hosts =
      row.compose ? std::vector<size_t>{} : ops.at(row.op)->host_inputs;
  const bool host = std::count(hosts.begin(), hosts.end(), i) != 0;
  const CaseInput& input = row.inputs[i];
  return !host && input.fill != Fill::absent && input.type.dtype == DType::f32;
}

// The row with f64 in place of f32, of the same numbers: what differences are taken of.
OpCase widened(const OpCase& row) {
  OpCase wide = row;
  const std::vector<std::optional<Tensor>> data = case_data(row);
  for (size_t i = 0; i < data.size(); ++i) {
    if (!data[i]) continue;
    CaseInput& input = wide.inputs[i];
    if (input.type.dtype == DType::f32) input.type.dtype = DType::f64;
    input.fill = Fill::given;
    input.tensor = converted(*data[i], input.type.dtype);
  }
  return wide;
}

// sum(y * seed) over the float results, with the seeds of the device's run.
double loss(const CaseGraph& built, const TensorMap& inputs, const TensorMap& seeds) {
  const TensorMap outputs = evaluate(built.graph, inputs).outputs;
  double total = 0;
  for (const auto& [name, seed] : seeds)
    for (int64_t i = 0; i < seed.count(); ++i) total += seed.at(i) * outputs.at(name).at(i);
  return total;
}

// The slope of the loss along one element, or none where it has a kink or leaves the domain.
std::optional<double> slope(const CaseGraph& built, const std::string& input, int64_t element,
                            const TensorMap& seeds, double here) {
  const double x = built.inputs.at(input).at(element), step = 1e-5 * std::max(1.0, std::abs(x));
  const auto moved = [&](double to) {
    TensorMap inputs = built.inputs;
    Tensor& tensor = inputs.at(input) = inputs.at(input).copy();
    tensor.set(element, to);
    return loss(built, inputs, seeds);
  };
  const double right = moved(x + step) - here, left = here - moved(x - step);
  const double size = std::abs(right) + std::abs(left);
  if (!std::isfinite(size) || std::abs(right - left) > 1e-3 * size + 1e-12) return std::nullopt;
  return (right + left) / (2 * step);
}

// The device's gradients by operand name, and the seeds they were taken with by result name.
struct DeviceGradients {
  TensorMap gradients, seeds;
};

DeviceGradients run_gradients(const OpCase& row, const OpSet& ops, const Device& device) {
  CaseGraph built = case_graph(row, ops);
  DeviceGradients result;
  TensorMap inputs = built.inputs;
  const TensorMap outputs = evaluate(built.graph, built.inputs).outputs;
  Values xs, totals;
  for (size_t i = 0; i < built.operands.size(); ++i)
    if (is_differentiable(row, ops, i)) xs.push_back(built.operands[i]);
  Graph graph = std::move(built.graph);
  for (const GraphOutput& output : std::vector(graph.outputs())) {
    if (!is_float(output.value.dtype())) continue;
    Random random(output.name + describe(row));
    const Tensor seed = random_tensor(output.value.dtype(), outputs.at(output.name).shape(),
                                      Fill::normal, 0, false, random);
    result.seeds.emplace(output.name, seed);
    inputs.emplace("seed_" + output.name, seed);
    const Values parts =
        gradient(output.value, xs, graph.input("seed_" + output.name, output.value.type()));
    for (size_t i = 0; i < xs.size(); ++i)
      i < totals.size() ? totals[i] = totals[i] + parts[i] : totals.emplace_back(parts[i]);
  }
  RunOptions options;
  for (size_t i = 0; i < totals.size(); ++i) {
    options.outputs.push_back(xs[i].producer().name);
    graph.output(options.outputs.back(), totals[i]);
  }
  result.gradients = compile(graph, {.device = device}).run(inputs, options).tensors;
  return result;
}

int64_t work_of(const OpCase& row, const CaseGraph& built) {
  int64_t elements = 1;
  for (const auto& [name, tensor] : built.inputs) elements += tensor.count();
  return elements * (1 + row.terms / 8);
}

// Compares some elements of one operand's gradient.
std::optional<Mismatch> check_operand(const OpCase& row, const OpSet& ops, const CaseGraph& wide,
                                      const std::string& name, const DeviceGradients& device,
                                      double here) {
  const Tensor& gradient = device.gradients.at(name);
  const int64_t most = std::clamp<int64_t>(kMostWork / work_of(row, wide), 4, kMostElements);
  Random random(name + describe(row));
  std::vector<int64_t> at;
  std::vector<double> got, want;
  for (int64_t k = 0; k < std::min(most, gradient.count()); ++k) {
    const int64_t element = gradient.count() <= most ? k : random.between(0, gradient.count() - 1);
    const std::optional<double> expected = slope(wide, name, element, device.seeds, here);
    if (!expected) continue;
    at.push_back(element);
    got.push_back(gradient.at(element));
    want.push_back(*expected);
  }
  Tolerance tolerance = tolerance_of(row, ops);
  tolerance.terms = std::max<int64_t>(row.terms, 2);
  tolerance.ulps = 64 * std::max(tolerance.ulps, 4.0);  // a rule is several ops, and adds up
  tolerance.absolute += 1e-6;                           // of the differences
  const Shape shape{static_cast<int64_t>(at.size())};
  auto mismatch =
      compare(Tensor::of(DType::f32, shape, got), Tensor::of(DType::f32, shape, want), tolerance);
  if (mismatch) mismatch->at = at[static_cast<size_t>(mismatch->at)];
  return mismatch;
}

}  // namespace

bool has_gradient_check(const OpCase& row, const OpSet& ops) {
  if (!row.gradient || !(row.compose || ops.at(row.op)->gradient)) return false;
  bool any = false;
  for (size_t i = 0; i < row.inputs.size(); ++i) {
    if (row.inputs[i].fill == Fill::special) return false;
    const DType dtype = row.inputs[i].type.dtype;
    if (row.inputs[i].fill != Fill::absent && is_float(dtype) && dtype != DType::f32) return false;
    any |= is_differentiable(row, ops, i);
  }
  if (!any) return false;
  const CaseGraph built = case_graph(row, ops);
  return std::any_of(built.results.begin(), built.results.end(),
                     [](const Value& result) { return result.dtype() == DType::f32; });
}

CaseResult check_gradient(const OpCase& row, const OpSet& ops, const Device& device) {
  try {
    const DeviceGradients gradients = run_gradients(row, ops, device);
    const CaseGraph wide = case_graph(widened(row), ops);
    const double here = loss(wide, wide.inputs, gradients.seeds);
    for (const auto& [name, gradient] : gradients.gradients) {
      const Tensor& operand = wide.inputs.at(name);
      if (gradient.shape() != operand.shape())
        return {Outcome::fail, text("the gradient of ", name, " is ", gradient.type(),
                                    ", not like ", operand.type())};
      if (const auto mismatch = check_operand(row, ops, wide, name, gradients, here))
        return {Outcome::fail, text("the gradient of ", name, ": ", mismatch->message())};
    }
    return {};
  } catch (const Error& error) {
    return {Outcome::fail, error.what()};
  }
}

}  // namespace rlx
