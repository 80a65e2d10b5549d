#include <gtest/gtest.h>

#include <cmath>

#include "rlx/ir/evaluate.h"
#include "rlx/ops/ops_core.h"
#include "rlx/ops/ops_reduction.h"
#include "rlx/testing.h"

namespace rlx {
namespace {

template <class F>
Tensor of_one(const Tensor& x, F f) {
  Graph graph;
  graph.output("y", f(graph.input("x", x.type())));
  return evaluate(graph, {{"x", x}}).outputs.at("y");
}

Tensor counting(DType dtype, const Shape& shape) {
  Tensor x(dtype, shape);
  for (int64_t i = 0; i < x.count(); ++i) x.set(i, static_cast<double>(i));
  return x;
}

void expect_values(const Tensor& got, const std::vector<double>& wanted) {
  ASSERT_EQ(got.count(), static_cast<int64_t>(wanted.size()));
  for (size_t i = 0; i < wanted.size(); ++i) {
    const double value = got.at(static_cast<int64_t>(i));
    if (std::isnan(wanted[i]))
      EXPECT_TRUE(std::isnan(value)) << "element " << i;
    else
      EXPECT_EQ(value, wanted[i]) << "element " << i;
  }
}

TEST(Reduce, AnyAxesAreReduced) {
  const Tensor x = counting(DType::f32, {2, 3, 2});
  expect_values(of_one(x, [](Value v) { return sum(v, {0, 2}); }), {14, 22, 30});
  expect_values(of_one(x, [](Value v) { return mean(v, {-2}); }), {2, 3, 8, 9});
  expect_values(of_one(x, [](Value v) { return reduce_max(v, {1}); }), {4, 5, 10, 11});
  expect_values(of_one(x, [](Value v) { return reduce_min(v); }), {0});
}

TEST(Reduce, KeptAxesHaveLengthOne) {
  const Tensor x = counting(DType::f32, {2, 3});
  EXPECT_EQ(of_one(x, [](Value v) { return sum(v, {1}, true); }).shape(), (Shape{2, 1}));
  EXPECT_EQ(of_one(x, [](Value v) { return sum(v, {}, true); }).shape(), (Shape{1, 1}));
  EXPECT_EQ(of_one(x, [](Value v) { return sum(v); }).shape(), (Shape{}));
  EXPECT_EQ(of_one(Tensor::scalar(DType::f32, 3), [](Value v) { return sum(v); }).at(0), 3);
}

TEST(Reduce, NothingReducesToTheIdentity) {
  const Tensor x(DType::f32, {2, 0});
  expect_values(of_one(x, [](Value v) { return sum(v, {1}); }), {0, 0});
  expect_values(of_one(x, [](Value v) { return mean(v, {1}); }), {NAN, NAN});
  expect_values(of_one(x, [](Value v) { return reduce_max(v, {1}); }), {-INFINITY, -INFINITY});
  expect_values(of_one(x, [](Value v) { return reduce_min(v, {1}); }), {INFINITY, INFINITY});
  expect_values(of_one(Tensor(DType::i8, {0}), [](Value v) { return reduce_max(v); }), {-128});
  EXPECT_EQ(of_one(x, [](Value v) { return sum(v, {0}); }).count(), 0);
}

TEST(Reduce, ExtremesPropagateNaN) {
  const Tensor x = Tensor::of(DType::f32, {2, 3}, {1, NAN, 3, 4, 5, 6});
  expect_values(of_one(x, [](Value v) { return reduce_max(v, {1}); }), {NAN, 6});
  expect_values(of_one(x, [](Value v) { return reduce_min(v, {1}); }), {NAN, 4});
}

TEST(Reduce, IntegersWrap) {
  expect_values(of_one(Tensor::of(DType::u8, {3}, {200, 100, 1}), [](Value v) { return sum(v); }),
                {45});
  expect_values(
      of_one(Tensor::of(DType::i32, {2}, {2147483647, 1}), [](Value v) { return sum(v); }),
      {-2147483648.0});
}

TEST(Reduce, ErrorsNameTheOpAndTheAxis) {
  Graph graph;
  const Value x = graph.input("x", f32({2, 5}));
  EXPECT_EQ(error_of([&] { sum(x, {3}); }), "sum: axis 3 is out of range for f32[2, 5] (rank 2)");
  EXPECT_EQ(error_of([&] { sum(x, {1, -1}); }), "sum: axis -1 is given twice");
  EXPECT_EQ(error_of([&] { mean(graph.input("i", i32({2}))); }), "mean: takes floats, got i32[2]");
  EXPECT_EQ(error_of([&] { sum(graph.input("b", boolean({2}))); }),
            "sum: takes floats or integers, got bool[2]");
  EXPECT_EQ(error_of([&] { logsumexp(graph.input("k", i32({2}))); }),
            "logsumexp: takes floats, got i32[2]");
  EXPECT_EQ(error_of([&] { reduce_any(x); }), "reduce_any: takes bools, got f32[2, 5]");
}

TEST(Reduce, NormsAndProducts) {
  const Tensor x = Tensor::of(DType::f32, {2, 2}, {3, -4, -6, 8});
  expect_values(of_one(x, [](Value v) { return prod(v, {1}); }), {-12, -48});
  expect_values(of_one(x, [](Value v) { return l1(v, {1}); }), {7, 14});
  expect_values(of_one(x, [](Value v) { return l2(v, {1}); }), {5, 10});
  expect_values(of_one(x, [](Value v) { return sum_square(v, {1}); }), {25, 100});
  expect_values(of_one(x, [](Value v) { return mean_square(v, {1}); }), {12.5, 50});
  const Tensor none(DType::f32, {0});
  expect_values(of_one(none, [](Value v) { return prod(v); }), {1});
  expect_values(of_one(none, [](Value v) { return l2(v); }), {0});
  expect_values(of_one(none, [](Value v) { return log_sum(v); }), {-INFINITY});
  expect_values(of_one(Tensor::of(DType::i8, {2}, {-128, 1}), [](Value v) { return l1(v); }),
                {-127});  // 129 wraps
}

TEST(Reduce, LogsumexpDoesNotOverflow) {
  const Tensor x = Tensor::of(
      DType::f32, {5, 2}, {1000, 1000, -1000, -1000, -INFINITY, -INFINITY, INFINITY, 1, NAN, 1});
  const double log2 = static_cast<float>(std::log(2.0));
  const Tensor y = of_one(x, [](Value v) { return logsumexp(v, {1}); });
  EXPECT_NEAR(y.at(0), 1000 + log2, 1e-4);
  EXPECT_NEAR(y.at(1), -1000 + log2, 1e-4);
  EXPECT_EQ(y.at(2), -INFINITY);
  EXPECT_EQ(y.at(3), INFINITY);
  EXPECT_TRUE(std::isnan(y.at(4)));
  expect_values(of_one(Tensor(DType::f32, {0}), [](Value v) { return logsumexp(v); }), {-INFINITY});
}

TEST(Reduce, BoolsHaveExtremes) {
  const Tensor x = Tensor::of(DType::boolean, {3, 2}, {0, 1, 0, 0, 1, 1});
  expect_values(of_one(x, [](Value v) { return reduce_any(v, {1}); }), {1, 0, 1});
  expect_values(of_one(x, [](Value v) { return reduce_all(v, {1}); }), {0, 0, 1});
  expect_values(of_one(Tensor(DType::boolean, {0}), [](Value v) { return reduce_all(v); }), {1});
}

TEST(Reduce, TheGradientOfAProductIsRightAtZeros) {
  Graph graph;
  const Value x = graph.input("x", f32({3, 3})), y = prod(x, {1}), dy = graph.input("dy", f32({3}));
  graph.output("dx", *y.producer().op->gradient({y.producer(), {x}, {y}, {dy}})[0]);
  const Tensor dx =
      evaluate(graph, {{"x", Tensor::of(DType::f32, {3, 3}, {2, 3, 4, 2, 0, 4, 0, 3, 0})},
                       {"dy", Tensor::of(DType::f32, {3}, {1, 10, 100})}})
          .outputs.at("dx");
  expect_values(dx, {12, 8, 6, 0, 80, 0, 0, 0, 0});
}

TEST(Reduce, EqualsShareTheGradientOfTheMaximum) {
  Graph graph;
  const Value x = graph.input("x", f32({2, 3})), y = reduce_max(x, {1}),
              dy = graph.input("dy", f32({2}));
  graph.output("dx", *y.producer().op->gradient({y.producer(), {x}, {y}, {dy}})[0]);
  const Tensor dx = evaluate(graph, {{"x", Tensor::of(DType::f32, {2, 3}, {1, 4, 4, 9, 2, 3})},
                                     {"dy", Tensor::of(DType::f32, {2}, {10, 20})}})
                        .outputs.at("dx");
  expect_values(dx, {0, 5, 5, 20, 0, 0});
}

TEST(Reduce, TheGradientOfAMeanKnowsASymbolicLength) {
  Graph graph;
  const Value x = graph.input("x", f32({"n", 2})), y = mean(x, {0}),
              dy = graph.input("dy", f32({2}));
  graph.output("dx", *y.producer().op->gradient({y.producer(), {x}, {y}, {dy}})[0]);
  const Tensor dx = evaluate(graph, {{"x", counting(DType::f32, {4, 2})},
                                     {"dy", Tensor::of(DType::f32, {2}, {4, 8})}})
                        .outputs.at("dx");
  expect_values(dx, {1, 2, 1, 2, 1, 2, 1, 2});
}

}  // namespace
}  // namespace rlx
