// Gradients of layers that carry a state, of long sequences and large states, beside the formulas
// step by step in double.
#include <gtest/gtest.h>

#include <cmath>

#include "rlx/autodiff/gradient.h"
#include "rlx/conformance/device_test.h"
#include "rlx/conformance/random.h"
#include "rlx/conformance/tolerance.h"
#include "rlx/ops/ops_sequence.h"
#include "rlx/runtime/program.h"

namespace rlx {
namespace {

constexpr int64_t kStates = 256, kSome = 300, kMany = 4096;  // of steps

using Numbers = std::vector<double>;

Tensor between(double low, double high, const Shape& shape) {
  Random random(text(low, joined(shape)));
  Tensor tensor(DType::f32, shape);
  for (int64_t i = 0; i < tensor.count(); ++i) tensor.set(i, low + (high - low) * random.uniform());
  return tensor;
}
Numbers numbers_of(const Tensor& tensor) {
  const auto values = tensor.data<float>();
  return {values.begin(), values.end()};
}

// An operand, and what its gradient should be.
struct Operand {
  const char* name;
  Tensor value;
  Numbers gradient = {};
};
using Layer = std::function<Values(const Values&)>;

class SequenceGradients : public DeviceTest {
 protected:
  void expect_scan(int64_t steps) const;
  void expect_delta_net(int64_t steps) const;

 private:
  // Of the layer's results with dy and d_state.
  void expect(const Layer& layer, const std::vector<Operand>& operands, const Tensor& dy,
              const Tensor& d_state) const {
    const int64_t steps = dy.shape()[1];
    Graph graph;
    Values xs;
    TensorMap inputs{{"dy", dy}, {"d_state", d_state}};
    for (const Operand& operand : operands) {
      xs.push_back(graph.input(operand.name, operand.value.type()));
      inputs.emplace(operand.name, operand.value);
    }
    const Values seeds{graph.input("dy", dy.type()), graph.input("d_state", d_state.type())};
    const Values gradients = gradient(layer(xs), xs, seeds);
    for (size_t i = 0; i < xs.size(); ++i) graph.output(text("d_", operands[i].name), gradients[i]);
    const TensorMap got = compile(graph, {.device = device(), .strict = true}).run(inputs);
    for (const Operand& operand : operands) {
      Tensor want(DType::f32, operand.value.shape());
      for (int64_t i = 0; i < want.count(); ++i) want.set(i, operand.gradient[size_t(i)]);
      const auto mismatch =
          compare(got.at(text("d_", operand.name)), want, {.ulps = 4, .terms = steps});
      EXPECT_FALSE(mismatch) << operand.name << ": " << mismatch->message();
    }
  }
};
INSTANTIATE_TEST_SUITE_P(EveryDevice, SequenceGradients, every_device(), device_name);
class SequenceGradientsLong : public SequenceGradients {};
INSTANTIATE_TEST_SUITE_P(EveryDevice, SequenceGradientsLong, every_device(), device_name);

// h = exp(delta * a) * h + delta * b * x, y = sum of c * h.
void SequenceGradients::expect_scan(int64_t steps) const {
  constexpr int64_t kChannels = 2;
  const Shape of_x{1, steps, kChannels}, of_b{1, steps, kStates};
  std::vector<Operand> operands{{"x", between(-2, 2, of_x)},
                                {"delta", between(0.01, 0.5, of_x)},
                                {"a", between(-2, -0.1, {kChannels, kStates})},
                                {"b", between(-1, 1, of_b)},
                                {"c", between(-1.5, 1, of_b)},
                                {"state", between(-1, 1, {1, kChannels, kStates})}};
  std::vector<Numbers> values;
  for (Operand& operand : operands) {
    values.push_back(numbers_of(operand.value));
    operand.gradient.resize(values.back().size());
  }
  const Tensor dy = between(-1, 1.2, of_x), d_state = between(-2, 1, {1, kChannels, kStates});
  const auto &x = values[0], &delta = values[1], &a = values[2], &b = values[3], &c = values[4];
  for (int64_t i = 0; i < kChannels * kStates; ++i) {
    const auto channel = size_t(i / kStates), n = size_t(i % kStates);
    Numbers h{values[5][size_t(i)]};  // before each step
    for (size_t t = 0; t < size_t(steps); ++t) {
      const size_t at = t * kChannels + channel;
      h.push_back(std::exp(delta[at] * a[size_t(i)]) * h.back() +
                  delta[at] * b[t * kStates + n] * x[at]);
    }
    double dh = d_state.at(i);
    for (size_t t = size_t(steps); t-- > 0;) {
      const size_t at = t * kChannels + channel, bn = t * kStates + n;
      const double decay = std::exp(delta[at] * a[size_t(i)]), by_step = dy.at(int64_t(at));
      dh += c[bn] * by_step;
      operands[0].gradient[at] += dh * delta[at] * b[bn];
      operands[1].gradient[at] += dh * (a[size_t(i)] * decay * h[t] + b[bn] * x[at]);
      operands[2].gradient[size_t(i)] += dh * delta[at] * decay * h[t];
      operands[3].gradient[bn] += dh * delta[at] * x[at];
      operands[4].gradient[bn] += h[t + 1] * by_step;
      dh *= decay;
    }
    operands[5].gradient[size_t(i)] = dh;
  }
  expect(
      [](const Values& in) {
        return selective_scan(in[0], in[1], in[2], in[3], in[4], {.state = in[5]});
      },
      operands, dy, d_state);
}

// S = exp(g) * S, d = (v - S^T k) * beta, S = S + k d^T, o = S^T q / sqrt(keys).
void SequenceGradients::expect_delta_net(int64_t steps) const {
  constexpr size_t kValues = 3, kState = kStates * kValues;
  const double scale = 1 / std::sqrt(double{kStates}), size = 1.5 * scale;
  const Shape of_k{1, steps, 1, kStates}, of_v{1, steps, 1, kValues}, gate{1, steps, 1},
      of_state{1, 1, kStates, kValues};
  std::vector<Operand> operands{{"q", between(-size, 1.1 * size, of_k)},
                                {"k", between(-1.1 * size, size, of_k)},
                                {"v", between(-2, 2, of_v)},
                                {"g", between(-1, 0, gate)},
                                {"beta", between(0, 1, gate)},
                                {"state", between(-1, 1, of_state)}};
  std::vector<Numbers> in;
  for (Operand& operand : operands) {
    in.push_back(numbers_of(operand.value));
    operand.gradient.resize(in.back().size());
  }
  const Tensor dy = between(-1, 1.2, of_v), d_state = between(-2, 1, of_state);
  Numbers before{in[5]}, rests;  // the states before each step, and v - S^T k
  before.resize(size_t(steps + 1) * kState);
  for (size_t t = 0; t < size_t(steps); ++t) {
    const double* s = &before[t * kState];
    double *next = &before[(t + 1) * kState], *k = &in[1][t * kStates];
    for (size_t i = 0; i < kState; ++i) next[i] = std::exp(in[3][t]) * s[i];
    for (size_t j = 0; j < kValues; ++j) {
      double rest = in[2][t * kValues + j];
      for (size_t i = 0; i < kStates; ++i) rest -= next[i * kValues + j] * k[i];
      rests.push_back(rest);
      for (size_t i = 0; i < kStates; ++i) next[i * kValues + j] += k[i] * rest * in[4][t];
    }
  }
  Numbers ds = numbers_of(d_state);
  for (size_t t = size_t(steps); t-- > 0;) {
    const double *s = &before[t * kState], *next = &before[(t + 1) * kState],
                 decay = std::exp(in[3][t]), beta = in[4][t];
    for (size_t j = 0; j < kValues; ++j) {
      const double by_step = dy.at(int64_t(t * kValues + j)), rest = rests[t * kValues + j];
      double dd = 0;
      for (size_t i = 0; i < kStates; ++i) {
        const size_t at = t * kStates + i, ij = i * kValues + j;
        operands[0].gradient[at] += scale * next[ij] * by_step;
        ds[ij] += scale * in[0][at] * by_step;
        operands[1].gradient[at] += ds[ij] * rest * beta;
        dd += ds[ij] * in[1][at];
      }
      operands[2].gradient[t * kValues + j] = dd * beta;
      operands[4].gradient[t] += dd * rest;
      for (size_t i = 0; i < kStates; ++i) {
        const size_t at = t * kStates + i, ij = i * kValues + j;
        operands[1].gradient[at] -= dd * beta * decay * s[ij];
        ds[ij] -= dd * beta * in[1][at];
        operands[3].gradient[t] += ds[ij] * decay * s[ij];
        ds[ij] *= decay;
      }
    }
  }
  operands[5].gradient = ds;
  expect(
      [](const Values& x) {
        return gated_delta_net(x[0], x[1], x[2], x[3], x[4], {.state = x[5]});
      },
      operands, dy, d_state);
}

TEST_P(SequenceGradients, OfASelectiveScanAreThoseOfItsSteps) { expect_scan(kSome); }
TEST_P(SequenceGradients, OfAGatedDeltaNetAreThoseOfItsSteps) { expect_delta_net(kSome); }
TEST_P(SequenceGradientsLong, OfASelectiveScanAreThoseOfItsSteps) { expect_scan(kMany); }
TEST_P(SequenceGradientsLong, OfAGatedDeltaNetAreThoseOfItsSteps) { expect_delta_net(kMany); }

}  // namespace
}  // namespace rlx
