#include "rlx/conformance/disagreement.h"

#include <algorithm>
#include <cmath>

#include "rlx/conformance/random.h"
#include "rlx/conformance/tolerance.h"
#include "rlx/ir/evaluate.h"
#include "rlx/ops/ops_core.h"
#include "rlx/passes/pass.h"
#include "rlx/runtime/internals.h"

namespace rlx {

using namespace detail;
namespace {

constexpr int kTrials = 3;
constexpr double kUlps = 16;        // by which each value of a trial may be off
constexpr double kSafety = 8;       // a device may be off the same way everywhere, noise is not
constexpr double kAbsolute = 2e-6;  // of functions that have only an absolute error
constexpr double kTooLarge = 1e6;

// Factors about 1, as far from it as one op of this dtype may be off.
Tensor noise_like(const Tensor& tensor, Random& random) {
  const double ulps = tensor.dtype() == DType::f32 ? kUlps : 1;
  Tensor noise(tensor.dtype(), tensor.shape());
  for (int64_t i = 0; i < noise.count(); ++i)
    noise.set(i, 1 + ulps * info(tensor.dtype()).epsilon * (2 * random.uniform() - 1));
  return noise;
}

// Nodes made of constants alone. They have no noise: an exponent of 2.0001 would make NaN of a
// negative number, and that would tell nothing about a square.
std::vector<bool> made_of_constants(const Graph& graph) {
  std::vector<bool> made;
  for (const Node& node : graph.nodes())
    made.push_back(is_constant(node) ||
                   (!is_source(node) && !node.inputs.empty() &&
                    std::all_of(node.inputs.begin(), node.inputs.end(), [&](const Value& input) {
                      return !input.present() || made[static_cast<size_t>(input.node)];
                    })));
  return made;
}

// The graph's outputs when every float value is multiplied by noise.
TensorMap with_noise(const RandomGraph& random, const Evaluation& clean, uint64_t seed) {
  Random numbers(seed);
  TensorMap inputs = random.inputs;
  for (auto& [name, tensor] : inputs) {
    if (!is_float(tensor.dtype())) continue;
    const Tensor noise = noise_like(tensor, numbers);
    tensor = tensor.copy();
    for (int64_t i = 0; i < tensor.count(); ++i) tensor.set(i, tensor.at(i) * noise.at(i));
  }
  const std::vector<bool> fixed = made_of_constants(random.graph);
  const Graph noisy = rebuild(random.graph, [&](const RewriteSite& site) -> std::optional<Values> {
    const Value first = site.to.add(site.node.op, site.inputs, site.attrs);
    Values results;
    for (size_t r = 0; r < site.node.types.size(); ++r) {
      Value result = first.of(static_cast<int>(r));
      if (is_float(result.dtype()) && !fixed[static_cast<size_t>(site.at)]) {
        const std::string name = text("noise.", site.at, '.', r);
        inputs.emplace(name, noise_like(clean.results[static_cast<size_t>(site.at)][r], numbers));
        result = result * site.to.input(name, result.type());
      }
      results.push_back(result);
    }
    return results;
  });
  return evaluate(noisy, inputs).outputs;
}

// How far each output moved at most under noise; infinitely far where a number became none.
std::map<std::string, double> sensitivities(const RandomGraph& random, const Evaluation& clean) {
  std::map<std::string, double> moved;
  for (int trial = 0; trial < kTrials; ++trial) {
    for (const auto& [name, noisy] : with_noise(random, clean, static_cast<uint64_t>(trial))) {
      const Tensor& tensor = clean.outputs.at(name);
      for (int64_t i = 0; i < tensor.count(); ++i) {
        const double distance = std::abs(noisy.at(i) - tensor.at(i));
        if (std::isfinite(tensor.at(i)))
          moved[name] = std::max(moved[name], std::isfinite(distance) ? distance : HUGE_VAL);
      }
    }
  }
  return moved;
}

bool is_too_large(const Tensor& tensor) {
  for (int64_t i = 0; i < tensor.count(); ++i)
    if (std::abs(tensor.at(i)) > kTooLarge) return true;
  return false;
}

}  // namespace

std::optional<std::string> disagreement(const RandomGraph& random, const TensorMap& got) {
  const Evaluation clean = evaluate(random.graph, random.inputs, {.keep_results = true});
  const std::map<std::string, double> moved = sensitivities(random, clean);
  for (const auto& [name, want] : clean.outputs) {
    if (is_too_large(want)) continue;
    Tolerance tolerance{.ulps = kUlps, .absolute = kAbsolute};
    if (moved.count(name) && std::isinf(moved.at(name))) continue;  // nothing can be said
    if (moved.count(name)) tolerance.absolute += kSafety * moved.at(name);
    if (const auto mismatch = compare(got.at(name), want, tolerance))
      return text(name, ' ', want.type(), ": ", mismatch->message());
  }
  return std::nullopt;
}

std::optional<std::string> disagreement(const RandomGraph& random, const Device& device,
                                        bool optimise) {
  TensorMap got;
  try {
    const Program program = compile(random.graph, {.device = device, .optimise = optimise});
    SymbolValues symbols;
    for (const Node& node : random.graph.nodes())
      if (is_input(node))
        bind_input(node.name, node.types[0], random.inputs.at(node.name).type(), symbols);
    for (const std::string& fault :
         check_plan(detail::image_of(program), detail::memory_plan(program, symbols)))
      return fault;
    got = program.run(random.inputs);
  } catch (const Error& error) {
    return std::string(error.what());
  }
  return disagreement(random, got);
}

}  // namespace rlx
