// Numbers kept as integers of a few bits: made of floats, and made floats again.
#pragma once

#include <cstdint>

#include "rlx/vector/isa.h"
#include "rlx/vector/range.h"

namespace rlx::vector {

enum class Integer : uint8_t { i8, u8, i16, u16, i32 };

// What broadcasts along a row: steps of 0 and 1 are the fast ones. Null zeros are 0.
struct Scales {
  const float* scale = nullptr;
  int64_t scale_step = 0;
  const void* zero = nullptr;  // of the integers' own dtype
  int64_t zero_step = 0;
};

// Rows of `inner` bytes, i8 or u8, in blocks that have a scale and perhaps a zero point each. From
// those of a row to the next row's it is `.._row`, which is 0 where all rows share them.
struct ByteRows {
  const void* data = nullptr;
  bool is_signed = false;
  int64_t inner = 0, block = 0;
  const float* scales = nullptr;
  int64_t scales_row = 0;
  const void* zeros = nullptr;
  int64_t zeros_row = 0;

  // The scale and the zero point of the block that element k of a row is in; what is behind it
  // in that block has them, too.
  Scales scales_at(int64_t row, int64_t k) const {
    const auto* zero = static_cast<const uint8_t*>(zeros);
    return {.scale = scales + row * scales_row + k / block,
            .zero = zero ? zero + row * zeros_row + k / block : nullptr};
  }
};

// c[r, j] = a[r] . row j of b, decoded.
struct ByteRowsProduct {
  ByteRows b;
  const float* a = nullptr;
  int64_t rows = 0, a_row = 0;
  float* c = nullptr;
  int64_t c_row = 0;
};

struct Bytes {
  // y = x / scale, to the nearest, ties to even, plus zero, cut to what fits. NaN becomes zero.
  // Of no i32.
  void (*quantise)(const float* x, const Scales& scales, Integer to, void* y, int64_t count);
  // y = (x - zero) * scale; a null scale is 1.
  void (*dequantise)(Integer from, const void* x, const Scales& scales, float* y, int64_t count);
  // The two one after the other: what `x` stands for, as integers of another scale.
  // Of i32 and bytes, to bytes.
  void (*requantise)(Integer from, const void* x, const Scales& of, Integer to,
                     const Scales& scales, void* y, int64_t count);
  // What quantise and dequantise make of x with integers from low to high, which are never there.
  // NaN stays.
  void (*fake_quantise)(const float* x, const Scales& scales, float low, float high, float* y,
                        int64_t count);
  // Some columns of c.
  void (*multiply)(const ByteRowsProduct& product, Range columns);
};
Bytes bytes(Isa isa);

}  // namespace rlx::vector
