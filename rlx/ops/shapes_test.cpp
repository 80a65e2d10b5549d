// Claims about tile, pad, range, trilu, eye_like, size_of and the compositions of views.

#include <gtest/gtest.h>

#include <cmath>

#include "rlx/compile/lower_graph.h"
#include "rlx/ops/ops_core.h"
#include "rlx/ops/ops_fill.h"
#include "rlx/ops/ops_rearrange.h"
#include "rlx/ops/testing.h"

namespace rlx {

using namespace detail;
namespace {

Tensor integer(double value) { return Tensor::scalar(DType::i64, value); }

size_t dispatches(const Graph& graph) {
  const DeviceTraits traits{.name = "test", .device_class = DeviceClass::software};
  return lower_graph(graph, traits).steps.list.size();
}

TEST(Tile, RepeatsEachDim) {
  EXPECT_EQ(elements({numbered({2, 2}, 0)},
                     [](const Values& v) {
                       return tile(v[0], Dims{1, 2});
                     }),
            (Numbers{0, 1, 0, 1, 2, 3, 2, 3}));
  Graph graph;
  const Value x = graph.input("x", f32({"n", 3}));
  EXPECT_EQ(tile(x, Dims{2, 1}).shape(), (Dims{Dim("n") * Dim(2), 3}));
  EXPECT_EQ(error_of([&] { tile(x, Dims{2}); }),
            "tile: there are 1 repeats for f32[n, 3] (rank 2)");
  EXPECT_EQ(error_of([&] { tile(x, Dims{2, -1}); }), "tile: repeat -1 of dim 1 is negative");
}

TEST(Tile, OfAViewIsOneDispatch) {
  Graph graph;
  graph.output("y", tile(transpose(graph.input("x", f32({3, 5})), {1, 0}), Dims{2, 3}));
  EXPECT_EQ(dispatches(graph), 1u);
}

TEST(Pad, FillsAsTheModeSays) {
  const auto with = [](const char* mode, Dims pads) {
    return elements({numbered({4}, 0)}, [&](const Values& v) { return pad(v[0], pads, mode, 9); });
  };
  EXPECT_EQ(with("constant", {2, 1}), (Numbers{9, 9, 0, 1, 2, 3, 9}));
  EXPECT_EQ(with("reflect", {2, 5}), (Numbers{2, 1, 0, 1, 2, 3, 2, 1, 0, 1, 2}));
  EXPECT_EQ(with("edge", {2, 1}), (Numbers{0, 0, 0, 1, 2, 3, 3}));
  EXPECT_EQ(with("wrap", {2, 5}), (Numbers{2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 0}));
}

TEST(Pad, NegativePadsTakeOff) {
  EXPECT_EQ(elements({numbered({4}, 0)},
                     [](const Values& v) {
                       return pad(v[0], {-1, 2}, "constant", 9);
                     }),
            (Numbers{1, 2, 3, 9, 9}));
}

TEST(Pad, ErrorsNameOpValueAndLimit) {
  Graph graph;
  const Value x = graph.input("x", f32({2, 0}));
  EXPECT_EQ(error_of([&] { pad(x, {1, 1}); }), "pad: there are 2 pads for 2 axes of f32[2, 0]");
  EXPECT_EQ(error_of([&] {
              pad(x, {0, 0, -3, 0});
            }),
            "pad: pads 0 and -3 take more off dim 0 of f32[2, 0] than there is");
  EXPECT_EQ(error_of([&] {
              pad(x, {0, 1, 0, 0}, "edge");
            }),
            "pad: dim 1 of f32[2, 0] is empty, there is nothing to repeat");
  EXPECT_EQ(error_of([&] {
              pad(x, {0, 0, 0, 0}, "mirror");
            }),
            "pad: there is no mode 'mirror'; it takes constant, reflect, edge, wrap");
}

TEST(Range, StopsBeforeTheLimit) {
  const auto build = [](const Values& v) { return range(v[0], v[1], v[2]); };
  EXPECT_EQ(elements({integer(2), integer(9), integer(3)}, build), (Numbers{2, 5, 8}));
  EXPECT_EQ(elements({integer(5), integer(0), integer(-2)}, build), (Numbers{5, 3, 1}));
  EXPECT_EQ(elements({integer(5), integer(0), integer(2)}, build), (Numbers{}));
  EXPECT_EQ(elements({numbered({}, 0)}, [](const Values& v) { return range(v[0], 0, 1, 0.25); }),
            (Numbers{0, 0.25, 0.5, 0.75}));
  EXPECT_EQ(error_of([&] {
              elements({integer(5), integer(0), integer(0)}, build);
            }),
            "range: delta is 0");
}

TEST(Range, OfFloatsHasAnEnd) {
  Graph graph;
  const Value like = graph.input("x", f32({}));
  EXPECT_EQ(error_of([&] { range(like, 0, INFINITY, 1); }),
            "range: from 0 to inf by 1 has no end that can be reached in 1073741824 steps");
  EXPECT_NE(error_of([&] { range(like, 0, NAN, 1); }), "");
  EXPECT_EQ(range(like, 0, -INFINITY, 1).shape(), Dims{0});
}

TEST(Range, IsKnownOnTheHostWhereItsLengthIs) {
  Graph graph;
  const Value x = graph.input("x", f32({"n", 3}));
  EXPECT_EQ(counting(x, "n").shape(), (Dims{"n"}));
  const Value three = counting(x, 3);
  ASSERT_TRUE(three.producer().host_values[0]);
  EXPECT_EQ(three.producer().host_values[0]->elements, (std::vector<Dim>{0, 1, 2}));
}

TEST(Trilu, KeepsOneSideOfADiagonal) {
  const Tensor x = numbered({2, 3}, 0);
  EXPECT_EQ(elements({x}, [](const Values& v) { return trilu(v[0]); }),
            (Numbers{0, 1, 2, 0, 4, 5}));
  EXPECT_EQ(elements({x}, [](const Values& v) { return trilu(v[0], false, 1); }),
            (Numbers{0, 1, 0, 3, 4, 5}));
  EXPECT_EQ(elements({x}, [](const Values& v) { return eye_like(v[0], DType::i32, 1); }),
            (Numbers{0, 1, 0, 0, 0, 1}));
  Graph graph;
  EXPECT_EQ(error_of([&] { trilu(graph.input("x", f32({3}))); }),
            "trilu: f32[3] is not a matrix (rank 1)");
}

TEST(SizeOf, CountsElements) {
  EXPECT_EQ(elements({numbered({2, 3}, 0)}, [](const Values& v) { return size_of(v[0]); }),
            (Numbers{6}));
  EXPECT_EQ(
      elements({numbered({2, 3, 4}, 0)}, [](const Values& v) { return shape_of(v[0], 1, -1); }),
      (Numbers{3}));
}

TEST(Split, GivesViewsOfGivenOrEqualLengths) {
  Graph graph;
  const Value x = graph.input("x", f32({7, "n"}));
  const Values parts = split(x, 3, 0), given = split(x, Dims{2, 5}, 0);
  ASSERT_EQ(parts.size(), 3u);
  EXPECT_EQ(parts[1].shape(), (Dims{3, "n"}));
  EXPECT_EQ(parts[2].shape(), (Dims{1, "n"}));
  EXPECT_EQ(given[1].shape(), (Dims{5, "n"}));
  EXPECT_EQ(error_of([&] {
              split(x, Dims{2, 4}, 0);
            }),
            "split: lengths add up to 6, not to dim 0 of f32[7, n] (7)");
}

TEST(Reverse, IsAViewAndRollOneDispatch) {
  EXPECT_EQ(elements({numbered({2, 2}, 0)}, [](const Values& v) { return reverse(v[0], {0}); }),
            (Numbers{2, 3, 0, 1}));
  EXPECT_EQ(elements({numbered({5}, 0)}, [](const Values& v) { return roll(v[0], {2}, {0}); }),
            (Numbers{3, 4, 0, 1, 2}));
  EXPECT_EQ(elements({numbered({5}, 0)}, [](const Values& v) { return roll(v[0], {-6}, {0}); }),
            (Numbers{1, 2, 3, 4, 0}));
  Graph graph;
  const Value x = graph.input("x", f32({3, "n"}));
  graph.output("y", roll(reverse(x, {0, 1}), {1, 2}, {0, 1}));
  EXPECT_EQ(graph.outputs()[0].value.shape(), (Dims{3, "n"}));
  EXPECT_EQ(dispatches(graph), 1u);
}

TEST(DepthToSpace, HasBothOrders) {
  const Tensor x = numbered({1, 4, 1, 2}, 0);
  EXPECT_EQ(elements({x}, [](const Values& v) { return depth_to_space(v[0], 2); }),
            (Numbers{0, 2, 1, 3, 4, 6, 5, 7}));
  const Tensor deep = numbered({1, 8, 1, 1}, 0);
  EXPECT_EQ(elements({deep}, [](const Values& v) { return depth_to_space(v[0], 2); }),
            (Numbers{0, 2, 4, 6, 1, 3, 5, 7}));
  EXPECT_EQ(elements({deep}, [](const Values& v) { return depth_to_space(v[0], 2, "CRD"); }),
            (Numbers{0, 1, 2, 3, 4, 5, 6, 7}));
  EXPECT_EQ(
      elements({deep}, [](const Values& v) { return space_to_depth(depth_to_space(v[0], 2), 2); }),
      (Numbers{0, 1, 2, 3, 4, 5, 6, 7}));
  Graph graph;
  EXPECT_EQ(error_of([&] {
              depth_to_space(graph.input("x", f32({1, 6, 1, 1})), 2);
            }),
            "depth_to_space: dim 1 of f32[1, 6, 1, 1] is not a multiple of 4");
}

TEST(Flatten, MakesAMatrix) {
  Graph graph;
  const Value x = graph.input("x", f32({2, "n", 5}));
  EXPECT_EQ(flatten(x, -1).shape(), (Dims{Dim("n") * Dim(2), 5}));
  EXPECT_EQ(flatten(x, 0).shape(), (Dims{1, Dim("n") * Dim(10)}));
  EXPECT_EQ(error_of([&] { flatten(x, 4); }),
            "flatten: axis 4 is out of range for f32[2, n, 5] (rank 3)");
}

}  // namespace
}  // namespace rlx
