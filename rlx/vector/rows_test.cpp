#include "rlx/vector/rows.h"

#include <gtest/gtest.h>

#include "rlx/vector/testing.h"

namespace rlx::vector {
namespace {

constexpr int64_t kLengths[] = {1, 3, 15, 16, 17, 255, 1000};
constexpr Element kElements[] = {Element::f32, Element::f16, Element::bf16};

std::vector<double> softmax_of(const std::vector<double>& x, bool logarithm) {
  double highest = -INFINITY, total = 0;
  for (const double v : x) highest = std::max(highest, v);
  for (const double v : x) total += std::exp(v - highest);
  std::vector<double> y;
  for (const double v : x)
    y.push_back(logarithm ? v - highest - std::log(total) : std::exp(v - highest) / total);
  return y;
}

TEST(VectorRows, SoftmaxOfRowsAndColumnsAgreesWithDoubles) {
  for (const Isa isa : isas())
    for (const Element element : kElements)
      for (const int64_t length : kLengths)
        for (const bool logarithm : {false, true})
          for (const bool across : {false, true}) {
            SCOPED_TRACE(std::string(name_of(isa)) + " " + std::to_string(length));
            const int64_t count = 19;
            const int64_t step = across ? count : length + 2;
            const Elements x(element, random_floats(across ? length * step : count * step, -8, 8));
            Elements y(element, std::vector<float>(x.size(), 9));
            const Softmax s{.element = element,
                            .x = x.data(),
                            .y = y.data(),
                            .length = length,
                            .x_row = step,
                            .y_row = step,
                            .logarithm = logarithm};
            if (across) {
              rows(isa).softmax_columns(s, {0, 5});
              rows(isa).softmax_columns(s, {5, count});
            } else {
              rows(isa).softmax(s, {0, count});
              EXPECT_EQ(y.at(length), 9) << "beyond the row";
            }
            for (int64_t r = 0; r < count; ++r) {
              const auto place = [&](int64_t i) { return across ? i * step + r : r * step + i; };
              std::vector<double> row;
              for (int64_t i = 0; i < length; ++i) row.push_back(x.at(place(i)));
              const std::vector<double> want = softmax_of(row, logarithm);
              for (int64_t i = 0; i < length; ++i) {
                const double w = want[static_cast<size_t>(i)];
                ASSERT_NEAR(y.at(place(i)), w,
                            (logarithm ? 8e-6 : 3e-8) + (3e-6 + y.epsilon()) * std::abs(w));
              }
            }
          }
}

TEST(VectorRows, SoftmaxTakesInfinitiesForWhatTheyAre) {
  for (const Isa isa : isas()) {
    const auto of = [&](std::vector<float> x) {
      rows(isa).softmax({.x = x.data(), .y = x.data(), .length = static_cast<int64_t>(x.size())},
                        {0, 1});
      return x;
    };
    EXPECT_EQ(of({-INFINITY, 5, -INFINITY}), (std::vector<float>{0, 1, 0}));
    EXPECT_EQ(of({-1e30f, 0}), (std::vector<float>{0, 1}));
    for (const float x : of({NAN, 1, 2})) EXPECT_TRUE(std::isnan(x));
    for (const float x : of({-INFINITY, -INFINITY})) EXPECT_TRUE(std::isnan(x));
  }
}

TEST(VectorRows, NormsAgreeWithDoublesWithAndWithoutAResidual) {
  const int64_t count = 3;
  for (const Isa isa : isas())
    for (const Element element : kElements)
      for (const int64_t length : kLengths)
        for (const bool is_centred : {false, true})
          for (const bool whole : {false, true}) {
            SCOPED_TRACE(std::string(name_of(isa)) + " " + std::to_string(length));
            const Elements x(element, random_floats(count * length, -2, 3, 1)),
                residual(element, random_floats(count * length, -2, 3, 2)),
                gamma(element, random_floats(length, 0.5f, 2, 3)),
                beta(element, random_floats(length, -1, 1, 4));
            Elements y(element, std::vector<float>(x.size())), sums = y;
            Norm n{.element = element, .x = x.data(), .y = y.data(), .length = length};
            n.x_row = n.y_row = n.residual_row = n.sum_row = length;
            n.epsilon = 1e-5;
            n.is_centred = is_centred;
            if (whole) {
              n.residual = residual.data();
              n.sum = sums.data();
              n.gamma = gamma.data();
              n.beta = beta.data();
            }
            rows(isa).norm(n, {0, count});
            for (int64_t r = 0; r < count; ++r) {
              const auto value = [&](int64_t i) {
                return x.at(r * length + i) + (whole ? residual.at(r * length + i) : 0);
              };
              double mean = 0, squares = 0;
              for (int64_t i = 0; i < length; ++i) mean += value(i) / static_cast<double>(length);
              if (!is_centred) mean = 0;
              for (int64_t i = 0; i < length; ++i)
                squares += std::pow(value(i) - mean, 2) / static_cast<double>(length);
              for (int64_t i = 0; i < length; ++i) {
                const double normal = (value(i) - mean) / std::sqrt(squares + 1e-5);
                const double want = whole ? normal * gamma.at(i) + beta.at(i) : normal;
                ASSERT_NEAR(y.at(r * length + i), want, 1e-5 + y.epsilon() * std::abs(want));
                if (!whole) continue;
                ASSERT_NEAR(sums.at(r * length + i), value(i), (1e-6 + y.epsilon()) * 6);
              }
            }
          }
}

}  // namespace
}  // namespace rlx::vector
