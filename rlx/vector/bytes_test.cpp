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

TEST(VectorBytes, FakeStepsAreThoseOfIntegersAndKeepWhatIsNoNumber) {
  for (const Isa isa : isas())
    for (const int64_t count : kCounts)
      for (const int64_t step : {0, 1, 2}) {
        std::vector<float> x = random_floats(count, -20, 20), y(x.size());
        x[0] = 2.5f;
        if (count > 6) x[1] = NAN, x[2] = INFINITY, x[3] = -INFINITY, x[4] = -1.5f, x[5] = 0;
        std::vector<float> scale = random_floats(2 * count, 0.5f, 2, 2);
        scale[0] = 1;
        if (step == 1 && count > 6) scale[5] = 0;  // 0 / 0 is no step
        bytes(isa).fake_quantise(x.data(), {scale.data(), step}, -8, 7, y.data(), count);
        for (int64_t i = 0; i < count; ++i) {
          const auto at = static_cast<size_t>(i);
          const float by = scale[static_cast<size_t>(i * step)], steps = std::nearbyint(x[at] / by);
          if (std::isnan(x[at]))
            ASSERT_TRUE(std::isnan(y[at])) << i;
          else
            ASSERT_EQ(y[at], std::isnan(steps) ? 0 : std::clamp(steps, -8.0f, 7.0f) * by)
                << x[at] << " in steps of " << by;
        }
      }
}

// Each with a scale and a zero point for all or for each, and strides that vectors do not load.
template <class From, class To>
void compare_requantised(Isa isa, Integer from, Integer to, int64_t count) {
  const Bytes functions = bytes(isa);
  std::vector<From> x, from_zeros;
  std::vector<To> to_zeros;
  for (int64_t i = 0; i < 2 * count; ++i) {
    x.push_back(static_cast<From>(i * 977 - 3000));
    from_zeros.push_back(static_cast<From>(i * 5 % 60));
    to_zeros.push_back(static_cast<To>(3 * i % 50));
  }
  std::vector<float> from_scales = random_floats(2 * count, 0.01f, 1),
                     to_scales = random_floats(2 * count, 0.5f, 2, 2);
  from_scales[0] = NAN;
  to_scales[0] = 1;
  const auto size = static_cast<size_t>(count);
  for (const int64_t step : {0, 1, 2})
    for (const int64_t to_step : {0, 1})
      for (const int64_t skip : {0, 1}) {  // a scale of 1, and another
        const Scales of{from_scales.data() + skip, step, from_zeros.data(), step},
            with{to_scales.data() + skip, to_step, to_zeros.data(), to_step};
        std::vector<float> floats(size);
        std::vector<To> want(size), y(size);
        functions.dequantise(from, x.data(), of, floats.data(), count);
        functions.quantise(floats.data(), with, to, want.data(), count);
        functions.requantise(from, x.data(), of, to, with, y.data(), count);
        ASSERT_EQ(y, want) << name_of(isa) << ' ' << count << ' ' << step << ' ' << to_step;
      }
}

TEST(VectorBytes, RequantisingGivesTheBitsOfFloatsInBetween) {
  for (const Isa isa : isas())
    for (const int64_t count : kCounts) {
      compare_requantised<int32_t, uint8_t>(isa, Integer::i32, Integer::u8, count);
      compare_requantised<int32_t, int8_t>(isa, Integer::i32, Integer::i8, count);
      compare_requantised<uint8_t, int8_t>(isa, Integer::u8, Integer::i8, count);
      compare_requantised<int8_t, uint8_t>(isa, Integer::i8, Integer::u8, count);
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

// Rows of bytes, with a scale for each block of each row, and zero points where there are any.
template <class T>
struct Rows {
  int64_t columns, inner, block;
  std::vector<T> w, zeros;
  std::vector<float> scales;
  Rows(int64_t n, int64_t blocks, int64_t elements)
      : columns(n), inner(blocks * elements), block(elements) {
    for (int64_t i = 0; i < columns * inner; ++i) w.push_back(static_cast<T>(i * 37 % 251));
    for (int64_t i = 0; i < columns * blocks; ++i) zeros.push_back(static_cast<T>(i * 11 % 200));
    scales = random_floats(columns * blocks, 1, 2, 2);
  }
  ByteRows rows(bool shared, bool has_zeros) const {
    const int64_t step = shared ? 0 : inner / block;
    return {w.data(),
            T(-1) < T(0),
            inner,
            block,
            scales.data(),
            step,
            has_zeros ? zeros.data() : nullptr,
            step};
  }
  double decoded(const ByteRows& rows, int64_t j, int64_t k) const {
    const auto at = static_cast<size_t>(j * rows.scales_row + k / block);
    return (w[static_cast<size_t>(j * inner + k)] - (rows.zeros ? zeros[at] : 0)) *
           static_cast<double>(scales[at]);
  }
};

template <class T>
void compare_products(Isa isa, int64_t blocks, int64_t block, bool shared, bool has_zeros) {
  constexpr int64_t kColumns = 7, kRows = 3;
  const Rows<T> w(kColumns, blocks, block);
  const std::vector<float> x = random_floats(kRows * w.inner);
  std::vector<float> y(kRows * kColumns);
  const ByteRows rows = w.rows(shared, has_zeros);
  bytes(isa).multiply({rows, x.data(), kRows, w.inner, y.data(), kColumns}, {0, kColumns});
  for (int64_t r = 0; r < kRows; ++r)
    for (int64_t j = 0; j < kColumns; ++j) {
      double want = 0;
      for (int64_t k = 0; k < w.inner; ++k)
        want +=
            static_cast<double>(x[static_cast<size_t>(r * w.inner + k)]) * w.decoded(rows, j, k);
      EXPECT_NEAR(y[static_cast<size_t>(r * kColumns + j)], want, 1e-3 + 1e-5 * std::abs(want))
          << name_of(isa) << ' ' << block << ' ' << shared << has_zeros;
    }
}

TEST(VectorBytes, AProductScalesEachBlockOfEachRow) {
  for (const Isa isa : isas())
    for (const int64_t block : {1, 5, 32, 64})
      for (const int64_t blocks : {1, 3})
        for (const bool shared : {false, true})
          for (const bool has_zeros : {false, true}) {
            compare_products<int8_t>(isa, blocks, block, shared, has_zeros);
            compare_products<uint8_t>(isa, blocks, block, shared, has_zeros);
          }
}

TEST(VectorBytes, AnInfiniteScaleMakesNoNumberOfZeroSteps) {
  for (const Isa isa : isas()) {
    Rows<int8_t> w(1, 1, 20);
    w.w[3] = 0;
    w.scales[0] = INFINITY;
    const std::vector<float> x(20, 1.0f);
    float y = 0;
    bytes(isa).multiply({w.rows(false, false), x.data(), 1, 20, &y, 1}, {0, 1});
    EXPECT_TRUE(std::isnan(y)) << name_of(isa);
    for (int8_t& each : w.w) each = 5;
    bytes(isa).multiply({w.rows(false, false), x.data(), 1, 20, &y, 1}, {0, 1});
    EXPECT_EQ(y, INFINITY) << name_of(isa);
  }
}

}  // namespace
}  // namespace rlx::vector
