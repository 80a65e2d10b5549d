#include "rlx/ir/extent_facts.h"

#include <gtest/gtest.h>

#include "rlx/ir/graph.h"
#include "rlx/ops/ops_core.h"

namespace rlx {
namespace {

const Dim p("p"), s("s");

TEST(ExtentFacts, WhatMeetsItsOwnCutIsWithinTheLimit) {
  const Dim cut = min(p + s, 64), rows = max(cut - p, 0);
  const ExtentFacts facts({1, rows, cut}, {4, s, p + s});
  EXPECT_EQ(facts(rows), s);
  EXPECT_EQ(facts(cut), p + s);
  EXPECT_EQ(facts(min(p + s, 32)), min(p + s, 32)) << "of another limit nothing is known";
  EXPECT_TRUE(ExtentFacts({s}, {p}).empty());
  EXPECT_TRUE(ExtentFacts({min(s, 1)}, {s}).empty()) << "which broadcasts";
}

// As a causal mask is cut from a table, layer by layer: extents stay what they were.
TEST(ExtentFacts, ATableCutForScoresLeavesTheirExtents) {
  Graph graph;
  const Value table = graph.input("table", {DType::boolean, {1, 64, 64}});
  Value scores = graph.input("scores", f32({4, s, p + s}));
  for (int layer = 0; layer < 12; ++layer) {
    const Value rows = shape_of(scores, 1, 2), columns = shape_of(scores, 2, 3);
    const Value none = graph.constant(Tensor::of(DType::i64, {1}, {0}));
    const Value cut = slice(slice(table, columns - rows, columns, {1}), none, columns, {2});
    scores = where(cut, scores, scalar(scores, -1e30));
  }
  EXPECT_EQ(scores.shape(), (Dims{4, s, p + s}));
}

}  // namespace
}  // namespace rlx
