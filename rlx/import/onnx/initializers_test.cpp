#include <gtest/gtest.h>

#include "rlx/import/onnx/build_model.h"

namespace rlx::onnx {
namespace {

rlx::Graph imported(Initializers as) {
  const std::string bytes =
      model({node("Mul", {"x", "scale"}, "m"), node("Add", {"m", "half"}, "y")},
            {float_tensor("scale", {1, 2, 3}), float_tensor("half", {0.5f})});
  const auto* begin = reinterpret_cast<const std::byte*>(bytes.data());
  ImportOptions options;
  options.initializers = as;
  return import_model(parse_model({begin, bytes.size()}, nullptr, "m", ""), options);
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

}  // namespace
}  // namespace rlx::onnx
