#include "rlx/ops/elementwise.h"
#include "rlx/ops/ops_core.h"
#include "rlx/ops/ops_cumulative.h"
#include "rlx/passes/ranges.h"
#include "rlx/passes/testing.h"

namespace rlx {
namespace {

OpNames fitted(const Graph& graph) {
  const Graph after = after_pass(fit_integers, graph);
  OpNames names;
  for (const Node& node : after.nodes())
    if (!is_source(node)) names.insert(node.op->name);
  return names;
}
OpNames fitted(const TensorType& type, Value (*build)(Value)) {
  return fitted(graph_of(type, build));
}

Value whole(Value like, int64_t number) {
  Tensor tensor(DType::i64, {});
  tensor.set_integer(0, number);
  return constant_beside(like, tensor);
}

Value mod(Value x, Value y) { return x.apply(elementwise_op("mod"), {x, y}); }

TEST(FitIntegers, AFlagCountsInOneWord) {
  EXPECT_EQ(after_pass(fit_integers, R"(%0 = input @"x" : bool[n, 4]
%1 = cast %0 to=i64 : i64[n, 4]
%2 = add %1, %1 : i64[n, 4]
%3 = cast %2 to=f32 : f32[n, 4]
output "y" %3
)"),
            R"(%0 = input @"x" : bool[n, 4]
%1 = cast %0 to=i64 : i64[n, 4]
%2 = cast %1 to=i32 : i32[n, 4]
%3 = cast %1 to=i32 : i32[n, 4]
%4 = add %2, %3 : i32[n, 4]
%5 = cast %4 to=i64 : i64[n, 4]
%6 = cast %5 to=f32 : f32[n, 4]
output "y" %6
)");
}

TEST(FitIntegers, WhatIsKnownToFitIsOfOneWord) {
  EXPECT_EQ(fitted(f32({"n"}),
                   [](Value x) {
                     const Value mask = cast(greater(x, scalar(x, 0)), DType::i64);
                     return cumsum(mask, 0) * mask + whole(mask, 1);
                   }),
            OpNames("gt cast cast cumsum cast cast cast mul cast cast cast add cast"));
}

TEST(FitIntegers, OthersAreOfTwo) {
  EXPECT_EQ(fitted(i64({3}), [](Value x) { return x * whole(x, 3); }),
            OpNames("words words words"));
  EXPECT_EQ(fitted(i64({3}), [](Value x) { return mod(x * whole(x, 3), whole(x, 10)); }),
            OpNames("words words words"));
}

TEST(FitIntegers, RunningTotalsTakeTwoWordsWhereTheyMayBeAny) {
  EXPECT_EQ(fitted(i64({3, 4}), [](Value x) { return cumsum(x, -1, true); }),
            OpNames("words cumsum words"));
  EXPECT_EQ(fitted(f32({"n"}),
                   [](Value x) { return cumprod(cast(greater(x, scalar(x, 0)), DType::i64), 0); }),
            OpNames("gt cast words cumprod words"));
}

TEST(FitIntegers, ComparisonsAndShapesStay) {
  EXPECT_EQ(fitted(i64({3}), [](Value x) { return less(x, whole(x, 3)); }), OpNames("lt"));
  EXPECT_EQ(fitted(f32({"n"}),
                   [](Value x) {
                     return reshape(x, Dims{1, "n"});
                   }),
            OpNames("reshape"));
}

TEST(FitIntegers, AHostKeepsItsOwn) {
  const Graph graph = graph_of(i64({3}), [](Value x) { return x * x; });
  const PassTarget host;
  EXPECT_EQ(print(fit_integers.run(graph, {.target = &host}).graph), print(graph));
}

Range range_of(const TensorType& type, Value (*build)(Value)) {
  const Graph graph = graph_of(type, build);
  return Ranges(graph, gpu_target().traits, false).of(graph.outputs()[0].value);
}
void expect_range(const Range& range, double low, double high) {
  EXPECT_EQ(range.low, low);
  EXPECT_EQ(range.high, high);
}

TEST(Ranges, FollowArithmetic) {
  const auto byte = TensorType{DType::i8, {4}};
  expect_range(range_of(byte, [](Value x) { return cast(x, DType::i64) * whole(x, -2); }), -254,
               256);
  expect_range(range_of(byte, [](Value x) { return abs(cast(x, DType::i64)) - whole(x, 1); }), -1,
               127);
  expect_range(range_of(byte, [](Value x) { return mod(cast(x, DType::i64), whole(x, 7)); }), 0, 6);
  expect_range(range_of(byte, [](Value x) { return cast(x, DType::i64) / whole(x, 3); }), -42, 42);
  expect_range(range_of(byte, [](Value x) { return minimum(cast(x, DType::i64), whole(x, 5)); }),
               -128, 5);
}

TEST(Ranges, BoundSumsByExtents) {
  expect_range(
      range_of({DType::boolean, {3, 5}}, [](Value x) { return sum(cast(x, DType::i64), {1}); }), 0,
      5);
  // At most as many as a buffer holds.
  expect_range(
      range_of({DType::boolean, {"n"}}, [](Value x) { return cumsum(cast(x, DType::i64), 0); }), 0,
      1 << 28);
}

TEST(Ranges, OfFloatsSaturateAsTheCastDoes) {
  const Range range =
      range_of(f32({3}), [](Value x) { return cast(minimum(x, scalar(x, 100.5)), DType::i64); });
  EXPECT_LE(range.low, -9e18);
  EXPECT_EQ(range.high, 100);
}

TEST(Ranges, WrapToAll) {
  expect_range(range_of({DType::u8, {3}}, [](Value x) { return x + x; }), 0, 255);
}

}  // namespace
}  // namespace rlx
