#include "rlx/vector/planes.h"

#include <gtest/gtest.h>

#include "rlx/vector/testing.h"

namespace rlx::vector {
namespace {

constexpr int64_t kCounts[] = {1, 7, 16, 33, 100};
size_t at(int64_t i) { return static_cast<size_t>(i); }

TEST(VectorPlanes, ScalingTakesOffBeforeItMultiplies) {
  for (const Isa isa : isas())
    for (const int64_t count : kCounts) {
      const std::vector<float> x = random_floats(count, 999, 1001);
      std::vector<float> y(x.size() + 1, 9);
      planes(isa).scale(x.data(), 1000, 3, 0.5f, y.data(), count);
      for (int64_t i = 0; i < count; ++i)
        ASSERT_NEAR(y[at(i)], (static_cast<double>(x[at(i)]) - 1000) * 3 + 0.5, 1e-6);
      EXPECT_EQ(y[at(count)], 9) << "beyond the row";
    }
}

TEST(VectorPlanes, MixedRowsAreWeightedSums) {
  for (const Isa isa : isas())
    for (const int64_t count : kCounts) {
      const std::vector<float> a = random_floats(count, -1, 1, 1),
                               b = random_floats(count, -1, 1, 2);
      const float* rows[] = {a.data(), b.data()};
      const float weights[] = {0.25f, -2};
      std::vector<float> y(a.size());
      planes(isa).mix(rows, weights, 2, y.data(), count);
      for (int64_t i = 0; i < count; ++i)
        ASSERT_NEAR(y[at(i)], 0.25 * a[at(i)] - 2.0 * b[at(i)], 1e-6);
    }
}

TEST(VectorPlanes, TakenElementsAreThoseOfTheirPlaces) {
  for (const Isa isa : isas())
    for (const int64_t count : kCounts) {
      const std::vector<float> row = random_floats(50, -1, 1, 1),
                               weights = random_floats(2 * count, -1, 1, 2);
      std::vector<int32_t> places;
      for (int64_t i = 0; i < 2 * count; ++i) places.push_back(static_cast<int32_t>(i * 7 % 50));
      std::vector<float> y(at(count));
      planes(isa).take(row.data(), places.data(), weights.data(), 2, y.data(), count);
      for (int64_t i = 0; i < count; ++i) {
        const double want =
            static_cast<double>(weights[at(i)]) * row[at(i * 7 % 50)] +
            static_cast<double>(weights[at(count + i)]) * row[at((count + i) * 7 % 50)];
        ASSERT_NEAR(y[at(i)], want, 1e-6);
      }
    }
}

TEST(VectorPlanes, RepeatedElementsStandSideBySide) {
  for (const Isa isa : isas())
    for (const int64_t count : kCounts)
      for (const int64_t times : {1, 2, 3, 4}) {
        const std::vector<float> x = random_floats(count);
        std::vector<float> y(at(count * times + 1), 9);
        planes(isa).repeat(x.data(), times, y.data(), count);
        for (int64_t i = 0; i < count * times; ++i) ASSERT_EQ(y[at(i)], x[at(i / times)]);
        EXPECT_EQ(y[at(count * times)], 9) << "beyond the row";
      }
}

}  // namespace
}  // namespace rlx::vector
