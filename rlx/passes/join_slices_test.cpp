#include "rlx/ops/views.h"
#include "rlx/passes/testing.h"

namespace rlx {

const OpDef& sort_op();

namespace {

// By a kernel that computes no load.
Value sorted(Value x) { return x.apply(sort_op(), {x}); }

struct Net {
  Graph graph;
  Value x;
  explicit Net(const TensorType& type) : x(graph.input("x", type)) {}
  // Of the last axis, as long as said.
  Values parts(const Ints& lengths) const {
    Values all;
    int64_t first = 0;
    for (const int64_t length : lengths) {
      all.push_back(slice_axis(x, x.shape().size() - 1, first, first + length));
      first += length;
    }
    return all;
  }
  // The ops that are left; the graph computes the same.
  std::string joined() {
    const PassTarget target = gpu_target();
    const Graph made = join_slices.run(graph, {.target = &target}).graph;
    verify(made);
    expect_same(graph, made);
    std::string ops;
    for (const Node& node : made.nodes())
      if (!is_source(node)) ops += (ops.empty() ? "" : " ") + node.op->name;
    return ops;
  }
};

TEST(JoinSlices, OpsOnSlicesThatAreReadApartAreOne) {
  Net net(f32({3, 12}));
  for (const Value& part : net.parts({4, 4, 4}))
    net.graph.output(text('y', part.node), sorted(tanh(part) * part));
  EXPECT_EQ(net.joined(), "tanh mul slice sort slice sort slice sort");
}

TEST(JoinSlices, AConcatOfWhatIsComputedOfSlicesIsWhatIsComputedOfAll) {
  Net net(f32({3, 11}));
  Values computed;
  for (const Value& part : net.parts({4, 1, 6}))
    computed.push_back(relu(part + net.graph.input(text('b', part.node), f32({3, 1}))));
  net.graph.output("y", concat(computed, 1));
  EXPECT_EQ(net.joined(), "slice slice slice add relu add relu add relu concat");
  Net shared(f32({3, 11}));
  const Value bias = shared.graph.input("b", f32({3, 1}));
  computed.clear();
  for (const Value& part : shared.parts({4, 1, 6})) computed.push_back(relu(part + bias));
  shared.graph.output("y", concat(computed, 1));
  EXPECT_EQ(shared.joined(), "add relu");
}

TEST(JoinSlices, OnlyNeighboursAreJoined) {
  Net net(f32({3, 12}));
  const Values parts = net.parts({4, 4, 4});
  net.graph.output("y", concat({relu(parts[0]), relu(parts[2])}, 1));
  EXPECT_EQ(net.joined(), "slice slice slice relu relu concat");
  Net turned(f32({3, 12}));
  const Values halves = turned.parts({6, 6});
  turned.graph.output("y", concat({-halves[1], -halves[0]}, 1));
  EXPECT_EQ(turned.joined(), "slice slice neg neg concat");
}

TEST(JoinSlices, WhatIsPutTogetherTwiceIsNoSlice) {
  Net net(f32({3, 1}));
  const Value y = relu(net.x);
  net.graph.output("y", concat({y, y}, 1));
  net.graph.output("z", concat({tanh(net.x), tanh(net.x)}, 1));
  EXPECT_EQ(net.joined(), "relu concat tanh tanh concat");
}

TEST(JoinSlices, SomeOfAllSlicesAreJoined) {
  Net net(f32({2, 16}));
  const Values gates = net.parts({4, 4, 4, 4});
  for (size_t i = 0; i < 3; ++i)
    net.graph.output(text('y', i), sorted(sigmoid(gates[i]) * gates[i]));
  net.graph.output("y", sorted(tanh(gates[3])));
  EXPECT_EQ(net.joined(), "slice slice sigmoid mul slice sort slice sort slice sort tanh sort");
}

TEST(JoinSlices, WhatOneKernelComputesStays) {
  Net net(f32({3, 8}));
  const Values halves = net.parts({4, 4});
  net.graph.output("y", gelu(halves[0]) * gelu(halves[1]));
  EXPECT_EQ(net.joined(), "slice slice gelu gelu mul");
}

TEST(JoinSlices, ResultsOfTheGraphStayApart) {
  Net net(f32({3, 8}));
  for (const Value& half : net.parts({4, 4})) net.graph.output(text('y', half.node), tanh(half));
  EXPECT_EQ(net.joined(), "slice slice tanh tanh");
}

// A reshape that no view of a slice can say would be a copy of each.
TEST(JoinSlices, WhatWouldBeCopiedStays) {
  Net net(f32({3, 8}));
  for (const Value& half : net.parts({4, 4}))
    net.graph.output(text('y', half.node), sorted(reshape(tanh(half), Dims{2, 6})));
  EXPECT_EQ(net.joined(), "slice slice tanh reshape sort tanh reshape sort");
}

TEST(JoinSlices, SlicesOfSeveralValuesAreJoinedTogether) {
  Net net(f32({"n", 8}));
  const Value other = net.graph.input("other", f32({5, 1, 10}));
  Values computed;
  for (int64_t i = 0; i < 2; ++i)
    computed.push_back(slice_axis(net.x, 1, 4 * i, 4 * i + 4) *
                       slice_axis(other, 2, 4 * i + 1, 4 * i + 5));
  net.graph.output("y", concat(computed, 2));
  EXPECT_EQ(net.joined(), "slice mul");
}

}  // namespace
}  // namespace rlx
