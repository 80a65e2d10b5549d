// The formats of each file of this folder, for the table; and what their blocks have in common.
#pragma once

#include <cmath>
#include <cstring>

#include "rlx/tensor/blocks/format.h"

namespace rlx::blocks {

std::vector<BlockFormat> integer_formats(int64_t block);  // int2_block .. int8_block_asym
std::vector<BlockFormat> small_float_formats();           // fp8_e4m3 fp8_e5m2 nvfp4 mxfp4
std::vector<BlockFormat> plain_formats();                 // q4_0 .. q8_0, q8_k, iq4_nl
std::vector<BlockFormat> super_formats();                 // q2_k .. q6_k, iq4_xs
std::vector<BlockFormat> ternary_formats();               // tq1_0 tq2_0

// Small floats as bytes have them.
float float_of_e4m3(uint8_t bits);
float float_of_e5m2(uint8_t bits);
uint8_t e4m3_of(float x);  // the nearest, ties to even; beyond the largest it is the largest
uint8_t e5m2_of(float x);

// Fields lie anywhere; words are little-endian.
inline float half_at(const uint8_t* at) {
  return Half::to_float(static_cast<uint16_t>(at[0] | at[1] << 8));
}
inline void set_half(uint8_t* at, float x) {
  const uint16_t bits = Half::from_float(x);
  at[0] = static_cast<uint8_t>(bits & 255), at[1] = static_cast<uint8_t>(bits >> 8);
}
inline float float_at(const uint8_t* at) {
  float x;
  std::memcpy(&x, at, 4);
  return x;
}
inline void set_float(uint8_t* at, float x) { std::memcpy(at, &x, 4); }
inline int signed_byte(uint8_t byte) { return byte < 128 ? byte : byte - 256; }

// Adds bits to a byte that is 0 where they go.
inline void put_bits(uint8_t& byte, int value, int shift) {
  byte = static_cast<uint8_t>(byte | value << shift);
}
inline float largest_magnitude(const float* x, int64_t count) {
  float most = 0;
  for (int64_t i = 0; i < count; ++i) most = std::max(most, std::abs(x[i]));
  return most;
}

}  // namespace rlx::blocks
