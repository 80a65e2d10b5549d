// The order of many numbers by their digits: three passes, whatever they are, and equals stay in
// the order that they had.
#pragma once

#include <cstdint>
#include <cstring>

namespace rlx::detail {

// A key that orders as the number does: no number is behind all others, and both zeros are one.
inline uint32_t order_key(float x) {
  constexpr uint32_t kSign = 0x80000000U;
  if (x != x) return ~0U;
  if (x == 0) return kSign;
  uint32_t bits;
  std::memcpy(&bits, &x, sizeof(bits));
  return (bits & kSign) != 0 ? ~bits : bits | kSign;
}
inline uint32_t order_key(int32_t x) { return static_cast<uint32_t>(x) ^ 0x80000000U; }
inline uint32_t order_key(uint32_t x) { return x; }

// Of each element its key, above its place. `other` has as many elements; the places, ordered, are
// written to `order`.
void order_by_digits(uint64_t* keyed, uint64_t* other, int64_t count, int32_t* order);

}  // namespace rlx::detail
