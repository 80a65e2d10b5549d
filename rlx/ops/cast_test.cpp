#include <gtest/gtest.h>

#include <cmath>

#include "rlx/ir/evaluate.h"
#include "rlx/ops/ops_core.h"

namespace rlx {
namespace {

Tensor cast_to(const Tensor& x, DType dtype) {
  Graph graph;
  graph.output("y", cast(graph.input("x", x.type()), dtype));
  return evaluate(graph, {{"x", x}}).outputs.at("y");
}

void expect_values(const Tensor& got, const std::vector<double>& wanted) {
  ASSERT_EQ(got.count(), static_cast<int64_t>(wanted.size()));
  for (size_t i = 0; i < wanted.size(); ++i)
    EXPECT_EQ(got.at(static_cast<int64_t>(i)), wanted[i]) << "element " << i;
}

TEST(Cast, FloatsTruncateAndSaturate) {
  const Tensor x = Tensor::of(DType::f32, {6}, {1.9, -1.9, 1e20, -1e20, NAN, INFINITY});
  expect_values(cast_to(x, DType::i32), {1, -1, 2147483647, -2147483648.0, 0, 2147483647});
  expect_values(cast_to(x, DType::u8), {1, 0, 255, 0, 0, 255});
  expect_values(cast_to(x, DType::i8), {1, -1, 127, -128, 0, 127});
}

TEST(Cast, IntegersWrap) {
  const Tensor x = Tensor::of(DType::i32, {4}, {-1, 300, 65537, 127});
  expect_values(cast_to(x, DType::u8), {255, 44, 1, 127});
  expect_values(cast_to(x, DType::i16), {-1, 300, 1, 127});
}

TEST(Cast, AnythingButZeroIsTrue) {
  expect_values(cast_to(Tensor::of(DType::f32, {5}, {0, -0.0, 1e-40, NAN, -3}), DType::boolean),
                {0, 0, 1, 1, 1});
  expect_values(cast_to(Tensor::of(DType::i32, {2}, {0, -7}), DType::boolean), {0, 1});
}

TEST(Cast, HalvesRoundToNearestEvenAndOverflowToInfinity) {
  const Tensor x =
      Tensor::of(DType::f32, {5}, {1 + 0x1p-11, 1 + 3 * 0x1p-11, 65519, 65520, 0x1p-25});
  expect_values(cast_to(x, DType::f16), {1, 1 + 2 * 0x1p-10, 65504, INFINITY, 0});
}

TEST(Cast, LargeIntegersKeepTheirBits) {
  Tensor x(DType::i64, {1});
  x.set_integer(0, (int64_t{1} << 53) + 1);
  EXPECT_EQ(cast_to(x, DType::u64).integer_at(0), (int64_t{1} << 53) + 1);
}

TEST(Cast, ShapesStayKnownThroughAnIntegerCast) {
  Graph graph;
  const Value shape = cast(shape_of(graph.input("x", f32({"n", 2}))), DType::i32);
  ASSERT_TRUE(shape.producer().host_values[0].has_value());
  EXPECT_EQ(shape.producer().host_values[0]->elements, (std::vector<Dim>{Dim("n"), Dim(2)}));
}

TEST(Cast, WhatWrapsIsNotKnown) {
  Graph graph;
  const Value x = graph.input("x", f32({"n", 300})), shape = shape_of(x);
  const auto known = [](Value v) { return v.producer().host_values[0].has_value(); };
  EXPECT_TRUE(known(cast(shape, DType::i32)));
  EXPECT_FALSE(known(cast(shape, DType::u8)));
  const Value number = graph.constant(Tensor::of(DType::i64, {1}, {300}));
  EXPECT_TRUE(known(cast(number, DType::i16)));
  EXPECT_FALSE(known(cast(number, DType::u8)));
  EXPECT_FALSE(known(cast(graph.constant(Tensor::of(DType::i64, {1}, {-1})), DType::u64)));
}

TEST(Cast, OnlyFloatsHaveAGradient) {
  Graph graph;
  const Value x = graph.input("x", f16({2})), y = cast(x, DType::f32);
  const Node& node = y.producer();
  EXPECT_EQ((*node.op->gradient({node, {x}, {y}, {y}})[0]).dtype(), DType::f16);
  const Value i = cast(x, DType::i32);
  EXPECT_FALSE(i.producer().op->gradient({i.producer(), {x}, {i}, {i}})[0].has_value());
}

}  // namespace
}  // namespace rlx
