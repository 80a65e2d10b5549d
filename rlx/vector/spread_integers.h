// What blocks of integers in order are made of. Included once per instruction set.
#if defined(RLX_VECTOR_SPREAD_INTEGERS) == defined(HWY_TARGET_TOGGLE)
#ifdef RLX_VECTOR_SPREAD_INTEGERS
#undef RLX_VECTOR_SPREAD_INTEGERS
#else
#define RLX_VECTOR_SPREAD_INTEGERS
#endif

#include "rlx/vector/spread_blocks.h"

#if defined(RLX_HIGHWAY) && (HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3)
HWY_BEFORE_NAMESPACE();
namespace rlx::vector::HWY_NAMESPACE {
namespace {

// Three bits each of eight units, of which each has 12 bytes at the end of a chunk: elements 8 i +
// e of a unit are in bytes 3 i to 3 i + 2. With the first, second and third bytes of all in vectors
// of their own, every e is a shift and a mask, and the two that lie in two bytes are a few more.
struct Threes {
#if HWY_TARGET == HWY_AVX3
  // Two e in a vector: 0 and 3, 1 and 4, 2 and 5, 6 and 7.
  static constexpr int64_t element(int64_t v, int64_t byte) {
    const int64_t e = v < 3 ? v + byte / 32 * 3 : 6 + byte / 32;
    return byte / 4 % 8 * 32 + byte % 4 * 8 + e;
  }
#else
  static constexpr int64_t element(int64_t v, int64_t byte) {
    const int64_t unit = byte / 4 % 4 * 2 + byte / 16;
    return unit * 32 + byte % 4 * 8 + v;
  }
#endif
  static HWY_INLINE I planes_of(I chunks) {
    const __m128i order = _mm_setr_epi8(4, 7, 10, 13, 5, 8, 11, 14, 6, 9, 12, 15, 0, 1, 2, 3);
#if HWY_TARGET == HWY_AVX3
    return I{_mm512_shuffle_epi8(chunks.raw, repeated16(order).raw)};
#else
    return I{_mm256_shuffle_epi8(chunks.raw, repeated16(order).raw)};
#endif
  }
#if HWY_TARGET == HWY_AVX3
  struct Planes {  // which words are byte `first` of all units, then byte `second`
    alignas(64) int32_t index[16];
    constexpr Planes(int first, int second) : index() {
      for (int i = 0; i < 16; ++i) index[i] = i % 8 * 4 + (i < 8 ? first : second);
    }
  };
  template <int first, int second>
  static HWY_INLINE I pick(I a, I b) {
    static constexpr Planes kPlanes(first, second);
    return I{_mm512_permutex2var_epi32(a.raw, _mm512_load_si512(kPlanes.index), b.raw)};
  }
  static HWY_INLINE void spread(const I* chunks, I* q) {
    const I a = planes_of(chunks[0]), b = planes_of(chunks[1]);
    const I lower = pick<0, 1>(a, b), upper = pick<1, 2>(a, b), last = pick<2, 2>(a, b);
    q[0] = low_bits_of(hn::Shr(lower, of_halves(0, 1)), 7);
    q[1] = low_bits_of(hn::Shr(lower, of_halves(3, 1)), 7);
    q[2] = or_(and_(hn::Shr(lower, of_halves(6, 1)), of_halves(0x03030303, -0x02020202)),
               and_(hn::Shl(upper, of_halves(2, -1)), of_halves(0x04040404, 0x02020202)));
    q[3] = low_bits_of(hn::Shr(last, of_halves(2, 3)), 7);
  }
#else
  static HWY_INLINE void spread(const I* chunks, I* q) {
    const __m256i a = planes_of(chunks[0]).raw, b = planes_of(chunks[1]).raw,
                  c = planes_of(chunks[2]).raw, d = planes_of(chunks[3]).raw;
    const __m256i ab = _mm256_unpacklo_epi32(a, b), cd = _mm256_unpacklo_epi32(c, d);
    const I first{_mm256_unpacklo_epi64(ab, cd)}, second{_mm256_unpackhi_epi64(ab, cd)},
        third{_mm256_unpacklo_epi64(_mm256_unpackhi_epi32(a, b), _mm256_unpackhi_epi32(c, d))};
    q[0] = low_bits_of(first, 7);
    q[1] = low_bits_of(shift_right<3>(first), 7);
    q[2] = or_(low_bits_of(shift_right<6>(first), 3), low_bits_of(shift_left<2>(second), 4));
    q[3] = low_bits_of(shift_right<1>(second), 7);
    q[4] = low_bits_of(shift_right<4>(second), 7);
    q[5] = or_(low_bits_of(shift_right<7>(second), 1), low_bits_of(shift_left<1>(third), 6));
    q[6] = low_bits_of(shift_right<2>(third), 7);
    q[7] = low_bits_of(shift_right<5>(third), 7);
  }
#endif
};

// int2_block to int8_block, signed or with a zero point. A piece is a unit of 32: a block, or a
// part of one.
template <int bits, bool has_zero, bool is_block>
struct BytesInteger : BlockOf<is_block ? 32 : 0, is_block ? 4 * bits + (has_zero ? 8 : 4) : 0, bits,
                              has_zero ? 0 : 1 << (bits - 1), has_zero> {
  static constexpr int64_t kBegin = !is_block ? 0 : has_zero ? 8 : 4;
  static constexpr int64_t kPieces = bits == 8 ? 4 : 8, kTile = kUnit * kPieces,
                           kChain = bits == 8 ? 2 : 4;
  using Nibbles = NibblesOf<0, 0, 4, 0>;
  static constexpr int64_t place(int64_t v, int64_t byte) {
    if (bits == 3) return Threes::element(v, byte);
    if (bits == 2) return (v / 4 * 2 * kChunks + byte / 8) * 32 + byte % 8 * 4 + v % 4;
    if (bits == 4) return Nibbles::piece(v, byte) * 32 + (v / 2 % 2 * 8 + byte % 8) * 2 + v % 2;
    return (v / 2 * kChunks + byte / 16) * 32 + v % 2 * 16 + byte % 16;
  }
  template <int64_t from>
  static HWY_INLINE I chunks(const uint8_t* const* at, int64_t piece) {
    if constexpr (is_block)
      return chunks_every<BytesInteger::kBytes, kBegin + from>(at[0] +
                                                               piece * BytesInteger::kBytes);
    else
      return chunks_at(at + piece, from);
  }
  static HWY_INLINE void tile(const uint8_t* const* at, I* q) {
    if constexpr (bits == 2) {
      const uint8_t* pieces[kPieces];
#pragma GCC unroll 8
      for (int64_t i = 0; i < kPieces; ++i)
        pieces[i] = is_block ? at[0] + i * BytesInteger::kBytes : at[i];
#pragma GCC unroll 2
      for (int64_t piece = 0; piece < kPieces; piece += 2 * kChunks) {
        const I four = eights_at(pieces + piece, kBegin);
        I* to = q + piece / kChunks * 2;
        to[0] = low_bits_of(four, 3);
        to[1] = low_bits_of(shift_right<2>(four), 3);
        to[2] = low_bits_of(shift_right<4>(four), 3);
        to[3] = low_bits_of(shift_right<6>(four), 3);
      }
    } else if constexpr (bits == 3) {
      I all[kPieces / kChunks];  // with the four bytes before a unit
#pragma GCC unroll 4
      for (int64_t i = 0; i < kPieces / kChunks; ++i) all[i] = chunks<-4>(at, i * kChunks);
      Threes::spread(all, q);
    } else if constexpr (bits == 4) {
#pragma GCC unroll 2
      for (int64_t piece = 0; piece < kPieces; piece += 2 * kChunks)
        nibbles_of(eights_of(chunks<0>(at, piece), chunks<0>(at, piece + kChunks)),
                   q + piece / kChunks * 2);
    } else {
      by_pairs(q, [&](int64_t piece, I* to) {
        to[0] = chunks<0>(at, piece);
        to[1] = chunks<16>(at, piece);
      });
    }
    if constexpr (!has_zero)
#pragma GCC unroll 8
      for (int64_t v = 0; v < kTile / kWidth; ++v) q[v] = hn::Xor(q[v], all(1 << (bits - 1)));
  }
  static HWY_INLINE TileScales<BytesInteger> scales(const uint8_t* const* heads) {
    TileScales<BytesInteger> all;
    all.scale = floats_at(heads, 0);
    if constexpr (has_zero) all.low = floats_at(heads, 4) * all.scale;
    return all;
  }
  static HWY_INLINE FloatsOf<kPieces> floats_at(const uint8_t* const* at, int64_t from) {
    const auto one = [&](int64_t i) {
      return read_at<float>((is_block ? at[0] + i * BytesInteger::kBytes : at[i]) + from);
    };
    const auto four = [&](int64_t i) {
      return _mm_setr_ps(one(i), one(i + 1), one(i + 2), one(i + 3));
    };
    if constexpr (kPieces == 8)
      return {_mm256_insertf128_ps(_mm256_castps128_ps256(four(0)), four(4), 1)};
    else
      return {four(0)};
  }
};

}  // namespace
}  // namespace rlx::vector::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif

#endif
