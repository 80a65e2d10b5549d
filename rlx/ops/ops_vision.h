// Regions and boxes of pictures.
#pragma once

#include <string>

#include "rlx/ir/value.h"

namespace rlx {

struct GridSampleOptions {
  std::string mode = "linear";    // nearest, cubic
  std::string padding = "zeros";  // border, reflection
  bool align_corners = false;     // -1 and 1 are the middles of the outermost elements
};
// x [N, C, H, W] at the places (x, y) that grid [N, H', W', 2] names, from -1 to 1.
Value grid_sample(Value x, Value grid, const GridSampleOptions& options = {});
struct DeformConvOptions {
  Ints strides = {}, dilations = {}, pads = {};
  int64_t groups = 1;
  int64_t offset_groups = 1;  // sets of offsets, each for its part of the channels
  Value mask = {};            // [B, offset_groups * h * w, H', W']: what each tap counts
};
// x [B, C, H, W], w [O, C / groups, h, w]; each tap of each window is moved by offset
// [B, offset_groups * h * w * 2, H', W'], down and to the right, and read between the elements.
Value deform_conv(Value x, Value w, Value offset, Value bias = {},
                  const DeformConvOptions& options = {});
struct RoiAlignOptions {
  std::string mode = "avg";       // max
  int64_t height = 1, width = 1;  // bins of a region
  int64_t samples = 0;            // along each axis of a bin; 0: as many as it has elements
  double scale = 1;               // from the regions' coordinates to those of x
  bool half_pixel = true;         // coordinates count from the edge of the first element
};
// Of x [N, C, H, W] the regions (x1, y1, x2, y2) of rois [K, 4], each of picture batch_indices [K].
Value roi_align(Value x, Value rois, Value batch_indices, const RoiAlignOptions& options = {});
// Of boxes [B, N, 4] the best by scores [B, C, N] that overlap no better one by more than `overlap`
// of their union, at most `most` for each class, with scores above `least`: rows (batch, class,
// box). Boxes are two corners (y, x), or if `centred` a middle (x, y), a width and a height.
Value non_max_suppression(Value boxes, Value scores, Value most = {}, Value overlap = {},
                          Value least = {}, bool centred = false);

}  // namespace rlx
