// Windows that move over [height, width] bytes, or over as many pixels of several channels.
#pragma once

#include "rlx/vector/range.h"
#include "rlx/vector/windows.h"

namespace rlx::vector {

// The largest under each window, of some rows of the result; padding never counts, and the lowest
// is what a window of padding alone gives. `scratch` has as many bytes as a row of x.
struct BytePool {
  Windows windows = {};
  bool is_signed = false;
  int64_t channels = 1;  // side by side
  const uint8_t* x = nullptr;
  uint8_t* y = nullptr;
};
void highest_bytes(const BytePool& pool, Range rows, uint8_t* scratch);

}  // namespace rlx::vector
