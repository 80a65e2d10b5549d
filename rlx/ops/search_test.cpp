// Claims about argmax and argmin, scans, unique and non_zero.

#include <gtest/gtest.h>

#include <cmath>

#include "rlx/ops/ops_core.h"
#include "rlx/ops/ops_cumulative.h"
#include "rlx/ops/ops_search.h"
#include "rlx/ops/testing.h"

namespace rlx {

const OpDef& cumsum_op();

namespace {

template <class Build>
Tensor result(const Tensor& x, Build build) {
  Graph graph;
  graph.output("y", build(graph.constant(x)));
  return evaluate(graph, {}).outputs.at("y");
}

// The gradient of the sum of y * dy.
template <class Build>
Numbers slopes(const Tensor& x, const Tensor& dy, Build build) {
  Graph graph;
  const Value in = graph.constant(x), y = build(in);
  graph.output("dx",
               *y.producer().op->gradient({y.producer(), {in}, {y}, {graph.constant(dy)}})[0]);
  return elements(evaluate(graph, {}).outputs.at("dx"));
}

Tensor row(std::initializer_list<double> values, DType dtype = DType::f32) {
  return Tensor::of(dtype, {static_cast<int64_t>(values.size())}, values);
}

TEST(ArgExtreme, OfEqualsTheFirstOrTheLast) {
  const Tensor x = row({1, 3, 0, 3, 0});
  EXPECT_EQ(elements(result(x, [](Value v) { return argmax(v); })), Numbers{1});
  EXPECT_EQ(elements(result(x, [](Value v) { return argmin(v); })), Numbers{2});
  EXPECT_EQ(elements(result(x, [](Value v) { return argmax(v, 0, false, true); })), Numbers{3});
  EXPECT_EQ(elements(result(x, [](Value v) { return argmin(v, 0, false, true); })), Numbers{4});
  EXPECT_EQ(elements(result(row({-0.0, 0.0}), [](Value v) { return argmax(v); })), Numbers{0});
}

TEST(ArgExtreme, TheFirstNanIsFoundWhicheverWay) {
  const Tensor x = row({1, NAN, INFINITY, -INFINITY, NAN});
  EXPECT_EQ(elements(result(x, [](Value v) { return argmax(v); })), Numbers{1});
  EXPECT_EQ(elements(result(x, [](Value v) { return argmin(v); })), Numbers{1});
}

TEST(ArgExtreme, TakesAnyAxisAndKeepsItWhenAsked) {
  const Tensor x = Tensor::of(DType::f32, {2, 3}, {1, 5, 2, 4, 0, 9});
  const Tensor down = result(x, [](Value v) { return argmax(v, 0); });
  EXPECT_EQ(elements(down), (Numbers{1, 0, 1}));
  EXPECT_EQ(down.dtype(), DType::i64);
  const Tensor kept = result(x, [](Value v) { return argmin(v, -1, true); });
  EXPECT_EQ(elements(kept), (Numbers{0, 1}));
  EXPECT_EQ(kept.shape(), (Shape{2, 1}));
}

TEST(ArgExtreme, LargeIntegersAreComparedExactly) {
  Tensor x(DType::u64, {3});
  x.set_integer(0, (int64_t{1} << 60) + 1);
  x.set_integer(1, int64_t{1} << 60);
  x.set_integer(2, -1);  // the largest of all
  EXPECT_EQ(elements(result(x, [](Value v) { return argmax(v); })), Numbers{2});
  EXPECT_EQ(elements(result(x, [](Value v) { return argmin(v); })), Numbers{1});
}

TEST(ArgExtreme, ARowWithoutElementsIsAnError) {
  Graph graph;
  const Value x = graph.input("x", f32({3, 0})), n = graph.input("n", f32({2, "n"}));
  EXPECT_EQ(error_of([&] { argmax(x, 1); }), "argmax: axis 1 of f32[3, 0] has no elements");
  EXPECT_EQ(error_of([&] { argmin(x, 2); }),
            "argmin: axis 2 is out of range for f32[3, 0] (rank 2)");
  graph.output("y", argmax(n, 1));
  EXPECT_EQ(
      error_of([&] {
        evaluate(graph, {{"x", Tensor(DType::f32, {3, 0})}, {"n", Tensor(DType::f32, {2, 0})}});
      }).rfind("argmax: axis 1 of f32[2, 0] has no elements", 0),
      0U);
}

TEST(Scan, CountsItselfOrOnlyThoseBefore) {
  const Tensor x = row({1, 2, 3, 4});
  EXPECT_EQ(elements(result(x, [](Value v) { return cumsum(v, 0); })), (Numbers{1, 3, 6, 10}));
  EXPECT_EQ(elements(result(x, [](Value v) { return cumsum(v, 0, true); })), (Numbers{0, 1, 3, 6}));
  EXPECT_EQ(elements(result(x, [](Value v) { return cumsum(v, 0, false, true); })),
            (Numbers{10, 9, 7, 4}));
  EXPECT_EQ(elements(result(x, [](Value v) { return cumprod(v, 0, true, true); })),
            (Numbers{24, 12, 4, 1}));
  EXPECT_EQ(elements(result(x, [](Value v) { return cumprod(v, 0); })), (Numbers{1, 2, 6, 24}));
}

TEST(Scan, GoesAlongAnyAxis) {
  const Tensor x = Tensor::of(DType::i32, {2, 3}, {1, 2, 3, 4, 5, 6});
  EXPECT_EQ(elements(result(x, [](Value v) { return cumsum(v, 0); })), (Numbers{1, 2, 3, 5, 7, 9}));
  EXPECT_EQ(elements(result(row({100, 100}, DType::i8), [](Value v) { return cumsum(v, 0); })),
            (Numbers{100, -56}));
}

TEST(Scan, TheGradientOfAProductIsRightAtZeros) {
  const Tensor dy = row({1, 10, 100});
  const auto product = [](Value v) { return cumprod(v, 0); };
  EXPECT_EQ(slopes(row({2, 3, 4}), dy, product), (Numbers{1 + 30 + 1200, 20 + 800, 600}));
  EXPECT_EQ(slopes(row({2, 0, 4}), dy, product), (Numbers{1, 20 + 800, 0}));
  EXPECT_EQ(slopes(row({0, 3, 0}), dy, product), (Numbers{1 + 30, 0, 0}));
  EXPECT_EQ(slopes(row({2, 3, 4}), dy, [](Value v) { return cumprod(v, 0, true); }),
            (Numbers{10 + 300, 200, 0}));
}

TEST(Scan, ErrorsNameTheOp) {
  Graph graph;
  EXPECT_EQ(error_of([&] { cumsum(graph.input("b", boolean({2})), 0); }),
            "cumsum: takes floats or integers, got bool[2]");
  EXPECT_EQ(error_of([&] { cumprod(graph.input("x", f32({2})), 1); }),
            "cumprod: axis 1 is out of range for f32[2] (rank 1)");
  const Value words = graph.input("words", {DType::u32, {5, 2}});
  EXPECT_EQ(error_of([&] {
              words.apply(cumsum_op(), {words}, {{"axis", 1}, {"words", true}});
            }),
            "cumsum: axis 1 of u32[5, 2] is none of words, u32[.., 2]");
}

struct Found {
  Numbers values, indices, inverse, counts;
};
Found unique_of(const Tensor& x, std::optional<int64_t> axis = {}, bool sorted = true) {
  Graph graph;
  const Unique found = unique(graph.constant(x), axis, sorted);
  graph.output("values", found.values);
  graph.output("indices", found.indices);
  graph.output("inverse", found.inverse);
  graph.output("counts", found.counts);
  const TensorMap run = evaluate(graph, {}).outputs;
  return {elements(run.at("values")), elements(run.at("indices")), elements(run.at("inverse")),
          elements(run.at("counts"))};
}

TEST(Unique, SaysWhereEachIsAndHowOften) {
  const Found found = unique_of(row({2, 1, 1, 3, 4, 3}));
  EXPECT_EQ(found.values, (Numbers{1, 2, 3, 4}));
  EXPECT_EQ(found.indices, (Numbers{1, 0, 3, 4}));
  EXPECT_EQ(found.inverse, (Numbers{1, 0, 0, 2, 3, 2}));
  EXPECT_EQ(found.counts, (Numbers{2, 1, 2, 1}));
}

TEST(Unique, KeepsTheOrderWhenNotSorted) {
  const Found found = unique_of(row({2, 1, 1, 3, 4, 3}), {}, false);
  EXPECT_EQ(found.values, (Numbers{2, 1, 3, 4}));
  EXPECT_EQ(found.indices, (Numbers{0, 1, 3, 4}));
  EXPECT_EQ(found.inverse, (Numbers{0, 1, 1, 2, 3, 2}));
  EXPECT_EQ(found.counts, (Numbers{1, 2, 2, 1}));
}

TEST(Unique, ComparesSlicesAlongAnAxis) {
  const Found rows = unique_of(Tensor::of(DType::f32, {3, 3}, {1, 0, 0, 1, 0, 0, 2, 3, 4}), 0);
  EXPECT_EQ(rows.values, (Numbers{1, 0, 0, 2, 3, 4}));
  EXPECT_EQ(rows.inverse, (Numbers{0, 0, 1}));
  const Found columns = unique_of(Tensor::of(DType::i32, {2, 3}, {5, 1, 5, 6, 2, 6}), -1);
  EXPECT_EQ(columns.values, (Numbers{1, 5, 2, 6}));
  EXPECT_EQ(columns.counts, (Numbers{1, 2}));
}

TEST(Unique, NansAreEqual) {
  const Found found = unique_of(row({NAN, 1, NAN}));
  EXPECT_EQ(found.counts, (Numbers{1, 2}));
  EXPECT_EQ(found.inverse, (Numbers{1, 0, 1}));
}

TEST(Unique, ItsExtentIsASymbol) {
  Graph graph;
  const Unique found = unique(graph.input("x", f32({2, 3})), 1);
  EXPECT_TRUE(found.values.shape()[0].is(2));
  EXPECT_FALSE(found.values.shape()[1].is_number());
  EXPECT_EQ(found.values.shape()[1], found.counts.shape()[0]);
  EXPECT_TRUE(found.inverse.shape()[0].is(3));
}

TEST(NonZero, GivesAnIndexPerAxis) {
  const Tensor x = Tensor::of(DType::f32, {2, 3}, {0, 1, NAN, 4, -0.0, 6});
  const Tensor found = result(x, [](Value v) { return non_zero(v); });
  EXPECT_EQ(found.shape(), (Shape{2, 4}));
  EXPECT_EQ(elements(found), (Numbers{0, 0, 1, 1, 1, 2, 0, 2}));
  EXPECT_EQ(result(Tensor::scalar(DType::f32, 3), [](Value v) { return non_zero(v); }).shape(),
            (Shape{0, 1}));
}

}  // namespace
}  // namespace rlx
