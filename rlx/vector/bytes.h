// Numbers kept as integers of a few bits: made of floats, and made floats again.
#pragma once

#include <cstdint>

#include "rlx/vector/isa.h"

namespace rlx::vector {

enum class Integer : uint8_t { i8, u8, i16, u16, i32 };

// What broadcasts along a row: steps of 0 and 1 are the fast ones. Null zeros are 0.
struct Scales {
  const float* scale = nullptr;
  int64_t scale_step = 0;
  const void* zero = nullptr;  // of the integers' own dtype
  int64_t zero_step = 0;
};

struct Bytes {
  // y = x / scale, to the nearest, ties to even, plus zero, cut to what fits. NaN becomes zero.
  // Of no i32.
  void (*quantise)(const float* x, const Scales& scales, Integer to, void* y, int64_t count);
  // y = (x - zero) * scale; a null scale is 1.
  void (*dequantise)(Integer from, const void* x, const Scales& scales, float* y, int64_t count);
  // The sum of x[i] * w[i] * scales[i / block], of i8.
  float (*dot)(const float* x, const int8_t* w, const float* scales, int64_t block, int64_t count);
};
Bytes bytes(Isa isa);

}  // namespace rlx::vector
