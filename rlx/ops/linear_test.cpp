#include <gtest/gtest.h>

#include <cmath>

#include "rlx/compile/lower_graph.h"
#include "rlx/ir/evaluate.h"
#include "rlx/ops/ops_core.h"

namespace rlx {

using namespace detail;
namespace {

const Tensor kX = Tensor::of(DType::f32, {2, 2}, {1, 2, -3, 4});
const Tensor kW = Tensor::of(DType::f32, {2, 2}, {1, 0, 2, 1});
const Tensor kBias = Tensor::of(DType::f32, {2}, {10, -3});

Tensor applied(const std::string& activation, bool transpose_w = false) {
  Graph graph;
  graph.output("y", linear(graph.input("x", kX.type()), graph.input("w", kW.type()),
                           graph.input("bias", kBias.type()), activation, transpose_w));
  return evaluate(graph, {{"x", kX}, {"w", kW}, {"bias", kBias}}).outputs.at("y");
}

std::string error_of(const TensorType& x, const TensorType& w, const TensorType& bias,
                     const std::string& activation = "") {
  Graph graph;
  try {
    linear(graph.input("x", x), graph.input("w", w), graph.input("bias", bias), activation);
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(Linear, AddsTheBias) {
  const double wanted[] = {15, -1, 15, 1};
  for (int64_t i = 0; i < 4; ++i) EXPECT_EQ(applied("").at(i), wanted[i]);
}

TEST(Linear, WMayBeKeptByOutputs) {
  const double wanted[] = {11, 1, 7, -5};
  for (int64_t i = 0; i < 4; ++i) EXPECT_EQ(applied("", true).at(i), wanted[i]);
}

TEST(Linear, ActivatesTheSum) {
  EXPECT_EQ(applied("relu").at(1), 0);
  EXPECT_FLOAT_EQ(static_cast<float>(applied("sigmoid").at(1)), 1 / (1 + std::exp(1.0f)));
  EXPECT_FLOAT_EQ(static_cast<float>(applied("tanh").at(3)), std::tanh(1.0f));
}

TEST(Linear, ErrorsNameTheOperands) {
  EXPECT_EQ(error_of(f32({2, 3}), f32({4, 5}), f32({5})),
            "linear: the inner dims of f32[2, 3] and f32[4, 5] differ: 3 and 4");
  EXPECT_EQ(error_of(f32({2, 3}), f32({3, 5}), f32({4})),
            "linear: bias f32[4] does not fit w f32[3, 5]: 4 and 5");
  EXPECT_EQ(error_of(f32({2, 3}), f32({3, 5}), f32({5}), "swish"),
            "linear: activation 'swish' is none of relu, leaky_relu, elu, selu, celu, sigmoid, "
            "hard_sigmoid, silu, hard_swish, mish, tanh, softplus, softsign, gelu, gelu_tanh, "
            "thresholded_relu");
  EXPECT_EQ(error_of(i32({2, 3}), i32({3, 5}), i32({5})),
            "linear: needs a float tensor, got i32[2, 3]");
}

TEST(Linear, IsOneDispatch) {
  Graph graph;
  const Value x = graph.input("x", f32({2, 7, 8})), w = graph.input("w", f32({5, 8}));
  graph.output("y", linear(x, w, graph.input("bias", f32({5})), "", true));
  DeviceTraits traits;
  traits.device_class = DeviceClass::discrete;
  EXPECT_EQ(lower_graph(graph, traits).steps.list.size(), 1u);
}

}  // namespace
}  // namespace rlx
