#include "rlx/passes/testing.h"

namespace rlx {

const OpDef& if_else_op();

namespace {

// Rows of 512 bytes, of which a device binds two beside what an alignment takes.
const PassTarget kSmall = gpu_target(1280);

TEST(SplitLarge, RowsAreTakenInPartsThatFit) {
  EXPECT_EQ(after_pass(split_large, R"(%0 = input @"x" : f32[4, 128]
%1 = softmax %0 axis=-1 : f32[4, 128]
output "y" %1
)",
                       kSmall),
            R"(%0 = input @"x" : f32[4, 128]
%1 = slice %0 axes=[0] ends=[2] starts=[0] steps=ints[] : f32[2, 128]
%2 = constant value=bool[]{true} : bool[]
%3 = where %2, %1, %1 : f32[2, 128]
%4 = softmax %3 axis=-1 : f32[2, 128]
%5 = slice %0 axes=[0] ends=[4] starts=[2] steps=ints[] : f32[2, 128]
%6 = constant value=bool[]{true} : bool[]
%7 = where %6, %5, %5 : f32[2, 128]
%8 = softmax %7 axis=-1 : f32[2, 128]
%9 = concat %4, %8 axis=0 : f32[4, 128]
output "y" %9
)");
}

TEST(SplitLarge, ARowThatDoesNotFitBecomesWhatItIsMadeOf) {
  EXPECT_EQ(
      ops_after(split_large, graph_of(f32({2, 512}), [](Value x) { return softmax(x); }), kSmall),
      OpNames("reduce_max sub exp sum div"));
}

TEST(SplitLarge, WhatFitsOrIsOfTheHostStays) {
  const Graph graph = graph_of(f32({4, 128}), [](Value x) { return softmax(x); });
  for (const PassTarget& target : {gpu_target(), PassTarget{}})
    EXPECT_EQ(split_large.run(graph, {.target = &target}).changes, 0);
}

TEST(SplitLarge, BodiesAreSplitToo) {
  Graph then, otherwise, graph;
  then.output("y", softmax(then.input("x", f32({4, 128}))));
  otherwise.output("y", otherwise.input("x", f32({4, 128})));
  const Value x = graph.input("x", f32({4, 128})), go = graph.input("go", boolean({}));
  graph.output("y", x.apply(if_else_op(), {go, x},
                            {{"then", std::make_shared<const Graph>(std::move(then))},
                             {"else", std::make_shared<const Graph>(std::move(otherwise))}}));
  const Graph after = run_passes(graph, {.target = kSmall});
  expect_same(graph, after);
  EXPECT_NE(print(after).find("concat"), std::string::npos) << print(after);
}

}  // namespace
}  // namespace rlx
