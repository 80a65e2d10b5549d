#include "rlx/vector/limits.h"

#include <gtest/gtest.h>

namespace rlx::vector {
namespace {

TEST(Limits, FunctionsOfEverySetComputeTheSame) {
  const std::vector<float> x(4096, 0.5f);
  for (int isa = 0; isa <= static_cast<int>(best_isa()); ++isa) {
    const LimitFunctions functions = limit_functions(static_cast<Isa>(isa));
    EXPECT_EQ(functions.sum(x.data(), 4096), 2048);
    // Every chain ends at x = x / 2 + 1 / 2, which is 1, in every lane.
    EXPECT_EQ(functions.multiply_adds(100), static_cast<float>(functions.flops_per_round) / 2);
  }
}

TEST(Limits, AreMeasured) {
  Team team(1);
  const Limits limits = measure_limits(team, 0);
  EXPECT_GT(limits.flops, 1e6);
  EXPECT_GT(limits.bytes, 1e6);
}

}  // namespace
}  // namespace rlx::vector
