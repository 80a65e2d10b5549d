// GGUF's blocks of 256 whose parts of 16 or 32 have small scales of their own: q2_k q3_k q4_k q5_k
// q6_k, iq4_xs.
#include <algorithm>

#include "rlx/tensor/blocks/families.h"
#include "rlx/tensor/blocks/fit.h"
#include "rlx/tensor/blocks/levels.h"

namespace rlx::blocks {
namespace {

constexpr int kElements = 256;

float inverse_of(float scale) { return scale == 0 ? 0 : 1 / scale; }

// Two bits of each element, of 128 elements in 32 bytes: q2_k's all, q3_k's low ones.
int two_bits(const uint8_t* q, int i) { return q[i / 128 * 32 + i % 32] >> (i % 128 / 32 * 2) & 3; }
void set_two_bits(uint8_t* q, int i, int value) {
  put_bits(q[i / 128 * 32 + i % 32], value & 3, i % 128 / 32 * 2);
}
// Nibbles of 64 elements in 32 bytes: q4_k's all, q5_k's low ones.
int four_bits(const uint8_t* q, int i) { return q[i / 64 * 32 + i % 32] >> (i / 32 % 2 * 4) & 15; }
void set_four_bits(uint8_t* q, int i, int value) {
  put_bits(q[i / 64 * 32 + i % 32], value & 15, i / 32 % 2 * 4);
}
// One bit of each element: bit i / 32 of byte i % 32.
int one_bit(const uint8_t* h, int i) { return h[i % 32] >> (i / 32) & 1; }
void set_one_bit(uint8_t* h, int i, int value) { put_bits(h[i % 32], value & 1, i / 32); }

// ---- A scale and a minimum for each part: q2_k (4 bits of 4), q4_k and q5_k (6 bits of 6) ----

struct Parts {
  int count, levels, most;  // parts of a block, levels of an element, of a small scale
  int size() const { return kElements / count; }
};

struct SmallScales {
  float d = 0, minimum = 0;  // what the small ones are multiplied with, as f16 has them
  int scale[16] = {}, low[16] = {};
};

float as_half(float x) { return Half::to_float(Half::from_float(x)); }

SmallScales fit_parts(const float* values, const Parts& parts) {
  Affine fits[16];
  float most_scale = 0, most_minimum = 0;
  for (int p = 0; p < parts.count; ++p) {
    fits[p] = fit_affine(values + p * parts.size(), parts.size(), parts.levels);
    most_scale = std::max(most_scale, fits[p].scale);
    most_minimum = std::max(most_minimum, fits[p].minimum);
  }
  SmallScales small;
  const auto most = static_cast<float>(parts.most);
  small.d = as_half(most_scale / most);
  small.minimum = as_half(most_minimum / most);
  for (int p = 0; p < parts.count; ++p) {
    small.scale[p] = rounded_to(fits[p].scale * inverse_of(small.d), 0, parts.most);
    small.low[p] = rounded_to(fits[p].minimum * inverse_of(small.minimum), 0, parts.most);
  }
  return small;
}

int part_level(float x, const SmallScales& small, int part, int levels) {
  const float scale = small.d * static_cast<float>(small.scale[part]);
  const float low = small.minimum * static_cast<float>(small.low[part]);
  return scale == 0 ? 0 : rounded_to((x + low) / scale, 0, levels);
}

void decode_q2_k(const BlockFormat& /*format*/, const uint8_t* block, float* values) {
  const float d = half_at(block + 80), minimum = half_at(block + 82);
  for (int i = 0; i < kElements; ++i) {
    const int small = block[i / 16];
    const float scale = d * static_cast<float>(small & 15),
                low = minimum * static_cast<float>(small >> 4);
    values[i] = scale * static_cast<float>(two_bits(block + 16, i)) - low;
  }
}
void encode_q2_k(const BlockFormat& /*format*/, const float* values, uint8_t* block) {
  const Parts parts{16, 3, 15};
  const SmallScales small = fit_parts(values, parts);
  for (int p = 0; p < 16; ++p) block[p] = static_cast<uint8_t>(small.scale[p] | small.low[p] << 4);
  set_half(block + 80, small.d);
  set_half(block + 82, small.minimum);
  for (int i = 0; i < kElements; ++i)
    set_two_bits(block + 16, i, part_level(values[i], small, i / 16, parts.levels));
}

// Eight scales and minima of 6 bits in 12 bytes: the first four of each in the low bits of a byte,
// the others' low bits in four bytes of nibbles, and their high bits above the first ones.
struct Pair {
  int scale, low;
};
Pair six_bits(const uint8_t* packed, int part) {
  if (part < 4) return {packed[part] & 63, packed[part + 4] & 63};
  return {(packed[part + 4] & 15) | packed[part - 4] >> 6 << 4,
          packed[part + 4] >> 4 | packed[part] >> 6 << 4};
}
void set_six_bits(uint8_t* packed, const SmallScales& small) {
  for (int p = 0; p < 4; ++p) {
    packed[p] = static_cast<uint8_t>(small.scale[p] | small.scale[p + 4] >> 4 << 6);
    packed[p + 4] = static_cast<uint8_t>(small.low[p] | small.low[p + 4] >> 4 << 6);
    packed[p + 8] = static_cast<uint8_t>((small.scale[p + 4] & 15) | (small.low[p + 4] & 15) << 4);
  }
}

template <bool five>
void decode_q4_k(const BlockFormat& /*format*/, const uint8_t* block, float* values) {
  const float d = half_at(block), minimum = half_at(block + 2);
  for (int i = 0; i < kElements; ++i) {
    const Pair small = six_bits(block + 4, i / 32);
    const float scale = d * static_cast<float>(small.scale),
                low = minimum * static_cast<float>(small.low);
    const int q =
        five ? four_bits(block + 48, i) | one_bit(block + 16, i) << 4 : four_bits(block + 16, i);
    values[i] = scale * static_cast<float>(q) - low;
  }
}
template <bool five>
void encode_q4_k(const BlockFormat& /*format*/, const float* values, uint8_t* block) {
  const Parts parts{8, five ? 31 : 15, 63};
  const SmallScales small = fit_parts(values, parts);
  set_half(block, small.d);
  set_half(block + 2, small.minimum);
  set_six_bits(block + 4, small);
  for (int i = 0; i < kElements; ++i) {
    const int q = part_level(values[i], small, i / 32, parts.levels);
    set_four_bits(block + (five ? 48 : 16), i, q);
    if (five) set_one_bit(block + 16, i, q >> 4);
  }
}

// ---- A signed scale for each part: q3_k (6 bits), q6_k (8 bits), iq4_xs (6 bits, 32 elements)
// ----

// Scales of parts as integers times d, of which the one farthest from 0 is `lowest`.
float fit_signed(const float* scales, int count, int lowest, int highest, int* small) {
  float most = 0;
  for (int p = 0; p < count; ++p)
    if (std::abs(scales[p]) > std::abs(most)) most = scales[p];
  const float d = as_half(most / static_cast<float>(lowest));
  for (int p = 0; p < count; ++p) small[p] = rounded_to(scales[p] * inverse_of(d), lowest, highest);
  return d;
}

// Sixteen of 6 bits in 12 bytes: nibbles of 8 bytes, then pairs of bits.
int q3_scale(const uint8_t* packed, int part) {
  const int low = packed[part % 8] >> (part / 8 * 4) & 15;
  return (low | (packed[8 + part % 4] >> (part / 4 * 2) & 3) << 4) - 32;
}
void set_q3_scale(uint8_t* packed, int part, int scale) {
  const int value = scale + 32;
  put_bits(packed[part % 8], value & 15, part / 8 * 4);
  put_bits(packed[8 + part % 4], value >> 4, part / 4 * 2);
}
void decode_q3_k(const BlockFormat& /*format*/, const uint8_t* block, float* values) {
  const float d = half_at(block + 108);
  for (int i = 0; i < kElements; ++i) {
    const float scale = d * static_cast<float>(q3_scale(block + 96, i / 16));
    values[i] = scale * static_cast<float>(two_bits(block + 32, i) + 4 * one_bit(block, i) - 4);
  }
}
void encode_q3_k(const BlockFormat& /*format*/, const float* values, uint8_t* block) {
  float scales[16];
  int small[16];
  for (int p = 0; p < 16; ++p) scales[p] = fit_scale(values + 16 * p, 16, -4, 3);
  const float d = fit_signed(scales, 16, -32, 31, small);
  for (int p = 0; p < 16; ++p) set_q3_scale(block + 96, p, small[p]);
  set_half(block + 108, d);
  for (int i = 0; i < kElements; ++i) {
    const float inverse = inverse_of(d * static_cast<float>(small[i / 16]));
    const int q = rounded_to(values[i] * inverse, -4, 3) + 4;
    set_two_bits(block + 32, i, q);
    set_one_bit(block, i, q >> 2);
  }
}

// Low nibbles of 128 elements in 64 bytes, two high bits of them in 32.
int q6_low(int i) { return i / 128 * 64 + i % 64; }
int q6_low_shift(int i) { return i % 128 / 64 * 4; }
int q6_high(int i) { return i / 128 * 32 + i % 32; }
int q6_high_shift(int i) { return i % 128 / 32 * 2; }
void decode_q6_k(const BlockFormat& /*format*/, const uint8_t* block, float* values) {
  const float d = half_at(block + 208);
  for (int i = 0; i < kElements; ++i) {
    const int q = (block[q6_low(i)] >> q6_low_shift(i) & 15) |
                  (block[128 + q6_high(i)] >> q6_high_shift(i) & 3) << 4;
    const float scale = d * static_cast<float>(signed_byte(block[192 + i / 16]));
    values[i] = scale * static_cast<float>(q - 32);
  }
}
void encode_q6_k(const BlockFormat& /*format*/, const float* values, uint8_t* block) {
  float scales[16];
  int small[16];
  for (int p = 0; p < 16; ++p) scales[p] = fit_scale(values + 16 * p, 16, -32, 31);
  const float d = fit_signed(scales, 16, -128, 127, small);
  for (int p = 0; p < 16; ++p) block[192 + p] = static_cast<uint8_t>(small[p]);
  set_half(block + 208, d);
  for (int i = 0; i < kElements; ++i) {
    const float inverse = inverse_of(d * static_cast<float>(small[i / 16]));
    const int q = rounded_to(values[i] * inverse, -32, 31) + 32;
    put_bits(block[q6_low(i)], q & 15, q6_low_shift(i));
    put_bits(block[128 + q6_high(i)], q >> 4, q6_high_shift(i));
  }
}

// d, two high bits of each scale in a word, low nibbles in 4 bytes, then 16 bytes for 32 elements.
int xs_scale(const uint8_t* block, int part) {
  const int high = (block[2] | block[3] << 8) >> (2 * part) & 3;
  return ((block[4 + part / 2] >> (part % 2 * 4) & 15) | high << 4) - 32;
}
int xs_byte(int i) { return 8 + i / 32 * 16 + i % 16; }
void decode_iq4_xs(const BlockFormat& /*format*/, const uint8_t* block, float* values) {
  const float d = half_at(block);
  for (int i = 0; i < kElements; ++i) {
    const float scale = d * static_cast<float>(xs_scale(block, i / 32));
    values[i] = scale * static_cast<float>(kNonLinear[block[xs_byte(i)] >> (i % 32 / 16 * 4) & 15]);
  }
}
void encode_iq4_xs(const BlockFormat& /*format*/, const float* values, uint8_t* block) {
  float scales[8];
  int small[8];
  for (int p = 0; p < 8; ++p) scales[p] = fit_table(values + 32 * p, 32, kNonLinear);
  const float d = fit_signed(scales, 8, -32, 31, small);
  set_half(block, d);
  for (int p = 0; p < 8; ++p) {
    const int value = small[p] + 32;
    put_bits(block[4 + p / 2], value & 15, p % 2 * 4);
    put_bits(block[2 + p / 4], value >> 4, p % 4 * 2);
  }
  for (int i = 0; i < kElements; ++i) {
    const float inverse = inverse_of(d * static_cast<float>(small[i / 32]));
    put_bits(block[xs_byte(i)], nearest_level(values[i] * inverse, kNonLinear), i % 32 / 16 * 4);
  }
}

}  // namespace

std::vector<BlockFormat> super_formats() {
  return {
      {"q2_k",
       256,
       84,
       {{"scales", 0, 16}, {"q", 16, 64}, {"d", 80, 2}, {"dmin", 82, 2}},
       decode_q2_k,
       encode_q2_k},
      {"q3_k",
       256,
       110,
       {{"h", 0, 32}, {"q", 32, 64}, {"scales", 96, 12}, {"d", 108, 2}},
       decode_q3_k,
       encode_q3_k},
      {"q4_k",
       256,
       144,
       {{"d", 0, 2}, {"dmin", 2, 2}, {"scales", 4, 12}, {"q", 16, 128}},
       decode_q4_k<false>,
       encode_q4_k<false>,
       "six_bits"},
      {"q5_k",
       256,
       176,
       {{"d", 0, 2}, {"dmin", 2, 2}, {"scales", 4, 12}, {"h", 16, 32}, {"q", 48, 128}},
       decode_q4_k<true>,
       encode_q4_k<true>,
       "six_bits"},
      {"q6_k",
       256,
       210,
       {{"q", 0, 128}, {"h", 128, 64}, {"scales", 192, 16}, {"d", 208, 2}},
       decode_q6_k,
       encode_q6_k},
      {"iq4_xs",
       256,
       136,
       {{"d", 0, 2}, {"scales_h", 2, 2}, {"scales_l", 4, 4}, {"q", 8, 128}},
       decode_iq4_xs,
       encode_iq4_xs,
       "levels"},
  };
}

}  // namespace rlx::blocks
