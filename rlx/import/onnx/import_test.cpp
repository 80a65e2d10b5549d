#include "rlx/import/onnx/import.h"

#include <gtest/gtest.h>

#include <protozero/pbf_writer.hpp>

#include "rlx/ir/evaluate.h"
#include "rlx/testing.h"

namespace rlx::onnx {
namespace {

using protozero::pbf_writer;

// Messages of ONNX, written field by field.
std::string message(const std::function<void(pbf_writer&)>& write) {
  std::string bytes;
  pbf_writer out(bytes);
  write(out);
  return bytes;
}

std::string value_info(const std::string& name, const std::vector<std::string>& dims) {
  const std::string shape = message([&](pbf_writer& out) {
    for (const std::string& dim : dims)
      out.add_message(1, message([&](pbf_writer& entry) { entry.add_string(2, dim); }));
  });
  const std::string tensor = message([&](pbf_writer& out) {
    out.add_int32(1, 1);
    out.add_message(2, shape);
  });
  return message([&](pbf_writer& out) {
    out.add_string(1, name);
    out.add_message(2, message([&](pbf_writer& type) { type.add_message(1, tensor); }));
  });
}

std::string node(const std::string& op, const std::vector<std::string>& inputs,
                 const std::string& output, const std::string& name = "") {
  return message([&](pbf_writer& out) {
    for (const std::string& input : inputs) out.add_string(1, input);
    out.add_string(2, output);
    out.add_string(3, name);
    out.add_string(4, op);
  });
}

std::string float_tensor(const std::string& name, const std::vector<float>& values) {
  return message([&](pbf_writer& out) {
    out.add_int64(1, static_cast<int64_t>(values.size()));
    out.add_int32(2, 1);
    out.add_string(8, name);
    out.add_bytes(9, reinterpret_cast<const char*>(values.data()), values.size() * 4);
  });
}

std::string model(const std::vector<std::string>& nodes,
                  const std::vector<std::string>& initializers = {}) {
  const std::string graph = message([&](pbf_writer& out) {
    for (const std::string& entry : nodes) out.add_message(1, entry);
    for (const std::string& entry : initializers) out.add_message(5, entry);
    out.add_message(11, value_info("x", {"batch size"}));
    out.add_message(12, value_info("y", {"batch size"}));
  });
  const std::string opset = message([](pbf_writer& out) { out.add_int64(2, 17); });
  return message([&](pbf_writer& out) {
    out.add_int64(1, 8);
    out.add_message(7, graph);
    out.add_message(8, opset);
  });
}

rlx::Graph import_bytes(const std::string& bytes) {
  const auto* begin = reinterpret_cast<const std::byte*>(bytes.data());
  return import_model(parse_model({begin, bytes.size()}, nullptr, "test.onnx", ""));
}

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
