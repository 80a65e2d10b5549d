// Claims about strings of ONNX: they are inputs, constants and outputs as bytes, and most operators
// refuse them.

#include "rlx/tensor/strings.h"

#include <gtest/gtest.h>

#include "rlx/import/onnx/build_model.h"
#include "rlx/ir/evaluate.h"
#include "rlx/testing.h"

namespace rlx::onnx {
namespace {

std::string strings_info(const std::string& name, const std::vector<std::string>& dims) {
  return typed(name, tensor_type(dims, kStringType));
}
std::string strings_tensor(const std::string& name, const std::vector<int64_t>& shape,
                           const Strings& strings) {
  return message([&](pbf_writer& out) {
    for (const int64_t extent : shape) out.add_int64(1, extent);
    out.add_int32(2, kStringType);
    for (const std::string& string : strings) out.add_bytes(6, string);
    out.add_string(8, name);
  });
}
std::string strings_attribute(const std::string& name, const Strings& strings) {
  return message([&](pbf_writer& out) {
    out.add_string(1, name);
    for (const std::string& string : strings) out.add_bytes(9, string);
    out.add_int32(20, 8);
  });
}
std::string to(int type) { return integer_attribute("to", type); }

// From strings x [n] to y.
std::string text_model(const std::vector<std::string>& nodes,
                       const std::vector<std::string>& initializers = {}) {
  return model_of({nodes, initializers, {strings_info("x", {"n"})}, {strings_info("y", {"m"})}});
}
Strings run_text(const std::string& model, const Strings& x) {
  const rlx::Graph graph = import_bytes(model);
  const Shape shape{static_cast<int64_t>(x.size())};
  const Tensor y = evaluate(graph, {{"x", tensor_of_strings(shape, x)}}).outputs.at("y");
  Strings strings;
  for (int64_t i = 0; i < string_count(y); ++i) strings.emplace_back(string_at(y, i));
  return strings;
}

TEST(OnnxStrings, AnInputIsBytesAndTheirLengthASymbolOfItsName) {
  const rlx::Graph graph = import_bytes(text_model({node("StringNormalizer", {"x"}, "y")}));
  EXPECT_EQ(graph.nodes()[0].types[0], (TensorType{DType::u8, {"n", "x_bytes"}}));
}

TEST(OnnxStrings, NormalizerTakesItsAttributes) {
  const std::string model = text_model({node(
      "StringNormalizer", {"x"}, "y", "",
      {string_attribute("case_change_action", "UPPER"), strings_attribute("stopwords", {"monday"}),
       integer_attribute("is_case_sensitive", 1)})});
  EXPECT_EQ(run_text(model, {"monday", "Monday", "tuesday"}), (Strings{"MONDAY", "TUESDAY"}));
  EXPECT_EQ(run_text(model, {"monday"}), Strings{""});
  const std::string wrong = text_model({node("StringNormalizer", {"x"}, "y", "",
                                             {string_attribute("case_change_action", "TITLE")})});
  EXPECT_EQ(error_of([&] {
              import_bytes(wrong);
            }).rfind("StringNormalizer: case_change_action is 'TITLE'", 0),
            0U);
}

TEST(OnnxStrings, CastReadsAndWritesNumbers) {
  const std::string there_and_back = text_model(
      {node("Cast", {"x"}, "numbers", "", {to(kFloatType)}),
       node("Add", {"numbers", "one"}, "more"),
       node("Cast", {"more"}, "text", "", {to(kStringType)}),
       node("Cast", {"text"}, "same", "", {to(kStringType)}), node("Identity", {"same"}, "y")},
      {float_tensor("one", {1})});
  EXPECT_EQ(run_text(there_and_back, {"0.5", "-INF", "1e3"}), (Strings{"1.5", "-INF", "1001"}));
  const std::string like = text_model(
      {node("CastLike", {"x", "one"}, "numbers"), node("CastLike", {"numbers", "x"}, "y")},
      {float_tensor("one", {1})});
  EXPECT_EQ(run_text(like, {"0.50", "7"}), (Strings{"0.5", "7"}));
}

TEST(OnnxStrings, ConstantsMayBeStrings) {
  const std::string numbers = text_model({node("Cast", {"w"}, "numbers", "", {to(kInt64Type)}),
                                          node("Cast", {"numbers"}, "y", "", {to(kStringType)})},
                                         {strings_tensor("w", {2}, {"7.5", "-12"})});
  EXPECT_EQ(run_text(numbers, {}), (Strings{"7", "-12"}));
  for (const std::string& attribute :
       {strings_attribute("value_strings", {"A", "b"}), string_attribute("value_string", "A")}) {
    const std::string model =
        text_model({node("Constant", {}, "c", "", {attribute}), node("Identity", {"c"}, "y")});
    EXPECT_EQ(run_text(model, {}).at(0), "A");
  }
}

TEST(OnnxStrings, AnOperatorThatTakesNumbersSaysSo) {
  for (const char* op : {"Shape", "Relu", "Unique"}) {
    const std::string message = error_of([&] { import_bytes(text_model({node(op, {"x"}, "y")})); });
    EXPECT_EQ(message.rfind(text(op,
                                 ": input 0 is of strings, which only Cast, CastLike, Identity "
                                 "and StringNormalizer take"),
                            0),
              0U)
        << message;
  }
  EXPECT_EQ(error_of([] {
              import_bytes(model({node("StringNormalizer", {"x"}, "y")}));
            }).rfind("StringNormalizer: input 0 must be a tensor of strings", 0),
            0U);
}

TEST(OnnxStrings, ABranchSeesThoseAroundIt) {
  const std::string then = graph_message(
      {{node("Cast", {"x"}, "a", "", {to(kFloatType)})}, {}, {}, {value_info("a", {"n"})}});
  const std::string otherwise =
      graph_message({{node("Identity", {"zero"}, "b")}, {}, {}, {value_info("b", {"1"})}});
  const std::string model = model_of(
      {{node("Cast", {"on"}, "go", "", {to(9)}),
        node("If", {"go"}, "y", "",
             {graph_attribute("then_branch", then), graph_attribute("else_branch", otherwise)})},
       {float_tensor("zero", {0})},
       {strings_info("x", {"1"}), value_info("on", {})},
       {value_info("y", {"1"})}});
  const TensorMap inputs{{"x", tensor_of_strings({1}, {"2.5"})},
                         {"on", Tensor::scalar(DType::f32, 1)}};
  EXPECT_EQ(evaluate(import_bytes(model), inputs).outputs.at("y").at(0), 2.5);
}

TEST(OnnxStrings, TooManyOrTooFewAreDamage) {
  for (const Strings& strings : {Strings{"a"}, Strings{"a", "b", "c"}}) {
    const std::string message = error_of([&] {
      import_bytes(text_model({node("Identity", {"w"}, "y")}, {strings_tensor("w", {2}, strings)}));
    });
    EXPECT_NE(message.find(text("tensor 'w' of 2 strings has ", strings.size())), std::string::npos)
        << message;
  }
}

// Padded to the longest, these 20 kB would be 100 MB.
TEST(OnnxStrings, PaddingFarBeyondTheFileIsRefused) {
  Strings strings(10000, "");
  strings[0] = std::string(10000, 'x');
  const std::string expected =
      "10000 strings would all be as long as the longest, 10000 bytes, which is more than 64 times "
      "what they are";
  for (const std::string& model :
       {text_model({node("Identity", {"w"}, "y")}, {strings_tensor("w", {10000}, strings)}),
        text_model(
            {node("Constant", {}, "y", "", {strings_attribute("value_strings", strings)})})}) {
    const std::string message = error_of([&] { import_bytes(model); });
    EXPECT_NE(message.find(expected), std::string::npos) << message;
  }
}

TEST(OnnxStrings, DamagedTensorsAreErrors) {
  const std::string whole = text_model({node("Cast", {"w"}, "y", "", {to(kFloatType)})},
                                       {strings_tensor("w", {2, 2}, {"1", "22", "333", ""})});
  for (size_t at = 0; at < whole.size(); ++at)
    for (int value = 0; value < 256; value += 5) {
      std::string damaged = whole;
      damaged[at] = static_cast<char>(value);
      error_of([&] { import_bytes(damaged); });
    }
}

TEST(OnnxSparse, ATensorHasAnIndexForEachNumberAndNoMoreRoomThanTheyJustify) {
  const auto sparse_model = [](const std::string& values, const std::string& indices,
                               int64_t extent = 4) {
    const std::string sparse = message([&](pbf_writer& out) {
      out.add_message(1, values);
      out.add_message(2, indices);
      out.add_int64(3, extent);
    });
    const std::string graph = message([&](pbf_writer& out) {
      out.add_message(1, node("Identity", {"s"}, "y"));
      out.add_message(12, value_info("y", {"4"}));
      out.add_message(15, sparse);
    });
    return message([&](pbf_writer& out) {
      out.add_int64(1, 8);
      out.add_message(7, graph);
      out.add_message(8, message([&](pbf_writer& entry) { entry.add_int64(2, 17); }));
    });
  };
  EXPECT_EQ(evaluate(import_bytes(sparse_model(float_tensor("s", {5, 6}), list("i", {1, 3}))), {})
                .outputs.at("y")
                .at(3),
            6);
  EXPECT_EQ(error_of([&] {
              import_bytes(sparse_model(float_tensor("s", {5, 6}), list("i", {1})));
            }),
            "sparse tensor 's' has 2 values and 1 indices");
  EXPECT_EQ(error_of([&] {
              import_bytes(sparse_model(strings_tensor("s", {2}, {"5", "6"}), list("i", {1, 3})));
            }),
            "sparse tensor 's' is of strings");
  const auto of_extent = [&](int64_t extent) {
    return error_of(
        [&] { import_bytes(sparse_model(float_tensor("s", {5}), list("i", {4}), extent)); });
  };
  EXPECT_EQ(of_extent(4), "sparse tensor 's': index 4 is out of range for [4]");
  EXPECT_EQ(of_extent(-4), "sparse tensor 's' has a dim of -4");
  EXPECT_EQ(of_extent(int64_t{1} << 40),
            "sparse tensor 's' has 1 values for [1099511627776]: more than 1024 elements for each");
}

}  // namespace
}  // namespace rlx::onnx
