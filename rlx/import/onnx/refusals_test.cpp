// What a small file may ask for and no graph can be: an Error at once, not a crash, and not a wait.
#include <gtest/gtest.h>

#include "rlx/import/onnx/build_model.h"
#include "rlx/ir/evaluate.h"
#include "rlx/testing.h"

namespace rlx::onnx {
namespace {

const std::string kY = value_info("y", {});

std::string ints_attribute(const std::string& name, const std::vector<int64_t>& values) {
  return message([&](pbf_writer& out) {
    out.add_string(1, name);
    for (const int64_t value : values) out.add_int64(8, value);
    out.add_int32(20, 7);
  });
}
std::string scalar(const std::string& name, float value) {
  return tensor<float>(name, kFloatType, {}, {value});
}

// What is said of a model of x f32[4], or of another shape; the first line of it.
std::string refusal(const std::vector<std::string>& nodes,
                    const std::vector<std::string>& initializers = {},
                    const std::vector<std::string>& x = {"4"}, int64_t opset = 17) {
  const std::string said = error_of([&] {
    import_bytes(model_of({nodes, initializers, {value_info("x", x)}, {kY}}, opset));
  });
  return said.substr(0, said.find('\n'));
}

TEST(OnnxRefusals, OfSequencesThatHaveNotWhatIsAskedFor) {
  EXPECT_EQ(refusal({node("SequenceEmpty", {}, "e"), node("SequenceErase", {"e"}, "y")}),
            "SequenceErase: the sequence has no element");
  const std::string joined_strings =
      node("ConcatFromSequence", {"s"}, "y", "", {integer_attribute("axis", 0)});
  EXPECT_EQ(refusal({node("Constant", {}, "t", "", {string_attribute("value_string", "word")}),
                     node("SequenceConstruct", {"x", "t"}, "s"), joined_strings}),
            "ConcatFromSequence: joins tensors of numbers, and there is something else");
}

TEST(OnnxRefusals, OfSplitsThatNeverEnd) {
  const auto split_by = [](int64_t length, const char* extent) {
    return refusal(
        {node("SplitToSequence", {"x", "length"}, "s"), node("SequenceAt", {"s", "at"}, "y")},
        {integer("length", length), integer("at", 0)}, {extent});
  };
  EXPECT_EQ(split_by(0, "4"), "SplitToSequence: a length of 0 is not positive");
  EXPECT_EQ(split_by(-1, "4"), "SplitToSequence: a length of -1 is not positive");
  EXPECT_EQ(split_by(1, "1000000000000").rfind("the import takes more than ", 0), 0U);
  EXPECT_EQ(split_by(3, "4"), "");
}

TEST(OnnxRefusals, OfNumbersThatHaveNoElement) {
  const std::string none = float_tensor("none", {});
  EXPECT_EQ(refusal({node("Range", {"none", "none", "none"}, "y")}, {none}),
            "Range: input 0 has no element");
  EXPECT_EQ(refusal({node("Dropout", {"x", "none", "training"}, "y")},
                    {none, tensor<uint8_t>("training", 9, {}, {1})}),
            "Dropout: input 1 has no element");
}

TEST(OnnxRefusals, OfAxesThatAreNotThere) {
  const std::string body = graph_message(
      {{node("Identity", {"e"}, "o")}, {}, {value_info("e", {})}, {value_info("o", {})}});
  const auto scanned_along = [&](int64_t axis, const std::vector<std::string>& x) {
    return refusal({node("Scan", {"x"}, "y", "",
                         {graph_attribute("body", body), integer_attribute("num_scan_inputs", 1),
                          ints_attribute("scan_input_axes", {axis})})},
                   {}, x);
  };
  EXPECT_EQ(scanned_along(1000000, {"4"}),
            "Scan: axis 1000000 is out of range for f32[4] (rank 1)");
  EXPECT_EQ(scanned_along(0, {}), "Scan: axis 0 is out of range for f32[] (rank 0)");
  EXPECT_EQ(scanned_along(-1, {"4"}), "");

  const auto added_at = [](int64_t axis) {
    return refusal({node("Add", {"x", "w"}, "y", "",
                         {integer_attribute("broadcast", 1), integer_attribute("axis", axis)})},
                   {float_tensor("w", {1, 2, 3, 4})}, {"2", "4", "3"}, 6);
  };
  EXPECT_EQ(added_at(INT64_MIN / 2),
            "Add: axis -4611686018427387904 does not fit f32[4] to f32[2, 4, 3]");
  EXPECT_EQ(added_at(3), "Add: axis 3 does not fit f32[4] to f32[2, 4, 3]");
  EXPECT_EQ(added_at(1), "");
  EXPECT_EQ(added_at(-2), "");

  EXPECT_EQ(refusal({node("Resize", {"x", "", "", "sizes"}, "y", "",
                          {string_attribute("keep_aspect_ratio_policy", "not_larger")})},
                    {list("sizes", {})}, {}, 18),
            "Resize: there is no axis of f32[] to keep the ratio of");
  EXPECT_EQ(refusal({node("GroupNormalization", {"x", "w", "w"}, "y", "",
                          {integer_attribute("num_groups", 1)})},
                    {float_tensor("w", {1})}, {"4"}, 18),
            "GroupNormalization: 1 groups of the channels of f32[4] cannot be");
}

TEST(OnnxRefusals, OfWindowsThatDoNotFitTheDims) {
  const auto unpooled = [](const std::vector<std::string>& attributes) {
    return refusal({node("MaxUnpool", {"x", "at"}, "y", "", attributes)},
                   {tensor<int64_t>("at", kInt64Type, {1, 1, 2, 2}, {0, 1, 2, 3})},
                   {"1", "1", "2", "2"});
  };
  EXPECT_EQ(unpooled({ints_attribute("kernel_shape", {2, 2}), ints_attribute("strides", {2})}),
            "MaxUnpool: kernel_shape [2, 2], strides [2] and pads [0, 0, 0, 0] are not those of "
            "the spatial dims of f32[1, 1, 2, 2]");
  EXPECT_NE(unpooled({ints_attribute("kernel_shape", std::vector<int64_t>(200, 2))}), "");
  EXPECT_EQ(unpooled({ints_attribute("kernel_shape", {2, 2}), ints_attribute("strides", {2, 2})}),
            "");
  EXPECT_EQ(refusal({node("DepthToSpace", {"x"}, "y", "",
                          {integer_attribute("blocksize", int64_t{1} << 32)})},
                    {}, {"1", "4", "2", "2"}),
            "depth_to_space: block 4294967296 is not in [1, 1073741824]");
}

TEST(OnnxRefusals, OfMelScalesWithoutEnd) {
  const auto weights = [](int64_t bins, int64_t length, int64_t rate, float high) {
    return refusal({node("MelWeightMatrix", {"bins", "length", "rate", "low", "high"}, "y")},
                   {integer("bins", bins), integer("length", length), integer("rate", rate),
                    scalar("low", 0), scalar("high", high)});
  };
  EXPECT_EQ(weights(10000000, 100000, 16000, 8000),
            "MelWeightMatrix: 10000000 bins of 100000 samples at a rate of 16000 are none, or more "
            "than 268435456 weights");
  EXPECT_NE(weights(8, 16, 0, 8000), "");
  EXPECT_NE(weights(8, 16, 1, 1e30F), "");
  EXPECT_EQ(weights(8, 16, 1, 1e15F), "");  // beyond the last row there is nothing to fill
}

TEST(OnnxRefusals, OfDtypesThatAreNotThere) {
  EXPECT_EQ(refusal({node("QuantizeLinear", {"x", "scale"}, "y", "",
                          {integer_attribute("output_dtype", 22)})},
                    {scalar("scale", 1)}, {"4"}, 21)
                .rfind("QuantizeLinear: output_dtype is ", 0),
            0U);
  const auto dequantised_to = [](int64_t dtype) {
    return import_bytes(model_of({{node("DequantizeLinear", {"q", "scale"}, "y", "",
                                        {integer_attribute("output_dtype", dtype)})},
                                  {tensor<uint8_t>("q", 2, {1}, {3}), scalar("scale", 0.5)},
                                  {},
                                  {kY}},
                                 23));
  };
  constexpr int64_t kHalf = 10, kDouble = 11;
  EXPECT_EQ(dequantised_to(kHalf).outputs()[0].value.dtype(), DType::f16);
  const Tensor y = evaluate(dequantised_to(kDouble), {}).outputs.at("y");
  EXPECT_EQ(y.dtype(), DType::f64);
  EXPECT_EQ(y.at(0), 1.5);
  EXPECT_EQ(error_of([&] {
              dequantised_to(kInt64Type);
            }).rfind("DequantizeLinear: output_dtype is i64, it gives floats", 0),
            0U);
}

}  // namespace
}  // namespace rlx::onnx
