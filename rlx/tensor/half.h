// f16 and bf16 as bits, converted to and from f32 in software: the same on every compiler.
#pragma once

#include <cstdint>
#include <cstring>

namespace rlx {

inline uint32_t bits_of(float x) {
  uint32_t bits;
  std::memcpy(&bits, &x, 4);
  return bits;
}
inline float float_of(uint32_t bits) {
  float x;
  std::memcpy(&x, &bits, 4);
  return x;
}

struct Half {
  uint16_t bits = 0;

  Half() = default;
  explicit Half(float x) : bits(from_float(x)) {}
  explicit operator float() const { return to_float(bits); }

  // Rounds to nearest, ties to even; a NaN stays one.
  static uint16_t from_float(float x) {
    const uint32_t f = bits_of(x), sign = (f >> 16) & 0x8000u, magnitude = f & 0x7fffffffu;
    if (magnitude > 0x7f800000u) return static_cast<uint16_t>(sign | 0x7e00u);
    if (magnitude >= 0x47800000u) return static_cast<uint16_t>(sign | 0x7c00u);
    if (magnitude < 0x38800000u) {  // subnormal or zero: let an f32 addition do the rounding
      const float shifted = float_of(magnitude) + 0.5f;
      return static_cast<uint16_t>(sign | (bits_of(shifted) - 0x3f000000u));
    }
    const uint32_t rounded = magnitude + 0xfffu + ((magnitude >> 13) & 1u);
    return static_cast<uint16_t>(sign | ((rounded - 0x38000000u) >> 13));
  }
  static float to_float(uint16_t h) {
    const uint32_t sign = (h & 0x8000u) << 16, rest = h & 0x7fffu;
    if (rest >= 0x7c00u) return float_of(sign | 0x7f800000u | ((rest & 0x3ffu) << 13));
    if (rest >= 0x400u) return float_of(sign | ((rest << 13) + 0x38000000u));
    const float small = static_cast<float>(rest) * 0x1p-24f;
    return float_of(sign | bits_of(small));
  }
};

struct BFloat16 {
  uint16_t bits = 0;

  BFloat16() = default;
  explicit BFloat16(float x) {
    const uint32_t f = bits_of(x);
    const bool nan = (f & 0x7fffffffu) > 0x7f800000u;
    bits = static_cast<uint16_t>(nan ? (f >> 16) | 0x40u : (f + 0x7fffu + ((f >> 16) & 1u)) >> 16);
  }
  explicit operator float() const { return float_of(uint32_t{bits} << 16); }
};

}  // namespace rlx
