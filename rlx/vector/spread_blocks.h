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
HWY_INLINE __m128i non_linear() {  // and 128
  return _mm_setr_epi8(1, 24, 45, 63, 79, 93, 106, 118, -127, -115, -103, -90, -75, -59, -39, -15);
}
struct BytesIq4Nl : HalfBlockOf<18, 8, 128> {
  static HWY_INLINE void tile(const uint8_t* const* at, I* q) {
    nibbles_every<18, 2>(at[0], q);
    levels_of(non_linear(), q, kTile / kWidth);
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

}  // namespace
}  // namespace rlx::vector::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif

#endif
