// Products of few rows with weights in blocks, by integers: weights as the bytes that they are made
// of, and rows of x as whole numbers of 23 bits in three bytes, so that the processor multiplies
// and adds four bytes at a time and the accuracy of f32 stays.
#pragma once

#include "rlx/vector/blocks.h"

namespace rlx::vector {

// A row of x: whole numbers of its units of 32 elements, in three digits of 8 bits each, in the
// order that a format has its bytes in. Behind the last element there are zeros up to a whole tile.
// A format whose groups are longer has units as long.
struct WholeRow {
  int8_t* digits[3];    // the highest first
  float *steps, *sums;  // of each group of a format: what a 1 is worth, and the sum of x

  // What a row needs of memory.
  static int64_t words(int64_t inner);
  static int64_t floats(int64_t inner);
  WholeRow(int32_t* words, float* floats, int64_t inner);
};

struct BlockBytesProduct {
  BlockRows b;
  const WholeRow* a = nullptr;
  int64_t rows = 0;
  float* c = nullptr;
  int64_t c_row = 0;
};

struct BlockBytesFormat {
  // Some columns of c. An infinite scale gives what is not finite, but not what it should be. Null
  // where the processor has no fast way for the format, or its blocks are no whole units.
  void (*multiply)(const BlockBytesProduct& product, Range columns) = nullptr;
  int64_t group = 32;  // elements that share a scale, 16, 32 or 256
  // Elements that are made bytes at once, how many bytes, and which element each byte belongs to.
  int64_t tile = 0, bytes = 0;
  const uint16_t* order = nullptr;
  // Where bytes are no elements: a byte is multiplied by 3 times its element of x less this one.
  const uint16_t* less = nullptr;
};
constexpr uint16_t kNoElement = 256;  // in `order` and `less`: 0 instead

struct BlockBytesFunctions {
  BlockBytesFormat (*format)(std::string_view name, const BlockShape& shape);
  // False where an element is infinite or no number, or a unit is so small that steps would be 0.
  bool (*take_row)(const float* x, int64_t inner, const BlockBytesFormat& format, WholeRow& to);
};
// By fours the processor multiplies bytes of 8 bits, else those of 7.
BlockBytesFunctions block_bytes(Isa isa, bool by_fours);

}  // namespace rlx::vector
