// The bytes, scales and minima that blocks are made of, format by format, for processors with
// vectors of 256 or 512 bits: element i is (q[i] - kOffset) * scale - low, of the group that it is
// in. Included once per instruction set.
#if defined(RLX_VECTOR_SPREAD_BLOCKS) == defined(HWY_TARGET_TOGGLE)
#ifdef RLX_VECTOR_SPREAD_BLOCKS
#undef RLX_VECTOR_SPREAD_BLOCKS
#else
#define RLX_VECTOR_SPREAD_BLOCKS
#endif

#include "rlx/vector/block_bytes.h"
#include "rlx/vector/simd.h"

#if defined(RLX_HIGHWAY) && (HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3)
HWY_BEFORE_NAMESPACE();
namespace rlx::vector::HWY_NAMESPACE {
namespace {

constexpr int64_t kUnit = 32;            // elements of x that share a step
constexpr int64_t kWidth = 4 * kLanes;   // bytes of a vector
constexpr int64_t kChunks = kLanes / 4;  // of 16 bytes, in a vector

template <class T>
HWY_INLINE T read_at(const uint8_t* at) {
  T x;
  std::memcpy(&x, at, sizeof(T));
  return x;
}
HWY_INLINE float half_at(const uint8_t* at) { return _cvtsh_ss(read_at<uint16_t>(at)); }
HWY_INLINE __m128i load16(const uint8_t* at) {
  return _mm_loadu_si128(reinterpret_cast<const __m128i*>(at));
}
HWY_INLINE I vector_at(const uint8_t* at) {
  return load_integers(reinterpret_cast<const int32_t*>(at));
}
HWY_INLINE I all(uint32_t byte) { return set_int(static_cast<int32_t>(byte * 0x01010101U)); }
// The low bits of each byte. Shifts of words move bits between bytes; the mask takes them away.
HWY_INLINE I low_bits_of(I x, uint32_t mask) { return and_(x, all(mask)); }

// 16 bytes of each place in turn.
template <class Places>
HWY_INLINE I chunks_of(const Places& at) {
  const auto two = [&](int64_t c) {
    return _mm256_inserti128_si256(_mm256_castsi128_si256(load16(at(c))), load16(at(c + 1)), 1);
  };
#if HWY_TARGET == HWY_AVX3
  return I{_mm512_inserti64x4(_mm512_castsi256_si512(two(0)), two(2), 1)};
#else
  return I{two(0)};
#endif
}
HWY_INLINE I chunks_at(const uint8_t* const* at, int64_t from) {
  return chunks_of([&](int64_t c) { return at[c] + from; });
}
HWY_INLINE I chunks_apart(const uint8_t* from, int64_t stride) {
  return chunks_of([&](int64_t c) { return from + c * stride; });
}
// 8 bytes of each place in turn.
HWY_INLINE I eights_at(const uint8_t* const* at, int64_t from) {
  const auto two = [&](int64_t c) {
    const __m128i low = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(at[2 * c] + from));
    return _mm_insert_epi64(low, read_at<int64_t>(at[2 * c + 1] + from), 1);
  };
  const __m256i four = _mm256_inserti128_si256(_mm256_castsi128_si256(two(0)), two(1), 1);
#if HWY_TARGET == HWY_AVX3
  const __m256i others = _mm256_inserti128_si256(_mm256_castsi128_si256(two(2)), two(3), 1);
  return I{_mm512_inserti64x4(_mm512_castsi256_si512(four), others, 1)};
#else
  return I{four};
#endif
}
// The same 16, or 32, bytes as often as a vector has them.
HWY_INLINE I repeated16(__m128i x) {
#if HWY_TARGET == HWY_AVX3
  return I{_mm512_broadcast_i32x4(x)};
#else
  return I{_mm256_broadcastsi128_si256(x)};
#endif
}
HWY_INLINE I repeated32(const uint8_t* at) {
  const __m256i x = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(at));
#if HWY_TARGET == HWY_AVX3
  return I{_mm512_broadcast_i64x4(x)};
#else
  return I{x};
#endif
}
HWY_INLINE I levels_of(I nibbles, __m128i table) {
#if HWY_TARGET == HWY_AVX3
  return I{_mm512_shuffle_epi8(repeated16(table).raw, nibbles.raw)};
#else
  return I{_mm256_shuffle_epi8(repeated16(table).raw, nibbles.raw)};
#endif
}
// 8 of 16 bytes of a, then of b, in each chunk.
struct Eights {
  I first, second;
};
HWY_INLINE Eights eights_of(I a, I b) {
#if HWY_TARGET == HWY_AVX3
  return {I{_mm512_unpacklo_epi64(a.raw, b.raw)}, I{_mm512_unpackhi_epi64(a.raw, b.raw)}};
#else
  return {I{_mm256_unpacklo_epi64(a.raw, b.raw)}, I{_mm256_unpackhi_epi64(a.raw, b.raw)}};
#endif
}
// `more` added to the bytes that have the bit in `bits`.
HWY_INLINE I add_where(I q, I bits, I bit, uint32_t more) {
#if HWY_TARGET == HWY_AVX3
  return I{
      _mm512_mask_add_epi8(q.raw, _mm512_test_epi8_mask(bits.raw, bit.raw), q.raw, all(more).raw)};
#else
  const __m256i has = _mm256_cmpeq_epi8(_mm256_and_si256(bits.raw, bit.raw), bit.raw);
  return q + I{_mm256_and_si256(has, all(more).raw)};
#endif
}
// 16 added to byte i where bit i of the mask, two bytes for each chunk, is set.
template <class Places>
HWY_INLINE I with_fifth_bits(I q, const Places& halves) {
  uint64_t mask = 0;
  for (int64_t c = 0; c < kChunks; ++c)
    mask |= static_cast<uint64_t>(read_at<uint16_t>(halves(c))) << (16 * c);
#if HWY_TARGET == HWY_AVX3
  return I{_mm512_mask_add_epi8(q.raw, mask, q.raw, all(16).raw)};
#else
  const __m256i which =
      _mm256_setr_epi64x(0, 0x0101010101010101, 0x0202020202020202, 0x0303030303030303);
  const __m256i bytes = _mm256_shuffle_epi8(_mm256_set1_epi32(static_cast<int>(mask)), which);
  return add_where(q, I{bytes}, I{_mm256_set1_epi64x(static_cast<int64_t>(0x8040201008040201))},
                   16);
#endif
}
// A number for each 32 bytes, in all of their lanes.
HWY_INLINE I of_halves(int32_t first, int32_t step) {
  alignas(64) int32_t lanes[kLanes];
  for (int i = 0; i < kLanes; ++i) lanes[i] = first + i / 8 * step;
  return load_integers(lanes);
}

// A float for each of n groups.
template <int64_t n>
struct FloatsOf;
template <>
struct FloatsOf<4> {
  __m128 raw;
  static HWY_INLINE FloatsOf at(const float* from) { return {_mm_loadu_ps(from)}; }
  static HWY_INLINE FloatsOf all(float x) { return {_mm_set1_ps(x)}; }
  HWY_INLINE FloatsOf operator*(FloatsOf b) const { return {_mm_mul_ps(raw, b.raw)}; }
  HWY_INLINE FloatsOf times_plus(FloatsOf b, FloatsOf c) const {
    return {_mm_fmadd_ps(raw, b.raw, c.raw)};
  }
  HWY_INLINE void store(float* to) const { _mm_storeu_ps(to, raw); }
};
template <>
struct FloatsOf<8> {
  __m256 raw;
  static HWY_INLINE FloatsOf at(const float* from) { return {_mm256_loadu_ps(from)}; }
  static HWY_INLINE FloatsOf all(float x) { return {_mm256_set1_ps(x)}; }
  HWY_INLINE FloatsOf operator*(FloatsOf b) const { return {_mm256_mul_ps(raw, b.raw)}; }
  HWY_INLINE FloatsOf times_plus(FloatsOf b, FloatsOf c) const {
    return {_mm256_fmadd_ps(raw, b.raw, c.raw)};
  }
  HWY_INLINE void store(float* to) const { _mm256_storeu_ps(to, raw); }
};
template <>
struct FloatsOf<16> {
  FloatsOf<8> low, high;
  static HWY_INLINE FloatsOf at(const float* from) {
    return {FloatsOf<8>::at(from), FloatsOf<8>::at(from + 8)};
  }
  static HWY_INLINE FloatsOf all(float x) { return {FloatsOf<8>::all(x), FloatsOf<8>::all(x)}; }
  HWY_INLINE FloatsOf operator*(FloatsOf b) const { return {low * b.low, high * b.high}; }
  HWY_INLINE FloatsOf times_plus(FloatsOf b, FloatsOf c) const {
    return {low.times_plus(b.low, c.low), high.times_plus(b.high, c.high)};
  }
  HWY_INLINE void store(float* to) const {
    low.store(to);
    high.store(to + 8);
  }
};
// Of the groups of a tile.
template <int64_t n>
struct ScalesOf {
  FloatsOf<n> scale, low;
};
template <int64_t n>
HWY_INLINE ScalesOf<n> scales_only(FloatsOf<n> scale) {
  return {scale, scale};  // the other is not read
}

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
// Pieces of 32 elements whose bytes, or halves of bytes, are those of a chunk; then the other 16.
template <int64_t elements, int64_t bytes, int bits, int offset, bool has_low = false>
struct UnitsOf : BlockOf<elements, bytes, bits, offset, has_low> {
  static constexpr int64_t kPieces = 4, kTile = 128;
  static constexpr int64_t place(int64_t v, int64_t byte) {
    return (v / 2 * kChunks + byte / 16) * 32 + v % 2 * 16 + byte % 16;
  }
};
HWY_INLINE __m128 halves_at(const uint8_t* const* at, int64_t from) {
  uint64_t halves = 0;
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i)
    halves |= static_cast<uint64_t>(read_at<uint16_t>(at[i] + from)) << (16 * i);
  return _mm_cvtph_ps(_mm_cvtsi64_si128(static_cast<int64_t>(halves)));
}
// One group that begins with its scale in f16, and what is added to it.
template <int64_t bytes, int bits, int offset, bool has_low = false>
struct HalfBlockOf : UnitsOf<32, bytes, bits, offset, has_low> {
  static HWY_INLINE ScalesOf<4> scales(const uint8_t* const* at) {
    ScalesOf<4> all = scales_only<4>({halves_at(at, 0)});
    if (has_low) all.low.raw = _mm_sub_ps(_mm_setzero_ps(), halves_at(at, 2));
    return all;
  }
};

HWY_INLINE void nibbles_of(I both, I* q) {
  q[0] = low_bits_of(both, 15);
  q[1] = low_bits_of(shift_right<4>(both), 15);
}
HWY_INLINE void levels_of(__m128i table, I* q) {
  for (int i = 0; i < 2; ++i) q[i] = levels_of(q[i], table);
}
// Two vectors of each kChunks pieces.
template <class Two>
HWY_INLINE void by_pairs(const uint8_t* const* at, I* q, const Two& two) {
#pragma GCC unroll 2
  for (int64_t piece = 0; piece < 4; piece += kChunks) two(at + piece, q + piece / kChunks * 2);
}
template <bool has_low>
struct BytesQ4 : HalfBlockOf<has_low ? 20 : 18, 4, has_low ? 0 : 8, has_low> {
  static HWY_INLINE void tile(const uint8_t* const* at, I* q) {
    by_pairs(at, q, [](const uint8_t* const* some, I* to) {
      nibbles_of(chunks_at(some, has_low ? 4 : 2), to);
    });
  }
};
template <bool has_low>
struct BytesQ5 : HalfBlockOf<has_low ? 24 : 22, 5, has_low ? 0 : 16, has_low> {
  static HWY_INLINE void tile(const uint8_t* const* at, I* q) {
    constexpr int64_t kFrom = has_low ? 4 : 2;
    by_pairs(at, q, [](const uint8_t* const* some, I* to) {
      nibbles_of(chunks_at(some, kFrom + 4), to);
      to[0] = with_fifth_bits(to[0], [&](int64_t c) { return some[c] + kFrom; });
      to[1] = with_fifth_bits(to[1], [&](int64_t c) { return some[c] + kFrom + 2; });
    });
  }
};
HWY_INLINE I without_sign(I bytes) { return hn::Xor(bytes, all(128)); }
struct BytesQ8_0 : HalfBlockOf<34, 8, 128> {
  static HWY_INLINE void tile(const uint8_t* const* at, I* q) {
    by_pairs(at, q, [](const uint8_t* const* some, I* to) {
      to[0] = without_sign(chunks_at(some, 2));
      to[1] = without_sign(chunks_at(some, 18));
    });
  }
};
// Blocks of 256 whose groups of 32 are one after the other: some of them, then their other halves.
template <int64_t bytes, int bits, int offset>
struct GroupsInOrder : BlockOf<256, bytes, bits, offset> {
  static constexpr int64_t place(int64_t v, int64_t byte) {
    return (v / 2 * kChunks + byte / 16) * 32 + v % 2 * 16 + byte % 16;
  }
};
struct BytesQ8K : GroupsInOrder<292, 8, 128> {
  static HWY_INLINE void tile(const uint8_t* const* at, I* q) {
    for (int64_t v = 0; v < kTile / kWidth; ++v)
      q[v] = without_sign(chunks_apart(at[0] + 4 + place(v, 0), 32));
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
    by_pairs(at, q, [](const uint8_t* const* some, I* to) {
      nibbles_of(chunks_at(some, 2), to);
      levels_of(non_linear(), to);
    });
  }
};
struct BytesIq4Xs : GroupsInOrder<136, 8, 128> {
  static HWY_INLINE void tile(const uint8_t* const* at, I* q) {
    for (int64_t v = 0; v < kTile / kWidth; v += 2) {
      nibbles_of(vector_at(at[0] + 8 + v / 2 * kWidth), q + v);
      levels_of(non_linear(), q + v);
    }
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
HWY_INLINE __m128i doubled_e2m1() {  // and 12
  return _mm_setr_epi8(12, 13, 14, 15, 16, 18, 20, 24, 12, 11, 10, 9, 8, 6, 4, 0);
}
struct BytesMxFp4 : UnitsOf<32, 17, 5, 12> {
  static HWY_INLINE void tile(const uint8_t* const* at, I* q) {
    by_pairs(at, q, [](const uint8_t* const* some, I* to) {
      nibbles_of(chunks_at(some, 1), to);
      levels_of(doubled_e2m1(), to);
    });
  }
  static HWY_INLINE ScalesOf<4> scales(const uint8_t* const* at) {
    const __m128i e = _mm_setr_epi32(*at[0], *at[1], *at[2], *at[3]), one = _mm_set1_epi32(1);
    const __m128i normal = _mm_slli_epi32(_mm_sub_epi32(e, one), 23),
                  small = _mm_sllv_epi32(_mm_set1_epi32(0x00200000), e);
    return scales_only<4>(
        {_mm_castsi128_ps(_mm_blendv_epi8(small, normal, _mm_cmpgt_epi32(e, one)))});
  }
};
struct BytesNvFp4 : BlockOf<16, 9, 5, 12, false, 16> {
  static constexpr int64_t kPieces = 8, kTile = 128;
  static constexpr int64_t place(int64_t v, int64_t byte) {
    return (v / 2 * 2 * kChunks + byte / 8) * 16 + byte % 8 * 2 + v % 2;
  }
  static HWY_INLINE void tile(const uint8_t* const* at, I* q) {
#pragma GCC unroll 2
    for (int64_t piece = 0; piece < kPieces; piece += 2 * kChunks, q += 2) {
      nibbles_of(eights_at(at + piece, 1), q);
      levels_of(doubled_e2m1(), q);
    }
  }
  // Halves of E4M3.
  static HWY_INLINE ScalesOf<8> scales(const uint8_t* const* at) {
    uint64_t bytes = 0;
#pragma GCC unroll 8
    for (int i = 0; i < 8; ++i) bytes |= static_cast<uint64_t>(*at[i]) << (8 * i);
    const __m256i byte = _mm256_cvtepu8_epi32(_mm_cvtsi64_si128(static_cast<int64_t>(bytes))),
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
        const I both = chunks_apart(nibbles + v / 4 * kWidth * 2 + 16 * i, 32);
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
struct BytesInteger : UnitsOf<is_block ? 32 : 0, is_block ? 4 * bits + (has_zero ? 8 : 4) : 0, bits,
                              has_zero ? 0 : 1 << (bits - 1), has_zero> {
  static constexpr int64_t kBegin = !is_block ? 0 : has_zero ? 8 : 4;
  static constexpr int64_t kPieces = bits == 2 ? 8 : 4, kTile = kUnit * kPieces,
                           kChain = bits == 2 ? 4 : 2;
  static constexpr int64_t place(int64_t v, int64_t byte) {
    if (bits == 2) return (v / 4 * 2 * kChunks + byte / 8) * 32 + byte % 8 * 4 + v % 4;
    const int64_t unit = v / 2 * kChunks + byte / 16;
    return unit * 32 + (bits == 4 ? byte % 16 * 2 + v % 2 : v % 2 * 16 + byte % 16);
  }
  static HWY_INLINE void tile(const uint8_t* const* at, I* q) {
    if constexpr (bits == 2) {
#pragma GCC unroll 2
      for (int64_t piece = 0; piece < kPieces; piece += 2 * kChunks) {
        const I four = eights_at(at + piece, kBegin);
        I* to = q + piece / kChunks * 2;
        to[0] = low_bits_of(four, 3);
        to[1] = low_bits_of(shift_right<2>(four), 3);
        to[2] = low_bits_of(shift_right<4>(four), 3);
        to[3] = low_bits_of(shift_right<6>(four), 3);
      }
    } else {
      by_pairs(at, q, [](const uint8_t* const* some, I* to) {
        if constexpr (bits == 4) return nibbles_of(chunks_at(some, kBegin), to);
        to[0] = chunks_at(some, kBegin);
        to[1] = chunks_at(some, kBegin + 16);
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
    const auto four = [&](int64_t i) {
      return _mm_setr_ps(read_at<float>(at[i] + from), read_at<float>(at[i + 1] + from),
                         read_at<float>(at[i + 2] + from), read_at<float>(at[i + 3] + from));
    };
    if constexpr (bits == 2)
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
