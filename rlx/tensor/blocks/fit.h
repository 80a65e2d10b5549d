// Scales for blocks: the one, of a few near what spans the values, whose rounding loses least.
#pragma once

#include <cmath>
#include <cstdint>

namespace rlx::blocks {

inline int rounded_to(float x, int low, int high) {
  if (!(x > static_cast<float>(low))) return low;  // a NaN, too
  if (x >= static_cast<float>(high)) return high;
  return static_cast<int>(std::nearbyint(x));
}

// s for values near s * q, q in [low, high], low < 0. It may be negative: what is farthest from 0
// gets the side that has more levels.
float fit_scale(const float* x, int64_t count, int low, int high);

// s >= 0 and m for values near s * q - m, q in [0, levels]. m is at least 0 unless it may have any
// sign.
struct Affine {
  float scale = 0, minimum = 0;
};
enum class Sign { positive, any };
Affine fit_affine(const float* x, int64_t count, int levels, Sign of_minimum = Sign::positive);

// s for values near s * table[q] of 16 ascending levels.
float fit_table(const float* x, int64_t count, const int8_t* table);
int nearest_level(float x, const int8_t* table);  // of 16 ascending ones

}  // namespace rlx::blocks
