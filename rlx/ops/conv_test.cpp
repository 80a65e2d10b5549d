#include <gtest/gtest.h>

#include "rlx/ops/ops_convolution.h"
#include "rlx/ops/testing.h"

namespace rlx {
namespace {

Tensor convolved(const Tensor& x, const Tensor& w, const ConvOptions& options = {}) {
  Graph graph;
  graph.output("y", conv(graph.input("x", x.type()), graph.input("w", w.type()), {}, options));
  return evaluate(graph, {{"x", x}, {"w", w}}).outputs.at("y");
}

std::string error_of(const TensorType& x, const TensorType& w, const ConvOptions& options = {}) {
  Graph graph;
  try {
    conv(graph.input("x", x), graph.input("w", w), {}, options);
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

const Tensor kOnes = Tensor::of(DType::f32, {1, 1, 2, 2}, {1, 1, 1, 1});

TEST(Conv, SumsItsWindow) {
  expect_tensor(convolved(numbered({1, 1, 3, 3}), kOnes), {1, 1, 2, 2}, {12, 16, 24, 28});
}

TEST(Conv, PadsAreTopLeftBottomRight) {
  expect_tensor(convolved(numbered({1, 1, 2, 2}), kOnes, {.pads = {1, 0, 0, 0}}), {1, 1, 2, 1},
                {3, 10});
  expect_tensor(convolved(numbered({1, 1, 2, 2}), kOnes, {.pads = {0, 0, 0, 1}}), {1, 1, 1, 2},
                {10, 6});
}

TEST(Conv, StridesSkipAndDilationsSpread) {
  const Tensor x = numbered({1, 1, 3, 5});
  expect_tensor(convolved(x, kOnes, {.strides = {1, 3}}), {1, 1, 2, 2}, {16, 28, 36, 48});
  expect_tensor(convolved(x, kOnes, {.dilations = {2, 3}}), {1, 1, 1, 2}, {30, 34});
}

TEST(Conv, GroupsSeeTheirOwnChannels) {
  const Tensor w = Tensor::of(DType::f32, {2, 1, 1, 1}, {1, 10});
  expect_tensor(convolved(numbered({1, 2, 1, 2}), w, {.groups = 2}), {1, 2, 1, 2}, {1, 2, 30, 40});
}

TEST(Conv, OneAndThreeSpatialDims) {
  const Tensor w = Tensor::of(DType::f32, {1, 1, 2}, {1, 10});
  expect_tensor(convolved(numbered({1, 1, 3}), w), {1, 1, 2}, {21, 32});
  const Tensor ones = Tensor::of(DType::f32, {1, 1, 2, 1, 2}, {1, 1, 1, 1});
  expect_tensor(convolved(numbered({1, 1, 2, 2, 2}), ones), {1, 1, 1, 2, 1}, {14, 22});
}

TEST(Conv, SameUpperPadsTheEndFirst) {
  const Tensor x = numbered({1, 1, 3}), w = Tensor::of(DType::f32, {1, 1, 2}, {1, 1});
  expect_tensor(convolved(x, w, {.auto_pad = "same_upper"}), {1, 1, 3}, {3, 5, 3});
  expect_tensor(convolved(x, w, {.auto_pad = "same_lower"}), {1, 1, 3}, {1, 3, 5});
}

Tensor spread(const Tensor& x, const Tensor& w, const ConvTransposeOptions& options = {}) {
  Graph graph;
  graph.output("y",
               conv_transpose(graph.input("x", x.type()), graph.input("w", w.type()), {}, options));
  return evaluate(graph, {{"x", x}, {"w", w}}).outputs.at("y");
}

TEST(ConvTranspose, SpreadsItsWindow) {
  const Tensor x = numbered({1, 1, 2}), w = Tensor::of(DType::f32, {1, 1, 3}, {1, 10, 100});
  expect_tensor(spread(x, w), {1, 1, 4}, {1, 12, 120, 200});
  expect_tensor(spread(x, w, {.strides = {2}}), {1, 1, 5}, {1, 10, 102, 20, 200});
  expect_tensor(spread(x, w, {.strides = {2}, .pads = {1, 0}}), {1, 1, 4}, {10, 102, 20, 200});
  expect_tensor(spread(x, w, {.strides = {2}, .output_padding = {1}}), {1, 1, 6},
                {1, 10, 102, 20, 200, 0});
  expect_tensor(spread(x, w, {.dilations = {2}}), {1, 1, 6}, {1, 2, 10, 20, 100, 200});
}

TEST(ConvTranspose, OutputShapeSaysThePads) {
  const Tensor x = numbered({1, 1, 2}), w = Tensor::of(DType::f32, {1, 1, 3}, {1, 10, 100});
  expect_tensor(spread(x, w, {.strides = {2}, .output_shape = {4}}), {1, 1, 4}, {10, 102, 20, 200});
  expect_tensor(spread(x, w, {.strides = {2}, .auto_pad = "same_upper"}), {1, 1, 4},
                {1, 10, 102, 20});
  expect_tensor(spread(x, w, {.strides = {2}, .auto_pad = "same_lower"}), {1, 1, 4},
                {10, 102, 20, 200});
}

TEST(ConvTranspose, GroupsSpreadOverTheirOwnChannels) {
  const Tensor w = Tensor::of(DType::f32, {2, 2, 1}, {1, 2, 3, 4});
  expect_tensor(spread(numbered({1, 2, 1}), w, {.groups = 2}), {1, 4, 1}, {1, 2, 6, 8});
}

TEST(ConvTranspose, ErrorsNameTheOperands) {
  const auto error = [](const TensorType& x, const TensorType& w,
                        const ConvTransposeOptions& options = {}) {
    return rlx::error_of([&] {
      Graph graph;
      conv_transpose(graph.input("x", x), graph.input("w", w), {}, options);
    });
  };
  EXPECT_EQ(
      error(f32({1, 3, 4}), f32({2, 2, 3})),
      "conv_transpose: the channels of f32[1, 3, 4] are not those of w f32[2, 2, 3]: 3 and 2");
  EXPECT_EQ(error(f32({1, 2, 4}), f32({2, 2, 3}), {.output_padding = {1, 1}}),
            "conv_transpose: output_padding [1, 1] are not 1 numbers, one per spatial dim");
  EXPECT_EQ(error(f32({1, 2, 1}), f32({2, 2, 1}), {.pads = {2, 2}}),
            "conv_transpose: the pads of x f32[1, 2, 1] leave nothing of y [-3]");
}

TEST(Conv, SymbolicSizesAreFloored) {
  Graph graph;
  const Value y = conv(graph.input("x", f32({"b", 1, "h", 9})), graph.input("w", f32({4, 1, 3, 3})),
                       {}, {.strides = {2, 2}});
  EXPECT_EQ(y.shape()[3], Dim(4));
  EXPECT_EQ(y.shape()[2].value({{"h", 8}}), 3);
}

TEST(Conv, ErrorsNameTheOperands) {
  EXPECT_EQ(error_of(f32({1, 3, 4, 4}), f32({2, 2, 3, 3})),
            "conv: the channels of f32[1, 3, 4, 4] are not those of w f32[2, 2, 3, 3] in 1 "
            "groups: 3 and 2");
  EXPECT_EQ(error_of(f32({1, 4, 4, 4}), f32({3, 2, 3, 3}), {.groups = 2}),
            "conv: 3 channels of w f32[3, 2, 3, 3] cannot be parted into 2 groups");
  EXPECT_EQ(error_of(f32({1, 1, 2, 2}), f32({1, 1, 5, 5})),
            "conv: the window [5, 5] is larger than x f32[1, 1, 2, 2] with its pads");
  EXPECT_EQ(error_of(f32({1, 1, 2, 2}), f32({1, 1, 1, 1}), {.strides = {0, 1}}),
            "conv: strides [0, 1] are not 2 positive numbers, one per spatial dim");
}

}  // namespace
}  // namespace rlx
