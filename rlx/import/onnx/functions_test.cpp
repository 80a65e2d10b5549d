// Functions that a model brings along.
#include <gtest/gtest.h>

#include "rlx/import/onnx/build_model.h"
#include "rlx/ir/evaluate.h"
#include "rlx/testing.h"

namespace rlx::onnx {
namespace {

// Messages written one after another are one.
std::string call(const std::vector<std::string>& inputs, const std::string& overload = "",
                 const std::vector<std::string>& attributes = {}) {
  return node("F", inputs, "y", "", attributes) + message([&](pbf_writer& out) {
           out.add_string(7, "my");
           out.add_string(8, overload);
         });
}

std::string function(const std::vector<std::string>& inputs, const std::string& body,
                     const std::string& overload = "") {
  return message([&](pbf_writer& out) {
    out.add_string(1, "F");
    for (const std::string& input : inputs) out.add_string(4, input);
    out.add_string(5, "b");
    out.add_message(7, body);
    out.add_string(10, "my");
    out.add_string(13, overload);
  });
}

std::string with_functions(const std::string& bytes, const std::vector<std::string>& functions) {
  return bytes + message([&](pbf_writer& out) {
           for (const std::string& entry : functions) out.add_message(25, entry);
         });
}

TEST(OnnxFunctions, AnAttributeReachesTheBodiesWithinTheFunction) {
  const std::string slope = message([](pbf_writer& out) {
    out.add_string(1, "alpha");
    out.add_int32(20, 1);
    out.add_string(21, "slope");
  });
  const std::string given = message([](pbf_writer& out) {
    out.add_string(1, "slope");
    out.add_float(2, 0.5F);
    out.add_int32(20, 1);
  });
  const auto branch = [](const std::string& inner) {
    return graph_message({{inner}, {}, {}, {value_info("t", {})}});
  };
  const std::string chosen =
      node("If", {"c"}, "b", "",
           {graph_attribute("then_branch", branch(node("LeakyRelu", {"a"}, "t", "", {slope}))),
            graph_attribute("else_branch", branch(node("Identity", {"a"}, "t")))});
  constexpr int kBool = 9;
  const std::string bytes = model_of({{call({"x", "c"}, "", {given})},
                                      {},
                                      {value_info("x", {"1"}), typed("c", tensor_type({}, kBool))},
                                      {value_info("y", {})}});
  const rlx::Graph graph = import_bytes(with_functions(bytes, {function({"a", "c"}, chosen)}));
  const TensorMap inputs{{"x", Tensor::of(DType::f32, {1}, {-4})},
                         {"c", Tensor::scalar(DType::boolean, 1)}};
  EXPECT_EQ(evaluate(graph, inputs).outputs.at("y").at(0), -2);
}

TEST(OnnxFunctions, OverloadsOfAFunctionAreToldApart) {
  const std::vector<std::string> functions{function({"a"}, node("Neg", {"a"}, "b"), "neg"),
                                           function({"a"}, node("Abs", {"a"}, "b"), "abs")};
  const auto y_of = [&](const std::string& overload) {
    const rlx::Graph graph =
        import_bytes(with_functions(model({call({"x"}, overload)}), functions));
    return evaluate(graph, {{"x", Tensor::of(DType::f32, {1}, {3})}}).outputs.at("y").at(0);
  };
  EXPECT_EQ(y_of("neg"), -3);
  EXPECT_EQ(y_of("abs"), 3);
  EXPECT_EQ(error_of([&] { y_of("other"); }),
            "operators that rlx does not have:\n  my.F:other, 1 node: y");
}

}  // namespace
}  // namespace rlx::onnx
