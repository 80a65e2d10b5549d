#include "rlx/ops/ops_channel_norm.h"
#include "rlx/ops/ops_core.h"
#include "rlx/ops/ops_math.h"
#include "rlx/passes/testing.h"

namespace rlx {
namespace {

Value epsilon_of(Value x) { return scalar(x, 1e-5); }
struct Written {
  Graph graph;
  Value x;
  explicit Written(const TensorType& type) : x(graph.input("x", type)) {}
  Value weight(const std::string& name, const Shape& shape, DType dtype = DType::f32) {
    return graph.weight(name, some_tensor(dtype, shape, name.size() + 3));
  }
  OpNames found(Value y) {
    graph.output("y", y);
    return ops_after(find_norms, graph);
  }
};

Value variance_of(Value distance, const Ints& axes) {
  return mean(pow(distance, scalar(distance, 2)), axes, true);
}
Value normal(Value x, const Ints& axes) {
  const Value distance = x - mean(x, axes, true);
  return distance / sqrt(variance_of(distance, axes) + epsilon_of(x));
}

TEST(FindNorms, LayerNormIsOneOp) {
  EXPECT_EQ(after_pass(find_norms, R"(%0 = input @"x" : f32[b, s, 4]
%1 = weight value=f32[4]{1, 2, 3, 4} @"gamma" : f32[4]
%2 = weight value=f32[4]{0, 1, 0, 1} @"beta" : f32[4]
%3 = constant value=f32[]{2} : f32[]
%4 = constant value=f32[]{0.5} : f32[]
%5 = mean %0 axes=[-1] keep=true : f32[b, s, 1]
%6 = sub %0, %5 : f32[b, s, 4]
%7 = pow %6, %3 : f32[b, s, 4]
%8 = mean %7 axes=[-1] keep=true : f32[b, s, 1]
%9 = add %8, %4 : f32[b, s, 1]
%10 = sqrt %9 : f32[b, s, 1]
%11 = div %6, %10 : f32[b, s, 4]
%12 = mul %11, %1 : f32[b, s, 4]
%13 = add %12, %2 : f32[b, s, 4]
output "y" %13
)"),
            R"(%0 = input @"x" : f32[b, s, 4]
%1 = weight value=f32[4]{1, 2, 3, 4} @"gamma" : f32[4]
%2 = weight value=f32[4]{0, 1, 0, 1} @"beta" : f32[4]
%3 = layer_norm %0, %1, %2 axis=2 epsilon=0.5 : f32[b, s, 4]
output "y" %3
)");
}

TEST(FindNorms, LayerNormIsFoundInOtherForms) {
  Written square(f32({2, 3, 4}));
  const Value distance = square.x - mean(square.x, {2}, true);
  EXPECT_EQ(
      square.found(distance * rsqrt(mean(distance * distance, {-1}, true) + epsilon_of(square.x))),
      OpNames("layer_norm"));
  Written several(f32({2, 3, 4}));
  EXPECT_EQ(several.found(several.weight("g", {3, 4}) * normal(several.x, {1, 2})),
            OpNames("layer_norm"));
  Written wide(f32({2, 3, 4}));
  EXPECT_EQ(
      wide.found(normal(wide.x, {-1}) * wide.weight("g", {1, 1, 4}) + wide.weight("beta", {1, 4})),
      OpNames("layer_norm"));
  Written reciprocals(f32({2, 4}));
  const Value d = reciprocals.x - mean(reciprocals.x, {1}, true);
  EXPECT_EQ(reciprocals.found(d * (reciprocal(sqrt(variance_of(d, {1}) + epsilon_of(d))) *
                                   reciprocals.weight("g", {4}))),
            OpNames("layer_norm"));
}

TEST(FindNorms, LayerNormAsTensorFlowWritesIt) {
  Written w(f32({2, 3, 4}));
  const Value centre = mean(w.x, {2}, true), distance = w.x - centre;
  const Value scale = rsqrt(variance_of(distance, {2}) + epsilon_of(w.x)) * w.weight("g", {4});
  EXPECT_EQ(w.found(w.x * scale + (w.weight("beta", {4}) - centre * scale)), OpNames("layer_norm"));
}

TEST(FindNorms, RmsNormIsOneOp) {
  Written w(f32({2, 3, 4}));
  const Value mean_of_squares = mean(pow(w.x, scalar(w.x, 2)), {-1}, true);
  EXPECT_EQ(w.found(w.x * rsqrt(mean_of_squares + epsilon_of(w.x)) * w.weight("g", {4})),
            OpNames("rms_norm"));
}

TEST(FindNorms, ANormBetweenCastsIsOneOfTheNarrowDtype) {
  Written w(f16({2, 3, 4}));
  const Value wide = cast(w.x, DType::f32);
  const Value normal = wide / sqrt(mean(wide * wide, {-1}, true) + epsilon_of(wide));
  EXPECT_EQ(w.found(cast(normal, DType::f16) * w.weight("g", {4}, DType::f16)),
            OpNames("rms_norm"));
}

TEST(FindNorms, InstanceNormIsANormOverPositions) {
  Written w(f32({2, 3, 4, 5}));
  EXPECT_EQ(
      w.found(normal(w.x, {2, 3}) * w.weight("g", {1, 3, 1, 1}) + w.weight("beta", {3, 1, 1})),
      OpNames("group_norm"));
}

TEST(FindNorms, GroupNormIsANormOfRowsOfChannels) {
  Written w(f32({2, 6, 4, 5}));
  const Value rows = reshape(w.x, Dims{2, 3, -1});
  EXPECT_EQ(w.found(reshape(normal(rows, {2}), Dims{2, 6, 4, 5}) * w.weight("g", {6, 1, 1}) +
                    w.weight("beta", {6, 1, 1})),
            OpNames("group_norm"));
  Written torch(f32({2, 6, 4, 5}));
  const Value each = instance_norm(reshape(torch.x, Dims{2, 3, -1}), torch.weight("one", {3}),
                                   torch.weight("zero", {3}));
  EXPECT_EQ(torch.found(reshape(each, Dims{2, 6, 4, 5})), OpNames("group_norm"));
}

TEST(FindNorms, AVarianceMayBeADifferenceOfMoments) {
  for (const bool cut : {false, true})
    for (const bool same : {false, true}) {
      Graph graph;
      const Value x = graph.input("x", f32({2, 5, 7}));
      const Value centre = mean(x, {-1}, true);
      Value variance = mean(x * x, {same ? -1 : 1}, true) - centre * centre;
      if (cut) variance = relu(variance);
      graph.output("y", (x - centre) * rsqrt(variance + scalar(x, 0.1)));
      EXPECT_EQ(ops_after(find_norms, graph).count("layer_norm"), same ? 1u : 0u);
    }
}

TEST(FindNorms, AMeanOverOtherAxesIsNone) {
  Written first(f32({2, 3, 4}));
  EXPECT_EQ(first.found(normal(first.x, {0, 2})), OpNames("mean sub pow mean add sqrt div"));
  Written mixed(f32({4, 4}));
  const Value distance = mixed.x - mean(mixed.x, {0}, true);
  EXPECT_EQ(mixed.found(distance / sqrt(variance_of(distance, {1}) + epsilon_of(mixed.x))),
            OpNames("mean sub rms_norm"));
}

TEST(FindNorms, AMeanThatIsReadElsewhereStays) {
  Written w(f32({2, 4}));
  const Value centre = mean(w.x, {1}, true), distance = w.x - centre;
  w.graph.output("centre", centre);
  EXPECT_EQ(w.found(distance / sqrt(variance_of(distance, {1}) + epsilon_of(w.x))),
            OpNames("mean sub rms_norm"));
}

TEST(FindNorms, ASecondFactorOfAnotherShapeStays) {
  Written w(f32({2, 4, 4}));
  EXPECT_EQ(w.found(normal(w.x, {2}) * w.weight("g", {2, 1, 1})), OpNames("layer_norm mul"));
  Written data(f32({2, 4}));
  EXPECT_EQ(data.found(normal(data.x, {1}) * data.graph.input("g", f32({4}))),
            OpNames("layer_norm mul"));
}

TEST(FindNorms, ChannelsThatComeFirstAreNormalisedThroughATranspose) {
  Graph graph;
  const Value x = graph.input("x", f32({2, 5, 3, 4}));
  const Value gamma = graph.weight("gamma", some_tensor({5, 1, 1}, 3)),
              beta = graph.weight("beta", some_tensor({5, 1, 1}, 4));
  const Value distance = x - mean(x, {1}, true);
  const Value variance = mean(distance * distance, {1}, true);
  graph.output("y", gamma * (distance / sqrt(variance + scalar(x, 1e-6))) + beta);
  EXPECT_EQ(ops_after(find_norms, graph), OpNames("transpose layer_norm transpose"));
}

TEST(FindNorms, WeightsOfAnotherAxisStayOutside) {
  Graph graph;
  const Value x = graph.input("x", f32({2, 5, 3, 5}));
  const Value distance = x - mean(x, {1}, true);
  const Value variance = mean(distance * distance, {1}, true);
  graph.output("y", graph.weight("gamma", some_tensor({5}, 3)) *
                        (distance / sqrt(variance + scalar(x, 1e-6))));
  EXPECT_EQ(ops_after(find_norms, graph), OpNames("transpose layer_norm transpose mul"));
}

}  // namespace
}  // namespace rlx
