// Loads and stores of f32, f16 and bf16 as vectors of f32.
#if defined(RLX_VECTOR_LOAD_ELEMENTS) == defined(HWY_TARGET_TOGGLE)
#ifdef RLX_VECTOR_LOAD_ELEMENTS
#undef RLX_VECTOR_LOAD_ELEMENTS
#else
#define RLX_VECTOR_LOAD_ELEMENTS
#endif

#include "rlx/vector/elements.h"
#include "rlx/vector/simd.h"

HWY_BEFORE_NAMESPACE();
namespace rlx::vector::HWY_NAMESPACE {

HWY_INLINE const uint16_t* words(const Float16* x) { return &x->bits; }
HWY_INLINE const uint16_t* words(const BFloat16* x) { return &x->bits; }
HWY_INLINE uint16_t* words(Float16* x) { return &x->bits; }
HWY_INLINE uint16_t* words(BFloat16* x) { return &x->bits; }

HWY_INLINE F load(const BFloat16* from) { return floats(shift_left<16>(load_words(words(from)))); }
// To nearest, ties to even.
HWY_INLINE void store(F x, BFloat16* to) {
  const I all = bits(x);
  const I odd = and_(shift_right<16>(all), set_int(1));
  const I nearest = all + odd + set_int(0x7fff);
  const I no_number = or_(all, set_int(0x400000));  // its payload must not round to an infinity
  const I kept = bits(select(equal(x, x), floats(nearest), floats(no_number)));
  store_words(and_(shift_right<16>(kept), set_int(0xffff)), words(to));
}

#if defined(RLX_HIGHWAY) && (HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3)
HWY_INLINE F load(const Float16* from) {
  constexpr hn::Rebind<hwy::float16_t, FloatTag> halves;
  return hn::PromoteTo(kFloats, hn::LoadU(halves, reinterpret_cast<const hwy::float16_t*>(from)));
}
HWY_INLINE void store(F x, Float16* to) {
  constexpr hn::Rebind<hwy::float16_t, FloatTag> halves;
  hn::StoreU(hn::DemoteTo(halves, x), halves, reinterpret_cast<hwy::float16_t*>(to));
}
#else
HWY_INLINE F load(const Float16* from) {
  const I all = load_words(words(from)), sign = shift_left<16>(and_(all, set_int(0x8000)));
  const I rest = shift_left<13>(and_(all, set_int(0x7fff)));
  // The exponent is short of 112; the product also gives those below the normal numbers theirs.
  const F finite = floats(rest) * set(5.192296858534828e33f);
  const M special = less(set(65520.0f), finite);  // infinities and what is no number
  const I kept = bits(select(special, floats(or_(rest, set_int(0x7f800000))), finite));
  return floats(or_(kept, sign));
}
HWY_INLINE void store(F x, Float16* to) {
  const I all = bits(x), sign = and_(shift_right<16>(all), set_int(0x8000));
  const F magnitude = abs(x);
  const I m = bits(magnitude);
  // Below the normal numbers an addition in f32 rounds where f16 would.
  const I small = bits(magnitude + set(0.5f)) - set_int(0x3f000000);
  const I nearest = m + set_int(0xfff) + and_(shift_right<13>(m), set_int(1));
  const I normal = shift_right<13>(nearest - set_int(0x38000000));
  F y = select(less(magnitude, set(6.103515625e-05f)), floats(small), floats(normal));
  y = select(less(magnitude, set(65520.0f)), y, floats(set_int(0x7c00)));
  y = select(equal(x, x), y, floats(set_int(0x7e00)));
  store_words(or_(bits(y), sign), words(to));
}
#endif

// The first `count` < kLanes elements.
template <class T>
HWY_INLINE F load_part(const T* from, int64_t count) {
  T part[kLanes] = {};
  copy_elements(from, part, count);
  return load(part);
}
template <class T>
HWY_INLINE void store_part(F x, T* to, int64_t count) {
  T part[kLanes];
  store(x, part);
  copy_elements(part, to, count);
}

// Up to kLanes elements, as many as there are.
template <class T>
HWY_INLINE F load_some(const T* from, int64_t count) {
  return count >= kLanes ? load(from) : load_part(from, count);
}
template <class T>
HWY_INLINE F load_some(const T* from, int64_t count, F otherwise) {
  return count >= kLanes ? load(from) : select(first(count), load_part(from, count), otherwise);
}
template <class T>
HWY_INLINE void store_some(F x, T* to, int64_t count) {
  if (count >= kLanes)
    store(x, to);
  else
    store_part(x, to, count);
}

}  // namespace rlx::vector::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
