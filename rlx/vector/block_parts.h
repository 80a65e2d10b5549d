// What blocks of few bits per element are spread with: pieces of bytes side by side as one vector,
// and a float for each group of elements. Included once per instruction set.
#if defined(RLX_VECTOR_BLOCK_PARTS) == defined(HWY_TARGET_TOGGLE)
#ifdef RLX_VECTOR_BLOCK_PARTS
#undef RLX_VECTOR_BLOCK_PARTS
#else
#define RLX_VECTOR_BLOCK_PARTS
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
#if HWY_TARGET == HWY_AVX3
// Words from anywhere in two windows of 64 bytes each, by one instruction: Words has the windows'
// places and the first byte of each word.
template <class Words>
struct WordsOfWindows {
  alignas(64) uint16_t index[32];
  constexpr WordsOfWindows() : index() {
    for (int64_t i = 0; i < 32; ++i) index[i] = where(Words::byte(i));
  }
  static constexpr bool has(int64_t window, int64_t byte) {
    return byte >= window && byte + 2 <= window + 64 && (byte - window) % 2 == 0;
  }
  static constexpr uint16_t where(int64_t byte) {
    if (has(Words::kFirst, byte)) return static_cast<uint16_t>((byte - Words::kFirst) / 2);
    if (has(Words::kSecond, byte)) return static_cast<uint16_t>(32 + (byte - Words::kSecond) / 2);
    throw "no window has it";  // does not compile
  }
};
template <class Words>
HWY_INLINE I words_at(const uint8_t* from) {
  static constexpr WordsOfWindows<Words> kWords;
  return I{_mm512_permutex2var_epi16(vector_at(from + Words::kFirst).raw,
                                     _mm512_load_si512(kWords.index),
                                     vector_at(from + Words::kSecond).raw)};
}
// The windows that have 16 bytes of each of four pieces: those of odd pieces that are an odd number
// of bytes apart need another parity.
template <int64_t stride, int64_t offset>
struct ChunkWindows {
  static constexpr int64_t kLast = 3 * stride + offset - 48;
  static constexpr int64_t kFirst = stride % 2                   ? offset
                                    : stride + offset + 16 <= 64 ? 0
                                                                 : offset - 4,
                           kSecond = kLast;
};
template <int64_t stride, int64_t offset>
struct ChunkWords : ChunkWindows<stride, offset> {
  static constexpr int64_t byte(int64_t i) { return i / 8 * stride + offset + i % 8 * 2; }
};
// 8 bytes of each of eight pieces, those of 4 to 7 behind those of 0 to 3 in each chunk.
template <int64_t stride, int64_t offset>
struct EightWords {
  static constexpr int64_t kFirst = offset / 8 * 8, kSecond = kFirst + 4 * stride;
  static constexpr int64_t byte(int64_t i) {
    return (i / 8 + i / 4 % 2 * 4) * stride + offset + i % 4 * 2;
  }
};
#endif
// 16 bytes of each of some pieces, which are one after the other.
template <int64_t stride, int64_t offset>
HWY_INLINE I chunks_every(const uint8_t* from) {
#if HWY_TARGET == HWY_AVX3
  return words_at<ChunkWords<stride, offset>>(from);
#else
  return chunks_of([&](int64_t c) { return from + c * stride + offset; });
#endif
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
// The first 8 and the other 8 of 16 bytes of twice kChunks pieces.
template <int64_t stride, int64_t offset>
HWY_INLINE Eights eights_every(const uint8_t* from) {
#if HWY_TARGET == HWY_AVX3
  if constexpr (stride == 18)
    return {words_at<EightWords<stride, offset>>(from),
            words_at<EightWords<stride, offset + 8>>(from)};
#endif
  return eights_of(chunks_every<stride, offset>(from),
                   chunks_every<stride, offset>(from + kChunks * stride));
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
#if HWY_TARGET == HWY_AVX3
template <>
struct FloatsOf<16> {
  __m512 raw;
  static HWY_INLINE FloatsOf at(const float* from) { return {_mm512_loadu_ps(from)}; }
  static HWY_INLINE FloatsOf all(float x) { return {_mm512_set1_ps(x)}; }
  HWY_INLINE FloatsOf operator*(FloatsOf b) const { return {_mm512_mul_ps(raw, b.raw)}; }
  HWY_INLINE FloatsOf times_plus(FloatsOf b, FloatsOf c) const {
    return {_mm512_fmadd_ps(raw, b.raw, c.raw)};
  }
  HWY_INLINE void store(float* to) const { _mm512_storeu_ps(to, raw); }
};
HWY_INLINE FloatsOf<16> sixteen_bytes(__m128i x) {
  return {_mm512_cvtepi32_ps(_mm512_cvtepu8_epi32(x))};
}
HWY_INLINE FloatsOf<16> sixteen_signed(__m128i x) {
  return {_mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(x))};
}
#else
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
HWY_INLINE FloatsOf<16> sixteen_bytes(__m128i x) {
  const auto eight = [](__m128i bytes) {
    return FloatsOf<8>{_mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(bytes))};
  };
  return {eight(x), eight(_mm_unpackhi_epi64(x, x))};
}
HWY_INLINE FloatsOf<16> sixteen_signed(__m128i x) {
  const auto eight = [](__m128i bytes) {
    return FloatsOf<8>{_mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(bytes))};
  };
  return {eight(x), eight(_mm_unpackhi_epi64(x, x))};
}
#endif
// Of the groups of a tile.
template <int64_t n>
struct ScalesOf {
  FloatsOf<n> scale, low;
};
template <int64_t n>
HWY_INLINE ScalesOf<n> scales_only(FloatsOf<n> scale) {
  return {scale, scale};  // the other is not read
}

}  // namespace
}  // namespace rlx::vector::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif

#endif
