#include <gtest/gtest.h>

#include <cmath>

#include "rlx/autodiff/gradient.h"
#include "rlx/ir/evaluate.h"
#include "rlx/ops/ops_core.h"
#include "rlx/ops/ops_loss.h"
#include "rlx/testing.h"

namespace rlx {
namespace {

const Tensor kLogits = Tensor::of(DType::f32, {2, 3}, {1, 2, 3, 1000, 0, -1000});

Tensor labels_of(std::initializer_list<double> labels) {
  return Tensor::of(DType::i64, {static_cast<int64_t>(labels.size())}, labels);
}

Tensor class_loss(const Tensor& labels, const ClassLossOptions& options,
                  const Tensor* weights = nullptr) {
  Graph graph;
  const Value x = graph.input("x", kLogits.type()), y = graph.input("y", labels.type());
  graph.output("loss",
               softmax_cross_entropy(x, y, weights ? graph.constant(*weights) : Value{}, options));
  return evaluate(graph, {{"x", kLogits}, {"y", labels}}).outputs.at("loss");
}

template <class F>
Tensor of_two(const Tensor& x, const Tensor& y, F f) {
  Graph graph;
  const Value a = graph.input("x", x.type());
  graph.output("z", f(a, graph.input("y", y.type())));
  return evaluate(graph, {{"x", x}, {"y", y}}).outputs.at("z");
}

TEST(Losses, CrossEntropyOfLargeLogitsIsFinite) {
  const Tensor losses = class_loss(labels_of({2, 1}), {.reduction = "none"});
  EXPECT_NEAR(losses.at(0), 0.40760596, 1e-6);
  EXPECT_NEAR(losses.at(1), 1000, 1e-3);
}

TEST(Losses, TheMeanIsWeightedAndLeavesOutWhatIsIgnored) {
  const Tensor weights = Tensor::of(DType::f32, {3}, {1, 2, 4});
  EXPECT_NEAR(class_loss(labels_of({2, 1}), {}, &weights).at(0), (4 * 0.40760596 + 2 * 1000) / 6,
              1e-3);
  EXPECT_NEAR(class_loss(labels_of({2, -100}), {.ignore_index = -100}).at(0), 0.40760596, 1e-6);
  EXPECT_NEAR(class_loss(labels_of({2, 1}), {.reduction = "sum", .ignore_index = 1}).at(0),
              0.40760596, 1e-6);
}

TEST(Losses, ProbabilitiesAsLabelsAgreeWithClasses) {
  const Tensor labels = Tensor::of(DType::f32, {2, 3}, {0, 0, 1, 0, 1, 0});
  EXPECT_NEAR(class_loss(labels, {}).at(0), class_loss(labels_of({2, 1}), {}).at(0), 1e-3);
}

TEST(Losses, NegativeLogLikelihoodOfLogSoftmaxIsCrossEntropy) {
  const Tensor x = Tensor::of(DType::f32, {1, 3}, {-2.40760596, -1.40760596, -0.40760596});
  const Tensor loss = of_two(x, labels_of({2}), [](Value a, Value b) { return nll_loss(a, b); });
  EXPECT_NEAR(loss.at(0), 0.40760596, 1e-6);
}

TEST(Losses, TheGradientOfCrossEntropyIsSoftmaxLessTheLabel) {
  Graph graph;
  const Value x = graph.input("x", f32({1, 3})), y = graph.input("y", i64({1}));
  graph.output("dx", gradient(softmax_cross_entropy(x, y), {x})[0]);
  const Tensor dx =
      evaluate(graph, {{"x", Tensor::of(DType::f32, {1, 3}, {1, 2, 3})}, {"y", labels_of({0})}})
          .outputs.at("dx");
  EXPECT_NEAR(dx.at(0), 0.09003057 - 1, 1e-6);
  EXPECT_NEAR(dx.at(2), 0.66524096, 1e-6);
}

TEST(Losses, BinaryCrossEntropyKeepsTinyLossesAndItsGradientAtZero) {
  const Tensor x = Tensor::of(DType::f32, {4}, {0, 20, -20, 1000}),
               y = Tensor::of(DType::f32, {4}, {1, 1, 0, 0});
  const Tensor losses =
      of_two(x, y, [](Value a, Value b) { return binary_cross_entropy_with_logits(a, b, "none"); });
  EXPECT_NEAR(losses.at(0), 0.69314718, 1e-7);
  EXPECT_NEAR(losses.at(1), 2.0611537e-9, 1e-15);
  EXPECT_NEAR(losses.at(2), 2.0611537e-9, 1e-15);
  EXPECT_EQ(losses.at(3), 1000);
  const Tensor dx = of_two(x, y, [](Value a, Value b) {
    return gradient(binary_cross_entropy_with_logits(a, b, "sum"), {a})[0];
  });
  EXPECT_NEAR(dx.at(0), -0.5, 1e-7);
}

TEST(Losses, HuberIsQuadraticThenLinear) {
  const Tensor x = Tensor::of(DType::f32, {3}, {0.5, 3, -3}), y = Tensor(DType::f32, {3});
  const Tensor losses = of_two(x, y, [](Value a, Value b) { return huber(a, b, 2, "none"); });
  EXPECT_NEAR(losses.at(0), 0.125, 1e-7);
  EXPECT_NEAR(losses.at(1), 4, 1e-6);
  EXPECT_NEAR(losses.at(2), 4, 1e-6);
  EXPECT_NEAR(of_two(x, y, [](Value a, Value b) { return mse(a, b); }).at(0), 18.25 / 3, 1e-6);
}

TEST(Losses, StopGradientStopsIt) {
  Graph graph;
  const Value x = graph.input("x", f32({2}));
  graph.output("dx", gradient(sum(x * stop_gradient(x)), {x})[0]);
  const Tensor dx = evaluate(graph, {{"x", Tensor::of(DType::f32, {2}, {3, -4})}}).outputs.at("dx");
  EXPECT_EQ(dx.at(0), 3);
  EXPECT_EQ(dx.at(1), -4);
}

TEST(Losses, SymbolsAreCheckedWhenBound) {
  Graph graph;
  const Value losses = softmax_cross_entropy(
      graph.input("x", f32({"n", 9})), graph.input("y", i64({"n"})), {}, {.reduction = "none"});
  EXPECT_EQ(losses.shape(), (Dims{"n"}));
}

TEST(Losses, ErrorsNameTheOpTheValueAndTheLimit) {
  Graph graph;
  const Value x = graph.input("x", f32({2, 3})), z = graph.input("z", i64({4}));
  EXPECT_EQ(error_of([&] { softmax_cross_entropy(x, z); }),
            "cross_entropy: labels i64[4] do not fit f32[2, 3]: 4 and 2");
  EXPECT_EQ(error_of([&] { nll_loss(x, x); }), "nll_loss: labels must be integers, got f32[2, 3]");
  EXPECT_EQ(error_of([&] { mse(x, x, "median"); }),
            "mse: there is no reduction 'median'; it takes none, mean, sum");
  EXPECT_EQ(
      error_of([&] {
        class_loss(labels_of({2, 3}), {});
      }),
      "cross_entropy: label 3 is out of range for f32[2, 3] (3 classes)\n  at node 'cross_entropy_2'");
}

}  // namespace
}  // namespace rlx
