// Integers that may not wrap, and intervals of them where a bound may be missing.
#pragma once

#include <cstdint>

namespace rlx {

struct Interval {
  int64_t low = 0, high = 0;
  bool operator==(const Interval&) const = default;
};
constexpr int64_t kUnbounded = INT64_MAX;

// An Error where the result does not fit 64 bits.
int64_t checked_add(int64_t a, int64_t b);
int64_t checked_mul(int64_t a, int64_t b);
// Rounded down, and the rest of that: of the sign of b. An Error for b = 0.
int64_t floor_div_number(int64_t a, int64_t b);
int64_t mod_number(int64_t a, int64_t b);

Interval interval_sum(Interval a, Interval b);
Interval interval_product(Interval a, Interval b);
Interval interval_floor_div(Interval a, Interval b);
Interval interval_mod(Interval a, Interval b);
Interval interval_min(Interval a, Interval b);
Interval interval_max(Interval a, Interval b);
Interval interval_broadcast(Interval a, Interval b);

}  // namespace rlx
