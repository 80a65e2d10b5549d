// Windows that move over one plane [height, width] of f32: depthwise convolution and pooling.
#pragma once

#include "rlx/vector/isa.h"
#include "rlx/vector/range.h"

namespace rlx::vector {

struct Windows {
  struct Axis {
    int64_t in = 1, out = 1;                       // extents
    int64_t window = 1, stride = 1, dilation = 1;  // a window of 64 at most
    int64_t before = 0;  // padding in front; behind it is what the windows need
    bool operator==(const Axis&) const = default;
  };
  Axis y = {}, x = {};
  bool operator==(const Windows&) const = default;
};

// Each function computes some rows of the result, in a scratch of its own.
struct WindowFunctions {
  int64_t (*scratch_size)(const Windows& windows);  // in floats
  // The largest under each window; padding never counts, what is no number does.
  void (*highest)(const Windows& windows, const float* x, float* y, Range rows, float* scratch);
  // Sums, padding counting as 0.
  void (*sum)(const Windows& windows, const float* x, float* y, Range rows, float* scratch);
  // Sums weighted with [y.window, x.window] weights, beginning with a number.
  void (*weighted)(const Windows& windows, const float* x, const float* weights, float start,
                   float* y, Range rows, float* scratch);
};
WindowFunctions window_functions(Isa isa);

}  // namespace rlx::vector
