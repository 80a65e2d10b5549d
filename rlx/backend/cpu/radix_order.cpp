#include "rlx/backend/cpu/radix_order.h"

#include <utility>

namespace rlx::detail {

void order_by_digits(uint64_t* keyed, uint64_t* other, int64_t count, int32_t* order) {
  constexpr int kBits = 11, kPasses = 3, kDigits = 1 << kBits;
  const auto digit = [](uint64_t element, int pass) {
    return element >> (32 + pass * kBits) & (kDigits - 1);
  };
  int32_t starts[kPasses][kDigits] = {};
  for (int64_t i = 0; i < count; ++i)
    for (int pass = 0; pass < kPasses; ++pass) ++starts[pass][digit(keyed[i], pass)];
  for (int pass = 0; pass < kPasses; ++pass) {
    int32_t(&next)[kDigits] = starts[pass];
    if (next[digit(keyed[0], pass)] == count) continue;  // all have the same
    int32_t before = 0;
    for (int32_t& start : next) before += std::exchange(start, before);
    for (int64_t i = 0; i < count; ++i) other[next[digit(keyed[i], pass)]++] = keyed[i];
    std::swap(keyed, other);
  }
  for (int64_t i = 0; i < count; ++i) order[i] = static_cast<int32_t>(keyed[i] & 0xffffffffU);
}

}  // namespace rlx::detail
