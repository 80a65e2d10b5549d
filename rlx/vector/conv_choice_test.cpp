#include <gtest/gtest.h>

#include "rlx/vector/conv_testing.h"

namespace rlx::vector {
namespace {

ConvWay choice(int64_t inputs, int64_t outputs, int64_t extent, int64_t window, int64_t stride = 1,
               int64_t groups = 1) {
  const Windows::Axis axis = same(extent, window, stride);
  return conv_choice({.size = {1, {axis, axis}, groups, inputs, outputs}, .x_channel = 1},
                     Isa::avx2);
}

TEST(VectorConvChoice, WinogradServesWideWindowsOfThreeAtStrideOne) {
  EXPECT_EQ(choice(64, 64, 56, 3), ConvWay::winograd);
  EXPECT_EQ(choice(512, 512, 14, 3), ConvWay::winograd);
  EXPECT_EQ(choice(64, 128, 56, 3, 2), ConvWay::direct);
  EXPECT_EQ(choice(64, 64, 56, 1), ConvWay::direct);
  EXPECT_EQ(choice(3, 64, 224, 3), ConvWay::direct);
}
TEST(VectorConvChoice, WeightsThatTakeLongerToReadStaySmall) {
  EXPECT_EQ(choice(512, 512, 7, 3), ConvWay::winograd_small);
  EXPECT_EQ(choice(512, 512, 5, 3), ConvWay::direct);
}
TEST(VectorConvChoice, AWindowForEachChannelIsDepthwise) {
  EXPECT_EQ(choice(32, 32, 56, 3, 1, 32), ConvWay::depthwise);
  EXPECT_EQ(choice(32, 64, 56, 3, 1, 32), ConvWay::direct);
}

}  // namespace
}  // namespace rlx::vector
