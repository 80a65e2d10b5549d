// GGUF's formats with one scale for a block: q4_0 q4_1 q5_0 q5_1 q8_0 iq4_nl, and q8_k.
// Nibbles: byte i has element i in its low bits and element i + 16 in its high ones.
#include <algorithm>

#include "rlx/tensor/blocks/families.h"
#include "rlx/tensor/blocks/fit.h"
#include "rlx/tensor/blocks/levels.h"

namespace rlx::blocks {
namespace {

constexpr int kElements = 32;

int nibble(const uint8_t* q, int i) { return q[i % 16] >> (i / 16 * 4) & 15; }
void set_nibble(uint8_t* q, int i, int value) { put_bits(q[i % 16], value & 15, i / 16 * 4); }
// The fifth bits of all elements are one word.
int fifth(const uint8_t* h, int i) { return (h[i / 8] >> (i % 8) & 1) << 4; }
void set_fifth(uint8_t* h, int i, int value) { put_bits(h[i / 8], value >> 4 & 1, i % 8); }

// What is farthest from 0 becomes the lowest level: there is one more below 0 than above.
float scale_to(const float* values, int lowest) {
  float most = 0;
  for (int i = 0; i < kElements; ++i)
    if (std::abs(values[i]) > std::abs(most)) most = values[i];
  return most / static_cast<float>(lowest);
}
// To the nearest level, halves up.
int level(float x, float inverse, float zero, int highest) {
  return std::min(highest, static_cast<int>(x * inverse + zero + 0.5F));
}
float inverse_of(float scale) { return scale == 0 ? 0 : 1 / scale; }

// Scale and minimum as they will be read.
struct Span {
  float scale, least;
};
Span set_span(const float* values, int levels, uint8_t* block) {
  const Affine fit = fit_affine(values, kElements, levels, Sign::any);
  set_half(block, fit.scale);
  set_half(block + 2, -fit.minimum);
  return {half_at(block), half_at(block + 2)};
}

void decode_q4_0(const BlockFormat& /*format*/, const uint8_t* block, float* values) {
  const float d = half_at(block);
  for (int i = 0; i < kElements; ++i) values[i] = static_cast<float>(nibble(block + 2, i) - 8) * d;
}
void encode_q4_0(const BlockFormat& /*format*/, const float* values, uint8_t* block) {
  const float d = scale_to(values, -8);
  set_half(block, d);
  for (int i = 0; i < kElements; ++i)
    set_nibble(block + 2, i, level(values[i], inverse_of(d), 8, 15));
}

void decode_q4_1(const BlockFormat& /*format*/, const uint8_t* block, float* values) {
  const float d = half_at(block), m = half_at(block + 2);
  for (int i = 0; i < kElements; ++i) values[i] = static_cast<float>(nibble(block + 4, i)) * d + m;
}
void encode_q4_1(const BlockFormat& /*format*/, const float* values, uint8_t* block) {
  const Span span = set_span(values, 15, block);
  for (int i = 0; i < kElements; ++i)
    set_nibble(block + 4, i, rounded_to((values[i] - span.least) * inverse_of(span.scale), 0, 15));
}

void decode_q5_0(const BlockFormat& /*format*/, const uint8_t* block, float* values) {
  const float d = half_at(block);
  for (int i = 0; i < kElements; ++i)
    values[i] = static_cast<float>((nibble(block + 6, i) | fifth(block + 2, i)) - 16) * d;
}
void encode_q5_0(const BlockFormat& /*format*/, const float* values, uint8_t* block) {
  const float d = scale_to(values, -16);
  set_half(block, d);
  for (int i = 0; i < kElements; ++i) {
    const int q = level(values[i], inverse_of(d), 16, 31);
    set_nibble(block + 6, i, q);
    set_fifth(block + 2, i, q);
  }
}

void decode_q5_1(const BlockFormat& /*format*/, const uint8_t* block, float* values) {
  const float d = half_at(block), m = half_at(block + 2);
  for (int i = 0; i < kElements; ++i)
    values[i] = static_cast<float>(nibble(block + 8, i) | fifth(block + 4, i)) * d + m;
}
void encode_q5_1(const BlockFormat& /*format*/, const float* values, uint8_t* block) {
  const Span span = set_span(values, 31, block);
  for (int i = 0; i < kElements; ++i) {
    const int q = rounded_to((values[i] - span.least) * inverse_of(span.scale), 0, 31);
    set_nibble(block + 8, i, q);
    set_fifth(block + 4, i, q);
  }
}

void decode_q8_0(const BlockFormat& /*format*/, const uint8_t* block, float* values) {
  const float d = half_at(block);
  for (int i = 0; i < kElements; ++i) values[i] = static_cast<float>(signed_byte(block[2 + i])) * d;
}
void encode_q8_0(const BlockFormat& /*format*/, const float* values, uint8_t* block) {
  const float d = largest_magnitude(values, kElements) / 127;
  set_half(block, d);
  for (int i = 0; i < kElements; ++i)
    block[2 + i] = static_cast<uint8_t>(
        static_cast<int>(std::round(std::clamp(values[i] * inverse_of(d), -127.0F, 127.0F))));
}

// An f32 scale, 256 bytes, and sums of 16 of them each, which products use and decoding does not.
void decode_q8_k(const BlockFormat& format, const uint8_t* block, float* values) {
  const float d = float_at(block);
  for (int64_t i = 0; i < format.elements; ++i)
    values[i] = d * static_cast<float>(signed_byte(block[4 + i]));
}
void encode_q8_k(const BlockFormat& format, const float* values, uint8_t* block) {
  const float d = largest_magnitude(values, format.elements) / 127;
  set_float(block, d);
  for (int group = 0; group < 16; ++group) {
    int sum = 0;
    for (int64_t i = group * 16; i < group * 16 + 16; ++i) {
      const int q = rounded_to(values[i] * inverse_of(d), -127, 127);
      block[4 + i] = static_cast<uint8_t>(q);
      sum += q;
    }
    block[260 + 2 * group] = static_cast<uint8_t>(sum & 255);
    block[261 + 2 * group] = static_cast<uint8_t>(sum >> 8 & 255);
  }
}

void decode_iq4_nl(const BlockFormat& /*format*/, const uint8_t* block, float* values) {
  const float d = half_at(block);
  for (int i = 0; i < kElements; ++i)
    values[i] = d * static_cast<float>(kNonLinear[nibble(block + 2, i)]);
}
void encode_iq4_nl(const BlockFormat& /*format*/, const float* values, uint8_t* block) {
  set_half(block, fit_table(values, kElements, kNonLinear));
  const float inverse = inverse_of(half_at(block));
  for (int i = 0; i < kElements; ++i)
    set_nibble(block + 2, i, nearest_level(values[i] * inverse, kNonLinear));
}

}  // namespace

std::vector<BlockFormat> plain_formats() {
  return {
      {"q4_0", 32, 18, {{"d", 0, 2}, {"q", 2, 16}}, decode_q4_0, encode_q4_0},
      {"q4_1", 32, 20, {{"d", 0, 2}, {"m", 2, 2}, {"q", 4, 16}}, decode_q4_1, encode_q4_1},
      {"q5_0", 32, 22, {{"d", 0, 2}, {"h", 2, 4}, {"q", 6, 16}}, decode_q5_0, encode_q5_0},
      {"q5_1",
       32,
       24,
       {{"d", 0, 2}, {"m", 2, 2}, {"h", 4, 4}, {"q", 8, 16}},
       decode_q5_1,
       encode_q5_1},
      {"q8_0", 32, 34, {{"d", 0, 2}, {"q", 2, 32}}, decode_q8_0, encode_q8_0},
      {"q8_k", 256, 292, {{"d", 0, 4}, {"q", 4, 256}, {"sums", 260, 32}}, decode_q8_k, encode_q8_k},
      {"iq4_nl", 32, 18, {{"d", 0, 2}, {"q", 2, 16}}, decode_iq4_nl, encode_iq4_nl, "levels"},
  };
}

}  // namespace rlx::blocks
