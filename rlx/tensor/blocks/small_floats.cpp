// fp8_e4m3 and fp8_e5m2, as OCP has them: one byte each, no scale of their own.
// nvfp4: 16 of E2M1 under a scale of E4M3. mxfp4: 32 of E2M1 under a power of two, E8M0, as GGUF
// has it.
#include <algorithm>

#include "rlx/tensor/blocks/families.h"

namespace rlx::blocks {
namespace {

// A float of some exponent and mantissa bits, rounded to nearest, ties to even; without its sign.
uint8_t small_float_of(float magnitude, int mantissa, int bias) {
  if (magnitude == 0) return 0;
  int exponent;
  std::frexp(magnitude, &exponent);  // magnitude = 0.5 .. 1 * 2^exponent
  const int least = 1 - bias;        // of normal numbers
  const int power = std::max(exponent - 1, least);
  const float steps = std::nearbyint(std::ldexp(magnitude, mantissa - power));
  // A mantissa that overflows carries into the exponent, which is right.
  return static_cast<uint8_t>((power - least) * (1 << mantissa) + static_cast<int>(steps));
}

constexpr float kE2m1[] = {0, 0.5F, 1, 1.5F, 2, 3, 4, 6};
float e2m1(int nibble) { return nibble & 8 ? -kE2m1[nibble & 7] : kE2m1[nibble & 7]; }
int e2m1_of(float x) {
  int best = 0;
  for (int q = 1; q < 8; ++q)
    if (std::abs(std::abs(x) - kE2m1[q]) < std::abs(std::abs(x) - kE2m1[best])) best = q;
  return std::signbit(x) && best ? best | 8 : best;
}

template <float (*kValue)(uint8_t)>
void decode_byte(const BlockFormat& /*format*/, const uint8_t* block, float* values) {
  values[0] = kValue(block[0]);
}
template <uint8_t (*kByte)(float)>
void encode_byte(const BlockFormat& /*format*/, const float* values, uint8_t* block) {
  block[0] = kByte(values[0]);
}

// ---- nvfp4: the scale, then elements 2i and 2i + 1 in byte i, the first in the low bits ----

void decode_nvfp4(const BlockFormat& /*format*/, const uint8_t* block, float* values) {
  const float scale = float_of_e4m3(block[0]);
  for (int i = 0; i < 16; ++i) values[i] = e2m1(block[1 + i / 2] >> (4 * (i % 2)) & 15) * scale;
}
void encode_nvfp4(const BlockFormat& /*format*/, const float* values, uint8_t* block) {
  block[0] = e4m3_of(largest_magnitude(values, 16) / 6);
  const float scale = float_of_e4m3(block[0]);
  for (int i = 0; i < 16; ++i)
    put_bits(block[1 + i / 2], scale == 0 ? 0 : e2m1_of(values[i] / scale), 4 * (i % 2));
}

// ---- mxfp4: the exponent, then elements i and i + 16 in byte i ----

float power_of(uint8_t e8m0) {  // 2^(e - 127)
  return std::ldexp(1.0F, e8m0 - 127);
}
void decode_mxfp4(const BlockFormat& /*format*/, const uint8_t* block, float* values) {
  // Half the power, so that the largest does not overflow: levels are then whole numbers.
  const float half = std::ldexp(1.0F, block[0] - 128);
  for (int i = 0; i < 32; ++i) values[i] = 2 * e2m1(block[1 + i % 16] >> (i / 16 * 4) & 15) * half;
}
void encode_mxfp4(const BlockFormat& /*format*/, const float* values, uint8_t* block) {
  const float most = largest_magnitude(values, 32);
  const int power = most > 0 ? std::ilogb(most) - 2 + 127 : 0;  // 2^2 is that of the largest level
  block[0] = static_cast<uint8_t>(std::clamp(power, 0, 254));
  const float scale = power_of(block[0]);
  for (int i = 0; i < 32; ++i)
    put_bits(block[1 + i % 16], scale == 0 ? 0 : e2m1_of(values[i] / scale), i / 16 * 4);
}

}  // namespace

float float_of_e4m3(uint8_t bits) {
  const int exponent = bits >> 3 & 15, digits = bits & 7;
  const float magnitude = (bits & 127) == 127 ? NAN
                          : exponent == 0
                              ? std::ldexp(static_cast<float>(digits), -9)
                              : std::ldexp(static_cast<float>(8 + digits), exponent - 10);
  return bits & 128 ? -magnitude : magnitude;
}
float float_of_e5m2(uint8_t bits) { return Half::to_float(static_cast<uint16_t>(bits << 8)); }

uint8_t e4m3_of(float x) {
  const int sign = std::signbit(x) ? 128 : 0;
  if (std::isnan(x)) return static_cast<uint8_t>(sign | 127);
  const float magnitude = std::min(std::abs(x), 448.0F);
  return static_cast<uint8_t>(sign | small_float_of(magnitude, 3, 7));
}
uint8_t e5m2_of(float x) {
  const int sign = std::signbit(x) ? 128 : 0;
  if (std::isnan(x)) return static_cast<uint8_t>(sign | 0x7e);
  if (std::isinf(x)) return static_cast<uint8_t>(sign | 0x7c);
  const float magnitude = std::min(std::abs(x), 57344.0F);
  return static_cast<uint8_t>(sign | small_float_of(magnitude, 2, 15));
}

std::vector<BlockFormat> small_float_formats() {
  return {
      {"fp8_e4m3",
       1,
       1,
       {{"q", 0, 1}},
       decode_byte<float_of_e4m3>,
       encode_byte<e4m3_of>,
       "small_floats",
       448},
      {"fp8_e5m2",
       1,
       1,
       {{"q", 0, 1}},
       decode_byte<float_of_e5m2>,
       encode_byte<e5m2_of>,
       "small_floats",
       57344},
      {"nvfp4",
       16,
       9,
       {{"scale", 0, 1}, {"q", 1, 8}},
       decode_nvfp4,
       encode_nvfp4,
       "small_floats",
       6 * 448},
      {"mxfp4", 32, 17, {{"e", 0, 1}, {"q", 1, 16}}, decode_mxfp4, encode_mxfp4, "small_floats"},
  };
}

}  // namespace rlx::blocks
