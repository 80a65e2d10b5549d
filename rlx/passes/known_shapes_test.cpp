#include "rlx/passes/testing.h"

namespace rlx {
namespace {

TEST(KnownShapes, AReshapeTakesItsShapeAsAnAttribute) {
  EXPECT_EQ(after_pass(known_shapes, R"(%0 = input @"x" : f32[n, 2, 3]
%1 = input @"y" : f32[n, 6]
%2 = shape_of %1 : i64[2]
%3 = reshape %0, %2 : f32[n, 6]
output "z" %3
)"),
            R"(%0 = input @"x" : f32[n, 2, 3]
%1 = input @"y" : f32[n, 6]
%2 = reshape %0 allowzero=false shape=dims[n, 6] : f32[n, 6]
output "z" %2
)");
}

TEST(KnownShapes, AShapeOfAnotherValuesExtentsIsAnAttribute) {
  Graph graph;
  const Value x = graph.input("x", {DType::f32, {Dim("n"), 2, 3}});
  const Value y = graph.input("y", {DType::f32, {Dim("n"), 6}});
  graph.output("z", reshape(x, shape_of(tanh(y))));
  const Graph made = dead_code.run(known_shapes.run(graph.clone()).graph).graph;
  EXPECT_EQ(print(made).find("shape_of"), std::string::npos) << print(made);
  EXPECT_EQ(print(made).find("tanh"), std::string::npos);
  const TensorMap inputs{{"x", Tensor(DType::f32, {5, 2, 3})}, {"y", Tensor(DType::f32, {5, 6})}};
  EXPECT_EQ(evaluate(made, inputs).outputs.at("z").shape(), (Shape{5, 6}));
}

TEST(KnownShapes, EndsOfASliceAreAttributes) {
  Graph graph;
  const Value x = graph.input("x", f32({8}));
  const Value y = graph.input("y", f32({"n"}));
  const Value zero = graph.constant(Tensor::of(DType::i64, {1}, {0}));
  graph.output("z", slice(x, zero, shape_of(tanh(y))));
  const Graph made = dead_code.run(known_shapes.run(graph.clone()).graph).graph;
  EXPECT_EQ(print(made).find("shape_of"), std::string::npos) << print(made);
  const TensorMap inputs{{"x", Tensor(DType::f32, {8})}, {"y", Tensor(DType::f32, {5})}};
  EXPECT_EQ(evaluate(made, inputs).outputs.at("z").shape(), (Shape{5}));
}

TEST(KnownShapes, AShapeThatTheRunBringsStaysAnOperand) {
  Graph graph;
  const Value x = graph.input("x", {DType::f32, {6}});
  graph.output("y", reshape(x, graph.input("shape", {DType::i64, {2}})));
  EXPECT_EQ(print(known_shapes.run(graph.clone()).graph), print(graph));
}

}  // namespace
}  // namespace rlx
