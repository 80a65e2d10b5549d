// Vectors of f32 under the same names for every instruction set: F of floats, I of integers, M of
// truth. Included once per instruction set; lambdas would lose it, so bodies are structs.
#if defined(RLX_VECTOR_SIMD) == defined(HWY_TARGET_TOGGLE)
#ifdef RLX_VECTOR_SIMD
#undef RLX_VECTOR_SIMD
#else
#define RLX_VECTOR_SIMD
#endif

#include <cstdint>
#include <cstring>

#if defined(RLX_HIGHWAY)
#include <hwy/highway.h>
#else
#include "rlx/vector/plain.h"
#endif

// What a source ends with: `make`, a function in the namespace of each set, called in that of
// `isa`.
#if defined(RLX_HIGHWAY) && HWY_ARCH_X86
#define RLX_OF_ISA(isa, make)                           \
  ((isa) == ::rlx::vector::Isa::avx512 ? N_AVX3::make() \
   : (isa) == ::rlx::vector::Isa::avx2 ? N_AVX2::make() \
   : (isa) == ::rlx::vector::Isa::sse4 ? N_SSE4::make() \
                                       : HWY_NAMESPACE::make())
#else
#define RLX_OF_ISA(isa, make) ((void)(isa), HWY_NAMESPACE::make())
#endif

HWY_BEFORE_NAMESPACE();
namespace rlx::vector::HWY_NAMESPACE {

#if defined(RLX_HIGHWAY)
namespace hn = hwy::HWY_NAMESPACE;

using FloatTag = hn::ScalableTag<float>;
using IntTag = hn::ScalableTag<int32_t>;
using F = hn::Vec<FloatTag>;
using I = hn::Vec<IntTag>;
using M = hn::Mask<FloatTag>;
constexpr FloatTag kFloats;
constexpr IntTag kInts;
constexpr int64_t kLanes = HWY_LANES(float);
constexpr int kRegisters = HWY_TARGET == HWY_AVX3 || !HWY_ARCH_X86 ? 32 : 16;

HWY_INLINE F load(const float* from) { return hn::LoadU(kFloats, from); }
HWY_INLINE void store(F x, float* to) { hn::StoreU(x, kFloats, to); }
HWY_INLINE F set(float x) { return hn::Set(kFloats, x); }
HWY_INLINE I set_int(int32_t x) { return hn::Set(kInts, x); }

HWY_INLINE F mul_add(F a, F b, F c) { return hn::MulAdd(a, b, c); }         // a * b + c
HWY_INLINE F neg_mul_add(F a, F b, F c) { return hn::NegMulAdd(a, b, c); }  // c - a * b
HWY_INLINE F sqrt(F x) { return hn::Sqrt(x); }
HWY_INLINE F abs(F x) { return hn::Abs(x); }
// Where either is NaN: b.
#if HWY_TARGET == HWY_SSE4 || HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3
HWY_INLINE F max(F a, F b) { return hn::Max(a, b); }
HWY_INLINE F min(F a, F b) { return hn::Min(a, b); }
#else
HWY_INLINE F max(F a, F b) { return hn::IfThenElse(hn::Gt(a, b), a, b); }
HWY_INLINE F min(F a, F b) { return hn::IfThenElse(hn::Lt(a, b), a, b); }
#endif

HWY_INLINE M less(F a, F b) { return hn::Lt(a, b); }
HWY_INLINE M equal(F a, F b) { return hn::Eq(a, b); }
HWY_INLINE M is_not_zero(I x) { return hn::RebindMask(kFloats, hn::Ne(x, hn::Zero(kInts))); }
HWY_INLINE F select(M which, F yes, F no) { return hn::IfThenElse(which, yes, no); }
HWY_INLINE M first(int64_t count) { return hn::FirstN(kFloats, static_cast<size_t>(count)); }
HWY_INLINE bool any(M which) { return !hn::AllFalse(kFloats, which); }

HWY_INLINE I bits(F x) { return hn::BitCast(kInts, x); }
HWY_INLINE F floats(I x) { return hn::BitCast(kFloats, x); }
HWY_INLINE F to_float(I x) { return hn::ConvertTo(kFloats, x); }
template <int n>
HWY_INLINE I shift_left(I x) {
  return hn::ShiftLeft<n>(x);
}
template <int n>
HWY_INLINE I shift_right(I x) {  // keeps the sign
  return hn::ShiftRight<n>(x);
}
HWY_INLINE I and_(I a, I b) { return hn::And(a, b); }
HWY_INLINE I or_(I a, I b) { return hn::Or(a, b); }

// 16-bit words as they are in memory, in 32 bits each.
HWY_INLINE I load_words(const uint16_t* from) {
  constexpr hn::Rebind<uint16_t, IntTag> words;
  return hn::BitCast(kInts, hn::PromoteTo(hn::RebindToUnsigned<IntTag>(), hn::LoadU(words, from)));
}
HWY_INLINE void store_words(I x, uint16_t* to) {  // each is 0 .. 65535
  constexpr hn::Rebind<uint16_t, IntTag> words;
  hn::StoreU(hn::DemoteTo(words, x), words, to);
}

// Integers of other widths, in 32 bits each; stores of narrower ones cut what does not fit.
HWY_INLINE I load_integers(const int32_t* from) { return hn::LoadU(kInts, from); }
template <class T>
HWY_INLINE I load_integers(const T* from) {
  constexpr hn::Rebind<T, IntTag> narrow;
  return hn::PromoteTo(kInts, hn::LoadU(narrow, from));
}
HWY_INLINE void store_integers(I x, int32_t* to) { hn::StoreU(x, kInts, to); }
template <class T>
HWY_INLINE void store_integers(I x, T* to) {
  constexpr hn::Rebind<T, IntTag> narrow;
  hn::StoreU(hn::DemoteTo(narrow, x), narrow, to);
}
HWY_INLINE I multiply(I a, I b) { return hn::Mul(a, b); }

// to[i][j] = from[j][i] of four rows of four.
HWY_INLINE void transpose4(const float* from, int64_t from_row, float* to, int64_t to_row) {
#if HWY_TARGET == HWY_SCALAR
  for (int i = 0; i < 4; ++i)
    for (int j = 0; j < 4; ++j) to[i * to_row + j] = from[j * from_row + i];
#else
  constexpr hn::FixedTag<float, 4> d;
  const auto a = hn::LoadU(d, from), b = hn::LoadU(d, from + from_row),
             c = hn::LoadU(d, from + 2 * from_row), e = hn::LoadU(d, from + 3 * from_row);
  const auto ac = hn::InterleaveLower(d, a, c), be = hn::InterleaveLower(d, b, e),
             ac2 = hn::InterleaveUpper(d, a, c), be2 = hn::InterleaveUpper(d, b, e);
  hn::StoreU(hn::InterleaveLower(d, ac, be), d, to);
  hn::StoreU(hn::InterleaveUpper(d, ac, be), d, to + to_row);
  hn::StoreU(hn::InterleaveLower(d, ac2, be2), d, to + 2 * to_row);
  hn::StoreU(hn::InterleaveUpper(d, ac2, be2), d, to + 3 * to_row);
#endif
}

HWY_INLINE float sum(F x) { return hn::GetLane(hn::SumOfLanes(kFloats, x)); }
HWY_INLINE float largest(F x) { return hn::GetLane(hn::MaxOfLanes(kFloats, x)); }
HWY_INLINE float smallest(F x) { return hn::GetLane(hn::MinOfLanes(kFloats, x)); }
#endif

// GCC would load a vector again for every use.
HWY_INLINE void keep_in_register([[maybe_unused]] F& x) {
#if defined(__GNUC__) && !defined(__clang__) && defined(__x86_64__)
#if defined(RLX_HIGHWAY)
  asm("" : "+v"(x.raw));
#else
  asm("" : "+x"(x));
#endif
#endif
}

template <class T>
HWY_INLINE void copy_elements(const T* from, T* to, int64_t count) {
  for (int64_t i = 0; i < count; ++i) to[i] = from[i];
}

// The first `count` < kLanes elements; the others are 0 and not touched in memory.
HWY_INLINE F load_part(const float* from, int64_t count) {
#if defined(RLX_HIGHWAY) && (HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3)
  return hn::MaskedLoad(hn::FirstN(kFloats, static_cast<size_t>(count)), kFloats, from);
#else
  alignas(64) float part[kLanes] = {};
  copy_elements(from, part, count);
  return load(part);
#endif
}
HWY_INLINE void store_part(F x, float* to, int64_t count) {
#if defined(RLX_HIGHWAY) && (HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3)
  hn::BlendedStore(x, hn::FirstN(kFloats, static_cast<size_t>(count)), kFloats, to);
#else
  alignas(64) float part[kLanes];
  store(x, part);
  copy_elements(part, to, count);
#endif
}

}  // namespace rlx::vector::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
