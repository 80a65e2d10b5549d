#include "rlx/ops/ops_core.h"
#include "rlx/passes/testing.h"

namespace rlx {
namespace {

std::string after(const Dims& shape, const Ints& order) {
  const Graph made = after_pass(
      unit_transposes, graph_of(f32(shape), [&](Value x) { return exp(transpose(x, order)); }));
  std::string names;
  for (const Node& node : made.nodes())
    if (!is_source(node)) {
      names += node.op->name;
      if (node.op->name == "transpose")
        names += "[" + joined(node.attrs.get<Ints>("order"), ", ") + "]";
      names += ' ';
    }
  return names;
}

TEST(UnitTransposes, AnExtentOf1IsMovedByAReshape) {
  EXPECT_EQ(after({197, 1, 768}, {1, 0, 2}), "reshape exp ");
  EXPECT_EQ(after({1, "s", 1, 8}, {2, 1, 0, 3}), "reshape exp ");
  EXPECT_EQ(after({1, 1}, {}), "reshape exp ");
}

TEST(UnitTransposes, TheOthersAreTransposedWhereTheyAre) {
  EXPECT_EQ(after({1, 12, "s", 64}, {2, 0, 1, 3}), "transpose[0, 2, 1, 3] reshape exp ");
  EXPECT_EQ(after({2, 1, 3}, {2, 0, 1}), "transpose[2, 1, 0] reshape exp ");
}

TEST(UnitTransposes, WhatARunMayBindToMoreStays) {
  EXPECT_EQ(after({"s", "b", 8}, {1, 0, 2}), "transpose[1, 0, 2] exp ");
  EXPECT_EQ(after({2, 1, 3}, {2, 1, 0}), "transpose[2, 1, 0] exp ");
  EXPECT_EQ(after({0, 3}, {1, 0}), "transpose[1, 0] exp ");
}

}  // namespace
}  // namespace rlx
