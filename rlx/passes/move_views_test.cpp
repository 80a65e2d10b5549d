#include "rlx/ops/ops_core.h"
#include "rlx/passes/testing.h"

namespace rlx {
namespace {

// Groups of the host behind the pass: where a product goes on with what follows, it is in one.
OpNames groups_of(const Graph& graph) {
  const Graph moved = after_pass(move_views, graph, host_target());
  return ops_after(fuse, moved, host_target());
}

struct Layer {
  Graph graph;
  Value y;
  explicit Layer(const Dims& shape)
      : y(matmul(graph.input("x", f32(shape)), graph.weight("w", some_tensor({4, 6})))) {}
  Value input(const char* name, const Dims& shape) { return graph.input(name, f32(shape)); }
};

TEST(MoveViews, AResidualIsAddedBeforeTheReshape) {
  Layer layer({10, 4});
  layer.y = layer.y + layer.graph.weight("b", some_tensor({6}));
  layer.graph.output("y", reshape(layer.y, {2, 5, 6}) + layer.input("r", {2, 5, 6}));
  EXPECT_EQ(groups_of(layer.graph), OpNames("reshape fused reshape"));
}

// A scale for each channel of what was computed with channels innermost, and a picture.
TEST(MoveViews, AChainRunsBeforeATranspose) {
  Layer layer({2, 3, 5, 4});
  const Value picture = transpose(layer.y, {0, 3, 1, 2});
  const Value scaled = layer.graph.weight("s", some_tensor({6, 1, 1})) * picture;
  layer.graph.output("y", scaled + layer.input("r", {2, 6, 3, 5}));
  EXPECT_EQ(groups_of(layer.graph), OpNames("transpose fused transpose"));
}

TEST(MoveViews, NumbersAndSymbolsAreNoObstacle) {
  Layer layer({"n", 4});
  const Value rows = reshape(layer.y, Dims{"n", 2, 3});
  layer.graph.output("y", scalar(rows, 2) * rows);
  EXPECT_EQ(groups_of(layer.graph), OpNames("fused reshape"));
}

TEST(MoveViews, WhatWouldBeCopiedStays) {
  Layer turned({10, 4});  // the other operand is no view in the product's shape
  turned.graph.output(
      "y", transpose(reshape(turned.y, {5, 2, 6}), {1, 0, 2}) + turned.input("r", {2, 5, 6}));
  EXPECT_EQ(groups_of(turned.graph), OpNames("matmul reshape transpose add"));
  Layer broadcast({10, 4});
  broadcast.graph.output("y", reshape(broadcast.y, {2, 5, 6}) + broadcast.input("r", {5, 6}));
  EXPECT_EQ(groups_of(broadcast.graph), OpNames("matmul reshape add"));
}

TEST(MoveViews, AViewThatOthersReadStays) {
  Layer layer({10, 4});
  const Value view = reshape(layer.y, {2, 5, 6});
  layer.graph.output("y", exp(view));
  layer.graph.output("view", view);
  EXPECT_EQ(groups_of(layer.graph), OpNames("matmul reshape exp"));
}

TEST(MoveViews, ADeviceKeepsThem) {
  Layer layer({10, 4});
  layer.graph.output("y", exp(reshape(layer.y, {2, 5, 6})));
  EXPECT_EQ(move_views.run(layer.graph, {}).changes, 0);
  const PassTarget gpu = gpu_target();
  EXPECT_EQ(move_views.run(layer.graph, {.target = &gpu}).changes, 0);
}

}  // namespace
}  // namespace rlx
