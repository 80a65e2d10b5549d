#include "rlx/vector/bytes.h"

#include <gtest/gtest.h>

#include <cstdint>

#include "rlx/vector/testing.h"

namespace rlx::vector {
namespace {

constexpr int64_t kCounts[] = {1, 7, 16, 33, 100};

template <class T>
void compare(Isa isa, Integer integer, int64_t count, int64_t step) {
  SCOPED_TRACE(std::string(name_of(isa)) + " " + std::to_string(count));
  std::vector<float> x = random_floats(count, -400, 400);
  x[0] = 2.5f;  // a tie
  const std::vector<float> scale = random_floats(count, 0.5f, 2, 2);
  std::vector<T> zero, y(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i) zero.push_back(static_cast<T>(3 * i % 50));
  const Scales scales{scale.data(), step, zero.data(), step};
  bytes(isa).quantise(x.data(), scales, integer, y.data(), count);
  std::vector<float> back(x.size());
  bytes(isa).dequantise(integer, y.data(), scales, back.data(), count);
  for (int64_t i = 0; i < count; ++i) {
    const auto at = static_cast<size_t>(i), other = static_cast<size_t>(i * step);
    const double steps = std::nearbyint(x[at] / scale[other]) + zero[other];
    const double want =
        std::clamp<double>(steps, std::numeric_limits<T>::min(), std::numeric_limits<T>::max());
    ASSERT_EQ(y[at], want) << x[at];
    ASSERT_EQ(back[at], static_cast<float>(y[at] - zero[other]) * scale[other]);
  }
}

TEST(VectorBytes, FloatsAreRoundedToStepsAndCutToWhatFits) {
  for (const Isa isa : isas())
    for (const int64_t count : kCounts)
      for (const int64_t step : {0, 1}) {
        compare<int8_t>(isa, Integer::i8, count, step);
        compare<uint8_t>(isa, Integer::u8, count, step);
        compare<int16_t>(isa, Integer::i16, count, step);
        compare<uint16_t>(isa, Integer::u16, count, step);
      }
}

TEST(VectorBytes, TiesGoToEvenAndWhatIsNoNumberToTheZeroPoint) {
  for (const Isa isa : isas()) {
    const std::vector<float> x{0.5f, 1.5f, -2.5f, NAN, INFINITY, -INFINITY, 1e30f, -0.0f};
    const float scale = 1;
    const uint8_t zero = 7;
    std::vector<uint8_t> y(x.size());
    bytes(isa).quantise(x.data(), {&scale, 0, &zero, 0}, Integer::u8, y.data(), 8);
    EXPECT_EQ(y, (std::vector<uint8_t>{7, 9, 5, 7, 255, 0, 255, 7})) << name_of(isa);
  }
}

TEST(VectorBytes, LargeIntegersLoseTheirZeroPointBeforeTheyAreFloats) {
  for (const Isa isa : isas()) {
    const std::vector<int32_t> x{2000000001, 5, -7};
    const int32_t zero = 2000000000;
    const float scale = 0.5f;
    std::vector<float> y(3);
    bytes(isa).dequantise(Integer::i32, x.data(), {&scale, 0, &zero, 0}, y.data(), 1);
    EXPECT_EQ(y[0], 0.5f);
    bytes(isa).dequantise(Integer::i32, x.data() + 1, {}, y.data(), 2);
    EXPECT_EQ(y, (std::vector<float>{5, -7, 0}));
  }
}

TEST(VectorBytes, ADotProductScalesEachBlock) {
  for (const Isa isa : isas())
    for (const int64_t block : {1, 5, 32, 64})
      for (const int64_t blocks : {1, 3}) {
        const int64_t count = block * blocks;
        const std::vector<float> x = random_floats(count), scales = random_floats(blocks, 1, 2, 2);
        std::vector<int8_t> w;
        double want = 0;
        for (int64_t i = 0; i < count; ++i) {
          const auto at = static_cast<size_t>(i);
          w.push_back(static_cast<int8_t>(i * 37 % 255 - 127));
          want += static_cast<double>(x[at]) * w[at] * scales[static_cast<size_t>(i / block)];
        }
        EXPECT_NEAR(bytes(isa).dot(x.data(), w.data(), scales.data(), block, count), want,
                    1e-3 + 1e-5 * std::abs(want))
            << name_of(isa) << ' ' << block;
      }
}

}  // namespace
}  // namespace rlx::vector
