// int{2,3,4,8}_block: f32 scale, then signed integers, the lowest bits of a byte first: q * s.
// int{2,3,4,8}_block_asym: f32 scale, f32 zero point, unsigned integers: (q - z) * s.
#include <algorithm>

#include "rlx/tensor/blocks/families.h"
#include "rlx/tensor/blocks/fit.h"

namespace rlx::blocks {
namespace {

int64_t header_of(const BlockFormat& format) { return format.has_zero ? 8 : 4; }

// Bits of element i, which may lie in two bytes.
uint32_t bits_at(const uint8_t* bytes, int64_t i, int64_t bits) {
  const int64_t at = i * bits, shift = at % 8;
  uint32_t word = bytes[at / 8];
  if (shift + bits > 8) word |= uint32_t{bytes[at / 8 + 1]} << 8;
  return word >> shift & ((1U << bits) - 1);
}
void set_bits_at(uint8_t* bytes, int64_t i, int64_t bits, uint32_t value) {
  const int64_t at = i * bits, shift = at % 8;
  const uint32_t word = (value & ((1U << bits) - 1)) << shift;
  bytes[at / 8] = static_cast<uint8_t>(bytes[at / 8] | (word & 255));
  if (shift + bits > 8) bytes[at / 8 + 1] = static_cast<uint8_t>(bytes[at / 8 + 1] | word >> 8);
}

void decode_signed(const BlockFormat& format, const uint8_t* block, float* values) {
  const float scale = float_at(block);
  const int half = 1 << (format.bits - 1);
  for (int64_t i = 0; i < format.elements; ++i) {
    const int q = static_cast<int>(bits_at(block + 4, i, format.bits));
    values[i] = static_cast<float>((q ^ half) - half) * scale;
  }
}
void encode_signed(const BlockFormat& format, const float* values, uint8_t* block) {
  const int half = 1 << (format.bits - 1);
  const float scale = fit_scale(values, format.elements, -half, half - 1);
  set_float(block, scale);
  for (int64_t i = 0; i < format.elements; ++i) {
    const int q = scale == 0 ? 0 : rounded_to(values[i] / scale, -half, half - 1);
    set_bits_at(block + 4, i, format.bits, static_cast<uint32_t>(q));
  }
}

void decode_asym(const BlockFormat& format, const uint8_t* block, float* values) {
  const float scale = float_at(block), zero = float_at(block + 4);
  for (int64_t i = 0; i < format.elements; ++i)
    values[i] = (static_cast<float>(bits_at(block + 8, i, format.bits)) - zero) * scale;
}
// The zero point is an integer in range, as other formats' must be.
void encode_asym(const BlockFormat& format, const float* values, uint8_t* block) {
  const int levels = (1 << format.bits) - 1;
  const auto [least, most] = std::minmax_element(values, values + format.elements);
  const float low = std::min(0.0f, *least), high = std::max(0.0f, *most);
  const float scale = (high - low) / static_cast<float>(levels);
  const int zero = scale == 0 ? 0 : rounded_to(-low / scale, 0, levels);
  set_float(block, scale);
  set_float(block + 4, static_cast<float>(zero));
  for (int64_t i = 0; i < format.elements; ++i) {
    const int q =
        scale == 0 ? zero : rounded_to(values[i] / scale + static_cast<float>(zero), 0, levels);
    set_bits_at(block + 8, i, format.bits, static_cast<uint32_t>(q));
  }
}

BlockFormat integer_format(std::string_view name, int64_t bits, bool has_zero, int64_t block) {
  BlockFormat format{.name = name, .elements = block};
  format.bits = bits;
  format.has_zero = has_zero;
  format.decode = has_zero ? decode_asym : decode_signed;
  format.encode = has_zero ? encode_asym : encode_signed;
  const int64_t header = header_of(format);
  format.bytes = header + block * bits / 8;
  format.fields = {{"scale", 0, 4}};
  if (has_zero) format.fields.push_back({"zero", 4, 4});
  format.fields.push_back({"q", header, block * bits / 8});
  return format;
}

}  // namespace

std::vector<BlockFormat> integer_formats(int64_t block) {
  return {
      integer_format("int2_block", 2, false, block),
      integer_format("int2_block_asym", 2, true, block),
      integer_format("int3_block", 3, false, block),
      integer_format("int3_block_asym", 3, true, block),
      integer_format("int4_block", 4, false, block),
      integer_format("int4_block_asym", 4, true, block),
      integer_format("int8_block", 8, false, block),
      integer_format("int8_block_asym", 8, true, block),
  };
}

}  // namespace rlx::blocks
