#include "rlx/ops/ops_core.h"
#include "rlx/ops/ops_random.h"
#include "rlx/passes/testing.h"

namespace rlx {
namespace {

OpNames left(Value (*build)(Value), const TensorType& type = f32({2, 5})) {
  return ops_after(simplify, graph_of(type, build));
}
Value number(Value x, double value) { return scalar(x, value); }

TEST(Simplify, WhatChangesNothingGoes) {
  EXPECT_EQ(after_pass(simplify, R"(%0 = input @"x" : f32[n, 4]
%1 = constant value=f32[]{1} : f32[]
%2 = mul %0, %1 : f32[n, 4]
%3 = reshape %2 allowzero=false shape=dims[n, 2, 2] : f32[n, 2, 2]
%4 = reshape %3 allowzero=false shape=dims[n, 4, 1] : f32[n, 4, 1]
%5 = exp %4 : f32[n, 4, 1]
output "y" %5
)"),
            R"(%0 = input @"x" : f32[n, 4]
%1 = reshape %0 allowzero=false shape=dims[n, 4, 1] : f32[n, 4, 1]
%2 = exp %1 : f32[n, 4, 1]
output "y" %2
)");
}

TEST(Simplify, ArithmeticThatIsExactGoes) {
  EXPECT_EQ(left([](Value x) { return exp(number(x, 1) * x); }), OpNames("exp"));
  EXPECT_EQ(left([](Value x) { return exp(x / number(x, 1)); }), OpNames("exp"));
  EXPECT_EQ(left([](Value x) { return exp(x - number(x, 0)); }), OpNames("exp"));
  EXPECT_EQ(left([](Value x) { return exp(-(-x)); }), OpNames("exp"));
  EXPECT_EQ(left([](Value x) { return pow(x, number(x, 2)); }), OpNames("mul"));
  EXPECT_EQ(left([](Value x) { return x / number(x, 8); }), OpNames("mul"));
  EXPECT_EQ(left([](Value x) { return exp(cast(x + number(x, 0), DType::f32)); }, i32({3})),
            OpNames("cast exp"));
  EXPECT_EQ(left([](Value x) { return cast(x * number(x, 0), DType::f32); }, i32({3})), OpNames());
}

TEST(Simplify, ArithmeticThatIsNotExactStays) {
  EXPECT_EQ(left([](Value x) { return exp(x + number(x, 0)); }), OpNames("add exp"));  // of -0
  EXPECT_EQ(left([](Value x) { return exp(x - number(x, -0.0)); }), OpNames("sub exp"));
  EXPECT_EQ(left([](Value x) { return x / number(x, 3); }), OpNames("div"));
  EXPECT_EQ(left([](Value x) { return number(x, 1) / x; }), OpNames("div"));
  EXPECT_EQ(left([](Value x) { return x * number(x, 0); }), OpNames("mul"));  // of NaN
}

TEST(Simplify, WhatDropsOrPadsNothingGoes) {
  for (const double ratio : {0.0, 0.5}) {
    Graph graph;
    const Value seed = graph.constant(Tensor::scalar(DType::i64, 1));
    graph.output("y", exp(dropout(graph.input("x", f32({2, 5})), seed, ratio)));
    EXPECT_EQ(ops_after(simplify, graph), OpNames(ratio == 0 ? "exp" : "dropout exp"));
  }
  EXPECT_EQ(left([](Value x) { return exp(pad(x, {0, 0, 0, 0})); }), OpNames("exp"));
  EXPECT_EQ(left([](Value x) { return exp(pad(x, {0, 1, 0, -1})); }), OpNames("pad exp"));
}

TEST(Simplify, AOneThatBroadcastsStays) {
  Graph graph;
  const Value x = graph.input("x", f32({3}));
  graph.output("y", x * graph.constant(Tensor::of(DType::f32, {2, 1}, {1, 1})));
  EXPECT_EQ(ops_after(simplify, graph), OpNames("mul"));
}

TEST(Simplify, CastsThatLoseNothingGo) {
  const auto back = [](Value x) { return exp(cast(cast(x, DType::f32), x.dtype())); };
  EXPECT_EQ(left(back, f16({3})), OpNames("exp"));
  EXPECT_EQ(left([](Value x) { return exp(cast(cast(x, DType::f16), DType::f32)); }),
            OpNames("cast cast exp"));
  EXPECT_EQ(left([](Value x) { return cast(cast(x, DType::i64), DType::u8); }, i32({3})),
            OpNames("cast"));
  EXPECT_EQ(left([](Value x) { return cast(cast(x, DType::f32), DType::u8); }, {DType::i8, {3}}),
            OpNames("cast cast"));  // one saturates, the other wraps
}

TEST(Simplify, ViewsThatAreWholeGo) {
  EXPECT_EQ(left([](Value x) { return exp(expand(x, {2, 5})); }), OpNames("exp"));
  EXPECT_EQ(left([](Value x) { return exp(slice(x, {0}, {5}, {1})); }), OpNames("exp"));
  EXPECT_EQ(left([](Value x) { return exp(concat({x}, 0)); }), OpNames("exp"));
  EXPECT_EQ(left([](Value x) { return exp(squeeze(unsqueeze(x, {1}), {1})); }), OpNames("exp"));
  EXPECT_EQ(left([](Value x) { return exp(slice(x, {-1}, {-6}, {1}, {-1})); }),
            OpNames("slice exp"));
  EXPECT_EQ(left([](Value x) { return exp(slice(x, {1}, {5}, {1})); }), OpNames("slice exp"));
}

}  // namespace
}  // namespace rlx
