// Convolutions of bytes in which each channel has a window of its own, summed in i32.
#pragma once

#include <cstdint>

#include "rlx/vector/isa.h"
#include "rlx/vector/range.h"
#include "rlx/vector/windows.h"

namespace rlx::vector {

struct ByteDepthwise {
  // A vector of channels may reach so far behind the last.
  static constexpr int64_t kSlack = 64;
  static int64_t padded(int64_t channels) { return (channels + kSlack - 1) / kSlack * kSlack; }

  Windows windows = {};
  int64_t channels = 1;
  const uint8_t* picture = nullptr;  // with its padding, without signs, and kSlack bytes behind it
  int64_t row = 0, pixel = 0;        // steps in bytes
  const int32_t* weights = nullptr;  // [taps, padded(channels)], 0 behind the channels
  const int32_t* start = nullptr;    // [padded(channels)] what sums begin with
  int32_t* y = nullptr;              // [rows at hand, places of a row, channels]
};

// Some rows of the result, whose first one is the first of y.
using RunByteDepthwise = void (*)(const ByteDepthwise& convolution, Range rows);
RunByteDepthwise byte_depthwise(Isa isa);

}  // namespace rlx::vector
