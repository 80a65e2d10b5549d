#include "rlx/vector/windows.h"

#include <gtest/gtest.h>

#include "rlx/vector/testing.h"

namespace rlx::vector {
namespace {

using Axis = Windows::Axis;
// in, window, stride, dilation, before, after
Axis axis(int64_t in, int64_t window, int64_t stride, int64_t dilation, int64_t before,
          int64_t after) {
  const int64_t out = (in + before + after - (window - 1) * dilation - 1) / stride + 1;
  return {in, out, window, stride, dilation, before};
}
const Windows kCases[] = {{axis(1, 1, 1, 1, 0, 0), axis(1, 1, 1, 1, 0, 0)},
                          {axis(7, 3, 1, 1, 1, 1), axis(7, 3, 1, 1, 1, 1)},
                          {axis(17, 3, 2, 1, 1, 1), axis(70, 3, 2, 1, 1, 1)},
                          {axis(40, 3, 2, 1, 0, 1), axis(33, 3, 2, 1, 0, 1)},
                          {axis(50, 5, 1, 1, 2, 2), axis(255, 5, 1, 1, 2, 2)},
                          {axis(19, 2, 3, 2, 1, 4), axis(21, 4, 3, 3, 5, 2)},
                          {axis(3, 7, 1, 1, 3, 3), axis(3, 7, 1, 1, 3, 3)},
                          {axis(20, 2, 2, 1, 0, 0), axis(3, 1, 5, 1, 0, 0)}};

enum class How { highest, sum, weighted };
double expected(const Windows& w, How how, const std::vector<float>& x,
                const std::vector<float>& weights, int64_t row, int64_t column) {
  double total = how == How::highest ? -INFINITY : how == How::sum ? 0 : 0.25;
  for (int64_t i = 0; i < w.y.window; ++i)
    for (int64_t j = 0; j < w.x.window; ++j) {
      const int64_t y = row * w.y.stride - w.y.before + i * w.y.dilation,
                    at = column * w.x.stride - w.x.before + j * w.x.dilation;
      if (y < 0 || y >= w.y.in || at < 0 || at >= w.x.in) continue;
      const auto value = static_cast<double>(x[static_cast<size_t>(y * w.x.in + at)]);
      if (how == How::highest)
        total = std::isnan(value) || value > total ? value : total;
      else
        total +=
            how == How::sum
                ? value
                : value * static_cast<double>(weights[static_cast<size_t>(i * w.x.window + j)]);
    }
  return total;
}

TEST(VectorWindows, EveryFunctionAgreesWithDoubles) {
  for (const Isa isa : isas())
    for (const Windows& w : kCases)
      for (const How how : {How::highest, How::sum, How::weighted}) {
        const WindowFunctions code = window_functions(isa);
        const std::vector<float> x = random_floats(w.y.in * w.x.in),
                                 weights = random_floats(w.y.window * w.x.window, -1, 1, 2);
        std::vector<float> y(static_cast<size_t>(w.y.out * w.x.out) + 1, 9),
            scratch(static_cast<size_t>(code.scratch_size(w)));
        for (const Range rows : {Range{0, w.y.out / 2}, Range{w.y.out / 2, w.y.out}}) {
          if (how == How::highest) code.highest(w, x.data(), y.data(), rows, scratch.data());
          if (how == How::sum) code.sum(w, x.data(), y.data(), rows, scratch.data());
          if (how == How::weighted)
            code.weighted(w, x.data(), weights.data(), 0.25f, y.data(), rows, scratch.data());
        }
        for (int64_t row = 0; row < w.y.out; ++row)
          for (int64_t column = 0; column < w.x.out; ++column) {
            const double want = expected(w, how, x, weights, row, column);
            const float got = y[static_cast<size_t>(row * w.x.out + column)];
            if (std::isinf(want))
              ASSERT_EQ(got, want);
            else
              ASSERT_NEAR(got, want, 1e-5) << name_of(isa) << " " << row << " " << column;
          }
        ASSERT_EQ(y.back(), 9);
      }
}

TEST(VectorWindows, WhatIsNoNumberIsTheLargest) {
  for (const Isa isa : isas()) {
    const Windows w{axis(1, 1, 1, 1, 0, 0), axis(6, 3, 1, 1, 0, 0)};
    const float x[] = {1, NAN, 3, 4, 5, 2};
    float y[4];
    std::vector<float> scratch(static_cast<size_t>(window_functions(isa).scratch_size(w)));
    window_functions(isa).highest(w, x, y, {0, 1}, scratch.data());
    EXPECT_TRUE(std::isnan(y[0]) && std::isnan(y[1]));
    EXPECT_EQ(y[2], 5);
    EXPECT_EQ(y[3], 5);
  }
}

}  // namespace
}  // namespace rlx::vector
