// What GGUF's blocks of 256 elements are made of. Included once per instruction set.
#if defined(RLX_VECTOR_SPREAD_SUPER_BLOCKS) == defined(HWY_TARGET_TOGGLE)
#ifdef RLX_VECTOR_SPREAD_SUPER_BLOCKS
#undef RLX_VECTOR_SPREAD_SUPER_BLOCKS
#else
#define RLX_VECTOR_SPREAD_SUPER_BLOCKS
#endif

#include "rlx/vector/spread_blocks.h"

#if defined(RLX_HIGHWAY) && (HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3)
HWY_BEFORE_NAMESPACE();
namespace rlx::vector::HWY_NAMESPACE {
namespace {

struct BytesQ8K : BlockOf<256, 292, 8, 128> {
  static constexpr int64_t place(int64_t v, int64_t byte) {
    return (v / 2 * kChunks + byte / 16) * 32 + v % 2 * 16 + byte % 16;
  }
  static HWY_INLINE void tile(const uint8_t* const* at, I* q) {
    for (int64_t v = 0; v < kTile / kWidth; v += 2) {
      q[v] = without_sign(chunks_every<32, 0>(at[0] + 4 + v * kWidth));
      q[v + 1] = without_sign(chunks_every<32, 16>(at[0] + 4 + v * kWidth));
    }
  }
  static HWY_INLINE ScalesOf<8> scales(const uint8_t* const* at) {
    return scales_only(FloatsOf<8>::all(read_at<float>(at[0])));
  }
};
struct BytesIq4Xs : NibblesOf<256, 136, 8, 128> {
  static constexpr int64_t kPieces = 1;
  static HWY_INLINE void tile(const uint8_t* const* at, I* q) {
    for (int64_t v = 0; v < kTile / kWidth; v += 4) {
      const uint8_t* from = at[0] + 8 + v / 2 * kWidth;
      nibbles_of(eights_of(vector_at(from), vector_at(from + kWidth)), q + v);
    }
    levels_of(non_linear(), q, kTile / kWidth);
  }
  // Four bits each, low halves of bytes first, and two more of a word.
  static HWY_INLINE ScalesOf<8> scales(const uint8_t* const* at) {
    const uint8_t* block = at[0];
    const __m256i low = _mm256_srlv_epi32(_mm256_set1_epi32(read_at<int32_t>(block + 4)),
                                          _mm256_setr_epi32(0, 4, 8, 12, 16, 20, 24, 28));
    const __m256i high = _mm256_srlv_epi32(_mm256_set1_epi32(read_at<uint16_t>(block + 2)),
                                           _mm256_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14));
    const __m256i whole =
        _mm256_or_si256(_mm256_and_si256(low, _mm256_set1_epi32(15)),
                        _mm256_slli_epi32(_mm256_and_si256(high, _mm256_set1_epi32(3)), 4));
    const __m256 number = _mm256_cvtepi32_ps(_mm256_sub_epi32(whole, _mm256_set1_epi32(32)));
    return scales_only<8>({_mm256_mul_ps(number, _mm256_set1_ps(half_at(block)))});
  }
};
HWY_INLINE __m256 eight_bytes(uint64_t bytes) {
  return _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(_mm_cvtsi64_si128(static_cast<int64_t>(bytes))));
}
template <bool five>
struct BytesQ4K : BlockOf<256, five ? 176 : 144, five ? 5 : 4, 0, true> {
  // 32 bytes have two groups. A chain has a group of some of these 32, low halves before high ones.
  static constexpr int64_t place(int64_t v, int64_t byte) {
    const int64_t of = v / 4 * kChunks + byte / 16;
    return (2 * of + v / 2 % 2) * 32 + v % 2 * 16 + byte % 16;
  }
  static HWY_INLINE void tile(const uint8_t* const* at, I* q) {
    const uint8_t* nibbles = at[0] + (five ? 48 : 16);
    for (int64_t v = 0; v < BytesQ4K::kTile / kWidth; v += 4)
      for (int64_t i = 0; i < 2; ++i) {
        const uint8_t* from = nibbles + v / 4 * kWidth * 2;
        const I both = i == 0 ? chunks_every<32, 0>(from) : chunks_every<32, 16>(from);
        q[v + i] = low_bits_of(both, 15);
        q[v + 2 + i] = low_bits_of(shift_right<4>(both), 15);
        if (!five) continue;
        const I fifth = repeated16(load16(at[0] + 16 + 16 * i));
        q[v + i] = add_where(q[v + i], fifth, bit_of(v, 0), 16);
        q[v + 2 + i] = add_where(q[v + 2 + i], fifth, bit_of(v, 1), 16);
      }
  }
  static HWY_INLINE I bit_of(int64_t v, int64_t high) {
    alignas(64) uint8_t bits[kWidth];
    for (int64_t i = 0; i < kWidth; ++i)
      bits[i] = static_cast<uint8_t>(1 << (2 * (v / 4 * kChunks + i / 16) + high));
    return vector_at(bits);
  }
  // Six bits each in twelve bytes.
  static HWY_INLINE ScalesOf<8> scales(const uint8_t* const* at) {
    const uint8_t* block = at[0];
    const auto first = read_at<uint32_t>(block + 4), second = read_at<uint32_t>(block + 8),
               third = read_at<uint32_t>(block + 12);
    const uint32_t mask = 0x3f3f3f3fU, nibbles = 0x0f0f0f0fU, pairs = 0x03030303U;
    const uint32_t more = (third & nibbles) | (first >> 6 & pairs) << 4,
                   more_lows = (third >> 4 & nibbles) | (second >> 6 & pairs) << 4;
    const auto both = [](uint32_t four, uint32_t others) {
      return four | static_cast<uint64_t>(others) << 32;
    };
    const __m256 d = _mm256_set1_ps(half_at(block)), minimum = _mm256_set1_ps(half_at(block + 2));
    return {{_mm256_mul_ps(eight_bytes(both(first & mask, more)), d)},
            {_mm256_mul_ps(eight_bytes(both(second & mask, more_lows)), minimum)}};
  }
};
// Half of the block at a time has four parts of 32: the low halves of 32 bytes, of 32 more, then
// their high halves. A chain has 8 elements of each group, then the others.
struct BytesQ6K : BlockOf<256, 210, 6, 32, false, 16> {
  static constexpr int64_t place(int64_t v, int64_t byte) {
    const int64_t from = v / 2 * kWidth + byte / 16 * 16;  // of the low halves' bytes
    return from / 64 * 128 + byte / 8 % 2 * 64 + from % 64 + v % 2 * 8 + byte % 8;
  }
  static HWY_INLINE void tile(const uint8_t* const* at, I* q) {
    for (int64_t v = 0; v < kTile / kWidth; v += 2) {
      const int64_t from = v / 2 * kWidth;
      const I both = vector_at(at[0] + from), two = repeated32(at[0] + 128 + from / 64 * 32);
      // Two bits of parts 0, 1, then 2, 3, to where they belong.
      const int32_t part = from % 64 / 32;
      const I low = hn::Shl(two, of_halves(4 - 2 * part, -2)),
              high = hn::Shr(two, of_halves(2 * part, 2));
      const Eights eights =
          eights_of(or_(low_bits_of(both, 15), low_bits_of(low, 0x30)),
                    or_(low_bits_of(shift_right<4>(both), 15), low_bits_of(high, 0x30)));
      q[v] = eights.first;
      q[v + 1] = eights.second;
    }
  }
  static HWY_INLINE ScalesOf<16> scales(const uint8_t* const* at) {
    const auto d = FloatsOf<16>::all(half_at(at[0] + 208));
    return scales_only(sixteen_signed(load16(at[0] + 192)) * d);
  }
};
// Two bits of 64 bytes, four times: a byte has elements of four groups of a half of the block.
// Chains of two have 8 elements of a group each, the lower two pairs of bits before the others.
struct TwoBits {
  static constexpr int64_t place(int64_t v, int64_t byte) {
    const int64_t from = v / 4 * kWidth + byte / 16 * 16, pair = v / 2 % 2 * 2 + byte / 8 % 2;
    return from / 32 * 128 + pair * 32 + from % 32 + v % 2 * 8 + byte % 8;
  }
  static HWY_INLINE void tile(const uint8_t* from, I* q) {
    for (int64_t v = 0; v < 256 / kWidth; v += 4) {
      const I four = vector_at(from + v / 4 * kWidth);
      const Eights eights = eights_of(four, shift_right<2>(four));
      q[v] = low_bits_of(eights.first, 3);
      q[v + 1] = low_bits_of(eights.second, 3);
      q[v + 2] = low_bits_of(shift_right<4>(eights.first), 3);
      q[v + 3] = low_bits_of(shift_right<4>(eights.second), 3);
    }
  }
};
struct BytesQ2K : BlockOf<256, 84, 2, 0, true, 16> {
  static constexpr int64_t place(int64_t v, int64_t byte) { return TwoBits::place(v, byte); }
  static HWY_INLINE void tile(const uint8_t* const* at, I* q) { TwoBits::tile(at[0] + 16, q); }
  static HWY_INLINE ScalesOf<16> scales(const uint8_t* const* at) {
    const uint8_t* block = at[0];
    const auto d = FloatsOf<16>::all(half_at(block + 80)),
               minimum = FloatsOf<16>::all(half_at(block + 82));
    const __m128i both = load16(block), mask = _mm_set1_epi8(15);
    return {sixteen_bytes(_mm_and_si128(both, mask)) * d,
            sixteen_bytes(_mm_and_si128(_mm_srli_epi16(both, 4), mask)) * minimum};
  }
};
struct BytesQ3K : BlockOf<256, 110, 3, 4, false, 16> {
  static constexpr int64_t place(int64_t v, int64_t byte) { return TwoBits::place(v, byte); }
  static HWY_INLINE void tile(const uint8_t* const* at, I* q) {
    TwoBits::tile(at[0] + 32, q);
    for (int64_t v = 0; v < 256 / kWidth; v += 4) {
      // Bit 0 to 3 of 32 bytes for the first half of the block, 4 to 7 for the other.
      const I bits = repeated32(at[0]);
      const Eights eights = eights_of(bits, bits);
      for (int64_t pair = 0; pair < 2; ++pair) {
        q[v + 2 * pair] = add_where(q[v + 2 * pair], eights.first, bit_of(v, pair), 4);
        q[v + 2 * pair + 1] = add_where(q[v + 2 * pair + 1], eights.second, bit_of(v, pair), 4);
      }
    }
  }
  static HWY_INLINE I bit_of(int64_t v, int64_t pair) {
    alignas(64) uint8_t bits[kWidth];
    for (int64_t i = 0; i < kWidth; ++i)
      bits[i] = static_cast<uint8_t>(1 << ((v / 4 * kWidth + i) / 32 * 4 + 2 * pair + i / 8 % 2));
    return vector_at(bits);
  }
  // Six bits each: four of 8 bytes' halves, two of 4 bytes'.
  static HWY_INLINE ScalesOf<16> scales(const uint8_t* const* at) {
    const uint8_t* block = at[0];
    const auto low = read_at<int64_t>(block + 96);
    const __m128i mask = _mm_set1_epi8(15), pairs = _mm_set1_epi8(0x30),
                  halves = _mm_and_si128(_mm_set_epi64x(low >> 4, low), mask);
    // Two bits of 4 numbers each, 2 bits further for the next 4, to where they belong.
    const __m128i two = _mm_set1_epi32(read_at<int32_t>(block + 104));
    const __m128i high = _mm_and_si128(
        _mm_srlv_epi32(_mm_sllv_epi32(two, _mm_setr_epi32(4, 2, 0, 0)), _mm_setr_epi32(0, 0, 0, 2)),
        pairs);
    const auto d = FloatsOf<16>::all(half_at(block + 108));
    return scales_only(sixteen_signed(_mm_sub_epi8(_mm_or_si128(halves, high), _mm_set1_epi8(32))) *
                       d);
  }
};
// -1, 0 or 1, in two bits; groups of 32 as far as x has steps.
struct BytesTq2 : BlockOf<256, 66, 2, 1> {
  static constexpr int64_t place(int64_t v, int64_t byte) { return TwoBits::place(v, byte); }
  static HWY_INLINE void tile(const uint8_t* const* at, I* q) { TwoBits::tile(at[0], q); }
  static HWY_INLINE ScalesOf<8> scales(const uint8_t* const* at) {
    return scales_only(FloatsOf<8>::all(half_at(at[0] + 64)));
  }
};

// Five digits of base 3 in a byte: rest * 3 / 256, of the rest of byte * 3^n / 256. Elements are in
// order: digit n of the first 32 bytes, then of 16, then four digits of 4.
struct BytesTq1 : BlockOf<256, 54, 2, 1> {
  static constexpr int64_t kChain = 1;
  static constexpr int64_t place(int64_t v, int64_t byte) { return v * kWidth + byte; }
  struct Powers {
    alignas(64) uint16_t of[4 * 32];  // of both bytes of each word
    constexpr Powers() : of() {
      constexpr uint16_t kPowers[] = {1, 3, 9, 27, 81};
      for (int64_t i = 0; i < 256; ++i)
        of[i / 2] = kPowers[i < 160 ? i / 32 : i < 240 ? (i - 160) / 16 : (i - 240) / 4];
    }
  };
  static HWY_INLINE I digits_of(I bytes, I powers) {
    constexpr hn::Repartition<uint16_t, IntTag> words;
    const auto both = hn::BitCast(words, bytes), power = hn::BitCast(words, powers);
    const auto high = hn::Set(words, 0xff00);
    // The rests of even and of odd bytes, in the high halves of words.
    const auto even = hn::Mul(hn::ShiftLeft<8>(both), power),
               odd = hn::Mul(hn::And(both, high), power);
    const auto first = hn::MulHigh(even, hn::Set(words, 3)),
               second = hn::MulHigh(odd, hn::Set(words, 3 << 8));
    return hn::BitCast(kInts, hn::OrAnd(first, second, high));
  }
  static HWY_INLINE void tile(const uint8_t* const* at, I* q) {
    static constexpr Powers kPowers;
    const I first = repeated32(at[0]);
    const __m128i more = load16(at[0] + 32), last = _mm_set1_epi32(read_at<int32_t>(at[0] + 48));
#if HWY_TARGET == HWY_AVX3
    const auto rest = _mm512_broadcast_i32x4(more);
    const I bytes[] = {first, first, I{_mm512_mask_mov_epi64(first.raw, 0xf0, rest)}, I {
                         _mm512_mask_broadcast_i32x4(rest, 0xf000, last)
                       }};
#else
    const I rest = repeated16(more);
    const I bytes[] = {first, first, first, first,
                       first, rest,  rest,  I{_mm256_inserti128_si256(rest.raw, last, 1)}};
#endif
#pragma GCC unroll 8
    for (int64_t v = 0; v < kTile / kWidth; ++v)
      q[v] =
          digits_of(bytes[v], vector_at(reinterpret_cast<const uint8_t*>(kPowers.of) + v * kWidth));
  }
  static HWY_INLINE ScalesOf<8> scales(const uint8_t* const* at) {
    return scales_only(FloatsOf<8>::all(half_at(at[0] + 52)));
  }
};

}  // namespace
}  // namespace rlx::vector::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif

#endif
