#include <gtest/gtest.h>

#include <cmath>

#include "rlx/autodiff/gradient.h"
#include "rlx/ir/evaluate.h"
#include "rlx/ops/ops_core.h"
#include "rlx/ops/ops_random.h"
#include "rlx/ops/philox.h"
#include "rlx/testing.h"

namespace rlx {
namespace {

const Tensor kSeed = Tensor::of(DType::u32, {2}, {1234, 5});

template <class F>
Tensor made(F f) {
  Graph graph;
  graph.output("y", f(graph, graph.input("seed", kSeed.type())));
  return evaluate(graph, {{"seed", kSeed}}).outputs.at("y");
}

// The vectors that its authors publish.
TEST(Philox, GivesTheKnownAnswers) {
  EXPECT_EQ(philox({0, 0, 0, 0}, {0, 0}),
            (PhiloxCounter{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  constexpr uint32_t kOnes = 0xffffffff;
  EXPECT_EQ(philox({kOnes, kOnes, kOnes, kOnes}, {kOnes, kOnes}),
            (PhiloxCounter{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (PhiloxCounter{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Random, UniformAndNormalNumbersHaveTheirMoments) {
  constexpr int64_t kCount = 20000;
  for (const bool normal : {false, true}) {
    const Tensor y = made([&](Graph&, Value seed) {
      return normal ? random_normal(seed, {kCount}, 2, 3) : random_uniform(seed, {kCount}, -1, 3);
    });
    double mean = 0, square = 0;
    for (int64_t i = 0; i < kCount; ++i) mean += y.at(i) / kCount;
    for (int64_t i = 0; i < kCount; ++i) square += (y.at(i) - mean) * (y.at(i) - mean) / kCount;
    const double variance = normal ? 9 : 16.0 / 12;
    EXPECT_NEAR(mean, normal ? 2 : 1, 4 * std::sqrt(variance / kCount));
    EXPECT_NEAR(square / variance, 1, 0.05);
  }
}

TEST(Dropout, KeepsTheMeanAndDropsTheSameInItsGradient) {
  constexpr int64_t kCount = 10000;
  Graph graph;
  const Value x = graph.input("x", f32({kCount})), seed = graph.constant(kSeed);
  const Value y = dropout(x, seed, 0.25);
  graph.output("y", y);
  graph.output("dx", gradient(sum(y), {x})[0]);
  graph.output("mask", dropout_mask(x, seed, 0.25));
  Tensor ones(DType::f32, {kCount});
  for (int64_t i = 0; i < kCount; ++i) ones.set(i, 1);
  const TensorMap outputs = evaluate(graph, {{"x", ones}}).outputs;
  double mean = 0;
  for (int64_t i = 0; i < kCount; ++i) {
    mean += outputs.at("y").at(i) / kCount;
    ASSERT_EQ(outputs.at("y").at(i), outputs.at("dx").at(i));
    ASSERT_EQ(outputs.at("mask").at(i) != 0, outputs.at("y").at(i) != 0);
  }
  EXPECT_NEAR(mean, 1, 0.03);
}

// Draws of many rows with the same logits, counted by class.
std::vector<int> drawn(const std::vector<double>& logits, const SampleOptions& options,
                       int64_t rows) {
  Tensor x(DType::f32, {rows, static_cast<int64_t>(logits.size())});
  for (int64_t i = 0; i < x.count(); ++i) x.set(i, logits[static_cast<size_t>(i) % logits.size()]);
  const Tensor y = made([&](Graph& graph, Value seed) {
    return sample(graph.constant(x), seed, graph.constant(Tensor::scalar(DType::i32, 9)), options);
  });
  std::vector<int> counts(logits.size());
  for (int64_t r = 0; r < rows; ++r) ++counts[static_cast<size_t>(y.integer_at(r))];
  return counts;
}

TEST(Sample, AtTemperatureOneDrawsAsSoftmaxSays) {
  const std::vector<double> logits = {0, 1, -1, 2, 0.5, -2, 1.5, -0.5};
  constexpr int kRows = 8000;
  const std::vector<int> counts = drawn(logits, {}, kRows);
  double total = 0, chi_square = 0;
  for (const double x : logits) total += std::exp(x);
  for (size_t i = 0; i < logits.size(); ++i) {
    const double expected = kRows * std::exp(logits[i]) / total;
    chi_square += (counts[i] - expected) * (counts[i] - expected) / expected;
  }
  EXPECT_LT(chi_square, 24.3);  // 7 degrees of freedom: one in a thousand is beyond
  EXPECT_GT(chi_square, 0.6);   // and one in a thousand is as even as this
}

TEST(Sample, AtTemperatureZeroTakesTheFirstOfTheLargest) {
  EXPECT_EQ(drawn({1, 3, 3, 2}, {.temperature = 0}, 50), (std::vector<int>{0, 50, 0, 0}));
}

TEST(Sample, OnlyWhatIsKeptIsDrawn) {
  const std::vector<double> logits = {std::log(0.1), std::log(0.4), std::log(0.2), std::log(0.3)};
  const auto kept = [&](const SampleOptions& options) {
    std::vector<int> classes;
    const std::vector<int> counts = drawn(logits, options, 400);
    for (size_t i = 0; i < counts.size(); ++i)
      if (counts[i] > 0) classes.push_back(static_cast<int>(i));
    return classes;
  };
  EXPECT_EQ(kept({}), (std::vector<int>{0, 1, 2, 3}));
  EXPECT_EQ(kept({.top_k = 2}), (std::vector<int>{1, 3}));
  EXPECT_EQ(kept({.top_p = 0.65}), (std::vector<int>{1, 3}));
  EXPECT_EQ(kept({.top_p = 0.75}), (std::vector<int>{1, 2, 3}));
  EXPECT_EQ(kept({.min_p = 0.45}), (std::vector<int>{1, 2, 3}));
  EXPECT_EQ(kept({.top_k = 3, .top_p = 0.4}),
            (std::vector<int>{1}));  // 0.4 of 0.9 is less than class 1 has
  EXPECT_EQ(kept({.top_p = 0}), (std::vector<int>{1}));
}

TEST(Random, ErrorsNameTheOpTheValueAndTheLimit) {
  Graph graph;
  const Value x = graph.input("x", f32({2, 3})), seed = graph.input("seed", i64({})),
              three = graph.input("three", i64({3}));
  EXPECT_EQ(error_of([&] { dropout(x, seed, 1.5); }), "dropout: ratio 1.5 is not in [0, 1]");
  EXPECT_EQ(error_of([&] { random_uniform(three, {2}); }),
            "random_uniform: seed must be one integer or two, got i64[3]");
  EXPECT_EQ(error_of([&] { random_normal(seed, {2}, 0, 1, DType::i32); }),
            "random_normal: makes floats, not i32");
  EXPECT_EQ(error_of([&] { sample(x, seed, seed, {.temperature = -1}); }),
            "sample: temperature -1 is below 0");
  EXPECT_EQ(error_of([&] { sample(x, seed, seed, {.top_p = 1.5}); }),
            "sample: top_p 1.5 is not in [0, 1]");
  EXPECT_EQ(error_of([&] { sample(x, seed, three); }),
            "sample: step must be one integer, got i64[3]");
  EXPECT_EQ(random_uniform(seed, {"n", 2}).shape(), (Dims{"n", 2}));
  EXPECT_EQ(sample(graph.input("y", f32({"n", 5})), seed, seed).shape(), (Dims{"n"}));
}

}  // namespace
}  // namespace rlx
