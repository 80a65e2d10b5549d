#include <gtest/gtest.h>

#include "rlx/autodiff/gradient.h"
#include "rlx/import/onnx/build_model.h"
#include "rlx/ops/ops_core.h"
#include "rlx/ops/ops_reduction.h"
#include "rlx/runtime/program.h"
#include "rlx/testing.h"

namespace rlx::onnx {
namespace {

rlx::Graph imported(Initializers as, std::vector<std::string> numbers = {}) {
  const std::string bytes =
      model({node("Mul", {"x", "scale"}, "m"), node("Add", {"m", "half"}, "y")},
            {float_tensor("scale", {1, 2, 3}), float_tensor("half", {0.5f})});
  ImportOptions options;
  options.initializers = as;
  options.numbers = std::move(numbers);
  return import_bytes(bytes, options);
}

std::string kind_of(const rlx::Graph& graph, const std::string& name) {
  for (const rlx::Node& node : graph.nodes())
    if (is_source(node) && node.name == name) return node.op->name;
  return "none";
}

TEST(Initializers, ASmallTensorOfFloatsIsAWeightWithItsName) {
  EXPECT_EQ(kind_of(imported(Initializers::weights), "scale"), "weight");
}

TEST(Initializers, MayBecomeStatesInputsOrConstants) {
  EXPECT_EQ(kind_of(imported(Initializers::states), "scale"), "state");
  EXPECT_EQ(kind_of(imported(Initializers::inputs), "scale"), "input");
  EXPECT_EQ(kind_of(imported(Initializers::constants), "scale"), "constant");
}

TEST(Initializers, OfOneElementIsAConstantWithItsName) {
  for (const Initializers as : {Initializers::weights, Initializers::states, Initializers::inputs})
    EXPECT_EQ(kind_of(imported(as), "half"), "constant");
}

// ---- Numbers of formulas that are to change ----------------------------------------------------

TEST(Initializers, ANamedNumberIsAsTheOthers) {
  EXPECT_EQ(kind_of(imported(Initializers::weights, {"half"}), "half"), "weight");
  EXPECT_EQ(kind_of(imported(Initializers::states, {"half"}), "half"), "state");
  EXPECT_EQ(error_of([] { imported(Initializers::weights, {"third"}); }),
            "import: there is no initializer 'third' of floats");
}

const Tensor kX = Tensor::of(DType::f32, {3}, {1, 1, 1});

TEST(Initializers, ANamedNumberCanBeSet) {
  Program program = compile(imported(Initializers::weights, {"half"}));
  EXPECT_EQ(program.run({{"x", kX}}).at("y").at(2), 3.5);
  program.set_weight("half", Tensor::of(DType::f32, {1}, {2}));
  EXPECT_EQ(program.run({{"x", kX}}).at("y").at(2), 5);
}

TEST(Initializers, EachCanBeTurnedIntoAStateAndTrains) {
  for (const std::string name : {"scale", "half"}) {
    rlx::Graph graph = imported(Initializers::weights);
    const Value state = graph.turn_into_state(name);
    const Value loss = sum_square(graph.outputs()[0].value);
    graph.update(state, state - gradient(loss, {state})[0] * scalar(state, 0.01));
    graph.output("loss", loss);
    const Program program = compile(graph);
    const double first = program.run({{"x", kX}}).at("loss").at(0);
    for (int i = 0; i < 50; ++i) program.run({{"x", kX}});
    EXPECT_LT(program.run({{"x", kX}}).at("loss").at(0), 0.7 * first) << name;
  }
}

TEST(Initializers, ANumberThatNothingReadsIsNoState) {
  rlx::Graph graph =
      import_bytes(model({node("Identity", {"x"}, "y")}, {float_tensor("low", {0.5f})}));
  EXPECT_EQ(
      error_of([&] { graph.turn_into_state("low"); }),
      "turn_into_state: nothing reads 'low': if its number is in an attribute, it stays there");
}

TEST(Initializers, ANumberThatDecidesAShapeIsNoState) {
  rlx::Graph graph;
  const Value end = graph.constant(Tensor::of(DType::f32, {1}, {4}), "end");
  const Value numbers = reshape(graph.input("x", f32({2, 2})), cast(end, DType::i64));
  graph.set_name(numbers, "numbers");
  graph.output("y", numbers);
  EXPECT_EQ(error_of([&] { graph.turn_into_state("end"); }),
            "turn_into_state: 'end' decides a shape, of 'numbers'");
}

}  // namespace
}  // namespace rlx::onnx
