#include <gtest/gtest.h>

#include <cmath>

#include "rlx/import/onnx/build_model.h"
#include "rlx/import/onnx/import_model.h"
#include "rlx/ir/evaluate.h"
#include "rlx/testing.h"

namespace rlx::onnx {
namespace {

std::string relu_of_sum() {
  return model({node("Add", {"x", "b"}, "s"), node("Relu", {"s"}, "y")}, {float_tensor("b", {-1})});
}

TEST(Onnx, AModelBecomesAGraphWithItsSymbols) {
  const rlx::Graph graph = import_bytes(relu_of_sum());
  EXPECT_EQ(graph.node(graph.outputs()[0].value).types[0], f32({"batch_size"}));
  const Tensor y = evaluate(graph, {{"x", Tensor::of(DType::f32, {3}, {0, 1, 5})}}).outputs.at("y");
  EXPECT_EQ(y.at(0), 0);
  EXPECT_EQ(y.at(2), 4);
}

TEST(Onnx, WhatIsInfiniteNeedNoDoublesToBeFound) {
  constexpr int kDouble = 11;
  for (const char* op : {"IsInf", "IsNaN"}) {
    const rlx::Graph graph =
        import_bytes(model({node("Cast", {"x"}, "wide", "", {integer_attribute("to", kDouble)}),
                            node(op, {"wide"}, "y")}));
    EXPECT_EQ(graph.outputs()[0].value.producer().inputs[0].dtype(), DType::f32) << op;
    const Tensor x = Tensor::of(DType::f32, {3}, {1, INFINITY, NAN});
    const Tensor y = evaluate(graph, {{"x", x}}).outputs.at("y");
    EXPECT_EQ(y.at(0), 0);
    EXPECT_EQ(y.at(1), op == std::string("IsInf"));
    EXPECT_EQ(y.at(2), op == std::string("IsNaN"));
  }
}

TEST(Onnx, AllMissingOperatorsAreNamedTogether) {
  const std::string bytes =
      model({node("Frobnicate", {"x"}, "a", "first"), node("Frobnicate", {"a"}, "b", "second"),
             node("Zap", {"b"}, "y", "third")});
  EXPECT_EQ(error_of([&] { import_bytes(bytes); }),
            "operators that rlx does not have:\n  Frobnicate, 2 nodes: first, second\n  Zap, 1 "
            "node: third");
}

TEST(Onnx, AValueThatNobodyMakesIsNamedWithItsReader) {
  const std::string message_text =
      error_of([] { import_bytes(model({node("Relu", {"ghost"}, "y", "reader")})); });
  EXPECT_NE(message_text.find("there is no value 'ghost' before this node"), std::string::npos)
      << message_text;
  EXPECT_NE(message_text.find("'reader' (Relu)"), std::string::npos) << message_text;
}

TEST(Onnx, ATensorWithTooFewBytesIsNamedWithItsPlace) {
  const std::string tensor = message([](pbf_writer& out) {
    out.add_int64(1, 1000);
    out.add_int32(2, 1);
    out.add_string(8, "w");
    out.add_bytes(9, "1234", 4);
  });
  const std::string message_text =
      error_of([&] { import_bytes(model({node("Relu", {"x"}, "y")}, {tensor})); });
  EXPECT_NE(message_text.find("tensor 'w' needs 4000 bytes, the file has 4"), std::string::npos)
      << message_text;
  EXPECT_NE(message_text.find("test.onnx: byte "), std::string::npos) << message_text;
}

TEST(Onnx, WeightsAreReadWhereTheFileHasThemWhateverTheirAlignment) {
  std::set<size_t> alignments;
  for (size_t length = 1; length <= 4; ++length) {
    const std::string name(length, 'w');
    const std::string bytes = model({node("Add", {"x", name}, "y")}, {float_tensor(name, {-1})});
    const auto* begin = reinterpret_cast<const std::byte*>(bytes.data());
    const rlx::Graph graph = import_model(parse_model({begin, bytes.size()}, nullptr, "m", ""));
    for (const rlx::Node& at : graph.nodes())
      if (const Tensor* weight = tensor_of(at)) {
        const std::byte* place = weight->bytes().data();
        EXPECT_TRUE(place >= begin && place < begin + bytes.size());
        alignments.insert(reinterpret_cast<uintptr_t>(place) % 4);
        EXPECT_EQ(weight->aligned().data<float>()[0], -1);
      }
    const auto y = evaluate(graph, {{"x", Tensor::of(DType::f32, {1}, {3})}}).outputs.at("y");
    EXPECT_EQ(y.at(0), 2);
  }
  EXPECT_GT(alignments.size(), 1u);  // or nothing was tried
}

TEST(Onnx, ExternalDataStaysBesideTheModel) {
  const std::string tensor = message([](pbf_writer& out) {
    out.add_int64(1, 1);
    out.add_int32(2, 1);
    out.add_string(8, "w");
    out.add_message(13, message([](pbf_writer& entry) {
                      entry.add_string(1, "location");
                      entry.add_string(2, "../secret");
                    }));
    out.add_enum(14, 1);
  });
  const std::string message_text =
      error_of([&] { import_bytes(model({node("Relu", {"x"}, "y")}, {tensor})); });
  EXPECT_NE(message_text.find("'../secret'"), std::string::npos) << message_text;
}

// Every way to shorten a model, and many ways to damage it: an Error or a graph, nothing else.
TEST(Onnx, DamagedFilesAreErrors) {
  const std::string whole = relu_of_sum();
  for (size_t length = 0; length < whole.size(); ++length)
    error_of([&] { import_bytes(whole.substr(0, length)); });
  uint64_t state = 1;
  const auto random = [&](uint64_t below) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (state >> 33) % below;
  };
  for (int round = 0; round < 3000; ++round) {
    std::string damaged = whole;
    for (uint64_t k = 0; k <= random(4); ++k)
      damaged[random(damaged.size())] = static_cast<char>(random(256));
    error_of([&] { import_bytes(damaged); });
  }
}

}  // namespace
}  // namespace rlx::onnx
