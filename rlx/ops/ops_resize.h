// Resampling along axes.
#pragma once

#include <string>

#include "rlx/ir/value.h"

namespace rlx {

struct ResizeOptions {
  std::string mode = "nearest";                 // linear, cubic
  std::string coordinates = "half_pixel";       // as ONNX names them
  std::string rounding = "round_prefer_floor";  // of nearest: _ceil, floor, ceil
  Ints axes = {};                               // empty: all
  Floats scales = {};                           // of the axes; empty: from the sizes
  Floats roi = {};                              // starts and ends, for tf_crop_and_resize
  bool antialias = false, exclude_outside = false;
  double cubic_a = -0.75, outside_value = 0;
  // As ONNX is written: scales are the fractions they stand for, coordinates exact numbers, and
  // align_corners has its last corner at scale * extent. Otherwise as onnxruntime and PyTorch
  // compute: nearest finds its coordinates in f32, and the last corner is the last element.
  bool exact = false;
};
// Along the axes to `sizes`, or where there are none by options.scales.
Value resize(Value x, const Dims& sizes, const ResizeOptions& options = {});
Value resize(Value x, Value sizes, const ResizeOptions& options = {});

}  // namespace rlx
