// Weights of few bits per element: blocks of elements that share a scale, one after the other along
// a row. What a format is, is one row of a table: its extents, its fields, how it is encoded and
// decoded. ops/lib/blocks_*.wgsl and vector/blocks.cpp decode the same bytes on a device and in
// registers.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "rlx/tensor/tensor.h"

namespace rlx {

struct BlockField {
  std::string_view name;
  int64_t offset = 0, bytes = 0;
};

struct BlockFormat {
  std::string_view name;
  int64_t elements = 0, bytes = 0;  // of a block
  std::vector<BlockField> fields = {};
  // Exactly what a block means; `values` has `elements` places. NaN and infinity, where a format
  // has them, stay what they are.
  void (*decode)(const BlockFormat& format, const uint8_t* block, float* values) = nullptr;
  // A block whose decoded values are near these. They are finite, or the format has what they are.
  void (*encode)(const BlockFormat& format, const float* values, uint8_t* block) = nullptr;
  // What kernels decode it with, besides a file of its own: ops/lib/NAME.wgsl, for several formats.
  std::string_view kernel_library = {};
  // Of elements, where no scale of a block reaches all floats: those of a tensor want one more, of
  // the tensor. 0 in the others.
  float largest = 0;
  int64_t bits = 0;  // of an element of int*_block, and whether its blocks have a zero point
  bool has_zero = false;

  // The bytes of `elements` elements; an Error where those are no whole blocks.
  int64_t row_bytes(int64_t row_elements) const;
  int64_t row_elements(int64_t bytes_of_row) const;
};

// The format of that name. `block` is how many elements share a scale where a format leaves that
// open (int*_block), 0 where it does not, or for 32. An Error where there is no such format or
// block.
BlockFormat block_format(std::string_view name, int64_t block = 0);
// Every format, those with an open block at 32.
std::vector<BlockFormat> block_formats();

// Floats [.., K] as u8[.., bytes of K elements], and back to f32.
Tensor encode_blocks(const Tensor& values, const BlockFormat& format);
Tensor decode_blocks(const Tensor& bytes, const BlockFormat& format);
// What to divide a tensor of f32 by before it is encoded, and results by its weights to multiply
// with: its largest element becomes the format's `largest`. 1 where blocks have all scales.
float tensor_scale(const Tensor& values, const BlockFormat& format);

}  // namespace rlx
