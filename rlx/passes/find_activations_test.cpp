#include <ctime>

#include "rlx/ops/ops_activation.h"
#include "rlx/ops/ops_core.h"
#include "rlx/ops/ops_math.h"
#include "rlx/ops/ops_reduction.h"
#include "rlx/passes/testing.h"

namespace rlx {
namespace {

Value times(Value x, double number) { return x * scalar(x, number); }
Value plus(Value x, double number) { return x + scalar(x, number); }

OpNames found(Value (*build)(Value), const TensorType& type = f32({2, 5})) {
  return ops_after(find_activations, graph_of(type, build));
}

TEST(FindActivations, GeluIsOneOp) {
  EXPECT_EQ(after_pass(find_activations, R"(%0 = input @"x" : f32[2, n]
%1 = constant value=f32[]{1.4142135} : f32[]
%2 = constant value=f32[]{1} : f32[]
%3 = constant value=f32[]{0.5} : f32[]
%4 = div %0, %1 : f32[2, n]
%5 = erf %4 : f32[2, n]
%6 = add %5, %2 : f32[2, n]
%7 = mul %0, %6 : f32[2, n]
%8 = mul %7, %3 : f32[2, n]
output "y" %8
)"),
            R"(%0 = input @"x" : f32[2, n]
%1 = gelu %0 : f32[2, n]
output "y" %1
)");
}

TEST(FindActivations, GeluIsFoundInAnyOrder) {
  using Build = Value (*)(Value);
  for (const Build build :
       {Build([](Value x) { return times(x, 0.5) * plus(erf(times(x, 0.70710678)), 1); }),
        Build([](Value x) { return x * times(plus(erf(x / scalar(x, 1.41421356)), 1), 0.5); }),
        Build([](Value x) { return x * plus(times(erf(times(x, 0.70710678)), 0.5), 0.5); }),
        Build([](Value x) {
          return plus(erf(x / scalar(x, 1.41421356)), 1) * (x / scalar(x, 2));
        })}) {
    EXPECT_EQ(found(build), OpNames("gelu"));
    EXPECT_EQ(found(build, f16({2, 5})), OpNames("gelu"));
  }
}

TEST(FindActivations, GeluByTanhIsFoundInAnyOrder) {
  using Build = Value (*)(Value);
  constexpr double kScale = 0.7978845608;
  for (const Build build :
       {Build([](Value x) {
          const Value cube = times(pow(x, scalar(x, 3)), 0.044715);
          return times(x, 0.5) * plus(tanh(times(x + cube, kScale)), 1);
        }),
        Build([](Value x) {
          return times(x * plus(tanh(times(x + times(x * x * x, 0.044715), kScale)), 1), 0.5);
        }),
        Build([](Value x) {
          return times(x * plus(tanh(times(x * plus(times(x * x, 0.044715), 1), kScale)), 1), 0.5);
        })})
    EXPECT_EQ(found(build), OpNames("gelu_tanh"));
}

TEST(FindActivations, EachFormulaIsItsOp) {
  EXPECT_EQ(found([](Value x) { return sigmoid(x) * x; }), OpNames("silu"));
  EXPECT_EQ(found([](Value x) { return x / plus(exp(-x), 1); }), OpNames("silu"));
  EXPECT_EQ(found([](Value x) { return reciprocal(plus(exp(-x), 1)); }), OpNames("sigmoid"));
  EXPECT_EQ(found([](Value x) { return times(x * clip(plus(x, 3), 0, 6), 1.0 / 6); }),
            OpNames("hard_swish"));
  EXPECT_EQ(found([](Value x) { return x * (clip(plus(x, 3), 0, 6) / scalar(x, 6)); }),
            OpNames("hard_swish"));
  EXPECT_EQ(found([](Value x) { return x * hard_sigmoid(x, 1.0 / 6, 0.5); }),
            OpNames("hard_swish"));
  EXPECT_EQ(found([](Value x) { return clip(plus(times(x, 0.2), 0.5), 0, 1); }),
            OpNames("hard_sigmoid"));
  EXPECT_EQ(found([](Value x) { return minimum(maximum(x, scalar(x, 0)), scalar(x, 6)); }),
            OpNames("clip"));
  EXPECT_EQ(found([](Value x) { return maximum(scalar(x, 0), x); }), OpNames("relu"));
  EXPECT_EQ(found([](Value x) { return maximum(x, times(x, 0.1)); }), OpNames("leaky_relu"));
  EXPECT_EQ(found([](Value x) { return log(plus(exp(x), 1)); }), OpNames("softplus"));
  EXPECT_EQ(found([](Value x) { return x * tanh(log1p(exp(x))); }), OpNames("mish"));
  EXPECT_EQ(found([](Value x) { return x / plus(abs(x), 1); }), OpNames("softsign"));
}

Value written_softmax(Value x, int64_t max_axis, int64_t sum_axis) {
  const Value weights = exp(x - reduce_max(x, {max_axis}, true));
  return weights / sum(weights, {sum_axis}, true);
}

TEST(FindActivations, SoftmaxIsOneOp) {
  EXPECT_EQ(found([](Value x) { return written_softmax(x, -1, 1); }), OpNames("softmax"));
  EXPECT_EQ(found([](Value x) { return log(softmax(x, 0)); }), OpNames("log_softmax"));
  EXPECT_EQ(found([](Value x) {
              const Value shifted = x - reduce_max(x, {1}, true);
              return shifted - log(sum(exp(shifted), {1}, true));
            }),
            OpNames("log_softmax"));
}

TEST(FindActivations, WhatDiffersBesideInfinitiesIsNone) {
  EXPECT_EQ(found([](Value x) { return x - logsumexp(x, {1}, true); }), OpNames("logsumexp sub"));
}

TEST(FindActivations, SoftmaxOverTwoAxesIsNone) {
  EXPECT_EQ(found([](Value x) { return written_softmax(x, 0, 1); }),
            OpNames("reduce_max sub exp sum div"));
}

TEST(FindActivations, OtherConstantsAreOtherFormulas) {
  EXPECT_EQ(found([](Value x) { return times(x, 0.5) * plus(erf(times(x, 0.708)), 1); }),
            OpNames("mul erf add mul mul"));
  EXPECT_EQ(found([](Value x) { return x * sigmoid(times(x, 1.702)); }),
            OpNames("mul sigmoid mul"));
  EXPECT_EQ(found([](Value x) { return times(x * clip(plus(x, 3), 0, 6), 1.0 / 5); }),
            OpNames("add clip mul mul"));
  EXPECT_EQ(found([](Value x) { return minimum(maximum(x, scalar(x, 2)), scalar(x, 1)); }),
            OpNames("max min"));
}

TEST(FindActivations, AWeightIsNoConstant) {
  Graph graph;
  const Value x = graph.input("x", f32({3})),
              half = graph.weight("half", Tensor::scalar(DType::f32, 0.5));
  graph.output("y", half * x * plus(erf(times(x, 0.70710678)), 1));
  EXPECT_EQ(ops_after(find_activations, graph), OpNames("mul erf add mul mul"));
}

TEST(FindActivations, AnInnerValueThatIsReadElsewhereStays) {
  Graph graph;
  const Value x = graph.input("x", f32({3})), gate = sigmoid(x);
  graph.output("y", x * gate);
  graph.output("gate", gate);
  EXPECT_EQ(ops_after(find_activations, graph), OpNames("sigmoid mul"));
}

TEST(FindActivations, AConstantThatMakesTheResultLargerIsKept) {
  Graph graph;
  const Value x = graph.input("x", f32({3}));
  const Value one = graph.constant(Tensor::of(DType::f32, {2, 1}, {1, 1}));
  graph.output("y", scalar(x, 0.5) * x * (one + erf(times(x, 0.70710678))));
  EXPECT_EQ(ops_after(find_activations, graph), OpNames("mul erf add mul mul"));
}

// Each has one operand twice: 2^200 ways through them.
TEST(FindActivations, WhatIsAddedToItselfAgainAndAgainIsTakenApartInFewWays) {
  for (const bool multiplied : {false, true}) {
    const std::clock_t before = std::clock();
    Graph graph;
    Value x = graph.input("x", f32({3}));
    for (int i = 0; i < 200; ++i) x = multiplied ? x * x : x + x;
    graph.output("y", x);
    for (const Pass* pass : pass_pipeline()) pass->run(graph);
    EXPECT_LT(std::clock() - before, 10 * CLOCKS_PER_SEC);
  }
}

}  // namespace
}  // namespace rlx
