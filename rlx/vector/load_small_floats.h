// Floats of 8 bits as vectors of f32. Included once per instruction set.
#if defined(RLX_VECTOR_LOAD_SMALL_FLOATS) == defined(HWY_TARGET_TOGGLE)
#ifdef RLX_VECTOR_LOAD_SMALL_FLOATS
#undef RLX_VECTOR_LOAD_SMALL_FLOATS
#else
#define RLX_VECTOR_LOAD_SMALL_FLOATS
#endif

#include "rlx/vector/blocks.h"
#include "rlx/vector/load_bytes.h"
#include "rlx/vector/load_elements.h"

HWY_BEFORE_NAMESPACE();
namespace rlx::vector::HWY_NAMESPACE {
namespace {

// Each gives kLanes elements of bytes, `quick` over kScale and without its NaN, where the format
// has one that is not f16's: `is_special` says whether some bytes have any.
#if defined(RLX_HIGHWAY) && (HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3)

using WordTag = hn::Rebind<int16_t, IntTag>;
// Of bytes in the high halves of words, where an f16 has its sign, exponent and first bits.
HWY_INLINE F from_halves(hn::Vec<WordTag> words) {
  constexpr hn::Rebind<hwy::float16_t, FloatTag> halves;
  return hn::PromoteTo(kFloats, hn::BitCast(halves, words));
}
HWY_INLINE hn::Vec<WordTag> load_signed_words(const uint8_t* from) {
  constexpr hn::Rebind<int8_t, IntTag> bytes;
  return hn::PromoteTo(WordTag(), hn::LoadU(bytes, reinterpret_cast<const int8_t*>(from)));
}
struct E5m2 {
  static constexpr float kScale = 1;
  static constexpr bool kHasSpecial = false;
  static HWY_INLINE F quick(const uint8_t* from) {
    return from_halves(hn::ShiftLeft<8>(load_signed_words(from)));
  }
  static HWY_INLINE F value(const uint8_t* from) { return quick(from); }
};
struct E4m3 {
  static constexpr float kScale = 256;  // the exponent of f16 is 8 more
  static constexpr bool kHasSpecial = true;
  static HWY_INLINE F quick(const uint8_t* from) {
    const auto words = hn::ShiftLeft<7>(load_signed_words(from));  // the sign twice
    return from_halves(hn::And(words, hn::Set(WordTag(), static_cast<int16_t>(0xbf80))));
  }
  static HWY_INLINE F value(const uint8_t* from) {
    const F x = hn::Mul(quick(from), set(kScale));
    return select(less(set(479.0F), abs(x)), floats(or_(bits(x), set_int(0x7fc00000))), x);
  }
};

#else

HWY_INLINE I low_bits_of_byte(I x, int32_t mask) { return and_(x, set_int(mask)); }
HWY_INLINE F with_sign(F magnitude, I byte) {
  return floats(or_(bits(magnitude), shift_left<24>(low_bits_of_byte(byte, 128))));
}
struct E4m3 {
  static HWY_INLINE F value(const uint8_t* from) {
    const I byte = load_bytes(from), rest = low_bits_of_byte(byte, 127);
    const F normal = floats(shift_left<20>(rest) + set_int(120 << 23));
    const F small = to_float(low_bits_of_byte(byte, 7)) * set(0x1p-9F);
    const F magnitude = select(less(normal, set(0x1p-6F)), small, normal);
    const M is_nan = less(set(479.0F), magnitude);  // 480 would be the value of 0x7f
    return with_sign(select(is_nan, floats(set_int(0x7fc00000)), magnitude), byte);
  }
};
struct E5m2 {
  static HWY_INLINE F value(const uint8_t* from) {
    const I byte = load_bytes(from), rest = shift_left<21>(low_bits_of_byte(byte, 127));
    const F normal = floats(rest + set_int(112 << 23));
    const F small = to_float(low_bits_of_byte(byte, 3)) * set(0x1p-16F);
    F magnitude = select(less(normal, set(0x1p-14F)), small, normal);
    magnitude =
        select(less(set(65535.0F), magnitude), floats(or_(rest, set_int(0x7f800000))), magnitude);
    return with_sign(magnitude, byte);
  }
};

#endif

template <class Small>
void decode_small(const BlockShape& /*shape*/, const uint8_t* from, int64_t count, float* to) {
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) store(Small::value(from + i), to + i);
  if (i == count) return;
  uint8_t rest[kLanes] = {};
  copy_elements(from + i, rest, count - i);
  store_part(Small::value(rest), to + i, count - i);
}

}  // namespace
}  // namespace rlx::vector::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
