#include "rlx/passes/testing.h"

namespace rlx {
namespace {

TEST(CancelViews, TransposesAroundOpsOnElementsGo) {
  EXPECT_EQ(after_pass(cancel_views, R"(%0 = input @"x" : f32[2, 3, 4]
%1 = transpose %0 order=[0, 2, 1] : f32[2, 4, 3]
%2 = relu %1 : f32[2, 4, 3]
%3 = tanh %2 : f32[2, 4, 3]
%4 = transpose %3 order=[0, 2, 1] : f32[2, 3, 4]
output "y" %4
)"),
            R"(%0 = input @"x" : f32[2, 3, 4]
%1 = relu %0 : f32[2, 3, 4]
%2 = tanh %1 : f32[2, 3, 4]
output "y" %2
)");
}

// A weight for each channel is turned once, and a second operand has a transpose of its own.
TEST(CancelViews, OtherOperandsAreTurned) {
  Graph graph;
  const Value x = graph.input("x", f32({2, 3, 4})), y = graph.input("y", f32({2, 3, 4})),
              w = graph.weight("w", some_tensor({3}));
  const Ints order{0, 2, 1};
  graph.output("y", transpose(transpose(x, order) * w + transpose(y, order), order));
  EXPECT_EQ(ops_after(cancel_views, graph), OpNames("mul add"));
}

// The mask of shifted windows: scores are parted into pictures and windows for it.
TEST(CancelViews, AMaskIsReshapedInsteadOfScores) {
  Graph graph;
  const Value scores = graph.input("scores", f32({Dim("n") * 3, 2, 5, 5})),
              mask = graph.weight("mask", some_tensor({3, 1, 5, 5}));
  const Value parted = reshape(scores, Dims{"n", 3, 2, 5, 5});
  graph.output("pictures", graph.input("pictures", f32({"n"})));
  graph.output("y", reshape(parted + mask, scores.shape()));
  EXPECT_EQ(ops_after(cancel_views, graph), OpNames("expand reshape add"));
  Graph one;
  const Value x = one.input("x", f32({3, 2, 5, 5})),
              bias = one.weight("mask", some_tensor({3, 1, 5, 5}));
  one.output("y", reshape(reshape(x, Dims{1, 3, 2, 5, 5}) + bias, x.shape()));
  EXPECT_EQ(ops_after(cancel_views, one), OpNames("add"));
}

TEST(CancelViews, WhatIsReadElsewhereStays) {
  Graph graph;
  const Value x = graph.input("x", f32({2, 3, 4}));
  const Value inner = relu(transpose(x, {0, 2, 1}));
  graph.output("inner", inner);
  graph.output("y", transpose(inner, {0, 2, 1}));
  EXPECT_EQ(ops_after(cancel_views, graph), OpNames("transpose relu transpose"));
}

TEST(CancelViews, AnOperandInTheOtherOrderKeepsThem) {
  Graph graph;
  const Value x = graph.input("x", f32({2, 3, 4})), y = graph.input("y", f32({2, 4, 3}));
  graph.output("y", transpose(transpose(x, {0, 2, 1}) + y, {0, 2, 1}));
  EXPECT_EQ(ops_after(cancel_views, graph), OpNames("transpose add transpose"));
}

TEST(CancelViews, AReshapeToAnotherShapeStays) {
  Graph graph;
  const Value x = graph.input("x", f32({6, 4}));
  graph.output("y", reshape(relu(reshape(x, Dims{2, 3, 4})), Dims{4, 6}));
  EXPECT_EQ(ops_after(cancel_views, graph), OpNames("reshape relu reshape"));
}

}  // namespace
}  // namespace rlx
