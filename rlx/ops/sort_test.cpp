// Claims about sort and top_k.

#include <gtest/gtest.h>

#include <cmath>

#include "rlx/ir/evaluate.h"
#include "rlx/ops/ops_core.h"
#include "rlx/ops/ops_sort.h"

namespace rlx {
namespace {

using Numbers = std::vector<double>;

Numbers elements(const Tensor& tensor) {
  Numbers values;
  for (int64_t i = 0; i < tensor.count(); ++i) values.push_back(tensor.at(i));
  return values;
}

struct Sorted {
  Tensor values, indices;
};
template <class Build>
Sorted result(const Tensor& x, Build build) {
  Graph graph;
  const TopK sorted = build(graph.constant(x));
  graph.output("values", sorted.values);
  graph.output("indices", sorted.indices);
  const Evaluation run = evaluate(graph, {});
  return {run.outputs.at("values"), run.outputs.at("indices")};
}

Tensor row(std::initializer_list<double> values, DType dtype = DType::f32) {
  return Tensor::of(dtype, {static_cast<int64_t>(values.size())}, values);
}

TEST(Sort, IsStableBothWays) {
  const Tensor x = row({2, 1, 2, 0, 1});
  const Sorted up = result(x, [](Value v) { return sort(v); });
  EXPECT_EQ(elements(up.values), (Numbers{0, 1, 1, 2, 2}));
  EXPECT_EQ(elements(up.indices), (Numbers{3, 1, 4, 0, 2}));
  const Sorted down = result(x, [](Value v) { return sort(v, -1, true); });
  EXPECT_EQ(elements(down.values), (Numbers{2, 2, 1, 1, 0}));
  EXPECT_EQ(elements(down.indices), (Numbers{0, 2, 1, 4, 3}));
}

TEST(Sort, NanIsTheLargestAndZerosAreEqual) {
  const Tensor x = row({NAN, -0.0, INFINITY, 0.0, -INFINITY});
  EXPECT_EQ(elements(result(x, [](Value v) { return sort(v); }).indices), (Numbers{4, 1, 3, 2, 0}));
  EXPECT_EQ(elements(result(x, [](Value v) { return sort(v, 0, true); }).indices),
            (Numbers{0, 2, 1, 3, 4}));
}

TEST(Sort, OrdersLargeIntegersExactly) {
  Tensor x(DType::i64, {2});
  x.set_integer(0, (int64_t{1} << 60) + 1);
  x.set_integer(1, int64_t{1} << 60);
  EXPECT_EQ(elements(result(x, [](Value v) { return sort(v); }).indices), (Numbers{1, 0}));
}

TEST(Sort, TakesAnyAxis) {
  const Tensor x = Tensor::of(DType::f32, {3, 2}, {2, 0, 1, 5, 0, 3});
  EXPECT_EQ(elements(result(x, [](Value v) { return sort(v, 0); }).values),
            (Numbers{0, 0, 1, 3, 2, 5}));
}

TEST(TopK, TiesGoToTheLowerIndex) {
  const Sorted top = result(row({1, 3, 3, 2, 3}), [](Value v) { return top_k(v, 2); });
  EXPECT_EQ(elements(top.values), (Numbers{3, 3}));
  EXPECT_EQ(elements(top.indices), (Numbers{1, 2}));
  EXPECT_EQ(top.indices.dtype(), DType::i64);
  const Sorted low = result(row({1, 3, 1, 2}), [](Value v) { return top_k(v, 3, 0, false); });
  EXPECT_EQ(elements(low.indices), (Numbers{0, 2, 3}));
}

TEST(TopK, KMayComeFromTheRun) {
  Graph graph;
  const Value x = graph.input("x", f32({2, "n"})), k = graph.input("k", i64({1}));
  graph.output("y", top_k(x, k).values);
  const Tensor values = Tensor::of(DType::f32, {2, 3}, {1, 3, 2, 6, 4, 5});
  EXPECT_EQ(elements(evaluate(graph, {{"x", values}, {"k", row({2}, DType::i64)}}).outputs.at("y")),
            (Numbers{3, 2, 6, 5}));
  EXPECT_THROW(evaluate(graph, {{"x", values}, {"k", row({4}, DType::i64)}}), Error);
}

TEST(TopK, RefusesMoreThanThereAre) {
  Graph graph;
  const Value x = graph.input("x", f32({2, 3}));
  try {
    top_k(x, 4);
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "top_k: k 4 is out of range for axis 1 of f32[2, 3] (3)");
  }
}

TEST(Argsort, IsTheOrderOfASort) {
  Graph graph;
  graph.output("y", argsort(graph.constant(Tensor::of(DType::f32, {3}, {3, 1, 2}))));
  EXPECT_EQ(elements(evaluate(graph, {}).outputs.at("y")), (Numbers{1, 2, 0}));
}

}  // namespace
}  // namespace rlx
