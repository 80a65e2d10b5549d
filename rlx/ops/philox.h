// Philox 4x32-10, as lib/philox.wgsl has it: four random words of a counter and a key.
#pragma once

#include <array>
#include <cstdint>

#include "rlx/lower/site.h"

namespace rlx {

using PhiloxCounter = std::array<uint32_t, 4>;
using PhiloxKey = std::array<uint32_t, 2>;

PhiloxCounter philox(PhiloxCounter counter, PhiloxKey key);

// 24 bits of a word, in [0, 1).
inline double unit_uniform(uint32_t word) { return double(word >> 8) * 0x1p-24; }

// A seed operand holds the key: one integer, or two.
void require_seed(std::string_view op, const TensorType& seed);
PhiloxKey key_of(const Tensor& seed);
// WGSL: fn key() -> vec2<u32>, of the operand "seed".
std::string key_function(const TensorType& seed);

}  // namespace rlx
