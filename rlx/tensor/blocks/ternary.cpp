// GGUF's formats of -1, 0 and 1 times one scale: tq1_0, five to a byte, and tq2_0, four.
#include "rlx/tensor/blocks/families.h"
#include "rlx/tensor/blocks/fit.h"

namespace rlx::blocks {
namespace {

constexpr int kElements = 256;

// ---- tq1_0: element i is digit `digit` of byte `byte`, which is a fraction of 256 in base 3 ----

struct Digit {
  int byte, digit;
};
Digit digit_of(int i) {
  if (i < 160) return {i % 32, i / 32};
  if (i < 240) return {32 + i % 16, (i - 160) / 16};
  return {48 + i % 4, (i - 240) / 4};
}
void decode_tq1_0(const BlockFormat& /*format*/, const uint8_t* block, float* values) {
  constexpr int kPowers[] = {1, 3, 9, 27, 81};
  const float d = half_at(block + 52);
  for (int i = 0; i < kElements; ++i) {
    const auto [byte, digit] = digit_of(i);
    const int rest = block[byte] * kPowers[digit] & 255;
    values[i] = static_cast<float>((rest * 3 >> 8) - 1) * d;
  }
}

int trit(float x, float d) { return d == 0 ? 1 : rounded_to(x / d, -1, 1) + 1; }

void encode_tq1_0(const BlockFormat& /*format*/, const float* values, uint8_t* block) {
  const float d = largest_magnitude(values, kElements);
  constexpr int kPlaces[] = {81, 27, 9, 3, 1};
  int sums[52] = {};
  for (int i = 0; i < kElements; ++i) {
    const auto [byte, digit] = digit_of(i);
    sums[byte] += trit(values[i], d) * kPlaces[digit];
  }
  for (int byte = 0; byte < 52; ++byte)  // of 243 as a fraction of 256, rounded up
    block[byte] = static_cast<uint8_t>((sums[byte] * 256 + 242) / 243);
  set_half(block + 52, d);
}

// ---- tq2_0: two bits each, 32 bytes for 128 elements ----

void decode_tq2_0(const BlockFormat& /*format*/, const uint8_t* block, float* values) {
  const float d = half_at(block + 64);
  for (int i = 0; i < kElements; ++i)
    values[i] =
        static_cast<float>((block[i / 128 * 32 + i % 32] >> (i % 128 / 32 * 2) & 3) - 1) * d;
}
void encode_tq2_0(const BlockFormat& /*format*/, const float* values, uint8_t* block) {
  const float d = largest_magnitude(values, kElements);
  for (int i = 0; i < kElements; ++i)
    put_bits(block[i / 128 * 32 + i % 32], trit(values[i], d), i % 128 / 32 * 2);
  set_half(block + 64, d);
}

}  // namespace

std::vector<BlockFormat> ternary_formats() {
  return {
      {"tq1_0", 256, 54, {{"q", 0, 48}, {"h", 48, 4}, {"d", 52, 2}}, decode_tq1_0, encode_tq1_0},
      {"tq2_0", 256, 66, {{"q", 0, 64}, {"d", 64, 2}}, decode_tq2_0, encode_tq2_0},
  };
}

}  // namespace rlx::blocks
