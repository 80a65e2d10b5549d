// Gradients of fake_quantise, of every estimator and kind of scale, beside the formulas in double.
// Differences of the function cannot tell them: it is made of steps.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "rlx/autodiff/gradient.h"
#include "rlx/conformance/device_test.h"
#include "rlx/conformance/tolerance.h"
#include "rlx/ops/ops_fake_quantise.h"
#include "rlx/runtime/program.h"

namespace rlx {
namespace {

using Scale = FakeQuantiseOptions::Scale;

constexpr int64_t kRows = 3, kColumns = 65, kBits = 4;
constexpr double kLow = -8, kHigh = 7, kMomentum = 0.9;

struct Way {
  const char* estimator;
  Scale by;
  std::optional<int64_t> axis;
};
constexpr Way kWays[] = {
    {"plain", Scale::learned, {}},         {"plain", Scale::batch, 0},
    {"clipped", Scale::batch, {}},         {"clipped", Scale::batch, 1},
    {"clipped", Scale::moving_average, 0}, {"clipped", Scale::fixed, 1},
    {"clipped", Scale::learned, 0},        {"tanh", Scale::fixed, {}},
    {"tanh", Scale::learned, 1},           {"hard_tanh", Scale::moving_average, {}},
    {"hard_tanh", Scale::fixed, 0},
};

Tensor some(const Shape& shape, double middle, double size) {
  Tensor tensor(DType::f32, shape);
  for (int64_t i = 0; i < tensor.count(); ++i)
    tensor.set(i, middle + size * std::sin(static_cast<double>(i * i % 7919) + middle));
  return tensor;
}

int64_t scales_of(const Way& way) { return !way.axis ? 1 : *way.axis == 0 ? kRows : kColumns; }
int64_t scale_at(const Way& way, int64_t i) {
  return !way.axis ? 0 : *way.axis == 0 ? i / kColumns : i % kColumns;
}

// The scales that are taken where `given` are.
std::vector<double> taken(const Way& way, const Tensor& x, const Tensor& given) {
  std::vector<double> batch(static_cast<size_t>(scales_of(way))), scales;
  for (int64_t i = 0; i < x.count(); ++i) {
    double& most = batch[static_cast<size_t>(scale_at(way, i))];
    most = std::max(most, std::abs(x.at(i)) / kHigh);
  }
  for (int64_t c = 0; c < scales_of(way); ++c) {
    const double own = batch[static_cast<size_t>(c)];
    scales.push_back(way.by == Scale::batch ? own
                     : way.by == Scale::moving_average
                         ? kMomentum * given.at(c) + (1 - kMomentum) * own
                         : given.at(c));
  }
  return scales;
}

// How much of dy an estimator lets through.
double through(const std::string& estimator, double steps, bool inside) {
  if (estimator == "plain") return 1;
  if (estimator == "clipped") return inside ? 1 : 0;
  if (estimator == "tanh") return 1 - std::tanh(steps) * std::tanh(steps);
  return std::max(0.0, 1 - std::abs(steps) / kHigh);
}

class FakeQuantiseGradients : public DeviceTest {};
INSTANTIATE_TEST_SUITE_P(EveryDevice, FakeQuantiseGradients, every_device(), device_name);

TEST_P(FakeQuantiseGradients, AreThoseOfTheirEstimatorsAndScales) {
  const Tensor x = some({kRows, kColumns}, 0.1, 3), dy = some({kRows, kColumns}, 0.4, 2);
  TensorMap inputs{{"x", x}, {"dy", dy}}, wanted;
  Graph graph;
  const Value from_x = graph.input("x", x.type()), seed = graph.input("dy", dy.type());
  for (const Way& way : kWays) {
    const std::string name = text(way.estimator, ' ', int(way.by), ' ', way.axis.value_or(-1));
    const Tensor given = some(way.axis ? Shape{scales_of(way)} : Shape{}, 0.3, 0.1);
    const Value scale = graph.input(name, given.type());
    const Value y = fake_quantise(from_x, {.by = way.by,
                                           .scale = way.by == Scale::batch ? Value{} : scale,
                                           .axis = way.axis,
                                           .momentum = kMomentum,
                                           .bits = kBits,
                                           .estimator = way.estimator})
                        .y;
    const Values gradients = gradient({y}, {from_x, scale}, {seed});
    graph.output(name + " dx", gradients[0]);
    graph.output(name + " d_scale", gradients[1]);
    inputs.emplace(name, given);

    const std::vector<double> scales = taken(way, x, given);
    const double share =
        1 / std::sqrt(kHigh * kRows * kColumns / static_cast<double>(scales_of(way)));
    Tensor dx(DType::f32, x.shape()), d_scale(DType::f32, given.shape());
    for (int64_t i = 0; i < x.count(); ++i) {
      const int64_t c = scale_at(way, i);
      const double steps = x.at(i) / scales[static_cast<size_t>(c)];
      const bool inside = kLow <= steps && steps <= kHigh + 1e-12;  // the largest of a batch is
      dx.set(i, dy.at(i) * through(way.estimator, steps, inside));
      const double slope = inside ? std::nearbyint(steps) - steps : std::clamp(steps, kLow, kHigh);
      if (way.by == Scale::learned) d_scale.set(c, d_scale.at(c) + share * dy.at(i) * slope);
    }
    wanted.emplace(name + " dx", dx);
    wanted.emplace(name + " d_scale", d_scale);
  }
  const TensorMap got = compile(graph, {.device = device(), .strict = true}).run(inputs);
  for (const auto& [name, want] : wanted) {
    const auto mismatch = compare(got.at(name), want, {.ulps = 8, .terms = kColumns});
    EXPECT_FALSE(mismatch) << name << ": " << mismatch->message();
  }
}

}  // namespace
}  // namespace rlx
