// Blocks to f32, format by format. Included once per instruction set; every loop is of 16 elements
// or a multiple, which all widths of vectors divide.
#if defined(RLX_VECTOR_LOAD_BLOCKS) == defined(HWY_TARGET_TOGGLE)
#ifdef RLX_VECTOR_LOAD_BLOCKS
#undef RLX_VECTOR_LOAD_BLOCKS
#else
#define RLX_VECTOR_LOAD_BLOCKS
#endif

#include "rlx/vector/blocks.h"
#include "rlx/vector/load_bytes.h"
#include "rlx/vector/load_elements.h"
#include "rlx/vector/load_small_floats.h"

HWY_BEFORE_NAMESPACE();
namespace rlx::vector::HWY_NAMESPACE {
namespace {

HWY_INLINE float half_of(const uint8_t* at) {
  const uint32_t bits16 = static_cast<uint32_t>(at[0] | at[1] << 8);
  const uint32_t sign = (bits16 & 0x8000U) << 16, rest = (bits16 & 0x7fffU) << 13;
  float x;
  uint32_t word = rest + 0x38000000U;
  if (rest < 0x00800000U) {  // below the normal numbers
    const float small = static_cast<float>(rest >> 13) * 0x1p-24F;
    std::memcpy(&word, &small, 4);
  } else if (rest >= 0x0f800000U) {
    word = 0x7f800000U | (rest & 0x7fffffU);
  }
  word |= sign;
  std::memcpy(&x, &word, 4);
  return x;
}
HWY_INLINE float float_of(const uint8_t* at) {
  float x;
  std::memcpy(&x, at, 4);
  return x;
}
HWY_INLINE uint32_t word_of(const uint8_t* at) {
  uint32_t x;
  std::memcpy(&x, at, 4);
  return x;
}
HWY_INLINE I low_bits(I x, int32_t mask) { return and_(x, set_int(mask)); }
HWY_INLINE I counting() {
  alignas(64) static constexpr uint8_t kNumbers[16] = {0, 1, 2,  3,  4,  5,  6,  7,
                                                       8, 9, 10, 11, 12, 13, 14, 15};
  return load_bytes(kNumbers);
}

// ---- GGUF's blocks of 32: low nibbles are the first 16 elements ----

struct Q4_0 {
  static HWY_INLINE void run(const BlockShape&, const uint8_t* block, float* to) {
    const F d = set(half_of(block));
    for (int64_t i = 0; i < 16; i += kLanes) {
      const I both = load_bytes(block + 2 + i);
      store(to_float(low_bits(both, 15) - set_int(8)) * d, to + i);
      store(to_float(shift_right<4>(both) - set_int(8)) * d, to + 16 + i);
    }
  }
};
struct Q4_1 {
  static HWY_INLINE void run(const BlockShape&, const uint8_t* block, float* to) {
    const F d = set(half_of(block)), m = set(half_of(block + 2));
    for (int64_t i = 0; i < 16; i += kLanes) {
      const I both = load_bytes(block + 4 + i);
      store(mul_add(to_float(low_bits(both, 15)), d, m), to + i);
      store(mul_add(to_float(shift_right<4>(both)), d, m), to + 16 + i);
    }
  }
};
// Bit i of a word, as the fifth bit of element i.
HWY_INLINE I fifth(uint32_t word, int64_t i) {
  const I bits_from_i = set_int(static_cast<int32_t>(word >> i));
  return shift_left<4>(low_bits(shift_right_by(bits_from_i, counting()), 1));
}
struct Q5_0 {
  static HWY_INLINE void run(const BlockShape&, const uint8_t* block, float* to) {
    const F d = set(half_of(block));
    const uint32_t high = word_of(block + 2);
    for (int64_t i = 0; i < 16; i += kLanes) {
      const I both = load_bytes(block + 6 + i);
      const I a = or_(low_bits(both, 15), fifth(high, i)),
              b = or_(shift_right<4>(both), fifth(high, 16 + i));
      store(to_float(a - set_int(16)) * d, to + i);
      store(to_float(b - set_int(16)) * d, to + 16 + i);
    }
  }
};
struct Q5_1 {
  static HWY_INLINE void run(const BlockShape&, const uint8_t* block, float* to) {
    const F d = set(half_of(block)), m = set(half_of(block + 2));
    const uint32_t high = word_of(block + 4);
    for (int64_t i = 0; i < 16; i += kLanes) {
      const I both = load_bytes(block + 8 + i);
      const I a = or_(low_bits(both, 15), fifth(high, i)),
              b = or_(shift_right<4>(both), fifth(high, 16 + i));
      store(mul_add(to_float(a), d, m), to + i);
      store(mul_add(to_float(b), d, m), to + 16 + i);
    }
  }
};
HWY_INLINE void scale_bytes(const uint8_t* from, int64_t count, F d, float* to) {
  for (int64_t i = 0; i < count; i += kLanes)
    store(to_float(load_signed_bytes(from + i)) * d, to + i);
}
struct Q8_0 {
  static HWY_INLINE void run(const BlockShape&, const uint8_t* block, float* to) {
    scale_bytes(block + 2, 32, set(half_of(block)), to);
  }
};
struct Q8K {
  static HWY_INLINE void run(const BlockShape&, const uint8_t* block, float* to) {
    scale_bytes(block + 4, 256, set(float_of(block)), to);
  }
};

alignas(16) constexpr int8_t kNonLinear[16] = {-127, -104, -83, -65, -49, -35, -22, -10,
                                               1,    13,   25,  38,  53,  69,  89,  113};
alignas(16) constexpr int8_t kE2m1Doubled[16] = {0, 1,  2,  3,  4,  6,  8,  12,
                                                 0, -1, -2, -3, -4, -6, -8, -12};

HWY_INLINE void scale_levels(const uint8_t* from, const int8_t* table, F d, float* to) {
  alignas(32) uint8_t levels[32];
  look_up_nibbles(from, table, levels);
  scale_bytes(levels, 32, d, to);
}
struct Iq4Nl {
  static HWY_INLINE void run(const BlockShape&, const uint8_t* block, float* to) {
    scale_levels(block + 2, kNonLinear, set(half_of(block)), to);
  }
};
struct MxFp4 {
  static HWY_INLINE void run(const BlockShape&, const uint8_t* block, float* to) {
    const uint32_t word = block[0] > 1 ? (block[0] - 1U) << 23 : 0x00200000U << block[0];
    float half;
    std::memcpy(&half, &word, 4);
    scale_levels(block + 1, kE2m1Doubled, set(half), to);
  }
};
struct Iq4Xs {
  static HWY_INLINE void run(const BlockShape&, const uint8_t* block, float* to) {
    const float d = half_of(block);
    const int high = block[2] | block[3] << 8;
    for (int part = 0; part < 8; ++part) {
      const int scale = (block[4 + part / 2] >> (part % 2 * 4) & 15) | (high >> (2 * part) & 3)
                                                                           << 4;
      scale_levels(block + 8 + 16 * part, kNonLinear, set(d * static_cast<float>(scale - 32)),
                   to + 32 * part);
    }
  }
};

// ---- GGUF's blocks of 256 ----

HWY_INLINE void two_bits_of_16(const uint8_t* q, int shift, F scale, F low, float* to) {
  for (int64_t i = 0; i < 16; i += kLanes) {
    const I bits2 = low_bits(shift_right_by(load_bytes(q + i), set_int(shift)), 3);
    store(subtract(to_float(bits2) * scale, low), to + i);
  }
}
struct Q2K {
  static HWY_INLINE void run(const BlockShape&, const uint8_t* block, float* to) {
    const float d = half_of(block + 80), minimum = half_of(block + 82);
    for (int part = 0; part < 16; ++part) {
      const F scale = set(d * static_cast<float>(block[part] & 15)),
              low = set(minimum * static_cast<float>(block[part] >> 4));
      two_bits_of_16(block + 16 + part / 8 * 32 + part % 2 * 16, part / 2 % 4 * 2, scale, low,
                     to + 16 * part);
    }
  }
};
struct Q3K {
  static HWY_INLINE void run(const BlockShape&, const uint8_t* block, float* to) {
    const float d = half_of(block + 108);
    const uint8_t* small = block + 96;
    for (int part = 0; part < 16; ++part) {
      const int code = (small[part % 8] >> (part / 8 * 4) & 15) |
                       (small[8 + part % 4] >> (part / 4 * 2) & 3) << 4;
      const F scale = set(d * static_cast<float>(code - 32));
      const uint8_t *q = block + 32 + part / 8 * 32 + part % 2 * 16, *h = block + part % 2 * 16;
      const I shift = set_int(part / 2 % 4 * 2), bit = set_int(part / 2);
      for (int64_t i = 0; i < 16; i += kLanes) {
        const I two = low_bits(shift_right_by(load_bytes(q + i), shift), 3);
        const I third = low_bits(shift_right_by(load_bytes(h + i), bit), 1);
        store(to_float(or_(two, shift_left<2>(third)) - set_int(4)) * scale, to + 16 * part + i);
      }
    }
  }
};
struct SixBits {
  int scale, low;
};
HWY_INLINE SixBits six_bits(const uint8_t* packed, int part) {
  if (part < 4) return {packed[part] & 63, packed[part + 4] & 63};
  return {(packed[part + 4] & 15) | packed[part - 4] >> 6 << 4,
          packed[part + 4] >> 4 | packed[part] >> 6 << 4};
}
template <bool five>
struct Q4K {
  static HWY_INLINE void run(const BlockShape&, const uint8_t* block, float* to) {
    const float d = half_of(block), minimum = half_of(block + 2);
    const uint8_t* q = block + (five ? 48 : 16);
    for (int part = 0; part < 8; part += 2) {
      const SixBits first = six_bits(block + 4, part), second = six_bits(block + 4, part + 1);
      const F scale1 = set(d * static_cast<float>(first.scale)),
              low1 = set(minimum * static_cast<float>(first.low)),
              scale2 = set(d * static_cast<float>(second.scale)),
              low2 = set(minimum * static_cast<float>(second.low));
      for (int64_t i = 0; i < 32; i += kLanes) {
        const I both = load_bytes(q + 16 * part + i);
        I a = low_bits(both, 15), b = shift_right<4>(both);
        if (five) {
          const I high = shift_right_by(load_bytes(block + 16 + i), set_int(part));
          a = or_(a, shift_left<4>(low_bits(high, 1)));
          b = or_(b, shift_left<3>(low_bits(high, 2)));
        }
        store(subtract(to_float(a) * scale1, low1), to + 32 * part + i);
        store(subtract(to_float(b) * scale2, low2), to + 32 * part + 32 + i);
      }
    }
  }
};
struct Q6K {
  static HWY_INLINE void run(const BlockShape&, const uint8_t* block, float* to) {
    const float d = half_of(block + 208);
    for (int part = 0; part < 16; ++part) {
      const F scale = set(d * static_cast<float>(static_cast<int8_t>(block[192 + part])));
      const uint8_t *q = block + part / 8 * 64 + part % 4 * 16,
                    *h = block + 128 + part / 8 * 32 + part % 2 * 16;
      const I shift = set_int(part % 8 / 4 * 4), high_shift = set_int(part % 8 / 2 * 2);
      for (int64_t i = 0; i < 16; i += kLanes) {
        const I low = low_bits(shift_right_by(load_bytes(q + i), shift), 15);
        const I high = low_bits(shift_right_by(load_bytes(h + i), high_shift), 3);
        store(to_float(or_(low, shift_left<4>(high)) - set_int(32)) * scale, to + 16 * part + i);
      }
    }
  }
};
HWY_INLINE void trits(const uint8_t* q, int64_t count, int power, F d, float* to) {
  for (int64_t i = 0; i < count; i += kLanes) {
    const I rest = low_bits(times(load_bytes(q + i), set_int(power)), 255);
    store(to_float(shift_right<8>(times(rest, set_int(3))) - set_int(1)) * d, to + i);
  }
}
struct Tq1 {
  static HWY_INLINE void run(const BlockShape&, const uint8_t* block, float* to) {
    constexpr int kPowers[] = {1, 3, 9, 27, 81};
    const F d = set(half_of(block + 52));
    for (int n = 0; n < 5; ++n) trits(block, 32, kPowers[n], d, to + 32 * n);
    for (int n = 0; n < 5; ++n) trits(block + 32, 16, kPowers[n], d, to + 160 + 16 * n);
    const float scale = half_of(block + 52);
    for (int i = 0; i < 16; ++i) {
      const int rest = block[48 + i % 4] * kPowers[i / 4] & 255;
      to[240 + i] = static_cast<float>((rest * 3 >> 8) - 1) * scale;
    }
  }
};
struct Tq2 {
  static HWY_INLINE void run(const BlockShape&, const uint8_t* block, float* to) {
    const F d = set(half_of(block + 64));
    for (int part = 0; part < 16; ++part)
      two_bits_of_16(block + part / 8 * 32 + part % 2 * 16, part / 2 % 4 * 2, d, d, to + 16 * part);
  }
};

// ---- Elements in order, several to a byte ----

HWY_INLINE float e4m3_of(int byte) {
  const int exponent = byte >> 3 & 15;
  float magnitude = static_cast<float>(byte & 7) * 0x1p-9F;
  if (exponent) magnitude = static_cast<float>((8 + (byte & 7)) << exponent) * 0x1p-10F;
  if ((byte & 127) == 127) magnitude = __builtin_nanf("");
  return byte & 128 ? -magnitude : magnitude;
}
// Reads 7 bytes beyond a block's own.
HWY_INLINE void nvfp4_block(const uint8_t* block, float* to) {
  alignas(32) uint8_t nibbles[32], levels[32];
  split_bytes<4>(block + 1, nibbles);
  look_up_nibbles(nibbles, kE2m1Doubled, levels);
  scale_bytes(levels, 16, set(0.5F * e4m3_of(block[0])), to);
}
void decode_nvfp4(const BlockShape& shape, const uint8_t* blocks, int64_t count, float* to) {
  for (; count > 1; --count, blocks += shape.bytes, to += shape.elements) nvfp4_block(blocks, to);
  if (count == 0) return;
  uint8_t last[17] = {};
  std::memcpy(last, blocks, 9);
  nvfp4_block(last, to);
}

// Three bits of eight elements at a time, which are whole bytes: halves of them move apart, then
// halves of these, until each has a byte.
HWY_INLINE void spread_threes(const uint8_t* from, int64_t elements, uint8_t* to) {
  for (int64_t i = 0; i < elements; i += 8, from += 3) {
    uint64_t all = static_cast<uint64_t>(from[0] | from[1] << 8 | from[2] << 16);
    all = (all & 0xfff) | (all & 0xfff000) << 20;
    all = (all & 0x0000003f0000003f) | (all & 0x00000fc000000fc0) << 10;
    all = (all & 0x0007000700070007) | (all & 0x0038003800380038) << 5;
    std::memcpy(to + i, &all, 8);
  }
}
// A number for each of up to kPart elements, whose bits are `count` bytes, a multiple of 16.
constexpr int64_t kPart = 256;
HWY_INLINE void spread_bits(int64_t bits_each, const uint8_t* from, int64_t count, uint8_t* to) {
  if (bits_each == 4)
    for (int64_t i = 0; i < count; i += 16) split_bytes<4>(from + i, to + 2 * i);
  alignas(32) uint8_t nibbles[32];
  if (bits_each == 2)
    for (int64_t i = 0; i < count; i += 16) {
      split_bytes<4>(from + i, nibbles);
      split_bytes<2>(nibbles, to + 4 * i);
      split_bytes<2>(nibbles + 16, to + 4 * i + 32);
    }
}
void decode_integers(const BlockShape& shape, const uint8_t* block, int64_t count, float* to) {
  alignas(64) uint8_t q[kPart + 64] = {}, padded[kPart + 64] = {};
  const I half = set_int(shape.has_zero ? 0 : 1 << (shape.bits - 1));
  for (int64_t b = 0; b < count; ++b, block += shape.bytes) {
    const F scale = set(float_of(block)), zero = set(shape.has_zero ? float_of(block + 4) : 0.0F);
    const uint8_t* from = block + (shape.has_zero ? 8 : 4);
    for (int64_t first = 0; first < shape.elements; first += kPart) {
      const int64_t part = shape.elements - first < kPart ? shape.elements - first : kPart;
      const int64_t bytes = part * shape.bits / 8;
      const uint8_t *numbers = from, *whole = from;
      from += bytes;
      if (bytes % 16 != 0 && shape.bits != 3) {
        std::memcpy(padded, whole, static_cast<size_t>(bytes));
        numbers = whole = padded;
      }
      if (shape.bits == 3) spread_threes(whole, part, q);
      if (shape.bits < 8) {
        spread_bits(shape.bits, whole, (bytes + 15) / 16 * 16, q);
        numbers = q;
      }
      // Signed ones: the highest bit counts below 0.
      for (int64_t i = 0; i < part; i += kLanes, to += kLanes) {
        const I all = load_bytes(numbers + i), number = all - shift_left<1>(and_(all, half));
        const F value = subtract(to_float(number), zero) * scale;
        if (i + kLanes <= part)
          store(value, to);
        else
          store_part(value, to, part - i);
      }
      to -= (part + kLanes - 1) / kLanes * kLanes - part;
    }
  }
}

template <class Block>
void decode_blocks(const BlockShape& shape, const uint8_t* blocks, int64_t count, float* to) {
  for (int64_t i = 0; i < count; ++i)
    Block::run(shape, blocks + i * shape.bytes, to + i * shape.elements);
}

struct NamedDecoder {
  std::string_view format;
  BlockRows::Decode decode;
};
constexpr NamedDecoder kDecoders[] = {
    {"q4_0", decode_blocks<Q4_0>},
    {"q4_1", decode_blocks<Q4_1>},
    {"q5_0", decode_blocks<Q5_0>},
    {"q5_1", decode_blocks<Q5_1>},
    {"q8_0", decode_blocks<Q8_0>},
    {"q8_k", decode_blocks<Q8K>},
    {"q2_k", decode_blocks<Q2K>},
    {"q3_k", decode_blocks<Q3K>},
    {"q4_k", decode_blocks<Q4K<false>>},
    {"q5_k", decode_blocks<Q4K<true>>},
    {"q6_k", decode_blocks<Q6K>},
    {"iq4_nl", decode_blocks<Iq4Nl>},
    {"iq4_xs", decode_blocks<Iq4Xs>},
    {"mxfp4", decode_blocks<MxFp4>},
    {"nvfp4", decode_nvfp4},
    {"tq1_0", decode_blocks<Tq1>},
    {"tq2_0", decode_blocks<Tq2>},
    {"fp8_e4m3", decode_small<E4m3>},
    {"fp8_e5m2", decode_small<E5m2>},
};

}  // namespace
}  // namespace rlx::vector::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
