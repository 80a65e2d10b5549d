// Layers that carry a state: a sequence whole, in parts of any length, or step by step is the same.
#include <gtest/gtest.h>

#include <cmath>

#include "rlx/conformance/device_test.h"
#include "rlx/conformance/random.h"
#include "rlx/ops/ops_sequence.h"
#include "rlx/runtime/program.h"

namespace rlx {
namespace {

constexpr int64_t kSteps = 83;

// The operands that go with the sequence, each [1, kSteps, ..], those that do not, and the layer.
struct Layer {
  std::vector<Tensor> along, whole;
  Shape state;
  std::function<Values(const Values& along, const Values& whole, Value state)> apply;
};

Tensor between(double low, double high, const Shape& shape) {
  Random random(text(low, joined(shape)));
  Tensor tensor(DType::f32, shape);
  for (int64_t i = 0; i < tensor.count(); ++i) tensor.set(i, low + (high - low) * random.uniform());
  return tensor;
}

Layer scan_layer(int64_t steps = kSteps, int64_t channels = 5, int64_t states = 7) {
  const Shape x{1, steps, channels}, b{1, steps, states};
  return {{between(-2, 2, x), between(-3, 0, x), between(-1, 1.5, b), between(-1, 1, b),
           between(-3, 3, x)},
          {between(-2, -0.1, {channels, states}), between(-1, 1, {channels})},
          {1, channels, states},
          [](const Values& in, const Values& whole, Value state) {
            return selective_scan(
                in[0], in[1], whole[0], in[2], in[3],
                {.skip = whole[1], .gate = in[4], .delta_softplus = true, .state = state});
          }};
}
// Keys of length below 1.5, so that states stay small.
Layer delta_layer(int64_t steps = kSteps, int64_t heads = 2, int64_t keys = 8, int64_t values = 5) {
  const Shape k{1, steps, heads, keys}, gate{1, steps, heads};
  const double most = 0.5 * std::sqrt(8.0 / static_cast<double>(keys));
  return {{between(-most, most, k), between(-most, 1.2 * most, k),
           between(-2, 2, {1, steps, heads, values}), between(-0.5, 0, gate), between(0, 1, gate)},
          {},
          {1, heads, keys, values},
          [](const Values& in, const Values&, Value state) {
            return gated_delta_net(in[0], in[1], in[2], in[3], in[4], {.state = state});
          }};
}
Layer conv_layer() {
  return {{between(-2, 2, {1, kSteps, 5})},
          {between(-1, 1, {5, 4}), between(-1, 1, {5})},
          {1, 3, 5},
          [](const Values& in, const Values& whole, Value state) {
            return causal_conv1d(in[0], whole[0],
                                 {.bias = whole[1], .state = state, .activation = "silu"});
          }};
}

Tensor part_of(const Tensor& x, int64_t first, int64_t count) {
  Shape shape = x.shape();
  shape[1] = count;
  Tensor part(x.dtype(), shape);
  const int64_t row = x.count() / x.shape()[1];
  for (int64_t i = 0; i < part.count(); ++i) part.set(i, x.at(first * row + i));
  return part;
}

// The results of all parts, one behind the other, then the last state. `fixed` says the number of
// steps when it compiles: a single step may have a kernel of its own.
std::vector<double> run(const Layer& layer, const Device& device, const std::vector<int64_t>& parts,
                        bool fixed, std::map<std::string, int64_t> choices = {}) {
  std::map<int64_t, Program> programs;
  const auto program = [&](int64_t steps) -> Program& {
    const int64_t key = fixed ? steps : 0;
    if (const auto found = programs.find(key); found != programs.end()) return found->second;
    Graph graph;
    Values along, whole;
    for (const Tensor& x : layer.along) {
      TensorType type = x.type();
      type.shape[1] = fixed ? Dim(steps) : Dim("steps");
      along.push_back(graph.input(text("along", along.size()), type));
    }
    for (const Tensor& x : layer.whole) whole.push_back(graph.constant(x));
    const Value state = graph.input("state", between(0, 1, layer.state).type());
    const Values results = layer.apply(along, whole, state);
    graph.output("y", results[0]);
    graph.output("next", results[1]);
    return programs
        .emplace(key, compile(graph, {.device = device, .strict = true, .choices = choices}))
        .first->second;
  };
  Tensor state = between(-1, 1, layer.state);
  std::vector<double> all;
  int64_t first = 0;
  for (const int64_t steps : parts) {
    TensorMap inputs{{"state", state}};
    for (size_t i = 0; i < layer.along.size(); ++i)
      inputs[text("along", i)] = part_of(layer.along[i], first, steps);
    TensorMap outputs = program(steps).run(inputs);
    const Tensor& y = outputs.at("y");
    for (int64_t i = 0; i < y.count(); ++i) all.push_back(y.at(i));
    state = outputs.at("next");
    first += steps;
  }
  for (int64_t i = 0; i < state.count(); ++i) all.push_back(state.at(i));
  return all;
}

void expect_same(const std::vector<double>& a, const std::vector<double>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i)
    ASSERT_NEAR(a[i], b[i], 2e-5 * std::max(1.0, std::abs(a[i]))) << "at " << i;
}

class StepByStep : public DeviceTest {
 protected:
  void expect_no_difference(const Layer& layer, const std::string& variant) const {
    const std::vector<int64_t> whole{kSteps}, parts{1, 40, 0, 33, 9},
        single(static_cast<size_t>(kSteps), 1);
    const std::vector<double> wanted = run(layer, device(), whole, true);
    expect_same(wanted, run(layer, device(), single, true));
    expect_same(wanted, run(layer, device(), parts, false));
    for (int64_t i = 0; i < 2 && !variant.empty(); ++i)
      expect_same(wanted, run(layer, device(), {50, 33}, false, {{variant, i}}));
  }
};
// The last steps of a long sequence, each by itself, behind parts of it.
std::vector<int64_t> parts_of_4096() {
  std::vector<int64_t> parts{1000, 3000, 64};
  parts.resize(3 + 32, 1);
  return parts;
}
TEST_P(StepByStep, ALongScanOfManyStatesIsTheSame) {
  const Layer layer = scan_layer(4096, 2, 256);
  expect_same(run(layer, device(), {4096}, true), run(layer, device(), parts_of_4096(), true));
}
TEST_P(StepByStep, ALongDeltaNetOfManyKeysIsTheSame) {
  const Layer layer = delta_layer(4096, 1, 256, 3);
  expect_same(run(layer, device(), {4096}, true), run(layer, device(), parts_of_4096(), true));
}
// Lengths that are no whole chunks, decays that leave nothing of a chunk's first steps, values that
// are no whole block of columns.
TEST_P(StepByStep, ADeltaNetOfOddSizesIsTheSame) {
  for (const int64_t keys : {33, 131}) {
    Layer layer = delta_layer(207, 2, keys, 137);
    layer.along[3] = between(-20, 0, layer.along[3].shape());
    const std::vector<double> whole = run(layer, device(), {207}, true);
    expect_same(whole, run(layer, device(), std::vector<int64_t>(207, 1), true));
    expect_same(whole, run(layer, device(), {5, 63, 64, 1, 65, 4, 5}, true));
  }
}
TEST_P(StepByStep, ASelectiveScanIsTheSame) {
  expect_no_difference(scan_layer(), "selective_scan.variant");
}
TEST_P(StepByStep, AGatedDeltaNetIsTheSame) {
  expect_no_difference(delta_layer(), "gated_delta_net.variant");
}
TEST_P(StepByStep, ACausalConvolutionIsTheSame) { expect_no_difference(conv_layer(), ""); }
INSTANTIATE_TEST_SUITE_P(Devices, StepByStep, every_device(), device_name);

}  // namespace
}  // namespace rlx
