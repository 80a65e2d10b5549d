// ONNX operators on pictures and boxes, and the determinant that goes with their transforms.

#include "rlx/ops/ops_vision.h"

#include "rlx/import/onnx/site.h"
#include "rlx/ops/ops_solve.h"

namespace rlx::onnx {
namespace {

using Site = const NodeSite&;

Items grid_sample_operator(Site site) {
  GridSampleOptions options{.mode = site.string("mode", "linear"),
                            .padding = site.string("padding_mode", "zeros"),
                            .align_corners = site.flag("align_corners")};
  // The names before opset 20.
  if (options.mode == "bilinear") options.mode = "linear";
  if (options.mode == "bicubic") options.mode = "cubic";
  return {grid_sample(site.in(0), site.in(1), options)};
}

Items roi_align_operator(Site site) {
  RoiAlignOptions options{.mode = site.string("mode", "avg"),
                          .height = site.integer("output_height", 1),
                          .width = site.integer("output_width", 1),
                          .samples = site.integer("sampling_ratio", 0),
                          .scale = site.real("spatial_scale", 1)};
  options.half_pixel = site.opset >= 16 &&
                       site.string("coordinate_transformation_mode", "half_pixel") == "half_pixel";
  return {roi_align(site.in(0), site.in(1), site.in(2), options)};
}

Items non_max_suppression_operator(Site site) {
  return {non_max_suppression(site.in(0), site.in(1), site.maybe(2), site.maybe(3), site.maybe(4),
                              site.flag("center_point_box"))};
}

Items det_operator(Site site) { return {det(site.in(0))}; }

}  // namespace

std::span<const Operator> vision_operators() {
  static constexpr Operator kOperators[] = {
      {"Det", det_operator},
      {"GridSample", grid_sample_operator},
      {"NonMaxSuppression", non_max_suppression_operator},
      {"RoiAlign", roi_align_operator},
  };
  return kOperators;
}

}  // namespace rlx::onnx
