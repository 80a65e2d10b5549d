// The picture under a convolution of bytes, as the right operand of a product of bytes: rows are
// what the taps of a window meet, columns the places of the result.
#pragma once

#include "rlx/vector/byte_gemm.h"
#include "rlx/vector/windows.h"

namespace rlx::vector {

struct ByteUnfold {
  const uint8_t* planes = nullptr;  // [channels, height, width], without gaps
  bool is_signed = false;
  uint8_t padding = 0;  // the byte that stands for what is outside
  int64_t channels = 1;
  Windows windows = {};

  int64_t inner() const { return channels * windows.y.window * windows.x.window; }
  int64_t places() const { return windows.y.out * windows.x.out; }
};

// Some panels, in the layout of `gemm`, with the sums of their columns: as its `pack` gives them of
// the matrix that is never there. Different panels may be made at the same time.
void pack_unfolded(const ByteUnfold& unfold, const ByteGemm& gemm, Range panels, uint32_t* packed,
                   int32_t* sums);

}  // namespace rlx::vector
