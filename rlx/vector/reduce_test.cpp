#include "rlx/vector/reduce.h"

#include <gtest/gtest.h>

#include "rlx/vector/testing.h"

namespace rlx::vector {
namespace {

double folded(Fold fold, const std::vector<double>& x) {
  double sum = 0, l1 = 0, squares = 0, product = 1, highest = -INFINITY, lowest = INFINITY;
  for (const double v : x) {
    sum += v;
    l1 += std::abs(v);
    squares += v * v;
    product *= v;
    highest = std::max(highest, v);
    lowest = std::min(lowest, v);
  }
  const auto count = static_cast<double>(x.size());
  switch (fold) {
    case Fold::sum:
      return sum;
    case Fold::mean:
      return sum / count;
    case Fold::highest:
      return highest;
    case Fold::lowest:
      return lowest;
    case Fold::product:
      return product;
    case Fold::l1:
      return l1;
    case Fold::l2:
      return std::sqrt(squares);
    case Fold::sum_square:
      return squares;
    case Fold::mean_square:
      return squares / count;
  }
  return 0;
}
constexpr Fold kFolds[] = {Fold::sum, Fold::mean, Fold::highest,    Fold::lowest,     Fold::product,
                           Fold::l1,  Fold::l2,   Fold::sum_square, Fold::mean_square};

TEST(VectorReduce, EveryFoldOfRowsAndColumnsAgreesWithDoubles) {
  for (const Isa isa : isas())
    for (const Element element : {Element::f32, Element::f16, Element::bf16})
      for (const int64_t length : {0, 1, 3, 17, 255, 5001})
        for (const Fold fold : kFolds)
          for (const bool along : {true, false}) {
            SCOPED_TRACE(std::string(name_of(isa)) + " " + std::to_string(length) + " fold " +
                         std::to_string(static_cast<int>(fold)));
            const int64_t count = length > 1000 ? 3 : 71, step = along ? length + 1 : count;
            const Elements x(element,
                             random_floats(along ? count * step : length * step + 1, 0.6f, 1.4f));
            Elements y(element, std::vector<float>(static_cast<size_t>(count + 1), 7));
            const Reduce r{.fold = fold,
                           .element = element,
                           .x = x.data(),
                           .y = y.data(),
                           .length = length,
                           .x_row = step};
            const auto run = along ? reductions(isa).rows : reductions(isa).columns;
            run(r, {0, count / 2});
            run(r, {count / 2, count});
            for (int64_t i = 0; i < count; ++i) {
              std::vector<double> row;
              for (int64_t k = 0; k < length; ++k)
                row.push_back(x.at(along ? i * step + k : k * step + i));
              const double want = folded(fold, row), got = y.at(i);
              if (std::isnan(want)) {
                ASSERT_TRUE(std::isnan(got));
              } else if (std::isinf(want)) {
                ASSERT_EQ(got, want);
              } else {
                const double rounding =
                    fold == Fold::product ? 1e-7 * static_cast<double>(length) : 1e-6;
                ASSERT_NEAR(got, want,
                            1e-38 + (rounding + y.epsilon()) * std::abs(want) +
                                (element == Element::f16 ? 3e-8 : 0));
              }
            }
            ASSERT_EQ(y.at(count), 7) << "beyond the end";
          }
}

TEST(VectorReduce, ResultsAreRightWhereTheirSquaresOrSumsAreBeyondF32) {
  for (const Isa isa : isas()) {
    const auto of = [&](Fold fold, std::vector<float> x) {
      float y = 0;
      reductions(isa).rows(
          {.fold = fold, .x = x.data(), .y = &y, .length = static_cast<int64_t>(x.size())}, {0, 1});
      return y;
    };
    EXPECT_FLOAT_EQ(of(Fold::l2, {3e30f, 4e30f}), 5e30f);
    EXPECT_FLOAT_EQ(of(Fold::l2, {3e-30f, 4e-30f}), 5e-30f);
    EXPECT_FLOAT_EQ(of(Fold::mean, {3e38f, 3e38f, 3e38f}), 3e38f);
    EXPECT_FLOAT_EQ(of(Fold::product, {1e30f, 1e30f, 1e-30f}), 1e30f);
    EXPECT_TRUE(std::isnan(of(Fold::highest, {1, NAN, 2})));
    EXPECT_TRUE(std::isnan(of(Fold::lowest, {NAN, 1})));
    EXPECT_NEAR(of(Fold::sum, std::vector<float>(1'000'000, 0.1f)), 100'000, 0.2);
  }
}

}  // namespace
}  // namespace rlx::vector
