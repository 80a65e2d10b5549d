// What readers of model files have been broken with, as published of others: sizes that wrap,
// lengths of 2^63, elements of another type, data that is not where an element can be read. Each is
// an Error or is read right.
#include <gtest/gtest.h>

#include "rlx/import/npy.h"
#include "rlx/import/onnx/build_model.h"
#include "rlx/import/safetensors.h"
#include "rlx/ir/evaluate.h"
#include "rlx/testing.h"

namespace rlx::onnx {
namespace {

const std::string kY = value_info("y", {});

std::string said_of_tensor(const std::string& tensor) {
  return error_of([&] {
    import_bytes(model_of({{node("Identity", {"w"}, "y")}, {tensor}, {}, {kY}}));
  });
}
std::string said_of_bytes(const std::string& bytes) {
  return error_of([&] { import_bytes(bytes); });
}

TEST(OnnxWeaknesses, SizesThatWrap) {
  constexpr int64_t kLarge = int64_t{1} << 31;
  const std::vector<std::vector<int64_t>> shapes{
      {kLarge, kLarge, 4}, {kLarge, kLarge, kLarge},
      {INT64_MAX, 4},      {INT64_MAX, INT64_MAX},
      {int64_t{1} << 62},  {-1},
      {INT64_MIN},         {int64_t{1} << 32, int64_t{1} << 30}};
  for (const std::vector<int64_t>& shape : shapes) {
    EXPECT_NE(said_of_tensor(tensor<float>("w", kFloatType, shape, {})), "");
    EXPECT_NE(said_of_tensor(tensor<float>("w", kFloatType, shape, {1})), "");
    const std::string sparse = message([&](pbf_writer& out) {
      out.add_message(1, float_tensor("w", {1}));
      out.add_message(2, list("", {0}));
      for (const int64_t extent : shape) out.add_int64(3, extent);
    });
    const std::string graph = graph_message({{node("Identity", {"w"}, "y")}, {}, {}, {kY}}) +
                              message([&](pbf_writer& out) { out.add_message(15, sparse); });
    EXPECT_NE(said_of_bytes(message([&](pbf_writer& out) { out.add_message(7, graph); })), "");
  }
}

TEST(OnnxWeaknesses, DimsThatExceedTheData) {
  EXPECT_NE(said_of_tensor(tensor<float>("w", kFloatType, {3}, {1, 2})), "");
  EXPECT_NE(said_of_tensor(tensor<float>("w", kFloatType, {1}, {1, 2})), "");
  EXPECT_NE(said_of_tensor(message([](pbf_writer& out) {  // as numbers
              out.add_int64(1, 3);
              out.add_int32(2, kFloatType);
              out.add_string(8, "w");
              for (int i = 0; i < 2; ++i) out.add_float(4, 1);
            })),
            "");
}

// Numbers of another kind than the dtype says are not those it has.
TEST(OnnxWeaknesses, ElementsOfAnotherType) {
  EXPECT_NE(said_of_tensor(message([](pbf_writer& out) {
              out.add_int64(1, 2);
              out.add_int32(2, kFloatType);
              out.add_string(8, "w");
              for (int i = 0; i < 2; ++i) out.add_int64(7, 1);
            })),
            "");
  EXPECT_NE(said_of_tensor(message([](pbf_writer& out) {  // strings
              out.add_int64(1, 1);
              out.add_int32(2, kInt64Type);
              out.add_string(8, "w");
              out.add_string(6, "one");
            })),
            "");
  for (const int type : {0, -1, 15, 17, 99, INT32_MAX})
    EXPECT_NE(said_of_tensor(tensor<float>("w", type, {1}, {1})), "") << type;
}

// An attribute says of which type it is; the list of another type would be read as empty.
TEST(OnnxWeaknesses, AttributesOfAnotherType) {
  const auto said = [](const std::string& op, const std::string& attribute) {
    const std::string all = said_of_bytes(model({node(op, {"x"}, "y", "", {attribute})}));
    return all.substr(0, all.find('\n'));
  };
  const auto as = [](const char* name, int type) {
    return message([&](pbf_writer& out) {
      out.add_string(1, name);
      out.add_float(2, 0);
      out.add_int64(3, 0);
      for (int i = 0; i < 2; ++i) out.add_float(7, 1);
      out.add_int32(20, type);
    });
  };
  EXPECT_EQ(said("Softmax", as("axis", 1)), "Softmax: attribute 'axis' is of type float, not int");
  EXPECT_EQ(said("Transpose", as("perm", 6)),
            "Transpose: attribute 'perm' is of type floats, not ints");
  EXPECT_EQ(said("LeakyRelu", as("alpha", 2)),
            "LeakyRelu: attribute 'alpha' is of type int, not float");
  EXPECT_EQ(said("Softmax", as("axis", 77)), "Softmax: attribute 'axis' is of type 77, not int");
  EXPECT_EQ(said("Softmax", as("axis", 0)), "");  // it need not say so
}

TEST(OnnxWeaknesses, LengthsBeyondTheFile) {
  const std::string whole =
      model_of({{node("Relu", {"x"}, "y")}, {}, {value_info("x", {"2"})}, {kY}});
  // A graph (field 7) of 2^63, 2^64 - 1 and 2^32 bytes.
  for (const std::string& length : {std::string("\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01"),
                                    std::string("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"),
                                    std::string("\x80\x80\x80\x80\x10")})
    EXPECT_NE(said_of_bytes("\x3a" + length + whole), "");
  EXPECT_NE(said_of_bytes(std::string(11, '\xff')), "");  // a number without an end
  for (size_t end = 1; end < whole.size(); ++end) said_of_bytes(whole.substr(0, end));
}

// The bytes of a tensor begin where the message does, at any address.
TEST(OnnxWeaknesses, DataAtAnyAddress) {
  for (size_t shift = 0; shift < 8; ++shift) {
    const std::string bytes = model_of({{node("Add", {"w", "w"}, "y")},
                                        {tensor<double>("w", 11, {1}, {1.5})},
                                        {},
                                        {typed("y", tensor_type({"1"}, 11))}});
    const std::string padded = message([&](pbf_writer& out) {
                                 out.add_string(2, std::string(shift, 'p'));  // the producer
                               }) +
                               bytes;
    EXPECT_EQ(evaluate(import_bytes(padded), {}).outputs.at("y").at(0), 3);
  }
}

TEST(OnnxWeaknesses, GraphsAndTypesWithoutAnEnd) {
  std::string graph = graph_message({{node("Identity", {"x"}, "y")}, {}, {}, {kY}});
  std::string type = tensor_type({"2"});
  for (int i = 0; i < 2000; ++i) {
    graph = graph_message(
        {{node("If", {"c"}, "y", "", {graph_attribute("then_branch", graph)})}, {}, {}, {kY}});
    type = type_of(kSequenceOf, type);
  }
  EXPECT_NE(said_of_bytes(message([&](pbf_writer& out) { out.add_message(7, graph); })), "");
  EXPECT_NE(said_of_bytes(model_of({{node("Identity", {"x"}, "y")}, {}, {typed("x", type)}, {kY}})),
            "");
}

TEST(OnnxWeaknesses, WhatIsNotAGraph) {
  const auto said = [](const std::vector<std::string>& nodes) {
    const std::string all = said_of_bytes(model(nodes));
    return all.substr(0, all.find('\n'));
  };
  EXPECT_EQ(said({node("Relu", {"x"}, "y"), node("Neg", {"x"}, "y")}), "'y' is made by two nodes");
  EXPECT_EQ(said({node("Add", {"y", "x"}, "y")}), "there is no value 'y' before this node");
  EXPECT_EQ(
      said({node("Add", {"a", "x"}, "b"), node("Add", {"b", "x"}, "a"), node("Relu", {"a"}, "y")}),
      "there is no value 'a' before this node");
  EXPECT_EQ(said({node("Relu", {"x"}, "x")}),
            "'x' is an input or an initializer, and made by a node");
  EXPECT_EQ(said_of_bytes(model_of({{node("Relu", {"x"}, "y")},
                                    {},
                                    {value_info("x", {"2"}), value_info("x", {"3"})},
                                    {kY}}))
                .substr(0, 24),
            "there are two inputs 'x'");
}

TEST(OnnxWeaknesses, AttributesOfNothing) {
  EXPECT_NE(
      said_of_bytes(model({node("Relu", {"x"}, "y", "", {""})})).find("an attribute has no name"),
      std::string::npos);
}

TEST(OnnxWeaknesses, NegativeSizes) {
  const auto said = [](const std::vector<std::string>& nodes,
                       const std::vector<std::string>& initializers) {
    const std::string all = said_of_bytes(
        model_of({nodes, initializers, {value_info("x", {"1", "1", "4", "4"})}, {kY}}));
    return all.substr(0, all.find('\n'));
  };
  EXPECT_EQ(said({node("ConstantOfShape", {"s"}, "y")}, {list("s", {3, -1})}),
            "ConstantOfShape: the dim -1 of [3, -1] is negative");
  const std::string padding = message([](pbf_writer& out) {
    out.add_string(1, "output_padding");
    for (int i = 0; i < 2; ++i) out.add_int64(8, -1);
    out.add_int32(20, 7);
  });
  EXPECT_EQ(said({node("ConvTranspose", {"x", "w"}, "y", "", {padding})},
                 {tensor<float>("w", kFloatType, {1, 1, 1, 1}, {1})}),
            "conv_transpose: output_padding [-1, -1] are negative");
  const std::string hidden = integer_attribute("hidden_size", -1);
  EXPECT_EQ(
      said({node("Squeeze", {"x", "zero"}, "s"), node("GRU", {"s", "w", "r"}, "y", "", {hidden})},
           {list("zero", {0}), tensor<float>("w", kFloatType, {1, 3, 4}, std::vector<float>(12)),
            tensor<float>("r", kFloatType, {1, 3, 1}, std::vector<float>(3))}),
      "GRU: hidden_size is -1, and R is f32[1, 3, 1]");
  EXPECT_EQ(said({node("HannWindow", {"n"}, "y")}, {list("n", {-5})}),
            "HannWindow: the size -5 is negative");
  EXPECT_NE(said({node("Tile", {"x", "r"}, "y")}, {list("r", {-1, 1, 1, 1})}), "");
  EXPECT_NE(said({node("Expand", {"x", "r"}, "y")}, {list("r", {-5, 1, 4, 4})}), "");
}

std::string safetensors(const std::string& entry, const std::string& data) {
  const std::string header = "{\"w\":{" + entry + "}}";
  std::string file(8, '\0');
  file[0] = static_cast<char>(header.size());
  return file + header + data;
}
std::string said_of_safetensors(const std::string& file) {
  return error_of(
      [&] { parse_safetensors(std::as_bytes(std::span(file.data(), file.size())), nullptr, "w"); });
}

TEST(OtherWeaknesses, OfSafetensors) {
  const std::string four(4, '\0');
  const auto said = [&](const char* shape, const char* offsets) {
    return said_of_safetensors(safetensors(
        text(R"("dtype":"F32","shape":)", shape, R"(,"data_offsets":)", offsets), four));
  };
  EXPECT_EQ(said("[1]", "[0,4]"), "");
  for (const char* shape :
       {"[4611686018427387905]", "[9223372036854775808]", "[18446744073709551615]",
        "[2147483648,2147483648,4,1]", "[-1]", "[1.0]", "[\"1\"]", "[true]", "[null]", "[[1]]", "1",
        "{}", "[1e0]", "[18446744073709551616]"})
    EXPECT_NE(said(shape, "[0,4]"), "") << shape;
  for (const char* offsets :
       {"[0,18446744073709551615]", "[9223372036854775808,9223372036854775812]", "[4,0]", "[-4,0]",
        "[0.0,4.0]", "[\"0\",4]", "[0,4,8]", "[]", "4", "[18446744073709551612,0]"})
    EXPECT_NE(said("[1]", offsets), "") << offsets;
  for (const char last : {'\x7f', '\x80', '\xff'}) {  // headers of about 2^63 and 2^64 bytes
    std::string file = safetensors(R"("dtype":"F32","shape":[1],"data_offsets":[0,4])", four);
    file[7] = last;
    EXPECT_NE(said_of_safetensors(file), "");
  }
  EXPECT_NE(said_of_safetensors(safetensors(R"("dtype":3,"shape":[1],"data_offsets":[0,4])", four)),
            "");
}

TEST(OtherWeaknesses, OfNpy) {
  const auto said = [](const char* shape, uint32_t length = 0) {
    const std::string dict =
        text("{'descr': '<f4', 'fortran_order': False, 'shape': ", shape, ", }");
    std::string file("\x93NUMPY\2\0", 8);
    const uint32_t size = length ? length : static_cast<uint32_t>(dict.size());
    for (int i = 0; i < 4; ++i) file += static_cast<char>(size >> (8 * i));
    file += dict + std::string(4, '\0');
    return error_of(
        [&] { parse_npy(std::as_bytes(std::span(file.data(), file.size())), "x.npy"); });
  };
  EXPECT_EQ(said("(1,)"), "");
  for (const char* shape :
       {"(4611686018427387905,)", "(9223372036854775807, 4)", "(9223372036854775808,)", "(-1,)",
        "(2147483648, 2147483648, 4)", "(1.0,)", "('1',)", "(True,)", "1", "((1,),)"})
    EXPECT_NE(said(shape), "") << shape;
  EXPECT_NE(said("(1,)", UINT32_MAX), "");
  EXPECT_NE(said("(1,)", uint32_t{1} << 31), "");
}

}  // namespace
}  // namespace rlx::onnx
