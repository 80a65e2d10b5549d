#include "rlx/ops/ops_core.h"
#include "rlx/ops/ops_quantise.h"
#include "rlx/passes/testing.h"

namespace rlx {
const OpDef& dequantise_op();

namespace {

TEST(GatherQuantised, RowsOfATableBecomeFloatsAfterTheyAreTaken) {
  EXPECT_EQ(
      after_pass(gather_quantised, R"(%0 = weight value=u8[3, 2]{1, 2, 3, 4, 5, 6} @"w" : u8[3, 2]
%1 = constant value=f32[]{0.5} : f32[]
%2 = constant value=u8[]{3} : u8[]
%3 = constant value=i64[2]{2, 0} : i64[2]
%4 = dequantise %0, %1, %2 : f32[3, 2]
%5 = gather %4, %3 axis=0 : f32[2, 2]
output "y" %5
)"),
      R"(%0 = weight value=u8[3, 2]{1, 2, 3, 4, 5, 6} @"w" : u8[3, 2]
%1 = constant value=f32[]{0.5} : f32[]
%2 = constant value=u8[]{3} : u8[]
%3 = constant value=i64[2]{2, 0} : i64[2]
%4 = gather %0, %3 axis=0 : u8[2, 2]
%5 = dequantise %4, %1, %2 : f32[2, 2]
output "y" %5
)");
}

// gather(dequantise(i8[3, 4, 5], scale), [2, 2] indices, axis)
OpNames of_scales(const Shape& scale, int64_t axis) {
  Graph graph;
  const Value table = graph.input("table", {DType::i8, {3, 4, 5}});
  const Tensor indices = Tensor::of(DType::i64, {2, 2}, {0, 2, -1, 1});
  const Value scales = graph.input("scale", f32(Dims(scale.begin(), scale.end())));
  graph.output(
      "y", gather(table.apply(dequantise_op(), {table, scales}), graph.constant(indices), axis));
  return ops_after(gather_quantised, graph);
}

TEST(GatherQuantised, ScalesOfOtherAxesAreSeenInTheNewShape) {
  EXPECT_EQ(of_scales({5}, 0), OpNames("gather reshape dequantise"));
  EXPECT_EQ(of_scales({5}, 1), OpNames("gather reshape dequantise"));
  EXPECT_EQ(of_scales({3, 1, 1}, 1), OpNames("gather reshape dequantise"));
  EXPECT_EQ(of_scales({4, 1}, -1), OpNames("gather reshape dequantise"));
}

TEST(GatherQuantised, ScalesOfTheGatheredAxisAreGathered) {
  EXPECT_EQ(of_scales({3, 1, 1}, 0), OpNames("gather reshape gather dequantise"));
  EXPECT_EQ(of_scales({4, 5}, 1), OpNames("gather reshape gather dequantise"));
}

TEST(GatherQuantised, ATableThatARunTellsTheExtentOfStays) {
  Graph graph;
  const Value table = graph.input("table", {DType::i8, {"n", 4}});
  const Value scale = graph.constant(Tensor::scalar(DType::f32, 0.5));
  graph.output("y",
               gather(dequantise(table, scale), graph.constant(Tensor::of(DType::i64, {1}, {1}))));
  EXPECT_EQ(ops_after(gather_quantised, graph), OpNames("dequantise gather"));
}

}  // namespace
}  // namespace rlx
