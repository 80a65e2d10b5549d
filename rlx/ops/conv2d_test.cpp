#include <gtest/gtest.h>

#include "rlx/ir/evaluate.h"
#include "rlx/ops/ops.h"

namespace rlx {
namespace {

Tensor numbered(Shape shape) {  // 1, 2, 3, ...
  Tensor tensor(DType::f32, std::move(shape));
  for (int64_t i = 0; i < tensor.count(); ++i) tensor.set(i, static_cast<double>(i + 1));
  return tensor;
}

Tensor convolved(const Tensor& x, const Tensor& w, const Conv2dOptions& options = {}) {
  Graph graph;
  graph.output("y", conv2d(graph.input("x", x.type()), graph.input("w", w.type()), {}, options));
  return evaluate(graph, {{"x", x}, {"w", w}}).outputs.at("y");
}

void expect_tensor(const Tensor& got, const Shape& shape, const std::vector<double>& wanted) {
  EXPECT_EQ(got.shape(), shape);
  ASSERT_EQ(got.count(), static_cast<int64_t>(wanted.size()));
  for (int64_t i = 0; i < got.count(); ++i) EXPECT_EQ(got.at(i), wanted[size_t(i)]) << "at " << i;
}

std::string error_of(const TensorType& x, const TensorType& w, const Conv2dOptions& options = {}) {
  Graph graph;
  try {
    conv2d(graph.input("x", x), graph.input("w", w), {}, options);
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

const Tensor kOnes = Tensor::of(DType::f32, {1, 1, 2, 2}, {1, 1, 1, 1});

TEST(Conv2d, SumsItsWindow) {
  expect_tensor(convolved(numbered({1, 1, 3, 3}), kOnes), {1, 1, 2, 2}, {12, 16, 24, 28});
}

TEST(Conv2d, PadsAreTopLeftBottomRight) {
  expect_tensor(convolved(numbered({1, 1, 2, 2}), kOnes, {.pads = {1, 0, 0, 0}}), {1, 1, 2, 1},
                {3, 10});
  expect_tensor(convolved(numbered({1, 1, 2, 2}), kOnes, {.pads = {0, 0, 0, 1}}), {1, 1, 1, 2},
                {10, 6});
}

TEST(Conv2d, StridesSkipAndDilationsSpread) {
  const Tensor x = numbered({1, 1, 3, 5});
  expect_tensor(convolved(x, kOnes, {.strides = {1, 3}}), {1, 1, 2, 2}, {16, 28, 36, 48});
  expect_tensor(convolved(x, kOnes, {.dilations = {2, 3}}), {1, 1, 1, 2}, {30, 34});
}

TEST(Conv2d, GroupsSeeTheirOwnChannels) {
  const Tensor w = Tensor::of(DType::f32, {2, 1, 1, 1}, {1, 10});
  expect_tensor(convolved(numbered({1, 2, 1, 2}), w, {.groups = 2}), {1, 2, 1, 2}, {1, 2, 30, 40});
}

TEST(Conv2d, SymbolicSizesAreFloored) {
  Graph graph;
  const Value y = conv2d(graph.input("x", f32({"b", 1, "h", 9})),
                         graph.input("w", f32({4, 1, 3, 3})), {}, {.strides = {2, 2}});
  EXPECT_EQ(y.shape()[3], Dim(4));
  EXPECT_EQ(y.shape()[2].value({{"h", 8}}), 3);
}

TEST(Conv2d, ErrorsNameTheOperands) {
  EXPECT_EQ(error_of(f32({1, 3, 4, 4}), f32({2, 2, 3, 3})),
            "conv2d: the channels of f32[1, 3, 4, 4] are not those of w f32[2, 2, 3, 3] in 1 "
            "groups: 3 and 2");
  EXPECT_EQ(error_of(f32({1, 4, 4, 4}), f32({3, 2, 3, 3}), {.groups = 2}),
            "conv2d: 3 channels of w f32[3, 2, 3, 3] cannot be parted into 2 groups");
  EXPECT_EQ(
      error_of(f32({1, 1, 2, 2}), f32({1, 1, 5, 5})),
      "conv2d: the window of w f32[1, 1, 5, 5] is larger than x f32[1, 1, 2, 2] with its pads");
  EXPECT_EQ(error_of(f32({1, 1, 2, 2}), f32({1, 1, 1, 1}), {.strides = {0, 1}}),
            "conv2d: strides [0, 1] are not two positive numbers");
}

}  // namespace
}  // namespace rlx
