#include "rlx/ir/known.h"
#include "rlx/passes/testing.h"

namespace rlx {
namespace {

size_t computed(const Graph& graph) {
  return static_cast<size_t>(std::count_if(graph.nodes().begin(), graph.nodes().end(),
                                           [](const Node& node) { return !is_source(node); }));
}

TEST(FoldConstants, ASumOfConstantsIsOne) {
  EXPECT_EQ(after_pass(fold_constants, R"(%0 = input @"x" : f32[2]
%1 = constant value=f32[2]{1, 2} : f32[2]
%2 = add %1, %1 : f32[2]
%3 = mul %0, %2 : f32[2]
output "y" %3
)"),
            R"(%0 = input @"x" : f32[2]
%1 = constant value=f32[2]{2, 4} : f32[2]
%2 = mul %0, %1 : f32[2]
output "y" %2
)");
}

TEST(FoldConstants, WhatConstantsAloneDecideIsAConstantOfAnyDtype) {
  Graph graph;
  const Value x = graph.input("x", {DType::f32, {3}});
  const Value c = graph.constant(Tensor::of(DType::f32, {3}, {1, 2, 3}));
  graph.output("y", x * sqrt(exp(c) + c));
  const Graph folded = dead_code.run(fold_constants.run(graph.clone()).graph).graph;
  EXPECT_EQ(computed(folded), 1u) << print(folded);
  const TensorMap inputs{{"x", Tensor::of(DType::f32, {3}, {4, 5, -6})}};
  const Tensor before = evaluate(graph, inputs).outputs.at("y"),
               after = evaluate(folded, inputs).outputs.at("y");
  for (int64_t i = 0; i < 3; ++i) EXPECT_EQ(before.at(i), after.at(i));
}

TEST(FoldConstants, WeightsInputsAndLargeTensorsStay) {
  Graph graph;
  const Value w = graph.weight("w", Tensor::of(DType::f32, {2}, {1, 2}));
  const Value large = graph.constant(Tensor(DType::f32, {2000}));
  graph.output("w", exp(w));
  graph.output("large", exp(large));
  EXPECT_EQ(computed(fold_constants.run(graph.clone()).graph), 2u);
}

TEST(FoldConstants, WhatTheReferenceRefusesIsLeftToTheRun) {
  Graph graph;
  const Value x = graph.constant(Tensor::of(DType::f32, {2}, {1, 2}));
  const Value index = graph.constant(Tensor::of(DType::i64, {1}, {7}));
  graph.output("y", gather(x, index));
  EXPECT_EQ(computed(fold_constants.run(graph.clone()).graph), 1u);
}

TEST(FoldConstants, AReplacedConstantIsNotRemembered) {
  Graph graph;
  const Value c = graph.constant(Tensor::of(DType::f32, {1}, {1}));
  const Value x = graph.input("x", {DType::f32, {1}});
  const Value y = exp(c), z = exp(x), sum = y + y;
  graph.output("sum", sum);
  EXPECT_TRUE(known_tensor(sum));
  graph.replace_uses(y, z);
  EXPECT_FALSE(known_tensor(sum));
}

}  // namespace
}  // namespace rlx
