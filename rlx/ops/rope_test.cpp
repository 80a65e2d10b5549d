#include <gtest/gtest.h>

#include "rlx/ir/evaluate.h"
#include "rlx/ops/ops.h"

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
}

}  // namespace
}  // namespace rlx
