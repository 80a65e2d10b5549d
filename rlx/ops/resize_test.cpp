// Claims about resize, with the values of ONNX's own examples.

#include <gtest/gtest.h>

#include "rlx/ops/ops_resize.h"
#include "rlx/ops/testing.h"

namespace rlx {
namespace {

Tensor resized(const Tensor& x, const Dims& sizes, const ResizeOptions& options) {
  Graph graph;
  graph.output("y", resize(graph.constant(x), sizes, options));
  return evaluate(graph, {}).outputs.at("y");
}

void expect_start(const Tensor& got, const Shape& shape, const Numbers& wanted) {
  EXPECT_EQ(got.shape(), shape);
  const Shape start = {static_cast<int64_t>(wanted.size())};
  expect_tensor(got.first(start), start, wanted, 2e-6);
}

TEST(Resize, NearestRepeatsElements) {
  expect_tensor(resized(numbered({2, 2}), {}, {.scales = {2, 3}}), {4, 6},
                {1, 1, 1, 2, 2, 2, 1, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 4, 3, 3, 3, 4, 4, 4}, 2e-6);
  expect_tensor(resized(numbered({2, 4}), {}, {.scales = {0.6, 0.6}}), {1, 2}, {1, 3}, 2e-6);
}

// Fractions of these scales have terms of thousands.
TEST(Resize, ScalesNearOneAndNearZeroAreExact) {
  const auto extent = [](int64_t of, double scale) {
    Graph graph;
    return resize(graph.input("x", f32({of})), Dims{}, {.scales = {scale}}).shape()[0];
  };
  EXPECT_EQ(extent(100000, double{1.0001F}), Dim(100010));
  EXPECT_EQ(extent(8192, 0x1p-13), Dim(1));
  expect_tensor(resized(numbered({8192}), {}, {.scales = {0x1p-13}}), {1}, {4096}, 0);
  expect_tensor(resized(numbered({10000}), {1}, {.mode = "linear", .scales = {0.0001}}), {1},
                {5000.5}, 1e-3);
  EXPECT_EQ(error_of([&] { extent(4, 1e-9); }), "resize: scale 1e-09 is below 1 / 16777216");
}

TEST(Resize, RoundsTiesAsAsked) {
  const auto with = [](const char* rounding) {
    return resized(numbered({4}), {2}, {.rounding = rounding});
  };
  expect_tensor(with("round_prefer_floor"), {2}, {1, 3}, 2e-6);
  expect_tensor(with("round_prefer_ceil"), {2}, {2, 4}, 2e-6);
  expect_tensor(with("floor"), {2}, {1, 3}, 2e-6);
  expect_tensor(with("ceil"), {2}, {2, 4}, 2e-6);
}

// What onnxruntime 1.30 gives, whose coordinates are f32, and what the exact fractions give.
TEST(Resize, NearestFindsItsCoordinatesInFloatsUnlessTheyAreToBeExact) {
  const auto with = [](double scale, const char* coordinates, const char* rounding, bool exact) {
    return elements(resized(numbered({37}, 0), {},
                            {.coordinates = coordinates,
                             .rounding = rounding,
                             .scales = {double{static_cast<float>(scale)}},
                             .exact = exact}));
  };
  EXPECT_EQ(
      with(0.6, "asymmetric", "floor", false),
      (Numbers{0, 1, 3, 5, 6, 8, 10, 11, 13, 14, 16, 18, 20, 21, 23, 24, 26, 28, 29, 31, 33, 35}));
  EXPECT_EQ(
      with(0.6, "asymmetric", "floor", true),
      (Numbers{0, 1, 3, 5, 6, 8, 10, 11, 13, 15, 16, 18, 20, 21, 23, 25, 26, 28, 30, 31, 33, 35}));
  EXPECT_EQ(
      with(0.6, "half_pixel", "floor", false),
      (Numbers{0, 2, 3, 5, 6, 8, 10, 11, 13, 15, 17, 18, 20, 22, 23, 25, 26, 28, 30, 32, 33, 35}));
  EXPECT_EQ(with(0.3, "asymmetric", "floor", false),
            (Numbers{0, 3, 6, 10, 13, 16, 20, 23, 26, 29, 33}));
  EXPECT_EQ(with(0.3, "half_pixel", "round_prefer_ceil", false),
            (Numbers{1, 5, 8, 11, 15, 18, 21, 24, 28, 31, 35}));
  const Numbers larger = with(2.4, "asymmetric", "floor", false);
  ASSERT_EQ(larger.size(), 88U);
  EXPECT_EQ((Numbers{larger[36], larger[37], larger[60], larger[61], larger[72]}),
            (Numbers{14, 15, 24, 25, 29}));
  const Numbers sized =
      elements(resized(numbered({5}, 0), {12}, {.coordinates = "asymmetric", .rounding = "floor"}));
  EXPECT_EQ(sized, (Numbers{0, 0, 0, 1, 1, 2, 2, 2, 3, 3, 4, 4}));
}

TEST(Resize, TheLastCornerIsTheLastElementUnlessItIsToBeExact) {
  const auto with = [](bool exact) {
    return elements(resized(
        numbered({16}, 0), {},
        {.mode = "linear", .coordinates = "align_corners", .scales = {0.6}, .exact = exact}));
  };
  EXPECT_EQ(with(false), (Numbers{0, 1.875, 3.75, 5.625, 7.5, 9.375, 11.25, 13.125, 15}));
  EXPECT_NEAR(with(true).back(), 8 * 15 / 8.6, 1e-5);
  // ONNX's own example.
  expect_tensor(
      resized(
          numbered({2, 4}), {},
          {.mode = "linear", .coordinates = "align_corners", .scales = {0.6, 0.6}, .exact = true}),
      {1, 2}, {1, 3.142857}, 2e-6);
}

TEST(Resize, LinearWeighsNeighbours) {
  const Tensor square = numbered({2, 2});
  expect_tensor(resized(square, {}, {.mode = "linear", .scales = {2, 2}}), {4, 4},
                {1, 1.25, 1.75, 2, 1.5, 1.75, 2.25, 2.5, 2.5, 2.75, 3.25, 3.5, 3, 3.25, 3.75, 4},
                2e-6);
  expect_start(
      resized(square, {}, {.mode = "linear", .coordinates = "align_corners", .scales = {2, 2}}),
      {4, 4}, {1, 4.0 / 3, 5.0 / 3, 2, 5.0 / 3, 2, 7.0 / 3, 8.0 / 3});
  expect_tensor(resized(numbered({2, 4}), {}, {.mode = "linear", .scales = {0.6, 0.6}}), {1, 2},
                {2.6666665, 4.3333331}, 2e-6);
}

TEST(Resize, CubicHasFourNeighbours) {
  expect_start(
      resized(numbered({4, 4}), {}, {.mode = "cubic", .scales = {2, 2}}), {8, 8},
      {0.47265625, 0.76953125, 1.24609375, 1.875, 2.28125, 2.91015625, 3.38671875, 3.68359375});
}

TEST(Resize, OutsideMayBeExcluded) {
  expect_start(
      resized(numbered({4, 4}), {},
              {.mode = "cubic", .scales = {2, 2}, .exclude_outside = true, .cubic_a = -0.5}),
      {8, 8}, {0.55882353, 0.81494204, 1.35698249, 1.89705882});
}

TEST(Resize, AntialiasingSeesAllThatShrinks) {
  const Tensor square = numbered({4, 4});
  expect_tensor(resized(square, {}, {.mode = "linear", .scales = {0.6, 0.6}, .antialias = true}),
                {2, 2}, {2.875, 4.5, 9.375, 11}, 2e-6);
  expect_tensor(resized(square, {}, {.mode = "cubic", .scales = {0.6, 0.6}, .antialias = true}),
                {2, 2}, {2.5180721, 4.2858863, 9.589329, 11.357142}, 2e-6);
}

TEST(Resize, CropsAndFillsWhatIsOutside) {
  const ResizeOptions crop{
      .mode = "linear", .coordinates = "tf_crop_and_resize", .roi = {0, 2}, .outside_value = 10};
  expect_tensor(resized(numbered({3}), {3}, crop), {3}, {1, 3, 10}, 2e-6);
}

TEST(Resize, ExtentsFollowSymbols) {
  Graph graph;
  const Value x = graph.input("x", f32({"n", 4}));
  EXPECT_EQ(resize(x, Dims{}, {.scales = {2, 0.5}}).shape(), (Dims{Dim("n") * Dim(2), 2}));
  EXPECT_EQ(resize(x, {"m"}, {.axes = {-1}}).shape(), (Dims{"n", "m"}));
}

TEST(Resize, ErrorsNameOpValueAndLimit) {
  Graph graph;
  const Value x = graph.input("x", f32({2, 4})), whole = graph.input("whole", i32({2, 4}));
  const auto error = [](Value of, const Dims& sizes, const ResizeOptions& options) {
    return error_of([&] { resize(of, sizes, options); });
  };
  EXPECT_EQ(error(x, {3}, {}), "resize: there are 1 sizes for 2 axes of f32[2, 4]");
  ResizeOptions beyond{.coordinates = "tf_crop_and_resize"};
  beyond.roi = {0, 0, 1e31, 1};
  EXPECT_EQ(error(x, {3, 3}, beyond), "resize: a scale or place of 1e+31 is beyond 1073741824");
  EXPECT_EQ(error(x, {}, {.scales = {2, 1e31}}),
            "resize: a scale or place of 1e+31 is beyond 1073741824");
  EXPECT_EQ(error(x, {3, 3}, {.mode = "area"}),
            "resize: there is no mode 'area'; it takes nearest, linear, cubic");
  EXPECT_EQ(error(x, {}, {.scales = {2, 0}}), "resize: scale 0 is not positive");
  EXPECT_EQ(error(x, {}, {}), "resize: takes sizes or scales");
  EXPECT_EQ(error(whole, {3, 3}, {.mode = "linear"}),
            "resize: linear of i32 is not defined, take nearest");
}

// The taps of an axis are a table; none is needed where there is no element.
TEST(Resize, NothingIsResizedToNothing) {
  const Tensor y = resized(numbered({1, 4}), {0, INT32_MAX}, {.mode = "cubic"});
  EXPECT_EQ(y.shape(), (Shape{0, INT32_MAX}));
}

}  // namespace
}  // namespace rlx
