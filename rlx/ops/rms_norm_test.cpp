#include <gtest/gtest.h>

#include <cmath>

#include "rlx/ir/evaluate.h"
#include "rlx/ops/ops_norm.h"

namespace rlx {
namespace {

TEST(RmsNorm, RowsHaveMeanSquareOne) {
  Graph graph;
  graph.output("y", rms_norm(graph.input("x", f32({2, 2})), {}, -1, 0));
  const Tensor y =
      evaluate(graph, {{"x", Tensor::of(DType::f32, {2, 2}, {3, 4, -5, 5})}}).outputs.at("y");
  const double root = std::sqrt(12.5), wanted[] = {3 / root, 4 / root, -1, 1};
  for (int64_t i = 0; i < 4; ++i) EXPECT_NEAR(y.at(i), wanted[i], 1e-6);
}

TEST(RmsNorm, GammaScalesEachColumn) {
  Graph graph;
  const Value gamma = graph.constant(Tensor::of(DType::f32, {2}, {10, 20}));
  graph.output("y", rms_norm(graph.input("x", f32({2})), gamma, 0, 0));
  const Tensor y = evaluate(graph, {{"x", Tensor::of(DType::f32, {2}, {2, -2})}}).outputs.at("y");
  EXPECT_NEAR(y.at(0), 10, 1e-5);
  EXPECT_NEAR(y.at(1), -20, 1e-5);
}

TEST(RmsNorm, EpsilonKeepsARowOfZerosAtZero) {
  Graph graph;
  graph.output("y", rms_norm(graph.input("x", f32({3})), {}));
  EXPECT_EQ(evaluate(graph, {{"x", Tensor(DType::f32, {3})}}).outputs.at("y").at(1), 0);
}

TEST(RmsNorm, ErrorsNameTheOperand) {
  Graph graph;
  try {
    rms_norm(graph.input("x", f32({2, 3})), graph.input("g", f16({3})));
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(),
                 "rms_norm: gamma is f16[3], x is f32[2, 3] normalised from axis 1 on");
  }
}

}  // namespace
}  // namespace rlx
