// resize of f32 along the last axes: the nearest element, or a sum of two or four.
#pragma once

#include "rlx/backend/cpu/behind.h"

namespace rlx::detail {

struct ResizeOptions {
  enum class Mode : uint8_t { nearest, linear, cubic };
  enum class Coordinates : uint8_t {
    half_pixel,
    pytorch_half_pixel,
    align_corners,
    asymmetric,
    half_pixel_forward  // (i + 1/2) / scale
  };
  enum class Rounding : uint8_t { floor, ceil, prefer_floor, prefer_ceil };
  Mode mode = Mode::nearest;
  Coordinates coordinates = Coordinates::half_pixel;
  Rounding rounding = Rounding::prefer_floor;
  std::vector<int64_t> axes = {};   // empty: all
  std::vector<double> scales = {};  // of these axes; empty: as the extents say
  double cubic_a = -0.75;
};
std::unique_ptr<image::CallKernel> resize_kernel(CpuEnginePtr engine, ResizeOptions options,
                                                 Behind behind);

}  // namespace rlx::detail
