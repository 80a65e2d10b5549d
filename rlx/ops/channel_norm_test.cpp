// Claims about group_norm, instance_norm, batch_norm and lrn.

#include <gtest/gtest.h>

#include <cmath>

#include "rlx/ir/evaluate.h"
#include "rlx/ops/ops_channel_norm.h"
#include "rlx/ops/ops_cumulative.h"
#include "rlx/testing.h"

namespace rlx {
namespace {

void expect_near(const Tensor& got, const std::vector<double>& wanted) {
  ASSERT_EQ(got.count(), static_cast<int64_t>(wanted.size()));
  for (size_t i = 0; i < wanted.size(); ++i)
    EXPECT_NEAR(got.at(static_cast<int64_t>(i)), wanted[i], 1e-5) << "element " << i;
}

Tensor numbers(const Shape& shape, std::initializer_list<double> values) {
  return Tensor::of(DType::f32, shape, values);
}

TEST(GroupNorm, EachGroupOfEachSampleStandsForItself) {
  Graph graph;
  const Value x = graph.constant(numbers({2, 4, 1}, {1, 3, 10, 30, 5, 5, 0, 8}));
  graph.output("y", group_norm(x, {}, {}, 2, 1e-12));
  expect_near(evaluate(graph, {}).outputs.at("y"), {-1, 1, -1, 1, 0, 0, -1, 1});
}

TEST(GroupNorm, GammaAndBetaArePerChannel) {
  Graph graph;
  const Value x = graph.constant(numbers({1, 2, 2}, {1, 3, 1, 3}));
  const Value gamma = graph.constant(numbers({2}, {2, 3})),
              beta = graph.constant(numbers({2}, {0, 10}));
  graph.output("y", group_norm(x, gamma, beta, 1, 0));
  expect_near(evaluate(graph, {}).outputs.at("y"), {-2, 2, 7, 13});
}

TEST(GroupNorm, ErrorsNameChannelsAndGroups) {
  Graph graph;
  const Value x = graph.input("x", f32({2, 6, 3}));
  EXPECT_EQ(error_of([&] { group_norm(x, {}, {}, 4); }),
            "group_norm: 6 channels of x f32[2, 6, 3] cannot be parted into 4 groups");
  EXPECT_EQ(error_of([&] { group_norm(x, {}, {}, 0); }), "group_norm: groups 0 must be positive");
  EXPECT_EQ(error_of([&] { group_norm(x, graph.input("g", f32({3})), {}, 2); }),
            "group_norm: gamma differs from the channels of x: 6 and 3");
  EXPECT_EQ(error_of([&] { group_norm(graph.input("v", f32({6})), {}, {}, 2); }),
            "group_norm: x is f32[6], it needs [batch, channels, ...]");
  EXPECT_EQ(error_of([&] {
              instance_norm(x, graph.input("s", f32({6, 1})), {});
            }),
            "group_norm: gamma is f32[6, 1], it needs one f32 for each channel of x f32[2, 6, 3]");
}

TEST(InstanceNorm, EachChannelStandsForItself) {
  Graph graph;
  const Value x = graph.constant(numbers({1, 2, 2}, {1, 3, 100, 500}));
  graph.output("y", instance_norm(x, {}, {}, 0));
  expect_near(evaluate(graph, {}).outputs.at("y"), {-1, 1, -1, 1});
}

TEST(BatchNorm, UsesTheStatisticsItIsGiven) {
  Graph graph;
  const Value x = graph.constant(numbers({1, 2, 2}, {1, 3, 4, 8}));
  const Value mean = graph.constant(numbers({2}, {1, 4})),
              variance = graph.constant(numbers({2}, {4, 16}));
  graph.output("y", batch_norm(x, {}, {}, mean, variance, 0));
  expect_near(evaluate(graph, {}).outputs.at("y"), {0, 1, 0, 1});
}

TEST(BatchNorm, TrainingTakesThoseOfTheBatchAndMovesTheRunningOnes) {
  Graph graph;
  const Value x = graph.constant(numbers({2, 2}, {10001, 2, 10003, 6}));
  const Value mean = graph.constant(numbers({2}, {0, 0})),
              variance = graph.constant(numbers({2}, {1, 1}));
  const BatchNorm norm = batch_norm_training(x, {}, {}, mean, variance, 0, 0.75);
  graph.output("y", norm.y);
  graph.output("mean", norm.mean);
  graph.output("variance", norm.variance);
  graph.output("running_mean", norm.running_mean);
  graph.output("running_variance", norm.running_variance);
  const TensorMap run = evaluate(graph, {}).outputs;
  expect_near(run.at("y"), {-1, -1, 1, 1});
  expect_near(run.at("mean"), {10002, 4});
  expect_near(run.at("variance"), {1, 4});
  expect_near(run.at("running_mean"), {2500.5, 1});
  expect_near(run.at("running_variance"), {1, 1.75});
}

TEST(BatchNorm, NeedsStatistics) {
  Graph graph;
  const Value x = graph.input("x", f32({2, 3})), m = graph.input("m", f32({3}));
  EXPECT_EQ(error_of([&] { batch_norm(x, {}, {}, m, {}); }), "batch_norm: needs mean and variance");
  EXPECT_EQ(error_of([&] { batch_norm(x, {}, {}, m, graph.input("v", f32({2}))); }),
            "batch_norm: variance differs from the channels of x: 3 and 2");
}

TEST(WindowSum, StopsAtTheEnds) {
  Graph graph;
  const Value x = graph.constant(numbers({4}, {1, 2, 3, 4}));
  graph.output("y", window_sum(x, 0, 1, 2));
  expect_near(evaluate(graph, {}).outputs.at("y"), {6, 10, 9, 7});
  EXPECT_EQ(error_of([&] { window_sum(x, 0, -1, 2); }),
            "window_sum: before -1 and after 2 must not be negative");
}

// An even window reaches one further behind than before, as ONNX has it.
TEST(Lrn, DividesByThePowerOfNeighbouringChannels) {
  Graph graph;
  const Value x = graph.constant(numbers({1, 3, 1}, {1, 2, 3}));
  graph.output("y", lrn(x, 2, 2, 1, 1));
  expect_near(evaluate(graph, {}).outputs.at("y"), {1.0 / 6, 2.0 / 14, 3.0 / 10});
  EXPECT_EQ(error_of([&] { lrn(x, 0); }), "lrn: size 0 must be positive");
}

}  // namespace
}  // namespace rlx
