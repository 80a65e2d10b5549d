#include <gtest/gtest.h>

#include <cmath>

#include "rlx/ir/evaluate.h"
#include "rlx/ops/ops_rope.h"

namespace rlx {
namespace {

// A quarter turn of every pair: (a, b) becomes (-b, a).
Tensor turned(const Tensor& x, int64_t pairs, bool interleaved) {
  Graph graph;
  const Tensor cosines(DType::f32, {1, pairs});
  Tensor sines(DType::f32, {1, pairs});
  for (int64_t i = 0; i < pairs; ++i) sines.set(i, 1);
  graph.output("y", rope(graph.input("x", x.type()), graph.input("cos", cosines.type()),
                         graph.input("sin", sines.type()), interleaved));
  return evaluate(graph, {{"x", x}, {"cos", cosines}, {"sin", sines}}).outputs.at("y");
}

void expect_values(const Tensor& got, const std::vector<double>& wanted) {
  ASSERT_EQ(got.count(), static_cast<int64_t>(wanted.size()));
  for (int64_t i = 0; i < got.count(); ++i) EXPECT_EQ(got.at(i), wanted[size_t(i)]) << "at " << i;
}

const Tensor kX = Tensor::of(DType::f32, {1, 5}, {1, 2, 3, 4, 5});

TEST(Rope, PairsAreHalfTheTurnedDimsApart) {
  expect_values(turned(kX, 2, false), {-3, -4, 1, 2, 5});
}

TEST(Rope, InterleavedPairsAreNeighbours) { expect_values(turned(kX, 2, true), {-2, 1, -4, 3, 5}); }

TEST(Rope, DimsBeyondTheTurnedOnesAreCopied) {
  expect_values(turned(kX, 1, false), {-2, 1, 3, 4, 5});
}

TEST(Rope, TablesTurnByThePositionOverAPowerOfTheta) {
  Graph graph;
  const RopeTables tables =
      rope_tables(graph.constant(Tensor::of(DType::i64, {2}, {0, 100})), 4, 10000);
  graph.output("cos", tables.cos);
  graph.output("sin", tables.sin);
  const TensorMap out = evaluate(graph, {}).outputs;
  expect_values(out.at("cos").first({2}), {1, 1});
  EXPECT_NEAR(out.at("cos").at(2), std::cos(100.0), 1e-6);
  EXPECT_NEAR(out.at("sin").at(3), std::sin(1.0), 1e-6);  // 100 / 10000^(1/2)
}

TEST(Rope, PositionsMayComeBeforeHeadsAndDifferByBatch) {
  Graph graph;
  const Tensor x = Tensor::of(DType::f32, {2, 1, 2, 2}, {1, 2, 3, 4, 1, 2, 3, 4});
  const Tensor cosines = Tensor::of(DType::f32, {2, 1, 1}, {1, 0}),
               sines = Tensor::of(DType::f32, {2, 1, 1}, {0, 1});
  graph.output(
      "y", rope(graph.constant(x), graph.constant(cosines), graph.constant(sines), false, "bshd"));
  expect_values(evaluate(graph, {}).outputs.at("y"), {1, 2, 3, 4, -2, 1, -4, 3});
}

TEST(Rope, ErrorsNameTheTables) {
  Graph graph;
  const Value x = graph.input("x", f32({2, 3, 4}));
  const auto error_of = [&](const TensorType& table) {
    Graph own;
    try {
      const Value t = own.input("t", table);
      rope(own.input("x", x.type()), t, t);
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string("no error");
  };
  EXPECT_EQ(error_of(f32({3, 3})), "rope: turns 6 dims, x f32[2, 3, 4] has 4");
  EXPECT_EQ(error_of(f32({5, 2})), "rope: table f32[5, 2] does not fit x f32[2, 3, 4]: 5 and 3");
  EXPECT_EQ(error_of(f32({3, "n"})),
            "rope: a table is f32[3, n], its n_rot / 2 needs to be a number");
  EXPECT_EQ(error_of(f32({4, 3, 1})),
            "rope: table f32[4, 3, 1] does not fit x f32[2, 3, 4]: 4 and 2");
}

}  // namespace
}  // namespace rlx
