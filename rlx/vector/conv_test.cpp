#include "rlx/vector/conv.h"

#include <gtest/gtest.h>

#include "rlx/vector/conv_testing.h"

namespace rlx::vector {
namespace {

const ConvSize kSizes[] = {
    // Single pixels: one row, with a stride, with padding, of nothing, of one channel.
    {2, {axis(5, 1), axis(7, 1)}, 1, 9, 50},
    {2, {axis(7, 1, 2), axis(9, 1, 2)}, 1, 5, 33},
    {1, {axis(3, 1, 1, 1, 1, 0), axis(3, 1, 1, 1, 0, 2)}, 1, 4, 20},
    {1, {axis(2, 1), axis(3, 1)}, 1, 0, 5},
    {1, {axis(1, 1), axis(1, 1)}, 1, 1, 1},
    {1, {axis(1, 1), axis(1, 1)}, 1, 900, 49},
    {3, {axis(19, 1), axis(37, 1)}, 1, 3, 17},
    // Windows.
    {2, {same(14, 3), same(14, 3)}, 1, 16, 40},
    {1, {same(9, 3, 2), same(11, 3, 2)}, 1, 3, 32},
    {1, {same(23, 7, 2), same(25, 7, 2)}, 1, 3, 64},
    {1, {axis(9, 3), axis(10, 3)}, 1, 8, 24},
    {1, {axis(9, 2, 1, 1, 1, 0), axis(10, 4, 3, 1, 0, 2)}, 1, 5, 7},
    {1, {axis(15, 3, 1, 2, 2, 2), axis(17, 3, 2, 3, 3, 3)}, 1, 6, 48},
    {1, {axis(15, 3, 1, 2), axis(17, 3, 1, 3)}, 1, 6, 48},
    {1, {axis(3, 7, 1, 1, 3, 3), axis(3, 7, 1, 1, 3, 3)}, 1, 2, 3},
    {1, {axis(1, 1), same(300, 5)}, 1, 20, 24},
    {1, {axis(2, 3, 1, 1, 5, 5), axis(2, 3, 1, 1, 5, 5)}, 1, 2, 3},  // padding alone
    {1, {same(5, 3), same(250, 3)}, 1, 4, 6},
    // Sums of several parts: of many runs, of parts of a run.
    {1, {same(6, 3), same(7, 3)}, 1, 300, 20},
    {1, {axis(6, 3, 1, 2, 2, 2), axis(7, 3, 1, 2, 2, 2)}, 1, 300, 20},
    {1, {axis(4, 2), axis(4, 2)}, 1, 1000, 10},
    {1, {same(9, 9), same(9, 9)}, 1, 30, 5},
    // Groups.
    {2, {same(8, 3), same(8, 3)}, 4, 16, 24},
    {1, {axis(8, 1), axis(9, 1)}, 3, 9, 60},
    {1, {same(8, 3), same(9, 3)}, 6, 6, 12},
};

TEST(VectorConv, EveryInstructionSetAgreesWithSumsOfDoubles) {
  for (const ConvSize& size : kSizes) {
    const ConvExample example(size);
    for (const Isa isa : isas()) {
      const ConvResult got = convolve(example.conv(), example, conv(isa), 1);
      EXPECT_LT(example.error_of(got.y.data(), size.outputs + kBeyond), 1e-6)
          << name_of(isa) << " " << size;
      EXPECT_TRUE(got.is_within) << name_of(isa) << " " << size;
    }
  }
}

TEST(VectorConv, TheNumberOfThreadsChangesNoBit) {
  for (const ConvSize& size : kSizes) {
    const ConvExample example(size);
    for (const Isa isa : {Isa::baseline, best_isa()})
      EXPECT_EQ(convolve(example.conv(), example, conv(isa), 1).y,
                convolve(example.conv(), example, conv(isa), 3).y)
          << name_of(isa) << " " << size;
  }
}

// The same picture with channels apart (planes), and among channels that are not asked for.
TEST(VectorConv, PicturesOfOtherLayoutsAreReadInPlace) {
  for (const ConvSize& size : kSizes) {
    const ConvExample example(size);
    const int64_t plane = size.windows.y.in * size.windows.x.in, more = size.inputs + 5;
    std::vector<float> planes(example.x.size()),
        wide(static_cast<size_t>(size.batch * plane * more), NAN);
    planes.reserve(1);
    for (int64_t i = 0; i < size.batch * plane; ++i)
      for (int64_t c = 0; c < size.inputs; ++c) {
        const float value = example.x[static_cast<size_t>(i * size.inputs + c)];
        planes[static_cast<size_t>((i / plane * size.inputs + c) * plane + i % plane)] = value;
        wide[static_cast<size_t>(i * more + c)] = value;
      }
    Conv apart = example.conv(), among = example.conv();
    apart.x = planes.data();
    apart.x_batch = size.inputs * plane;
    apart.x_row = size.windows.x.in;
    apart.x_pixel = 1;
    apart.x_channel = plane;
    among.x = wide.data();
    among.x_batch = plane * more;
    among.x_row = size.windows.x.in * more;
    among.x_pixel = more;
    for (const Isa isa : isas())
      for (const Conv* each : {&apart, &among})
        EXPECT_LT(example.error_of(convolve(*each, example, conv(isa), 1).y.data(),
                                   size.outputs + kBeyond),
                  1e-6)
            << name_of(isa) << " " << size << (each == &apart ? "planes" : "among others");
  }
}

TEST(VectorConv, EveryElementIsFinishedOnceWhenItsSumIsWhole) {
  for (const ConvSize& size : kSizes) {
    const ConvExample example(size);
    std::vector<float> want = convolve(example.conv(), example, conv(best_isa()), 1).y;
    Negate::negate(want);
    EXPECT_EQ(convolve(example.conv(), example, conv(best_isa()), 2, Negate::finish).y, want)
        << size;
  }
}

}  // namespace
}  // namespace rlx::vector
