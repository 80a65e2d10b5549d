// Pictures of scenes made of Gaussians.
#pragma once

#include "rlx/ir/value.h"

namespace rlx {

// N Gaussians; a parameter of each is a row.
struct SplatScene {
  Value position;   // [N, 3]
  Value log_scale;  // [N, 3]: logarithms of the standard deviations along its axes
  Value rotation;   // [N, 4]: a quaternion w, x, y, z of any length
  Value opacity;    // [N]: a logit
  Value harmonics;  // [N, K, 3]: colour by direction, K = 1, 4, 9 or 16 spherical harmonics
};
struct SplatOptions {
  int64_t width = 256, height = 256;
  double cutoff = 1.0 / 255;  // what covers less of a pixel is left out of it
  double threshold = 1e-4;    // a pixel is done when it lets less light than this through
  double most_alpha =
      0.999;  // as much as one Gaussian covers at most: light passes, so gradients do
  bool deterministic = false;  // gradients have the same bits in every run, and take longer
};
// The scene as seen by `camera` f32[12] (position, target, up, vertical field of view in radians,
// near, far) on `background` f32[3]: [height, width, 5], which are red, green, blue, how much is
// covered, and depth (along the view, each Gaussian weighted by how much of the pixel it covers). A
// Gaussian covers sigmoid(opacity) * exp(-d^2 / 2) of a pixel, d being the distance of its ray from
// the middle in standard deviations. Gaussians are drawn from the nearest to the farthest, by their
// middles. All operands have gradients, the camera too.
Value gaussian_splat(const SplatScene& scene, Value camera, Value background,
                     const SplatOptions& options = {});

// The last step of it: Gaussians in the order they are drawn, each a row of 17 numbers (what takes
// a vector to standard deviations along its axes, row by row; where the camera is in those; what it
// covers at most; red, green, blue; depth), seen only by pixels within its bounds [N, 4] (left,
// top, right, bottom). The ray of pixel (x, y) goes along rays[0] + (x + 1/2) rays[1] + (y + 1/2)
// rays[2].
Value splat_raster(Value gaussians, Value bounds, Value rays, Value background,
                   const SplatOptions& options = {});

}  // namespace rlx
