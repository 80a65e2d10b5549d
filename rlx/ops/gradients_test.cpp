// Claims about gradients where finite differences tell nothing: at kinks and ties, of steps, and of
// vectors of zeros. The values are PyTorch's.

#include <gtest/gtest.h>

#include <cmath>

#include "rlx/autodiff/gradient.h"
#include "rlx/compile/lower_graph.h"
#include "rlx/ops/ops_activation.h"
#include "rlx/ops/ops_core.h"
#include "rlx/ops/ops_fake_quantise.h"
#include "rlx/ops/ops_integer.h"
#include "rlx/ops/ops_loss.h"
#include "rlx/ops/ops_pool.h"
#include "rlx/ops/ops_quantise.h"
#include "rlx/ops/ops_reduction.h"
#include "rlx/ops/testing.h"

namespace rlx {

using namespace detail;
namespace {

Tensor line(std::initializer_list<double> values) {
  return Tensor::of(DType::f32, {static_cast<int64_t>(values.size())}, values);
}

// d sum(f) / d operand `of`.
template <class F>
Numbers slope(const std::vector<Tensor>& operands, size_t of, F f) {
  return elements(operands, [&](const Values& v) { return gradient(sum(f(v)), {v[of]})[0]; });
}
template <class F>
Numbers slope(const Tensor& x, F f) {
  return slope({x}, 0, [&](const Values& v) { return f(v[0]); });
}

TEST(Gradients, AtKinksAreThoseOfPyTorch) {
  EXPECT_EQ(slope(line({-1, 0, 2}), [](Value x) { return relu(x); }), (Numbers{0, 0, 1}));
  EXPECT_EQ(slope(line({-1, 0, 2}), [](Value x) { return abs(x); }), (Numbers{-1, 0, 1}));
  EXPECT_EQ(slope(line({0}), [](Value x) { return leaky_relu(x, 0.5); }), (Numbers{0.5}));
  EXPECT_EQ(slope(line({-2, -1, 0, 1, 2}), [](Value x) { return clip(x, -1, 1); }),
            (Numbers{0, 1, 1, 1, 0}));
  EXPECT_EQ(slope(line({-4, -3, 0, 3, 4}), [](Value x) { return hard_swish(x); }),
            (Numbers{0, 0, 0.5, 1, 1}));
  EXPECT_EQ(slope(line({-2.5, 2.5}), [](Value x) { return hard_sigmoid(x); }), (Numbers{0, 0}));
  EXPECT_EQ(slope(line({0.3, 0.5, 1.7}), [](Value x) { return floor(x); }), (Numbers{0, 0, 0}));
}

TEST(Gradients, EqualsShare) {
  const Tensor x = line({1, 2, 3}), y = line({2, 2, 2});
  const auto highest = [](const Values& v) { return maximum(v[0], v[1]); };
  const auto lowest = [](const Values& v) { return minimum(v[0], v[1]); };
  EXPECT_EQ(slope({x, y}, 0, highest), (Numbers{0, 0.5, 1}));
  EXPECT_EQ(slope({x, y}, 1, highest), (Numbers{1, 0.5, 0}));
  EXPECT_EQ(slope({x, y}, 0, lowest), (Numbers{1, 0.5, 0}));
  EXPECT_EQ(slope({x, y}, 1, lowest), (Numbers{0, 0.5, 1}));
  EXPECT_EQ(slope(line({4, 1, 4}), [](Value v) { return reduce_max(v); }), (Numbers{0.5, 0, 0.5}));
}

TEST(Gradients, OfRoundAreStraightThroughUnlessItIsToBeExact) {
  EXPECT_EQ(slope(line({0.3, 1.5}), [](Value x) { return round(x); }), (Numbers{1, 1}));
  EXPECT_EQ(slope(line({0.3, 1.5}), [](Value x) { return round(stop_gradient(x)); }),
            (Numbers{0, 0}));
}

TEST(Gradients, OfNormsAreZeroAtZero) {
  const Tensor zeros(DType::f32, {3}), y = line({1, 2, 2});
  const Numbers none{0, 0, 0};
  EXPECT_EQ(slope(zeros, [](Value x) { return l2(x); }), none);
  EXPECT_EQ(slope(zeros, [](Value x) { return maximum(sqrt(sum(x * x)), scalar(x, 1e-8)); }), none);
  // Cosine similarity as PyTorch exports it.
  const auto cosine = [](const Values& v) {
    const Value norms = sqrt(sum(v[0] * v[0]) * sum(v[1] * v[1]));
    return sum(v[0] * v[1]) / maximum(norms, scalar(norms, 1e-8));
  };
  EXPECT_EQ(slope({zeros, y}, 1, cosine), none);
  EXPECT_EQ(slope({zeros, zeros}, 0, cosine), none);
}

TEST(Gradients, OfQuantisedNumbersAreThoseOfFakeQuantise) {
  const Tensor x = line({0.3, 1.2, 50, -90, 63.5, -64}), scale = Tensor::scalar(DType::f32, 0.5);
  const auto there_and_back = [](const Values& v) {
    return dequantise(quantise(v[0], v[1], {}, {.to = DType::i8}), v[1]);
  };
  const auto at_once = [](const Values& v) { return fake_quantise(v[0], v[1]); };
  EXPECT_EQ(slope({x, scale}, 0, there_and_back), (Numbers{1, 1, 1, 0, 1, 1}));
  EXPECT_EQ(slope({x, scale}, 0, there_and_back), slope({x, scale}, 0, at_once));
  EXPECT_NEAR(slope({x, scale}, 1, there_and_back)[0], slope({x, scale}, 1, at_once)[0], 1e-5);
  const Tensor zero = Tensor::scalar(DType::u8, 100);
  const auto shifted = [](const Values& v) {
    return dequantise(reshape(quantise(v[0], v[1], v[2]), {2, 3}), v[1], v[2]);
  };
  EXPECT_EQ(slope({x, scale, zero}, 0, shifted), (Numbers{1, 1, 1, 0, 1, 0}));
}

TEST(Gradients, OfIntegersThatHaveNoRuleAreAnErrorNotZeros) {
  Graph graph;
  const Value x = graph.input("x", f32({2, 3})),
              one = graph.constant(Tensor::scalar(DType::f32, 1)),
              w = graph.constant(Tensor(DType::u8, {3, 2}));
  const Value y = dequantise(matmul_integer(quantise(x, one), w), one);
  const std::string message = error_of([&] { gradient(sum(y), {x}); });
  EXPECT_EQ(message.substr(0, message.find(':')), "matmul_integer");
}

TEST(Gradients, OfMeansOverTwoSymbolsNeedNoIntegersOnADevice) {
  const DeviceTraits traits{.name = "test", .device_class = DeviceClass::software};
  const auto lower = [&](auto f) {
    Graph graph;
    const Value x = graph.input("x", f32({2, 3, "h", "w"}));
    graph.output("dx", gradient(sum(f(x)), {x})[0]);
    return error_of([&] { lower_graph(graph, traits, {.strict = true}); });
  };
  EXPECT_EQ(lower([](Value x) { return mean(x, {2, 3}); }), "");
  EXPECT_EQ(lower([](Value x) { return mean_square(x); }), "");
  EXPECT_EQ(lower([](Value x) { return global_average_pool(x); }), "");
  EXPECT_EQ(lower([](Value x) { return mse(x, scalar(x, 2) * x); }), "");
}

TEST(Gradients, OfMeansOfHalvesAreNotLostInTheLengthOfARow) {
  const Tensor x(DType::f16, {70000});
  const Numbers dx = elements({x}, [](const Values& v) { return gradient(mean(v[0]), {v[0]})[0]; });
  EXPECT_NEAR(dx[0], 1.0 / 70000, 1e-7);
}

}  // namespace
}  // namespace rlx
