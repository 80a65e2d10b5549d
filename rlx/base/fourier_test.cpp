#include "rlx/base/fourier.h"

#include <gtest/gtest.h>

#include <cmath>

namespace rlx {
namespace {

TEST(Turn, IsExactAtTheAxesAndTheSameInAllEighths) {
  EXPECT_EQ(turn_of(0, 8).cosine, 1);
  EXPECT_EQ(turn_of(2, 8).cosine, 0);
  EXPECT_EQ(turn_of(2, 8).sine, 1);
  EXPECT_EQ(turn_of(4, 8).cosine, -1);
  EXPECT_EQ(turn_of(6, 8).sine, -1);
  EXPECT_EQ(turn_of(1, 8).cosine, turn_of(1, 8).sine);
  for (int64_t k = 0; k < 48; ++k) {
    EXPECT_EQ(turn_of(k, 48).cosine, turn_of(48 - k, 48).cosine) << k;
    EXPECT_EQ(turn_of(k, 48).sine, -turn_of(48 - k, 48).sine) << k;
    EXPECT_NEAR(turn_of(k, 48).cosine, std::cos(6.283185307179586 * static_cast<double>(k) / 48),
                1e-15);
    EXPECT_NEAR(turn_of(k, 48).sine, std::sin(6.283185307179586 * static_cast<double>(k) / 48),
                1e-15);
  }
}

TEST(Radices, MultiplyToTheLength) {
  for (int64_t n = 1; n <= 5000; ++n) {
    if (!is_smooth(n)) continue;
    int64_t product = 1;
    for (const int radix : radices_of(n)) product *= radix;
    EXPECT_EQ(product, n);
  }
  EXPECT_EQ(radices_of(16), (std::vector<int>{4, 4}));
  EXPECT_FALSE(is_smooth(0));
  EXPECT_FALSE(is_smooth(22));
}

}  // namespace
}  // namespace rlx
