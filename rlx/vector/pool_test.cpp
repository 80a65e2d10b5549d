#include "rlx/vector/pool.h"

#include <gtest/gtest.h>

#include "rlx/vector/conv_testing.h"

namespace rlx::vector {
namespace {

ConvSize size_of(int64_t batch, Windows::Axis y, Windows::Axis x, int64_t channels) {
  return {batch, {y, x}, channels, channels, channels};
}
const ConvSize kSizes[] = {
    size_of(2, same(14, 3, 2), same(15, 3, 2), 40),
    size_of(1, same(9, 3), same(33, 3), 203),
    size_of(1, axis(8, 2, 2), axis(70, 2, 2), 17),
    size_of(1, axis(9, 3, 2, 1, 0, 1), axis(12, 3, 2, 1, 0, 1), 5),
    size_of(1, same(13, 5), same(12, 5), 24),
    size_of(1, axis(15, 3, 1, 2, 2, 2), axis(17, 3, 2, 3, 3, 3), 19),
    size_of(1, axis(7, 7), axis(7, 7), 130),  // the whole picture
    size_of(1, axis(1, 1), axis(40, 4, 3, 1, 1, 2), 3),
};

enum class How { highest, average };

std::vector<float> counts_of(const Windows::Axis& axis) {
  std::vector<float> counts;
  for (int64_t place = 0; place < axis.out; ++place) {
    int64_t taps = 0;
    for (int64_t i = 0; i < axis.window; ++i) {
      const int64_t at = place * axis.stride - axis.before + i * axis.dilation;
      taps += at >= 0 && at < axis.in;
    }
    counts.push_back(static_cast<float>(taps));
  }
  return counts;
}

double expected(const ConvSize& s, How how, const std::vector<float>& x, int64_t n, int64_t row,
                int64_t pixel, int64_t channel) {
  const Windows::Axis &ys = s.windows.y, &xs = s.windows.x;
  double total = how == How::highest ? -INFINITY : 0;
  int count = 0;
  for (int64_t i = 0; i < ys.window; ++i)
    for (int64_t j = 0; j < xs.window; ++j) {
      const int64_t at_y = row * ys.stride - ys.before + i * ys.dilation,
                    at_x = pixel * xs.stride - xs.before + j * xs.dilation;
      if (at_y < 0 || at_y >= ys.in || at_x < 0 || at_x >= xs.in) continue;
      const auto value = static_cast<double>(
          x[static_cast<size_t>(((n * ys.in + at_y) * xs.in + at_x) * s.inputs + channel)]);
      total = how == How::highest ? std::max(total, value) : total + value;
      ++count;
    }
  return how == How::highest ? total : total / count;
}

void pool_into(const Conv& conv, How how, Isa isa, int threads) {
  const PoolFunctions code = pool(isa);
  const ConvBlocks blocks = code.blocks(conv, threads);
  const std::vector<float> rows = counts_of(conv.size.windows.y),
                           pixels = counts_of(conv.size.windows.x);
  Team team(threads);
  team.run(blocks.count(), 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      if (how == How::highest)
        code.highest(conv, blocks, i);
      else
        code.average(conv, rows.data(), pixels.data(), blocks, i);
  });
}

TEST(VectorPool, EveryInstructionSetAgreesWithDoubles) {
  for (const ConvSize& size : kSizes) {
    const ConvExample example(size);
    for (const Isa isa : isas())
      for (const int threads : {1, 3})
        for (const How how : {How::highest, How::average}) {
          Conv conv = example.conv();
          const int64_t step = size.outputs + kBeyond;
          std::vector<float> y(static_cast<size_t>(size.pixels() * step), 77);
          conv.y = y.data();
          conv.y_pixel = step;
          pool_into(conv, how, isa, threads);
          int64_t at = 0;
          for (int64_t n = 0; n < size.batch; ++n)
            for (int64_t row = 0; row < size.windows.y.out; ++row)
              for (int64_t pixel = 0; pixel < size.windows.x.out; ++pixel) {
                for (int64_t c = 0; c < size.outputs; ++c)
                  ASSERT_NEAR(y[static_cast<size_t>(at++)],
                              expected(size, how, example.x, n, row, pixel, c), 1e-6)
                      << name_of(isa) << " " << size << row << " " << pixel << " " << c;
                for (int64_t c = 0; c < kBeyond; ++c) ASSERT_EQ(y[static_cast<size_t>(at++)], 77);
              }
        }
  }
}

TEST(VectorPool, WhatIsNoNumberIsTheLargest) {
  for (const Isa isa : isas())
    for (const int64_t channels : {3, 32}) {
      const ConvSize size = size_of(1, axis(1, 1), axis(6, 3), channels);
      std::vector<float> x(static_cast<size_t>(6 * channels), 1),
          y(static_cast<size_t>(4 * channels));
      x[static_cast<size_t>(channels)] = NAN;  // the second pixel's first channel
      pool_into({.size = size,
                 .x = x.data(),
                 .x_row = 6 * channels,
                 .x_pixel = channels,
                 .y = y.data(),
                 .y_pixel = channels},
                How::highest, isa, 1);
      EXPECT_TRUE(std::isnan(y[0]));
      EXPECT_TRUE(std::isnan(y[static_cast<size_t>(channels)]));
      EXPECT_EQ(y[static_cast<size_t>(2 * channels)], 1);
      EXPECT_EQ(y[1], 1);
    }
}

}  // namespace
}  // namespace rlx::vector
