// The nearest points beside a full sort, for every instruction set.
#include "rlx/vector/nearest.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

namespace rlx::vector {
namespace {

class NearestPoints : public testing::TestWithParam<Isa> {};

// Small whole numbers: distances are exact, and many are equal.
TEST_P(NearestPoints, AreThoseOfAFullSortAndOfEqualsTheFirst) {
  if (GetParam() > best_isa()) GTEST_SKIP() << "this processor does not have it";
  const NearestFunctions functions = nearest(GetParam());
  for (const int64_t count : {2, 31, 129, 300})
    for (const bool products : {false, true}) {
      constexpr int64_t kDims = 3;
      const int64_t k = std::min<int64_t>(count - 1, 9);
      std::vector<float> points(static_cast<size_t>(count * kDims));
      for (size_t i = 0; i < points.size(); ++i)
        points[i] = static_cast<float>(i * 2654435761U >> 7 & 3U) - 1;
      std::vector<float> distances(static_cast<size_t>(count * k));
      std::vector<int64_t> indices(distances.size());
      std::vector<float> scratch(static_cast<size_t>(functions.scratch(kDims)));
      functions.find({.queries = points.data(),
                      .points = points.data(),
                      .point_count = count,
                      .dims = kDims,
                      .k = k,
                      .products = products,
                      .skips_self = true,
                      .distances = distances.data(),
                      .indices = indices.data()},
                     {0, count}, scratch.data());
      const auto distance = [&](int64_t a, int64_t b) {
        float sum = 0;
        for (int64_t d = 0; d < kDims; ++d) {
          const float x = points[static_cast<size_t>(a * kDims + d)],
                      y = points[static_cast<size_t>(b * kDims + d)];
          sum += products ? -x * y : (x - y) * (x - y);
        }
        return sum;
      };
      for (int64_t query = 0; query < count; ++query) {
        std::vector<int64_t> order(static_cast<size_t>(count));
        std::iota(order.begin(), order.end(), int64_t{0});
        order.erase(order.begin() + query);
        std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
          return distance(query, a) < distance(query, b);
        });
        for (int64_t i = 0; i < k; ++i) {
          const auto at = static_cast<size_t>(query * k + i);
          ASSERT_EQ(indices[at], order[static_cast<size_t>(i)]) << count << ": " << query;
          ASSERT_EQ(distances[at], distance(query, indices[at]));
        }
      }
    }
}

INSTANTIATE_TEST_SUITE_P(Isas, NearestPoints,
                         testing::Values(Isa::baseline, Isa::sse4, Isa::avx2, Isa::avx512),
                         [](const auto& isa) { return std::string(name_of(isa.param)); });

}  // namespace
}  // namespace rlx::vector
