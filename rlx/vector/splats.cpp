#include "rlx/vector/splats.h"

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "rlx/vector/splats.cpp"
#include "rlx/vector/each_isa.h"
#include "rlx/vector/math.h"
#include "rlx/vector/simd.h"

HWY_BEFORE_NAMESPACE();
namespace rlx::vector::HWY_NAMESPACE {
namespace {

constexpr int64_t kSide = SplatTile::kSide, kFields = SplatTile::kFields,
                  kChannels = SplatTile::kChannels;
constexpr int64_t kMiddle = 9, kOpacity = 12, kColour = 13;
static_assert(kSide % kLanes == 0);

struct Three {
  F x, y, z;
};
HWY_INLINE F dot(const float* a, const Three& b) {
  return mul_add(set(a[2]), b.z, mul_add(set(a[1]), b.y, set(a[0]) * b.x));
}
HWY_INLINE F squares_of(const Three& a) { return mul_add(a.z, a.z, mul_add(a.y, a.y, a.x * a.x)); }
HWY_INLINE Three cross(const float* a, const Three& b) {
  return {neg_mul_add(set(a[2]), b.y, set(a[1]) * b.z),
          neg_mul_add(set(a[0]), b.z, set(a[2]) * b.x),
          neg_mul_add(set(a[1]), b.x, set(a[0]) * b.y)};
}

// What a tile's pixels have seen so far.
struct Pixels {
  alignas(64) float light[kSide][kSide], sums[kChannels][kSide][kSide], rays[3][kSide][kSide];
  alignas(64) float x[kSide];
  bool dark[kSide] = {};
  int64_t rows_left;

  explicit Pixels(const SplatTile& tile) : rows_left(tile.height) {
    for (int64_t i = 0; i < kSide; ++i) x[i] = static_cast<float>(tile.left + i) + 0.5F;
    for (int64_t y = 0; y < tile.height; ++y) {
      const F across_y = set(static_cast<float>(tile.top + y) + 0.5F);
      for (int64_t i = 0; i < kSide; i += kLanes) {
        store(set(1.0F), light[y] + i);
        for (auto& sum : sums) store(set(0.0F), sum[y] + i);
        for (int64_t axis = 0; axis < 3; ++axis)
          store(mul_add(across_y, set(tile.rays[6 + axis]),
                        mul_add(load(x + i), set(tile.rays[3 + axis]), set(tile.rays[axis]))),
                rays[axis][y] + i);
      }
    }
  }
};

// One Gaussian on one row of pixels. False where the row sees nothing any more.
HWY_INLINE bool add_to_row(const SplatTile& tile, const float* g, const float* box, int64_t y,
                           Pixels& pixels) {
  F brightest = set(0.0F);
#pragma GCC unroll 4
  for (int64_t i = 0; i < kSide; i += kLanes) {
    const Three ray{load(pixels.rays[0][y] + i), load(pixels.rays[1][y] + i),
                    load(pixels.rays[2][y] + i)};
    const Three along{dot(g, ray), dot(g + 3, ray), dot(g + 6, ray)};
    const F distance = squares_of(cross(g + kMiddle, along)) / squares_of(along);
    // 0 for what is no number.
    const F raw = max(set(g[kOpacity]) * exp_below_zero(distance * set(-0.5F)), set(0.0F));
    F light = load(pixels.light[y] + i);
    const F x = load(pixels.x + i), none = set(0.0F);
    F alpha = select(less(raw, set(tile.cutoff)), none, min(raw, set(tile.most_alpha)));
    alpha = select(less(x, set(box[0])), none, select(less(set(box[2]), x), none, alpha));
    alpha = select(less(light, set(tile.threshold)), none, alpha);
    const M is_seen = less(none, alpha);
    if (any(is_seen)) {
      const F weight = light * alpha;
      const auto add = [&](int64_t channel, F value) {
        const F sum = load(pixels.sums[channel][y] + i);
        store(select(is_seen, mul_add(weight, value, sum), sum), pixels.sums[channel][y] + i);
      };
      add(0, set(g[kColour]));
      add(1, set(g[kColour + 1]));
      add(2, set(g[kColour + 2]));
      add(3, set(1.0F));
      add(4, set(g[kColour + 3]));
      light = light * (set(1.0F) - alpha);
      store(light, pixels.light[y] + i);
    }
    brightest = max(brightest, light);
  }
  return largest(brightest) >= tile.threshold;
}

void draw(const SplatTile& tile) {
  Pixels pixels(tile);
  for (const int64_t n : tile.found) {
    if (pixels.rows_left == 0) break;
    const float *g = tile.gaussians + n * kFields, *box = tile.bounds + 4 * n;
    for (int64_t y = 0; y < tile.height; ++y) {
      const float at = static_cast<float>(tile.top + y) + 0.5F;
      if (pixels.dark[y] || !(at >= box[1] && at <= box[3])) continue;
      if (add_to_row(tile, g, box, y, pixels)) continue;
      pixels.dark[y] = true;
      --pixels.rows_left;
    }
  }
  for (int64_t y = 0; y < tile.height; ++y)
    for (int64_t x = 0; x < tile.width; ++x) {
      float* pixel = tile.to + y * tile.row + x * kChannels;
      for (int64_t c = 0; c < kChannels; ++c)
        pixel[c] = pixels.sums[c][y][x] + (c < 3 ? pixels.light[y][x] * tile.background[c] : 0);
    }
}

SplatFunctions make() { return {draw}; }

}  // namespace
}  // namespace rlx::vector::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace rlx::vector {
SplatFunctions splats(Isa isa) { return RLX_OF_ISA(isa, make); }
}  // namespace rlx::vector
#endif
