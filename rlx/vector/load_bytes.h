// Bytes, and numbers of fewer bits in them, as vectors of integers.
#if defined(RLX_VECTOR_LOAD_BYTES) == defined(HWY_TARGET_TOGGLE)
#ifdef RLX_VECTOR_LOAD_BYTES
#undef RLX_VECTOR_LOAD_BYTES
#else
#define RLX_VECTOR_LOAD_BYTES
#endif

#include "rlx/vector/simd.h"

HWY_BEFORE_NAMESPACE();
namespace rlx::vector::HWY_NAMESPACE {

#if defined(RLX_HIGHWAY)
HWY_INLINE I load_bytes(const uint8_t* from) {
  constexpr hn::Rebind<uint8_t, IntTag> bytes;
  return hn::PromoteTo(kInts, hn::LoadU(bytes, from));
}
HWY_INLINE I load_signed_bytes(const uint8_t* from) {
  constexpr hn::Rebind<int8_t, IntTag> bytes;
  return hn::PromoteTo(kInts, hn::LoadU(bytes, reinterpret_cast<const int8_t*>(from)));
}
HWY_INLINE I shift_right_by(I x, I counts) { return hn::Shr(x, counts); }
HWY_INLINE I times(I a, I b) { return hn::Mul(a, b); }
HWY_INLINE F subtract(F a, F b) { return hn::Sub(a, b); }
#else
HWY_INLINE I load_bytes(const uint8_t* from) { return I{from[0], from[1], from[2], from[3]}; }
HWY_INLINE I load_signed_bytes(const uint8_t* from) {
  const auto at = [&](int i) { return static_cast<int8_t>(from[i]); };
  return I{at(0), at(1), at(2), at(3)};
}
HWY_INLINE I shift_right_by(I x, I counts) { return x >> counts; }
HWY_INLINE I times(I a, I b) { return a * b; }
HWY_INLINE F subtract(F a, F b) { return a - b; }
#endif

#if defined(RLX_HIGHWAY) && HWY_TARGET != HWY_SCALAR
// Two numbers in each of 16 bytes, in order: to[2 * i] is the low `shift` bits of from[i], to[2 * i
// + 1] the others.
template <int shift>
HWY_INLINE void split_bytes(const uint8_t* from, uint8_t* to) {
  constexpr hn::FixedTag<uint8_t, 16> d;
  const auto bytes = hn::LoadU(d, from);
  const auto low = hn::And(bytes, hn::Set(d, (1 << shift) - 1)),
             high = hn::ShiftRight<shift>(bytes);
  hn::StoreU(hn::InterleaveLower(d, low, high), d, to);
  hn::StoreU(hn::InterleaveUpper(d, low, high), d, to + 16);
}
// to[i] = table[from[i] & 15] of 16 bytes, and to[16 + i] of their high bits.
HWY_INLINE void look_up_nibbles(const uint8_t* from, const int8_t* table, uint8_t* to) {
  constexpr hn::FixedTag<uint8_t, 16> d;
  const auto bytes = hn::LoadU(d, from);
  const auto levels = hn::LoadU(d, reinterpret_cast<const uint8_t*>(table));
  hn::StoreU(hn::TableLookupBytes(levels, hn::And(bytes, hn::Set(d, 15))), d, to);
  hn::StoreU(hn::TableLookupBytes(levels, hn::ShiftRight<4>(bytes)), d, to + 16);
}
#else
template <int shift>
HWY_INLINE void split_bytes(const uint8_t* from, uint8_t* to) {
  for (int i = 0; i < 16; ++i) {
    const int byte = from[i];
    to[2 * i] = static_cast<uint8_t>(byte & ((1 << shift) - 1));
    to[2 * i + 1] = static_cast<uint8_t>(byte >> shift);
  }
}
HWY_INLINE void look_up_nibbles(const uint8_t* from, const int8_t* table, uint8_t* to) {
  for (int i = 0; i < 32; ++i)
    to[i] = static_cast<uint8_t>(table[from[i % 16] >> (i / 16 * 4) & 15]);
}
#endif

}  // namespace rlx::vector::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
