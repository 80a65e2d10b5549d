// A tile of a picture of Gaussians: vectors of pixels that look at one Gaussian after the other.
#pragma once

#include <cstdint>
#include <span>

#include "rlx/vector/isa.h"

namespace rlx::vector {

// A Gaussian is a row of numbers: the matrix that makes it a ball of size one, nine of them; its
// middle, so changed; opacity, colour and depth. A pixel at x, y looks along rays[0..2] +
// x rays[3..5] + y rays[6..8].
struct SplatTile {
  static constexpr int64_t kSide = 16, kFields = 17, kChannels = 5;
  const float *gaussians = nullptr, *bounds = nullptr, *rays = nullptr, *background = nullptr;
  std::span<const int64_t> found;  // those that may be seen, front to back
  int64_t left = 0, top = 0, width = kSide, height = kSide;
  float cutoff = 0, threshold = 0, most_alpha = 1;
  float* to = nullptr;  // the tile's first pixel: colours, alpha, depth
  int64_t row = 0;      // how far rows of pixels are apart
};

// The way back: what a tile's pixels are, and what is wanted of them to change, both as `to` has
// them; gradients are added to those of the Gaussians and of the rays.
struct SplatBack {
  const float *y = nullptr, *dy = nullptr;
  float *gaussians = nullptr, *rays = nullptr;
};

struct SplatFunctions {
  void (*draw)(const SplatTile& tile) = nullptr;
  void (*draw_back)(const SplatTile& tile, const SplatBack& back) = nullptr;
};
SplatFunctions splats(Isa isa);

}  // namespace rlx::vector
