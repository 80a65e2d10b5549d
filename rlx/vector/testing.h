// What the tests of this folder share.
#pragma once

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "rlx/vector/isa.h"

namespace rlx::vector {

// Every set of instructions that this machine can run.
inline std::vector<Isa> isas() {
  std::vector<Isa> all;
  for (int i = 0; i <= static_cast<int>(best_isa()); ++i) all.push_back(static_cast<Isa>(i));
  return all;
}

inline std::vector<float> random_floats(int64_t count, float low = -1, float high = 1,
                                        unsigned seed = 1) {
  std::mt19937 engine(seed);
  std::uniform_real_distribution<float> uniform(low, high);
  std::vector<float> floats(static_cast<size_t>(count));
  for (float& x : floats) x = uniform(engine);
  return floats;
}

// The distance in steps of f32 at `want`.
inline double ulps(float got, double want) {
  if (std::isnan(want) || std::isnan(got))
    return std::isnan(want) == std::isnan(got) ? 0 : INFINITY;
  const float nearest = static_cast<float>(want);
  if (got == nearest) return 0;
  if (std::isinf(nearest) || std::isinf(got)) return INFINITY;
  const float magnitude = std::max(std::abs(nearest), 1.17549435e-38f);
  return std::abs(static_cast<double>(got) - want) /
         (static_cast<double>(std::nextafter(magnitude, INFINITY)) -
          static_cast<double>(magnitude));
}

}  // namespace rlx::vector
