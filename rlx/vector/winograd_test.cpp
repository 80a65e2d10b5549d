#include <gtest/gtest.h>

#include "rlx/vector/conv_testing.h"

namespace rlx::vector {
namespace {

const ConvSize kSizes[] = {
    {2, {same(14, 3), same(14, 3)}, 1, 16, 40},
    {1, {same(5, 3), same(7, 3)}, 1, 3, 50},
    {1, {axis(9, 3), axis(10, 3)}, 1, 8, 24},
    {1, {axis(6, 3, 1, 1, 2, 0), axis(9, 3, 1, 1, 0, 2)}, 1, 33, 17},
    {1, {axis(1, 3, 1, 1, 1, 1), same(9, 3)}, 1, 5, 70},
    {1, {same(9, 3), same(230, 3)}, 1, 17, 6},
    {3, {same(4, 3), same(4, 3)}, 1, 100, 10},
    {1, {axis(2, 3, 1, 1, 5, 5), axis(2, 3, 1, 1, 5, 5)}, 1, 2, 3},
    {1, {same(15, 3), same(16, 3)}, 1, 6, 200},  // results of some panels at a time
};

using Winograd = ConvFunctions (*)(Isa isa);
constexpr Winograd kBoth[] = {winograd, winograd_small};

// In units of the sum of absolute products; a sum of few products has nothing to hide behind.
constexpr double kError = 4e-6;

TEST(VectorWinograd, EveryInstructionSetAgreesWithSumsOfDoubles) {
  for (const ConvSize& size : kSizes) {
    const ConvExample example(size);
    for (const Winograd way : kBoth)
      for (const Isa isa : isas()) {
        const ConvResult got = convolve(example.conv(), example, way(isa), 1);
        EXPECT_LT(example.error_of(got.y.data(), size.outputs + kBeyond), kError)
            << name_of(isa) << " " << size;
        EXPECT_TRUE(got.is_within) << name_of(isa) << " " << size;
      }
  }
}

TEST(VectorWinograd, ItsErrorIsAtMostFourTimesThatOfDirectSums) {
  for (const int64_t channels : {32, 64, 128}) {
    const ConvExample example({1, {same(14, 3), same(14, 3)}, 1, channels, 32});
    const auto error = [&](const ConvFunctions& code) {
      const std::vector<float> y = convolve(example.conv(), example, code, 1).y;
      double squares = 0;
      for (int64_t i = 0; i < example.size.pixels(); ++i)
        for (int64_t c = 0; c < 32; ++c) {
          const double off = static_cast<double>(y[static_cast<size_t>(i * (32 + kBeyond) + c)]) -
                             example.y[static_cast<size_t>(i * 32 + c)];
          squares += off * off;
        }
      return std::sqrt(squares);
    };
    for (const Isa isa : {Isa::baseline, best_isa()}) {
      EXPECT_LT(error(winograd(isa)), 4 * error(conv(isa))) << name_of(isa) << " " << channels;
      EXPECT_LT(error(winograd_small(isa)), 2 * error(conv(isa))) << name_of(isa) << channels;
    }
  }
}

TEST(VectorWinograd, TheNumberOfThreadsChangesNoBit) {
  for (const ConvSize& size : kSizes) {
    const ConvExample example(size);
    for (const Winograd way : kBoth)
      for (const Isa isa : {Isa::baseline, best_isa()})
        EXPECT_EQ(convolve(example.conv(), example, way(isa), 1).y,
                  convolve(example.conv(), example, way(isa), 3).y)
            << name_of(isa) << " " << size;
  }
}

TEST(VectorWinograd, EveryElementIsFinishedOnceWhenItsSumIsWhole) {
  for (const ConvSize& size : kSizes) {
    const ConvExample example(size);
    for (const Winograd way : kBoth) {
      std::vector<float> want = convolve(example.conv(), example, way(best_isa()), 1).y;
      Negate::negate(want);
      EXPECT_EQ(convolve(example.conv(), example, way(best_isa()), 2, Negate::finish).y, want)
          << size;
    }
  }
}

TEST(VectorWinograd, OtherWindowsAreRefused) {
  const auto accepts = [](const Windows::Axis& y, const Windows::Axis& x, int64_t groups) {
    return winograd(best_isa()).accepts({.size = {1, {y, x}, groups, 8, 8}, .x_channel = 1});
  };
  EXPECT_TRUE(accepts(same(8, 3), same(8, 3), 1));
  EXPECT_FALSE(accepts(same(8, 3, 2), same(8, 3), 1));
  EXPECT_FALSE(accepts(same(8, 5), same(8, 5), 1));
  EXPECT_FALSE(accepts(same(8, 3), axis(8, 3, 1, 2, 2, 2), 1));
  EXPECT_FALSE(accepts(same(8, 3), same(8, 3), 2));
}

}  // namespace
}  // namespace rlx::vector
