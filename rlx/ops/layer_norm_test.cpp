#include <gtest/gtest.h>

#include <cmath>

#include "rlx/ir/evaluate.h"
#include "rlx/ops/ops_norm.h"
#include "rlx/testing.h"

namespace rlx {
namespace {

void expect_near(const Tensor& got, const std::vector<double>& wanted) {
  ASSERT_EQ(got.count(), static_cast<int64_t>(wanted.size()));
  for (size_t i = 0; i < wanted.size(); ++i)
    EXPECT_NEAR(got.at(static_cast<int64_t>(i)), wanted[i], 1e-5) << "element " << i;
}

TEST(LayerNorm, RowsHaveMeanZeroAndVarianceOne) {
  Graph graph;
  graph.output("y", layer_norm(graph.input("x", f32({2, 3})), {}, {}, -1, 0));
  const Tensor y = evaluate(graph, {{"x", Tensor::of(DType::f32, {2, 3}, {1, 2, 3, 10, 10, 40})}})
                       .outputs.at("y");
  expect_near(y, {-1.2247449, 0, 1.2247449, -0.7071068, -0.7071068, 1.4142136});
}

TEST(LayerNorm, GammaAndBetaAreEachOptional) {
  const Tensor x = Tensor::of(DType::f32, {1, 2}, {-1, 1}),
               two = Tensor::of(DType::f32, {2}, {2, 3});
  for (const bool gamma : {false, true}) {
    for (const bool beta : {false, true}) {
      Graph graph;
      const Value in = graph.input("x", x.type());
      const Value g = gamma ? graph.constant(two) : Value{},
                  b = beta ? graph.constant(two) : Value{};
      graph.output("y", layer_norm(in, g, b, 1, 0));
      expect_near(
          evaluate(graph, {{"x", x}}).outputs.at("y"),
          {-1 * (gamma ? 2.0 : 1.0) + (beta ? 2 : 0), (gamma ? 3.0 : 1.0) + (beta ? 3 : 0)});
    }
  }
}

TEST(LayerNorm, SeveralTrailingAxesAreOneRow) {
  Graph graph;
  graph.output("y", layer_norm(graph.input("x", f32({1, 2, 2})), {}, {}, 1, 0));
  const Tensor y =
      evaluate(graph, {{"x", Tensor::of(DType::f32, {1, 2, 2}, {1, 1, 3, 3})}}).outputs.at("y");
  expect_near(y, {-1, -1, 1, 1});
}

TEST(LayerNorm, ALargeMeanDoesNotSpoilTheVariance) {
  Graph graph;
  graph.output("y", layer_norm(graph.input("x", f32({2})), {}, {}, 0, 0));
  expect_near(evaluate(graph, {{"x", Tensor::of(DType::f32, {2}, {10000, 10002})}}).outputs.at("y"),
              {-1, 1});
}

TEST(LayerNorm, ErrorsNameTheOperand) {
  Graph graph;
  const Value x = graph.input("x", f32({2, 3}));
  EXPECT_EQ(error_of([&] { layer_norm(x, graph.input("g", f32({2})), {}); }),
            "layer_norm: gamma differs from x in axis 1: 3 and 2");
  EXPECT_EQ(error_of([&] {
              layer_norm(x, {}, graph.input("b", f32({2, 3})));
            }),
            "layer_norm: beta is f32[2, 3], x is f32[2, 3] normalised from axis 1 on");
  EXPECT_EQ(error_of([&] { layer_norm(graph.input("i", i32({2})), {}, {}); }),
            "layer_norm: takes floats, got i32[2]");
}

}  // namespace
}  // namespace rlx
