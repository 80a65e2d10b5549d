#include "rlx/ops/ops_core.h"
#include "rlx/passes/testing.h"

namespace rlx {
namespace {

TEST(CommonValues, EqualNodesAreComputedOnce) {
  EXPECT_EQ(after_pass(common_values, R"(%0 = input @"x" : f32[2]
%1 = constant value=f32[]{2} : f32[]
%2 = constant value=f32[]{2} : f32[]
%3 = mul %0, %1 : f32[2]
%4 = mul %0, %2 : f32[2]
%5 = exp %3 : f32[2]
%6 = exp %4 : f32[2]
%7 = add %5, %6 : f32[2]
output "y" %7
)"),
            R"(%0 = input @"x" : f32[2]
%1 = constant value=f32[]{2} : f32[]
%2 = mul %0, %1 : f32[2]
%3 = exp %2 : f32[2]
%4 = add %3, %3 : f32[2]
output "y" %4
)");
}

TEST(CommonValues, OtherAttributesAreOtherNodes) {
  Graph graph;
  const Value x = graph.input("x", f32({2, 3}));
  graph.output("y", sum(x, {0}, true) + sum(x, {1}, true));
  Changing changing(std::as_const(graph));
  EXPECT_EQ(common_values.function(changing, {}), 0);
  EXPECT_EQ(&*changing, &graph);
}

}  // namespace
}  // namespace rlx
