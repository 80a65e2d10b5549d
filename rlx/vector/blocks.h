// Weights in blocks of few bits: decoded to f32 a stretch at a time, and multiplied while they are
// in the first cache. What the formats are is in rlx/tensor/blocks.
#pragma once

#include <cstdint>
#include <string_view>

#include "rlx/vector/isa.h"
#include "rlx/vector/range.h"

namespace rlx::vector {

struct BlockShape {
  int64_t elements = 0, bytes = 0;  // of a block
  int64_t bits = 0;                 // of int*_block, and whether they have a zero point
  bool has_zero = false;
};

// Rows of K elements each, one after the other.
struct BlockRows {
  using Decode = void (*)(const BlockShape& shape, const uint8_t* blocks, int64_t count, float* to);
  Decode decode = nullptr;
  BlockShape shape = {};
  const uint8_t* data = nullptr;
  int64_t row_bytes = 0, inner = 0;
};

// c[r, j] = a[r] . row j of b, for few rows of a: b is decoded once for all of them.
struct BlockProduct {
  BlockRows b;
  const float* a = nullptr;
  int64_t rows = 0, a_row = 0;
  float* c = nullptr;
  int64_t c_row = 0;
};

struct BlockFunctions {
  // Of a format; null where there is none.
  BlockRows::Decode (*decoder)(std::string_view format);
  // Some columns of c.
  void (*multiply)(const BlockProduct& product, Range columns, float* scratch);
  // c[r, k] = sum over j of a[r, j] * b[j, k], b having `columns` rows; for the k of some blocks.
  void (*multiply_back)(const BlockProduct& product, int64_t columns, Range blocks, float* scratch);
  // What both need of it, in floats.
  int64_t (*scratch_size)(const BlockShape& shape);
};
BlockFunctions block_functions(Isa isa);

}  // namespace rlx::vector
