#include <gtest/gtest.h>

#include <cmath>

#include "rlx/ops/ops_core.h"
#include "rlx/ops/ops_pool.h"
#include "rlx/ops/testing.h"

namespace rlx {
namespace {

template <class F>
std::vector<Tensor> results_of(const Tensor& x, F f) {
  Graph graph;
  const Values values = f(graph.input("x", x.type()));
  for (size_t i = 0; i < values.size(); ++i) graph.output(std::to_string(i), values[i]);
  const TensorMap outputs = evaluate(graph, {{"x", x}}).outputs;
  std::vector<Tensor> tensors;
  for (size_t i = 0; i < values.size(); ++i) tensors.push_back(outputs.at(std::to_string(i)));
  return tensors;
}

std::vector<Tensor> max_pooled(const Tensor& x, const Ints& window,
                               const PoolOptions& options = {}) {
  return results_of(x, [&](Value v) {
    const TopK y = max_pool(v, window, options);
    return Values{y.values, y.indices};
  });
}

Tensor averaged(const Tensor& x, const Ints& window, const PoolOptions& options = {}) {
  return results_of(x, [&](Value v) { return Values{average_pool(v, window, options)}; })[0];
}

TEST(MaxPool, GivesValuesAndWhereTheyAre) {
  const auto y = max_pooled(numbered({1, 2, 2, 3}), {2, 2});
  expect_tensor(y[0], {1, 2, 1, 2}, {5, 6, 11, 12}, 1e-6);
  expect_tensor(y[1], {1, 2, 1, 2}, {4, 5, 10, 11}, 1e-6);
}

TEST(MaxPool, IndicesByColumnsCountDownFirst) {
  const auto y = max_pooled(numbered({1, 1, 2, 3}), {1, 1}, {.storage_order = 1});
  expect_tensor(y[1], {1, 1, 2, 3}, {0, 2, 4, 1, 3, 5}, 1e-6);
}

TEST(MaxPool, PaddingIsNeverChosen) {
  const auto y = max_pooled(Tensor::of(DType::f32, {1, 1, 2}, {-5, -3}), {2}, {.pads = {1, 1}});
  expect_tensor(y[0], {1, 1, 3}, {-5, -3, -3}, 1e-6);
}

TEST(MaxPool, ANanIsTheLargest) {
  const auto y = max_pooled(Tensor::of(DType::f32, {1, 1, 3}, {1, NAN, 2}), {2});
  EXPECT_TRUE(std::isnan(y[0].at(0)) && std::isnan(y[0].at(1)));
  expect_tensor(y[1], {1, 1, 2}, {1, 1}, 1e-6);
}

TEST(MaxPool, CeilModeDropsAWindowThatBeginsInThePadding) {
  const PoolOptions over = {.strides = {2}, .ceil_mode = true};
  expect_tensor(max_pooled(numbered({1, 1, 4}), {3}, over)[0], {1, 1, 2}, {3, 4}, 1e-6);
  const PoolOptions padded = {.strides = {3}, .pads = {1, 1}, .ceil_mode = true};
  expect_tensor(max_pooled(numbered({1, 1, 5}), {2}, padded)[0], {1, 1, 2}, {1, 4}, 1e-6);
}

TEST(AveragePool, PaddingCountsOnlyWhenAsked) {
  const Tensor x = numbered({1, 1, 2});
  expect_tensor(averaged(x, {2}, {.pads = {1, 1}}), {1, 1, 3}, {1, 1.5, 2}, 1e-6);
  expect_tensor(averaged(x, {2}, {.pads = {1, 1}, .count_include_pad = true}), {1, 1, 3},
                {0.5, 1.5, 1}, 1e-6);
}

TEST(AveragePool, WhatLiesBeyondThePaddingNeverCounts) {
  const PoolOptions options = {
      .strides = {2}, .pads = {0, 1}, .ceil_mode = true, .count_include_pad = true};
  // The last window has 4, a padding, and one place beyond it.
  expect_tensor(averaged(numbered({1, 1, 4}), {4}, options), {1, 1, 2}, {2.5, 7.0 / 3}, 1e-6);
}

TEST(LpPool, IsANorm) {
  const Tensor x = Tensor::of(DType::f32, {1, 1, 3}, {3, -4, 12});
  const auto pooled = [&](double p) {
    return results_of(x, [p](Value v) { return Values{lp_pool(v, {2}, p)}; })[0];
  };
  expect_tensor(pooled(2), {1, 1, 2}, {5, std::sqrt(160.0)}, 1e-6);
  expect_tensor(pooled(1), {1, 1, 2}, {7, 16}, 1e-6);
}

TEST(GlobalPool, ReducesThePlane) {
  const auto y = results_of(numbered({1, 2, 1, 2}), [](Value v) {
    return Values{global_max_pool(v), global_average_pool(v), global_lp_pool(v)};
  });
  expect_tensor(y[0], {1, 2, 1, 1}, {2, 4}, 1e-6);
  expect_tensor(y[1], {1, 2, 1, 1}, {1.5, 3.5}, 1e-6);
  expect_tensor(y[2], {1, 2, 1, 1}, {std::sqrt(5.0), 5}, 1e-6);
}

TEST(MaxUnpool, PutsElementsBack) {
  const auto y = results_of(numbered({1, 1, 2, 2}), [](Value v) {
    const TopK pooled = max_pool(v, {2, 1});
    return Values{max_unpool(pooled.values, pooled.indices, v.shape())};
  });
  expect_tensor(y[0], {1, 1, 2, 2}, {0, 0, 3, 4}, 1e-6);
}

// max_pool's indices count through the whole of x, whatever windows of it were seen.
TEST(MaxUnpool, IndicesCountThroughTheShapeAskedFor) {
  const auto y = results_of(numbered({1, 1, 5, 5}), [](Value v) {
    const TopK pooled = max_pool(v, {2, 2}, {.strides = {2, 2}});
    return Values{max_unpool(pooled.values, pooled.indices, v.shape())};
  });
  expect_tensor(y[0], {1, 1, 5, 5},
                {0, 0, 0, 0, 0, 0, 7, 0, 9, 0, 0, 0, 0, 0, 0, 0, 17, 0, 19, 0, 0, 0, 0, 0, 0});
}

TEST(Im2col, HasAColumnForEachPlace) {
  const auto y = results_of(numbered({1, 1, 2, 3}), [](Value v) {
    return Values{im2col(v, {2, 2}), im2col(v, {1, 2}, {.pads = {0, 1, 0, 0}})};
  });
  expect_tensor(y[0], {1, 4, 2}, {1, 2, 2, 3, 4, 5, 5, 6}, 1e-6);
  expect_tensor(y[1], {1, 2, 6}, {0, 1, 2, 0, 4, 5, 1, 2, 3, 4, 5, 6}, 1e-6);
}

TEST(Pooling, SizesMayBeSymbols) {
  Graph graph;
  const Value x = graph.input("x", f32({"b", 3, "h"}));
  const Value y = max_pool(x, {3}, {.strides = {2}, .pads = {1, 1}, .ceil_mode = true}).values;
  EXPECT_EQ(y.shape()[2].value({{"h", 7}}), 4);
  EXPECT_EQ(y.shape()[2].value({{"h", 8}}), 5);
  const Value same = average_pool(x, {3}, {.strides = {2}, .auto_pad = "same_upper"});
  EXPECT_EQ(same.shape()[2].value({{"h", 7}}), 4);
}

TEST(Pooling, ErrorsNameOpValueAndLimit) {
  const auto error = [](const Ints& window, const PoolOptions& options = {}) {
    return error_of([&] {
      Graph graph;
      max_pool(graph.input("x", f32({1, 1, 4, 4})), window, options);
    });
  };
  EXPECT_EQ(error({2}), "max_pool: window [2] is not 2 numbers, one per spatial dim");
  EXPECT_EQ(error({2, 2}, {.strides = {2}}),
            "max_pool: strides [2] are not 2 positive numbers, one per spatial dim");
  EXPECT_EQ(error({2, 2}, {.pads = {1, 1}}),
            "max_pool: pads [1, 1] are not 4 numbers, before and after each spatial dim");
  EXPECT_EQ(error({2, 2}, {.pads = {1, 0, -1, 0}}), "max_pool: pads [1, 0, -1, 0] are negative");
  EXPECT_EQ(error({7, 7}),
            "max_pool: the window [7, 7] is larger than x f32[1, 1, 4, 4] with its pads");
  EXPECT_EQ(error({0, 1}), "max_pool: the window [0, 1] is empty");
  EXPECT_EQ(error({int64_t{1} << 31, 1}, {.auto_pad = "same_upper"}),
            "max_pool: the extents of window [2147483648, 1] are beyond 2147483647");
  EXPECT_EQ(error({2, 2}, {.dilations = {1, INT64_MAX}}),
            "max_pool: dilations [1, 9223372036854775807] are beyond 2147483647");
  EXPECT_EQ(error({2, 2}, {.auto_pad = "SAME"}),
            "max_pool: auto_pad 'SAME' is none of same_upper, same_lower, valid");
  EXPECT_EQ(error({2, 2}, {.pads = {1, 1, 1, 1}, .auto_pad = "valid"}),
            "max_pool: takes pads or auto_pad, not both");
  EXPECT_EQ(error({2, 2}, {.storage_order = 2}), "max_pool: storage_order 2 is neither 0 nor 1");
  EXPECT_EQ(error_of([] {
              Graph graph;
              average_pool(graph.input("x", f32({4, 4})), {2});
            }),
            "average_pool: x is f32[4, 4], it needs [B, C, spatial..] with 1 to 3 spatial dims");
}

// Most of such a window lies over nothing: to visit all of it takes years.
TEST(Pooling, AWindowMayBeFarLargerThanX) {
  constexpr int64_t kWide = INT32_MAX, kPad = (kWide - 1) / 2;  // two places along each axis
  const PoolOptions around{.pads = {kPad, kPad, kPad, kPad}};
  const Tensor x = Tensor::of(DType::f32, {1, 1, 2, 2}, {1, 2, 3, 6});
  expect_tensor(averaged(x, {kWide, kWide}, around), {1, 1, 2, 2}, {3, 3, 3, 3}, 0);
  expect_tensor(max_pooled(x, {kWide, kWide}, around)[0], {1, 1, 2, 2}, {6, 6, 6, 6}, 0);
  EXPECT_NE(error_of([] {
              Graph graph;
              average_pool(graph.input("x", f32({1, 1, 2, 2, 2})), {kWide, kWide, kWide},
                           {.pads = {kPad, kPad, kPad, kPad, kPad, kPad}});
            }),
            "");
}

}  // namespace
}  // namespace rlx
