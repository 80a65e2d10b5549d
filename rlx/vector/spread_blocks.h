// The bytes, scales and minima that blocks are made of, format by format, for processors with
// vectors of 256 or 512 bits: element i is (q[i] - kOffset) * scale - low, of the group that it is
// in. Included once per instruction set.
#if defined(RLX_VECTOR_SPREAD_BLOCKS) == defined(HWY_TARGET_TOGGLE)
#ifdef RLX_VECTOR_SPREAD_BLOCKS
#undef RLX_VECTOR_SPREAD_BLOCKS
#else
#define RLX_VECTOR_SPREAD_BLOCKS
#endif

#include "rlx/vector/block_parts.h"

#if defined(RLX_HIGHWAY) && (HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3)
HWY_BEFORE_NAMESPACE();
namespace rlx::vector::HWY_NAMESPACE {
namespace {

// What a format has beside its own: elements and bytes of a block (0: the shape tells), elements of
// a group, bits of a byte, and what is subtracted of it. A tile is as many elements as are made
// bytes at once, from kPieces places: blocks, or units of one. Its vectors come in chains that have
// the same groups in the same lanes, so that their products are added before they are scaled.
template <int64_t elements, int64_t bytes, int bits, int offset, bool has_low = false,
          int64_t group = 32>
struct BlockOf {
  static constexpr int64_t kElements = elements, kBytes = bytes, kGroup = group;
  static constexpr int kBits = bits, kOffset = offset;
  static constexpr bool kHasLow = has_low;
  static constexpr int64_t kPieces = 1, kTile = 256, kChain = 2;
};
template <class Block>
using TileScales = ScalesOf<Block::kTile / Block::kGroup>;
// Eight pieces of 32 elements in halves of 16 bytes: a chain has, for each piece, its first 8 bytes
// and then the other 8, of which low halves come before high ones.
template <int64_t elements, int64_t bytes, int bits, int offset, bool has_low = false>
struct NibblesOf : BlockOf<elements, bytes, bits, offset, has_low> {
  static constexpr int64_t kPieces = 8, kTile = 256, kChain = 4;
  static constexpr int64_t piece(int64_t v, int64_t byte) {
    return v / 4 * 2 * kChunks + byte / 8 % 2 * kChunks + byte / 16;
  }
  static constexpr int64_t place(int64_t v, int64_t byte) {
    return piece(v, byte) * 32 + v % 2 * 16 + v / 2 % 2 * 8 + byte % 8;
  }
};
// Four pieces of 32 bytes: 16 of each, then the others.
template <int64_t elements, int64_t bytes, int offset, bool has_low = false>
struct WholeBytesOf : BlockOf<elements, bytes, 8, offset, has_low> {
  static constexpr int64_t kPieces = 4, kTile = 128;
  static constexpr int64_t place(int64_t v, int64_t byte) {
    return (v / 2 * kChunks + byte / 16) * 32 + v % 2 * 16 + byte % 16;
  }
};

HWY_INLINE void nibbles_of(I both, I* q) {
  q[0] = low_bits_of(both, 15);
  q[1] = low_bits_of(shift_right<4>(both), 15);
}
// The low and high halves of a chain's bytes.
HWY_INLINE void nibbles_of(Eights both, I* q) {
  nibbles_of(both.first, q);
  nibbles_of(both.second, q + 2);
}
template <int64_t bytes, int64_t from>
HWY_INLINE void nibbles_every(const uint8_t* at, I* q) {
#pragma GCC unroll 2
  for (int64_t piece = 0; piece < 8; piece += 2 * kChunks)
    nibbles_of(eights_every<bytes, from>(at + piece * bytes), q + piece / kChunks * 2);
}
HWY_INLINE void levels_of(__m128i table, I* q, int64_t count) {
#pragma GCC unroll 8
  for (int64_t i = 0; i < count; ++i) q[i] = levels_of(q[i], table);
}

// What four pieces begin with, each with its scale in f16: the scales, then what is behind them;
// and the words that hold fifth bits, where they do.
template <int64_t bytes, bool has_low>
struct Heads {
  __m128i halves, fifth;
#if HWY_TARGET == HWY_AVX3
  struct Words : ChunkWindows<bytes, bytes - (bytes > 32 ? 32 : 16)> {
    static constexpr int64_t byte(int64_t i) {
      if (i < 8) return i % 4 * bytes + (has_low ? i / 4 * 2 : 0);
      return i % 8 / 2 * bytes + (has_low ? 4 : 2) + i % 2 * 2;
    }
  };
  HWY_INLINE explicit Heads(const uint8_t* from) {
    const I words = words_at<Words>(from);
    halves = _mm512_castsi512_si128(words.raw);
    fifth = _mm512_extracti32x4_epi32(words.raw, 1);
  }
#else
  HWY_INLINE explicit Heads(const uint8_t* from) {
    const auto four = [&](int64_t at) {
      uint64_t words = 0;
#pragma GCC unroll 4
      for (int i = 0; i < 4; ++i)
        words |= static_cast<uint64_t>(read_at<uint16_t>(from + i * bytes + at)) << (16 * i);
      return static_cast<int64_t>(words);
    };
    const auto bits = [&](int i) { return read_at<int32_t>(from + i * bytes + (has_low ? 4 : 2)); };
    halves = _mm_set_epi64x(has_low ? four(2) : 0, four(0));
    fifth = _mm_setr_epi32(bits(0), bits(1), bits(2), bits(3));
  }
#endif
};
#if HWY_TARGET == HWY_AVX3
template <int64_t bytes, bool has_low>
struct WordsOfHeads {
  static constexpr int64_t kFirst = 0, kSecond = 4 * bytes;
  static constexpr int64_t byte(int64_t i) { return i % 8 * bytes + (has_low ? i / 8 % 2 * 2 : 0); }
};
#endif
template <int64_t bytes, int bits, int offset, bool has_low = false>
struct HalfBlockOf : NibblesOf<32, bytes, bits, offset, has_low> {
  static HWY_INLINE ScalesOf<8> scales(const uint8_t* const* at) {
#if HWY_TARGET == HWY_AVX3
    if constexpr (3 * bytes + 4 <= 64) {  // two windows have the heads of all eight
      const __m512i words = words_at<WordsOfHeads<bytes, has_low>>(at[0]).raw;
      return of_halves(_mm512_castsi512_si128(words), _mm512_extracti32x4_epi32(words, 1));
    }
#endif
    const Heads<bytes, has_low> first(at[0]), second(at[0] + 4 * bytes);
    return of_halves(_mm_unpacklo_epi64(first.halves, second.halves),
                     _mm_unpackhi_epi64(first.halves, second.halves));
  }
  static HWY_INLINE ScalesOf<8> of_halves(__m128i scales, __m128i added) {
    if (!has_low) return scales_only<8>({_mm256_cvtph_ps(scales)});
    return {{_mm256_cvtph_ps(scales)},
            {_mm256_sub_ps(_mm256_setzero_ps(), _mm256_cvtph_ps(added))}};
  }
};
template <bool has_low>
struct BytesQ4 : HalfBlockOf<has_low ? 20 : 18, 4, has_low ? 0 : 8, has_low> {
  static HWY_INLINE void tile(const uint8_t* const* at, I* q) {
    nibbles_every<has_low ? 20 : 18, has_low ? 4 : 2>(at[0], q);
  }
};
template <bool has_low>
struct BytesQ5 : HalfBlockOf<has_low ? 24 : 22, 5, has_low ? 0 : 16, has_low> {
  static constexpr int64_t kBytes = has_low ? 24 : 22;
  static HWY_INLINE void tile(const uint8_t* const* at, I* q) {
    nibbles_every<kBytes, kBytes - 16>(at[0], q);
    const Heads<kBytes, has_low> first(at[0]), second(at[0] + 4 * kBytes);
#if HWY_TARGET == HWY_AVX3
    // Byte k of each piece's four, in the order that a vector has its pieces in.
    const __m256i pairs = _mm256_inserti128_si256(
        _mm256_castsi128_si256(_mm_unpacklo_epi8(first.fifth, second.fifth)),
        _mm_unpackhi_epi8(first.fifth, second.fifth), 1);
    alignas(32) uint64_t masks[4];
    _mm256_store_si256(
        reinterpret_cast<__m256i*>(masks),
        _mm256_permutexvar_epi16(
            _mm256_setr_epi16(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15), pairs));
#pragma GCC unroll 4
    for (int64_t v = 0; v < 4; ++v)
      q[v] = I{_mm512_mask_add_epi8(q[v].raw, masks[v % 2 * 2 + v / 2], q[v].raw, all(16).raw)};
#else
    const __m256i pieces = _mm256_setr_epi32(0, 0, 2, 2, 1, 1, 3, 3);
    const I bit{_mm256_set1_epi64x(static_cast<int64_t>(0x8040201008040201))};
    for (int64_t v = 0; v < 8; ++v) {
      const __m256i words = _mm256_permutevar8x32_epi32(
          _mm256_castsi128_si256(v < 4 ? first.fifth : second.fifth), pieces);
      const auto byte = static_cast<char>(v % 2 * 2 + v / 2 % 2);
      const __m128i which =
          _mm_set_epi64x(0x0808080808080808 + 0x0101010101010101 * byte, 0x0101010101010101 * byte);
      q[v] = add_where(q[v], I{_mm256_shuffle_epi8(words, _mm256_broadcastsi128_si256(which))}, bit,
                       16);
    }
#endif
  }
};
HWY_INLINE I without_sign(I bytes) { return hn::Xor(bytes, all(128)); }
// Two vectors of each kChunks pieces.
template <class Two>
HWY_INLINE void by_pairs(I* q, const Two& two) {
#pragma GCC unroll 2
  for (int64_t piece = 0; piece < 4; piece += kChunks) two(piece, q + piece / kChunks * 2);
}
struct BytesQ8_0 : WholeBytesOf<32, 34, 128> {
  static HWY_INLINE void tile(const uint8_t* const* at, I* q) {
    by_pairs(q, [&](int64_t piece, I* to) {
      to[0] = without_sign(chunks_every<34, 2>(at[0] + piece * 34));
      to[1] = without_sign(chunks_every<34, 18>(at[0] + piece * 34));
    });
  }
  static HWY_INLINE ScalesOf<4> scales(const uint8_t* const* at) {
    return scales_only<4>({_mm_cvtph_ps(Heads<34, false>(at[0]).halves)});
  }
};
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
HWY_INLINE __m128i non_linear() {  // and 128
  return _mm_setr_epi8(1, 24, 45, 63, 79, 93, 106, 118, -127, -115, -103, -90, -75, -59, -39, -15);
}
struct BytesIq4Nl : HalfBlockOf<18, 8, 128> {
  static HWY_INLINE void tile(const uint8_t* const* at, I* q) {
    nibbles_every<18, 2>(at[0], q);
    levels_of(non_linear(), q, kTile / kWidth);
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
// The first byte of each of eight pieces, an odd number of bytes apart.
template <int64_t stride>
HWY_INLINE __m256i bytes_every(const uint8_t* from) {
  uint64_t bytes = 0;
#pragma GCC unroll 8
  for (int i = 0; i < 8; ++i) bytes |= static_cast<uint64_t>(from[i * stride]) << (8 * i);
  return _mm256_cvtepu8_epi32(_mm_cvtsi64_si128(static_cast<int64_t>(bytes)));
}
HWY_INLINE __m128i doubled_e2m1() {  // and 12
  return _mm_setr_epi8(12, 13, 14, 15, 16, 18, 20, 24, 12, 11, 10, 9, 8, 6, 4, 0);
}
struct BytesMxFp4 : NibblesOf<32, 17, 5, 12> {
  static HWY_INLINE void tile(const uint8_t* const* at, I* q) {
    nibbles_every<17, 1>(at[0], q);
    levels_of(doubled_e2m1(), q, kTile / kWidth);
  }
  static HWY_INLINE ScalesOf<8> scales(const uint8_t* const* at) {
    const __m256i e = bytes_every<17>(at[0]), one = _mm256_set1_epi32(1);
    const __m256i normal = _mm256_slli_epi32(_mm256_sub_epi32(e, one), 23),
                  small = _mm256_sllv_epi32(_mm256_set1_epi32(0x00200000), e);
    return scales_only<8>(
        {_mm256_castsi256_ps(_mm256_blendv_epi8(small, normal, _mm256_cmpgt_epi32(e, one)))});
  }
};
// Blocks of 16: a chain has the low halves of 8 bytes each, then the high ones.
struct BytesNvFp4 : BlockOf<16, 9, 5, 12, false, 16> {
  static constexpr int64_t kPieces = 8, kTile = 128;
  static constexpr int64_t place(int64_t v, int64_t byte) {
    return (v / 2 * 2 * kChunks + byte / 8) * 16 + byte % 8 * 2 + v % 2;
  }
#if HWY_TARGET == HWY_AVX3
  struct Words {
    static constexpr int64_t kFirst = 1, kSecond = 8;
    static constexpr int64_t byte(int64_t i) { return i / 4 * 9 + 1 + i % 4 * 2; }
  };
  static HWY_INLINE I bytes_of(const uint8_t* from) { return words_at<Words>(from); }
#else
  static HWY_INLINE I bytes_of(const uint8_t* from) {
    const uint8_t* const pieces[] = {from, from + kBytes, from + 2 * kBytes, from + 3 * kBytes};
    return eights_at(pieces, 1);
  }
#endif
  static HWY_INLINE void tile(const uint8_t* const* at, I* q) {
    for (int64_t v = 0; v < kTile / kWidth; v += 2)
      nibbles_of(bytes_of(at[0] + v * kChunks * kBytes), q + v);
    levels_of(doubled_e2m1(), q, kTile / kWidth);
  }
  // Halves of E4M3.
  static HWY_INLINE ScalesOf<8> scales(const uint8_t* const* at) {
    const __m256i byte = bytes_every<9>(at[0]),
                  size = _mm256_and_si256(byte, _mm256_set1_epi32(127));
    const __m256i normal =
        _mm256_add_epi32(_mm256_slli_epi32(size, 20), _mm256_set1_epi32(119 << 23));
    const __m256 small = _mm256_mul_ps(_mm256_cvtepi32_ps(size), _mm256_set1_ps(0x1p-10F));
    const __m256i is_normal = _mm256_cmpgt_epi32(size, _mm256_set1_epi32(7)),
                  is_nan = _mm256_cmpeq_epi32(size, _mm256_set1_epi32(127));
    const __m256i value = _mm256_or_si256(
        _mm256_or_si256(_mm256_blendv_epi8(_mm256_castps_si256(small), normal, is_normal), is_nan),
        _mm256_slli_epi32(_mm256_srli_epi32(byte, 7), 31));
    return scales_only<8>({_mm256_castsi256_ps(value)});
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
HWY_INLINE __m256 eight_signed(const uint8_t* at) {
  return _mm256_cvtepi32_ps(
      _mm256_cvtepi8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(at))));
}
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
    const uint8_t* block = at[0];
    const __m256 d = _mm256_set1_ps(half_at(block + 208));
    return scales_only<16>({{_mm256_mul_ps(eight_signed(block + 192), d)},
                            {_mm256_mul_ps(eight_signed(block + 200), d)}});
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
    const __m256 d = _mm256_set1_ps(half_at(block + 80)),
                 minimum = _mm256_set1_ps(half_at(block + 82));
    const auto first = read_at<uint64_t>(block), second = read_at<uint64_t>(block + 8),
               mask = uint64_t{0x0f0f0f0f0f0f0f0f};
    return {{{_mm256_mul_ps(eight_bytes(first & mask), d)},
             {_mm256_mul_ps(eight_bytes(second & mask), d)}},
            {{_mm256_mul_ps(eight_bytes(first >> 4 & mask), minimum)},
             {_mm256_mul_ps(eight_bytes(second >> 4 & mask), minimum)}}};
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
    const auto low = read_at<uint64_t>(block + 96), mask = uint64_t{0x0f0f0f0f0f0f0f0f};
    const auto two = static_cast<uint64_t>(read_at<uint32_t>(block + 104));
    const auto pairs = [&](int shift) {  // of 4 numbers each, 2 bits further for the next 4
      return ((two >> shift & 0x03030303U) | (two >> (shift + 2) & 0x03030303U) << 32) << 4;
    };
    const __m256 d = _mm256_set1_ps(half_at(block + 108)), middle = _mm256_set1_ps(32);
    const __m256 first = eight_bytes((low & mask) | pairs(0)),
                 second = eight_bytes((low >> 4 & mask) | pairs(4));
    return scales_only<16>({{_mm256_mul_ps(_mm256_sub_ps(first, middle), d)},
                            {_mm256_mul_ps(_mm256_sub_ps(second, middle), d)}});
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

// int2_block, int4_block and int8_block, signed or with a zero point. A piece is a unit of 32: a
// block, or a part of one.
template <int bits, bool has_zero, bool is_block>
struct BytesInteger : BlockOf<is_block ? 32 : 0, is_block ? 4 * bits + (has_zero ? 8 : 4) : 0, bits,
                              has_zero ? 0 : 1 << (bits - 1), has_zero> {
  static constexpr int64_t kBegin = !is_block ? 0 : has_zero ? 8 : 4;
  static constexpr int64_t kPieces = bits == 8 ? 4 : 8, kTile = kUnit * kPieces,
                           kChain = bits == 8 ? 2 : 4;
  using Nibbles = NibblesOf<0, 0, 4, 0>;
  static constexpr int64_t place(int64_t v, int64_t byte) {
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
