// The bytes, scales and minima that blocks are made of, format by format, for processors with
// vectors of 256 bits: element i is (q[i] - kOffset) * scale - low, of the group that it is in.
// Included once per instruction set.
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
HWY_INLINE __m256i load32(const uint8_t* at) {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(at));
}
HWY_INLINE __m256i all(int byte) { return _mm256_set1_epi8(static_cast<char>(byte)); }
HWY_INLINE __m256i low_bits_of(__m256i x, int mask) { return _mm256_and_si256(x, all(mask)); }

// 16 bytes: their low halves, then their high ones.
HWY_INLINE __m256i nibbles_at(const uint8_t* at) {
  const __m128i both = load16(at);
  return low_bits_of(
      _mm256_inserti128_si256(_mm256_castsi128_si256(both), _mm_srli_epi16(both, 4), 1), 15);
}
// Bit i of a word as the fifth bit of byte i.
HWY_INLINE __m256i fifth_bits(uint32_t word) {
  const __m256i which =
      _mm256_setr_epi64x(0, 0x0101010101010101, 0x0202020202020202, 0x0303030303030303);
  const __m256i bytes = _mm256_shuffle_epi8(_mm256_set1_epi32(static_cast<int>(word)), which);
  const __m256i bits = _mm256_set1_epi64x(static_cast<int64_t>(0x8040201008040201));
  return low_bits_of(_mm256_cmpeq_epi8(_mm256_and_si256(bytes, bits), bits), 16);
}
HWY_INLINE __m256i levels_of(__m256i nibbles, __m128i table) {
  return _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(table), nibbles);
}

// What a format has beside its own: elements of a block (0: the shape tells), of a group, bits of a
// byte, and what is subtracted of it.
template <int64_t elements, int bits, int offset, bool has_low = false, int64_t group = 32>
struct BlockOf {
  static constexpr int64_t kElements = elements, kGroup = group;
  static constexpr int kBits = bits, kOffset = offset;
  static constexpr bool kHasLow = has_low, kBeginsWithHalves = false, kInTurns = false;
};
// One group that begins with its scale in f16, and what is added to it: many are made floats at
// once, which is faster than one by one.
template <int bits, int offset, bool has_low = false>
struct HalfBlockOf : BlockOf<32, bits, offset, has_low> {
  static constexpr bool kBeginsWithHalves = true;
  static void scales(const BlockShape&, const uint8_t*, float*, float*) {}
};
// `count` blocks, and up to 15 more of what is behind.
template <bool negative>
HWY_INLINE void halves_of(const uint8_t* blocks, int64_t bytes, int64_t count, uint16_t* halves,
                          float* to) {
#pragma GCC unroll 8
  for (int64_t b = 0; b < count; ++b) halves[b] = read_at<uint16_t>(blocks + b * bytes);
  for (int64_t b = 0; b < count; b += 8) {
    const __m256 x = _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<__m128i*>(halves + b)));
    _mm256_storeu_ps(to + b, negative ? _mm256_sub_ps(_mm256_setzero_ps(), x) : x);
  }
}

struct BytesQ4_0 : HalfBlockOf<4, 8> {
  static HWY_INLINE __m256i unit(const BlockShape&, const uint8_t* block, int64_t) {
    return nibbles_at(block + 2);
  }
};
struct BytesQ4_1 : HalfBlockOf<4, 0, true> {
  static HWY_INLINE __m256i unit(const BlockShape&, const uint8_t* block, int64_t) {
    return nibbles_at(block + 4);
  }
};
struct BytesQ5_0 : HalfBlockOf<5, 16> {
  static HWY_INLINE __m256i unit(const BlockShape&, const uint8_t* block, int64_t) {
    return _mm256_or_si256(nibbles_at(block + 6), fifth_bits(read_at<uint32_t>(block + 2)));
  }
};
struct BytesQ5_1 : HalfBlockOf<5, 0, true> {
  static HWY_INLINE __m256i unit(const BlockShape&, const uint8_t* block, int64_t) {
    return _mm256_or_si256(nibbles_at(block + 8), fifth_bits(read_at<uint32_t>(block + 4)));
  }
};
HWY_INLINE __m256i without_sign(__m256i bytes) { return _mm256_xor_si256(bytes, all(128)); }
struct BytesQ8_0 : HalfBlockOf<8, 128> {
  static HWY_INLINE __m256i unit(const BlockShape&, const uint8_t* block, int64_t) {
    return without_sign(load32(block + 2));
  }
};
struct BytesQ8K : BlockOf<256, 8, 128> {
  static HWY_INLINE __m256i unit(const BlockShape&, const uint8_t* block, int64_t u) {
    return without_sign(load32(block + 4 + 32 * u));
  }
  static HWY_INLINE void scales(const BlockShape&, const uint8_t* block, float* scale, float*) {
    _mm256_storeu_ps(scale, _mm256_set1_ps(read_at<float>(block)));
  }
};
HWY_INLINE __m128i non_linear() {  // and 128
  return _mm_setr_epi8(1, 24, 45, 63, 79, 93, 106, 118, -127, -115, -103, -90, -75, -59, -39, -15);
}
struct BytesIq4Nl : HalfBlockOf<8, 128> {
  static HWY_INLINE __m256i unit(const BlockShape&, const uint8_t* block, int64_t) {
    return levels_of(nibbles_at(block + 2), non_linear());
  }
};
struct BytesIq4Xs : BlockOf<256, 8, 128> {
  static HWY_INLINE __m256i unit(const BlockShape&, const uint8_t* block, int64_t u) {
    return levels_of(nibbles_at(block + 8 + 16 * u), non_linear());
  }
  static HWY_INLINE void scales(const BlockShape&, const uint8_t* block, float* scale, float*) {
    const float d = half_at(block);
    const int high = read_at<uint16_t>(block + 2);
    for (int part = 0; part < 8; ++part) {
      const int whole = (block[4 + part / 2] >> (part % 2 * 4) & 15) | (high >> (2 * part) & 3)
                                                                           << 4;
      scale[part] = d * static_cast<float>(whole - 32);
    }
  }
};
struct BytesMxFp4 : BlockOf<32, 5, 12> {
  static HWY_INLINE __m256i unit(const BlockShape&, const uint8_t* block, int64_t) {
    return levels_of(nibbles_at(block + 1),
                     _mm_setr_epi8(12, 13, 14, 15, 16, 18, 20, 24, 12, 11, 10, 9, 8, 6, 4, 0));
  }
  static HWY_INLINE void scales(const BlockShape&, const uint8_t* block, float* scale, float*) {
    const uint32_t word = block[0] > 1 ? (block[0] - 1U) << 23 : 0x00200000U << block[0];
    std::memcpy(scale, &word, 4);
  }
};

HWY_INLINE __m256 eight_bytes(uint64_t bytes) {
  return _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(_mm_cvtsi64_si128(static_cast<int64_t>(bytes))));
}
template <bool five>
struct BytesQ4K : BlockOf<256, five ? 5 : 4, 0, true> {
  static HWY_INLINE __m256i unit(const BlockShape&, const uint8_t* block, int64_t u) {
    const __m256i both = load32(block + (five ? 48 : 16) + 32 * (u / 2));
    const __m256i low = low_bits_of(u % 2 ? _mm256_srli_epi16(both, 4) : both, 15);
    if (!five) return low;
    const __m128i shift = _mm_cvtsi32_si128(static_cast<int>(u));
    const __m256i bit = _mm256_srl_epi16(load32(block + 16), shift);
    return _mm256_or_si256(low, _mm256_slli_epi16(low_bits_of(bit, 1), 4));
  }
  // Six bits each in twelve bytes.
  static HWY_INLINE void scales(const BlockShape&, const uint8_t* block, float* scale, float* low) {
    const auto first = read_at<uint32_t>(block + 4), second = read_at<uint32_t>(block + 8),
               third = read_at<uint32_t>(block + 12);
    const uint32_t mask = 0x3f3f3f3fU, nibbles = 0x0f0f0f0fU, pairs = 0x03030303U;
    const uint32_t more = (third & nibbles) | (first >> 6 & pairs) << 4,
                   more_lows = (third >> 4 & nibbles) | (second >> 6 & pairs) << 4;
    const auto both = [](uint32_t four, uint32_t others) {
      return four | static_cast<uint64_t>(others) << 32;
    };
    const __m256 d = _mm256_set1_ps(half_at(block)), minimum = _mm256_set1_ps(half_at(block + 2));
    _mm256_storeu_ps(scale, _mm256_mul_ps(eight_bytes(both(first & mask, more)), d));
    _mm256_storeu_ps(low, _mm256_mul_ps(eight_bytes(both(second & mask, more_lows)), minimum));
  }
};
struct BytesQ6K : BlockOf<256, 6, 32, false, 16> {
  static HWY_INLINE __m256i unit(const BlockShape&, const uint8_t* block, int64_t u) {
    const int64_t side = u / 4, part = u % 4;
    const __m256i both = load32(block + 64 * side + 32 * (part % 2));
    const __m256i high = load32(block + 128 + 32 * side);
    const __m256i low = low_bits_of(part / 2 ? _mm256_srli_epi16(both, 4) : both, 15);
    const __m256i two = _mm256_srl_epi16(high, _mm_cvtsi32_si128(static_cast<int>(2 * part)));
    return _mm256_or_si256(low, _mm256_slli_epi16(low_bits_of(two, 3), 4));
  }
  static HWY_INLINE void scales(const BlockShape&, const uint8_t* block, float* scale, float*) {
    const __m256 d = _mm256_set1_ps(half_at(block + 208));
    for (int part = 0; part < 16; part += 8) {
      const __m128i bytes = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(block + 192 + part));
      _mm256_storeu_ps(scale + part,
                       _mm256_mul_ps(_mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(bytes)), d));
    }
  }
};
// int4_block and int8_block, signed or with a zero point.
template <int bits, bool has_zero>
struct BytesInteger : BlockOf<0, bits, has_zero ? 0 : 1 << (bits - 1), has_zero> {
  static constexpr bool kInTurns = bits == 4;  // neighbours share a byte
  static HWY_INLINE __m256i unit(const BlockShape&, const uint8_t* block, int64_t u) {
    const uint8_t* from = block + (has_zero ? 8 : 4) + 4 * bits * u;
    const __m256i bytes = bits == 4 ? nibbles_at(from) : load32(from);
    return has_zero ? bytes : _mm256_xor_si256(bytes, all(1 << (bits - 1)));
  }
  static HWY_INLINE void scales(const BlockShape& shape, const uint8_t* block, float* scale,
                                float* low) {
    const float one = read_at<float>(block), zero = has_zero ? read_at<float>(block + 4) * one : 0;
    for (int64_t i = 0; i < shape.elements / 32; ++i) {
      scale[i] = one;
      if (has_zero) low[i] = zero;
    }
  }
};

}  // namespace
}  // namespace rlx::vector::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif

#endif
