// grid_sample, roi_align, non_max_suppression and det: values by hand, and what a wrong call says.
#include <gtest/gtest.h>

#include <cmath>

#include "rlx/ir/evaluate.h"
#include "rlx/ops/ops_fill.h"
#include "rlx/ops/ops_solve.h"
#include "rlx/ops/ops_vision.h"
#include "rlx/testing.h"

namespace rlx {
namespace {

using Numbers = std::vector<double>;

Tensor result(const Values& made, Graph& graph) {
  graph.output("y", made.at(0));
  return evaluate(graph, {}).outputs.at("y");
}
Numbers elements(const Tensor& tensor) {
  Numbers numbers;
  for (int64_t i = 0; i < tensor.count(); ++i) numbers.push_back(tensor.at(i));
  return numbers;
}
Tensor floats(const Shape& shape, std::initializer_list<double> numbers) {
  return Tensor::of(DType::f32, shape, numbers);
}

Numbers sampled(std::initializer_list<double> place, const GridSampleOptions& options) {
  Graph graph;
  const Value x = graph.constant(floats({1, 1, 2, 2}, {1, 2, 3, 4}));
  return elements(
      result({grid_sample(x, graph.constant(floats({1, 1, 1, 2}, place)), options)}, graph));
}

TEST(GridSample, EdgesAreThoseOfThePictureOrTheMiddlesOfItsElements) {
  EXPECT_EQ(sampled({0, 0}, {}), Numbers{2.5});
  EXPECT_EQ(sampled({-1, -1}, {.align_corners = true}), Numbers{1});
  EXPECT_EQ(sampled({1, -1}, {.align_corners = true}), Numbers{2});
  EXPECT_EQ(sampled({-1, -1}, {}), Numbers{0.25});  // a quarter of the element, zeros around it
}

TEST(GridSample, WhatLiesOutside) {
  EXPECT_EQ(sampled({5, 5}, {}), Numbers{0});
  EXPECT_EQ(sampled({5, 5}, {.padding = "border"}), Numbers{4});
  EXPECT_EQ(sampled({-1.5, -0.5}, {.mode = "nearest", .padding = "reflection"}), Numbers{1});
  EXPECT_EQ(sampled({3, -1}, {.padding = "reflection", .align_corners = true}), Numbers{1});
}

TEST(GridSample, ErrorsNameTheOperand) {
  Graph graph;
  const Value x = graph.input("x", f32({1, 2, 3, 4})), grid = graph.input("g", f32({1, 2, 3, 2}));
  EXPECT_EQ(error_of([&] { grid_sample(grid, x); }),
            "grid_sample: grid is f32[1, 2, 3, 4], it needs floats [N, H, W, 2]");
  EXPECT_EQ(error_of([&] { grid_sample(x, grid, {.mode = "bilinear"}); }),
            "grid_sample: there is no mode 'bilinear'; it takes nearest, linear, cubic");
  EXPECT_EQ(error_of([&] {
              grid_sample(x, graph.input("h", f32({2, 2, 3, 2})));
            }),
            "grid_sample: dim 0 of x f32[1, 2, 3, 4] and grid f32[2, 2, 3, 2]: 1 and 2");
}

Numbers aligned(const RoiAlignOptions& options, double picture = 0) {
  Graph graph;
  const Value x = graph.constant(floats({1, 1, 2, 2}, {1, 2, 3, 4}));
  const Value rois = graph.constant(floats({1, 4}, {0, 0, 2, 2}));
  const Value pictures = graph.constant(Tensor::of(DType::i64, {1}, {picture}));
  return elements(result({roi_align(x, rois, pictures, options)}, graph));
}

TEST(RoiAlign, BinsOfTheWholePictureAreItsElements) {
  EXPECT_EQ(aligned({.height = 2, .width = 2}), (Numbers{1, 2, 3, 4}));
  EXPECT_EQ(aligned({.samples = 2}), Numbers{2.5});
  EXPECT_EQ(aligned({.mode = "max", .samples = 2}), Numbers{4});
}

// The mean of 1024 points by 1024, of which none is near the picture.
TEST(RoiAlign, ARegionWithoutEndHasOne) {
  Graph graph;
  const Value x = graph.constant(floats({1, 1, 2, 2}, {1, 2, 3, 4}));
  const Value rois = graph.constant(floats({1, 4}, {0, 0, INFINITY, 1e30}));
  const Value picture = graph.constant(Tensor::of(DType::i64, {1}, {0}));
  EXPECT_EQ(elements(result({roi_align(x, rois, picture, {})}, graph)), Numbers{0});
}

TEST(RoiAlign, ErrorsNameTheRegion) {
  EXPECT_EQ(error_of([] {
              aligned({}, 3);
            }).rfind("roi_align: picture 3 of region 0 is out of range for x f32[1, 1, 2, 2]", 0),
            0U);
  EXPECT_EQ(error_of([] { aligned({.mode = "sum"}); }),
            "roi_align: there is no mode 'sum'; it takes avg, max");
  EXPECT_EQ(error_of([] { aligned({.height = 0}); }),
            "roi_align: 0 by 1 bins of 0 samples cannot be");
}

// Three boxes of which the first two overlap by a third of their union.
Tensor suppressed(double most, double overlap, double least, bool given = true) {
  Graph graph;
  const Value boxes =
      graph.constant(floats({1, 3, 4}, {0, 0, 1, 2, 0, 1, 1, 3, 2, 3, 1, 2}));  // a turned one
  const Value scores = graph.constant(floats({1, 1, 3}, {0.5, 0.75, 0.25}));
  const Value count = graph.constant(Tensor::of(DType::i64, {1}, {most}));
  if (!given) return result({non_max_suppression(boxes, scores)}, graph);
  return result({non_max_suppression(boxes, scores, count, graph.constant(floats({1}, {overlap})),
                                     graph.constant(floats({1}, {least})))},
                graph);
}

TEST(RoiAlign, SamplesHaveALimit) {
  Graph graph;
  const Value x = graph.input("x", f32({1, 1, 2, 2})), rois = graph.input("rois", f32({1, 4}));
  const Value pictures = graph.constant(Tensor(DType::i64, {1}));
  EXPECT_EQ(error_of([&] { roi_align(x, rois, pictures, {.samples = int64_t{1} << 40}); }),
            "roi_align: 1099511627776 samples are more than 1024");
}

TEST(NonMaxSuppression, KeepsTheBestThatOverlapNoBetterOne) {
  EXPECT_EQ(elements(suppressed(9, 0.5, 0)), (Numbers{0, 0, 1, 0, 0, 0, 0, 0, 2}));
  EXPECT_EQ(elements(suppressed(9, 0.25, 0)), (Numbers{0, 0, 1, 0, 0, 2}));
  EXPECT_EQ(elements(suppressed(1, 0.5, 0)), (Numbers{0, 0, 1}));
  EXPECT_EQ(elements(suppressed(9, 0.5, 0.25)), (Numbers{0, 0, 1, 0, 0, 0}));
  EXPECT_EQ(suppressed(9, 0.5, 1).shape(), (Shape{0, 3}));
  EXPECT_EQ(suppressed(0, 0, 0, false).shape(), (Shape{0, 3}));
}

TEST(NonMaxSuppression, ErrorsNameTheOperand) {
  Graph graph;
  const Value boxes = graph.input("b", f32({1, 3, 4})), scores = graph.input("s", f32({1, 2, 3}));
  EXPECT_EQ(error_of([&] { non_max_suppression(scores, scores); }),
            "non_max_suppression: boxes are f32[1, 2, 3], they need to be floats [B, N, 4]");
  EXPECT_EQ(error_of([&] { non_max_suppression(boxes, scores, boxes); }),
            "non_max_suppression: most must be one integer, got f32[1, 3, 4]");
}

TEST(Det, IsTheProductOfThePivotsWithTheirSign) {
  Graph graph;
  const Value a = graph.constant(floats({3, 2, 2}, {1, 2, 3, 4, 0, 2, 3, 0, 1, 2, 2, 4}));
  EXPECT_EQ(elements(result({det(a)}, graph)), (Numbers{-2, -6, 0}));
  EXPECT_EQ(error_of([&] {
              det(graph.input("b", f32({2, 3})));
            }),
            "det: a f32[2, 3] is not square: 2 and 3");
}

TEST(FloatRange, EndsBeforeTheLimit) {
  const auto range = [](double start, double limit, double delta) {
    Graph graph;
    return elements(result(
        {float_range(graph.constant(floats({}, {start})), graph.constant(floats({}, {limit})),
                     graph.constant(floats({}, {delta})))},
        graph));
  };
  EXPECT_EQ(range(1, 5, 2), (Numbers{1, 3}));
  EXPECT_EQ(range(1, 5.5, 2), (Numbers{1, 3, 5}));
  EXPECT_EQ(range(1, 0, 2), Numbers{});
  EXPECT_EQ(error_of([&] {
              range(0, 1, 0);
            }).rfind("float_range: from 0 to 1 by 0 has no end that can be reached", 0),
            0U);
}

}  // namespace
}  // namespace rlx
