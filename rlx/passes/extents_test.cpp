#include "rlx/passes/extents.h"

#include <gtest/gtest.h>

namespace rlx {
namespace {

const Dim a("a"), b("b"), c("c");

DimCheck equals(const Dim& x, const Dim& y) { return {x, y, "", Relation::equal}; }
DimCheck meets(const Dim& x, const Dim& y) { return {x, y, "", Relation::broadcast}; }
DimCheck reaches(const Dim& x, const Dim& y) { return {x, y, "", Relation::broadcasts_to}; }

TEST(Extents, TheSameChecksAskTheSame) {
  EXPECT_TRUE(ask_the_same({equals(a, b)}, {equals(b, a)}));
  EXPECT_TRUE(ask_the_same({equals(a, b), meets(a, c)}, {meets(c, a), equals(a, b)}));
  EXPECT_TRUE(ask_the_same({}, {}));
  EXPECT_TRUE(
      ask_the_same({{a, 4, "", Relation::multiple_of}}, {{a, 4, "", Relation::multiple_of}}));
}

TEST(Extents, OtherChecksDoNot) {
  EXPECT_FALSE(ask_the_same({equals(a, b)}, {}));
  EXPECT_FALSE(ask_the_same({equals(a, b)}, {meets(a, b)}));
  EXPECT_FALSE(ask_the_same({reaches(a, b)}, {reaches(b, a)}));
  EXPECT_FALSE(ask_the_same({equals(a, b), equals(b, c)}, {equals(a, b)}));
  EXPECT_FALSE(
      ask_the_same({{a, 4, "", Relation::multiple_of}}, {{a, 8, "", Relation::multiple_of}}));
}

TEST(Extents, WhatFollowsFromEqualityCounts) {
  EXPECT_TRUE(ask_the_same({equals(a, b), equals(b, c)}, {equals(a, c), equals(a, b)}));
  EXPECT_TRUE(ask_the_same({equals(a, 3), equals(b, 3)}, {equals(a, b), equals(b, 3)}));
  EXPECT_TRUE(ask_the_same({meets(a, 3), equals(a, b)}, {equals(a, b), reaches(b, 3)}));
}

TEST(Extents, WhatIsRepeatedToAPartOfItselfIsThatPart) {
  const Dim both = broadcast(a, b);
  EXPECT_TRUE(ask_the_same({meets(a, b), equals(both, a)}, {reaches(both, a)}));
  EXPECT_FALSE(ask_the_same({meets(a, b)}, {reaches(both, a)}));
}

// What the mask of a model with a cache asks, where attention has it.
TEST(Extents, AMaskMayBeAddedToAnotherBeforeScoresAre) {
  const Dim rows("m"), queries("q"), columns("c"), keys("k"), total("t");
  const Dim all_rows = broadcast(rows, queries);
  EXPECT_TRUE(ask_the_same(
      {meets(rows, queries), meets(columns, keys), meets(broadcast(columns, keys), total),
       equals(broadcast(broadcast(columns, keys), total), keys)},
      {reaches(queries, all_rows), meets(columns, total), reaches(rows, all_rows),
       reaches(broadcast(columns, total), keys)}));
}

}  // namespace
}  // namespace rlx
