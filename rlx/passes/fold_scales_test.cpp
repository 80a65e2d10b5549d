#include "rlx/ops/ops_channel_norm.h"
#include "rlx/ops/ops_convolution.h"
#include "rlx/ops/ops_core.h"
#include "rlx/passes/testing.h"

namespace rlx {
namespace {

struct Net {
  Graph graph;
  Value x;
  explicit Net(const TensorType& type) : x(graph.input("x", type)) {}
  Value weight(const std::string& name, const Shape& shape) {
    Tensor tensor = some_tensor(shape, name.size() + 3);
    if (name == "variance")
      for (int64_t i = 0; i < tensor.count(); ++i) tensor.set(i, std::abs(tensor.at(i)) + 0.1);
    return graph.weight(name, tensor);
  }
  Value norm(Value y, int64_t channels) {
    return batch_norm(y, weight("gamma", {channels}), weight("beta", {channels}),
                      weight("mean", {channels}), weight("variance", {channels}));
  }
  OpNames folded(Value y) {
    graph.output("y", y);
    return ops_after(fold_scales, graph);
  }
};

TEST(FoldScales, AScaleBehindALinearIsInItsWeights) {
  EXPECT_EQ(after_pass(fold_scales, R"(%0 = input @"x" : f32[n, 2]
%1 = weight value=f32[2, 3]{1, 2, 3, 4, 5, 6} @"w" : f32[2, 3]
%2 = weight value=f32[3]{1, 2, 3} @"s" : f32[3]
%3 = matmul %0, %1 transpose_a=false transpose_b=false : f32[n, 3]
%4 = mul %3, %2 : f32[n, 3]
output "y" %4
)"),
            R"(%0 = input @"x" : f32[n, 2]
%1 = weight value=f32[2, 3]{1, 2, 3, 4, 5, 6} @"w" : f32[2, 3]
%2 = weight value=f32[3]{1, 2, 3} @"s" : f32[3]
%3 = mul %1, %2 : f32[2, 3]
%4 = matmul %0, %3 transpose_a=false transpose_b=false : f32[n, 3]
output "y" %4
)");
}

TEST(FoldScales, ABatchNormIsInTheWeightsBeforeIt) {
  Net plain(f32({2, 3, 5, 5}));
  EXPECT_EQ(plain.folded(plain.norm(
                conv(plain.x, plain.weight("w", {4, 3, 3, 3}), {}, {.pads = {1, 1, 1, 1}}), 4)),
            OpNames("conv"));
  Net grouped(f32({2, 4, 5, 5}));
  EXPECT_EQ(grouped.folded(grouped.norm(conv(grouped.x, grouped.weight("w", {6, 2, 3, 3}),
                                             grouped.weight("b", {6}), {.groups = 2}),
                                        6)),
            OpNames("conv"));
  Net spread(f32({2, 4, 5}));
  EXPECT_EQ(spread.folded(spread.norm(conv_transpose(spread.x, spread.weight("w", {4, 3, 3}),
                                                     spread.weight("b", {6}), {.groups = 2}),
                                      6)),
            OpNames("conv_transpose"));
  Net rows(f32({2, 4}));
  EXPECT_EQ(rows.folded(rows.norm(linear(rows.x, rows.weight("w", {3, 4}), {}, "", true), 3)),
            OpNames("linear"));
  Net product(f32({2, 4}));
  EXPECT_EQ(product.folded(product.norm(matmul(product.x, product.weight("w", {4, 3})), 3)),
            OpNames("matmul add"));
}

TEST(FoldScales, ScalesAndShiftsByWeightsOrNumbersAreInTheWeights) {
  Net net(f32({2, 3, 5, 5}));
  const Value y = conv(net.x, net.weight("w", {4, 3, 1, 1}));
  EXPECT_EQ(net.folded((y * net.weight("s", {4, 1, 1}) + net.weight("shift", {1, 4, 1, 1})) *
                           scalar(y, 0.5) +
                       net.weight("one", {1})),
            OpNames("conv"));
}

TEST(FoldScales, WhatIsBeforeAConvolutionIsInItsWeights) {
  Net scale(f32({2, 4, 5, 5}));
  EXPECT_EQ(
      scale.folded(conv(scale.x * scale.weight("s", {4, 1, 1}), scale.weight("w", {6, 2, 3, 3}), {},
                        {.pads = {1, 1, 1, 1}, .groups = 2})),
      OpNames("conv"));
  Net shift(f32({2, 4, 5, 5}));
  EXPECT_EQ(shift.folded(conv((shift.x + shift.weight("s", {4, 1, 1})) * scalar(shift.x, 3),
                              shift.weight("w", {6, 2, 3, 3}), {}, {.groups = 2})),
            OpNames("conv"));
  Net spread(f32({2, 4, 5}));
  EXPECT_EQ(spread.folded(conv_transpose(spread.x * spread.weight("s", {4, 1}),
                                         spread.weight("w", {4, 3, 3}), {}, {.groups = 2})),
            OpNames("conv_transpose"));
  Net rows(f32({2, 4}));
  EXPECT_EQ(rows.folded(linear(rows.x * rows.weight("s", {4}) + rows.weight("shift", {4}),
                               rows.weight("w", {3, 4}), {}, "", true)),
            OpNames("linear"));
}

TEST(FoldScales, AShiftBeforePaddingStays) {
  Net net(f32({2, 4, 5, 5}));
  EXPECT_EQ(net.folded(conv(net.x + net.weight("s", {4, 1, 1}), net.weight("w", {6, 4, 3, 3}), {},
                            {.pads = {1, 1, 1, 1}})),
            OpNames("add conv"));
}

TEST(FoldScales, WhatIsNoWeightStays) {
  Net data(f32({2, 3, 5, 5}));
  EXPECT_EQ(data.folded(conv(data.x, data.weight("w", {4, 3, 1, 1})) *
                        data.graph.input("s", f32({4, 1, 1}))),
            OpNames("conv mul"));
  Net state(f32({2, 4}));
  EXPECT_EQ(
      state.folded(matmul(state.x, state.graph.state("w", f32({4, 3}))) * state.weight("s", {3})),
      OpNames("matmul mul"));
  Net batch(f32({2, 3, 5, 5}));
  const Value y = conv(batch.x, batch.weight("w", {4, 3, 1, 1}));
  EXPECT_EQ(batch.folded(batch_norm(y, {}, {}, batch.graph.input("mean", f32({4})),
                                    batch.weight("variance", {4}))),
            OpNames("conv batch_norm"));
}

TEST(FoldScales, AWeightThatIsDecodedAtEveryRunStays) {
  Graph graph;
  const Value x = graph.input("x", f32({2, 64}));
  const Value bytes = graph.weight("w", some_tensor(DType::i8, {64, 64}, 1));
  graph.output("y", matmul(x, cast(bytes, DType::f32)) * graph.weight("s", some_tensor({64})));
  EXPECT_EQ(ops_after(fold_scales, graph), OpNames("cast matmul mul"));
}

TEST(FoldScales, AScaleAlongPositionsStays) {
  Net net(f32({2, 3, 5, 5}));
  EXPECT_EQ(net.folded(conv(net.x, net.weight("w", {5, 3, 1, 1})) * net.weight("s", {5})),
            OpNames("conv mul"));
}

TEST(FoldScales, AnActivationBetweenStays) {
  Net net(f32({2, 4}));
  EXPECT_EQ(net.folded(linear(net.x, net.weight("w", {4, 3}), {}, "relu") * net.weight("s", {3})),
            OpNames("linear relu mul"));
}

TEST(FoldScales, ASumThatIsReadElsewhereStays) {
  Net net(f32({2, 4}));
  const Value y = matmul(net.x, net.weight("w", {4, 3}));
  net.graph.output("sum", y);
  EXPECT_EQ(net.folded(y * net.weight("s", {3})), OpNames("matmul mul"));
}

}  // namespace
}  // namespace rlx
