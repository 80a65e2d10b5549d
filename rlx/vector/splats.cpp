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
HWY_INLINE Three cross(const Three& a, const Three& b) {
  return {neg_mul_add(a.z, b.y, a.y * b.z), neg_mul_add(a.x, b.z, a.z * b.x),
          neg_mul_add(a.y, b.x, a.x * b.y)};
}
HWY_INLINE Three three_at(const float* a) { return {set(a[0]), set(a[1]), set(a[2])}; }

// What a tile's pixels have seen so far.
struct Pixels {
  alignas(64) float light[kSide][kSide], sums[kChannels][kSide][kSide], rays[3][kSide][kSide];
  alignas(64) float x[kSide];
  bool dark[kSide] = {};
  int64_t rows_left;

  explicit Pixels(const SplatTile& tile) : rows_left(tile.height) {
    for (int64_t i = 0; i < kSide; ++i) x[i] = static_cast<float>(tile.left + i) + 0.5F;
    const auto end = static_cast<float>(tile.left + tile.width);
    for (int64_t y = 0; y < tile.height; ++y) {
      const F across_y = set(static_cast<float>(tile.top + y) + 0.5F);
      for (int64_t i = 0; i < kSide; i += kLanes) {
        // Pixels behind the edge see nothing.
        store(select(less(load(x + i), set(end)), set(1.0F), set(-1.0F)), light[y] + i);
        for (auto& sum : sums) store(set(0.0F), sum[y] + i);
        for (int64_t axis = 0; axis < 3; ++axis)
          store(mul_add(across_y, set(tile.rays[6 + axis]),
                        mul_add(load(x + i), set(tile.rays[3 + axis]), set(tile.rays[axis]))),
                rays[axis][y] + i);
      }
    }
  }
};

// A Gaussian as some pixels of a row see it.
struct Meeting {
  Three ray, along, moment;
  F squares, distance, fall, raw, seen;  // raw is 0 for what is no number, seen 0 or 1
};
HWY_INLINE Meeting meet(const SplatTile& tile, const float* g, const float* box,
                        const Pixels& pixels, int64_t y, int64_t i) {
  Meeting m;
  m.ray = {load(pixels.rays[0][y] + i), load(pixels.rays[1][y] + i), load(pixels.rays[2][y] + i)};
  m.along = {dot(g, m.ray), dot(g + 3, m.ray), dot(g + 6, m.ray)};
  m.moment = cross(three_at(g + kMiddle), m.along);
  m.squares = squares_of(m.along);
  m.distance = squares_of(m.moment) / m.squares;
  m.fall = exp_below_zero(m.distance * set(-0.5F));
  const F raw = set(g[kOpacity]) * m.fall, none = set(0.0F), x = load(pixels.x + i);
  m.raw = max(raw, none);
  m.seen = select(equal(raw, raw), set(1.0F), none);
  m.seen = select(less(raw, set(tile.cutoff)), none, m.seen);
  m.seen = select(less(x, set(box[0])), none, select(less(set(box[2]), x), none, m.seen));
  m.seen = select(less(load(pixels.light[y] + i), set(tile.threshold)), none, m.seen);
  return m;
}

// One Gaussian on one row of pixels. False where the row sees nothing any more.
HWY_INLINE bool add_to_row(const SplatTile& tile, const float* g, const float* box, int64_t y,
                           Pixels& pixels) {
  F brightest = set(-1.0F);
#pragma GCC unroll 4
  for (int64_t i = 0; i < kSide; i += kLanes) {
    const Meeting m = meet(tile, g, box, pixels, y, i);
    F light = load(pixels.light[y] + i);
    const M is_seen = less(set(0.0F), m.seen);
    if (any(is_seen)) {
      const F alpha = min(m.raw, set(tile.most_alpha)), weight = light * alpha;
      const auto add = [&](int64_t channel, F value) {
        const F sum = load(pixels.sums[channel][y] + i);
        store(select(is_seen, mul_add(weight, value, sum), sum), pixels.sums[channel][y] + i);
      };
      add(0, set(g[kColour]));
      add(1, set(g[kColour + 1]));
      add(2, set(g[kColour + 2]));
      add(3, set(1.0F));
      add(4, set(g[kColour + 3]));
      light = select(is_seen, light * (set(1.0F) - alpha), light);
      store(light, pixels.light[y] + i);
    }
    brightest = max(brightest, light);
  }
  return largest(brightest) >= tile.threshold;
}

// Whether a row of the tile may see it.
HWY_INLINE bool reaches(const SplatTile& tile, const float* box, int64_t y, const Pixels& pixels) {
  const float at = static_cast<float>(tile.top + y) + 0.5F;
  return !pixels.dark[y] && at >= box[1] && at <= box[3];
}

void draw(const SplatTile& tile) {
  Pixels pixels(tile);
  for (const int64_t n : tile.found) {
    if (pixels.rows_left == 0) break;
    const float *g = tile.gaussians + n * kFields, *box = tile.bounds + 4 * n;
    for (int64_t y = 0; y < tile.height; ++y) {
      if (!reaches(tile, box, y, pixels) || add_to_row(tile, g, box, y, pixels)) continue;
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

// ---- The way back ----

// What is wanted of pixels, and the sum of it over what lies behind the Gaussians drawn so far.
struct Wanted {
  alignas(64) float dy[kChannels][kSide][kSide] = {}, behind[kSide][kSide] = {};

  Wanted(const SplatTile& tile, const SplatBack& back) {
    for (int64_t y = 0; y < tile.height; ++y)
      for (int64_t x = 0; x < tile.width; ++x)
        for (int64_t c = 0; c < kChannels; ++c) {
          const int64_t at = y * tile.row + x * kChannels + c;
          dy[c][y][x] = back.dy[at];
          behind[y][x] += back.y[at] * back.dy[at];
        }
  }
};
struct Sums {
  F of[kFields];  // a Gaussian's gradient, of the pixels in each lane
  HWY_INLINE Sums() {
    for (F& each : of) each = set(0.0F);
  }
  HWY_INLINE void add_to(float* gradient) const {
    for (int64_t i = 0; i < kFields; ++i) gradient[i] += sum(of[i]);
  }
};
struct RaySums {
  F of[9];
};

// What the place of a Gaussian has of the change of its distance: f times that of the moment's
// squares. Nothing where pixels are not `open`.
HWY_INLINE void add_place(const float* g, const Meeting& m, M open, F f, F x, F y, Sums& sums,
                          RaySums& rays) {
  const F none = set(0.0F), scale = select(open, f, none);
  const F turn = select(open, none - f * m.distance, none);
  const Three along{select(open, m.along.x, none), select(open, m.along.y, none),
                    select(open, m.along.z, none)};
  const Three moment{select(open, m.moment.x, none), select(open, m.moment.y, none),
                     select(open, m.moment.z, none)};
  const Three d_moment{scale * moment.x, scale * moment.y, scale * moment.z};
  const Three d_middle = cross(along, d_moment), turned = cross(d_moment, three_at(g + kMiddle));
  sums.of[kMiddle] = sums.of[kMiddle] + d_middle.x;
  sums.of[kMiddle + 1] = sums.of[kMiddle + 1] + d_middle.y;
  sums.of[kMiddle + 2] = sums.of[kMiddle + 2] + d_middle.z;
  const F d_along[3] = {mul_add(turn, along.x, turned.x), mul_add(turn, along.y, turned.y),
                        mul_add(turn, along.z, turned.z)};
  const F ray[3] = {m.ray.x, m.ray.y, m.ray.z};
#pragma GCC unroll 3
  for (int64_t j = 0; j < 3; ++j) {
    F d_ray = none;
#pragma GCC unroll 3
    for (int64_t i = 0; i < 3; ++i) {
      sums.of[3 * i + j] = mul_add(d_along[i], ray[j], sums.of[3 * i + j]);
      d_ray = mul_add(d_along[i], set(g[3 * i + j]), d_ray);
    }
    rays.of[j] = rays.of[j] + d_ray;
    rays.of[3 + j] = mul_add(d_ray, x, rays.of[3 + j]);
    rays.of[6 + j] = mul_add(d_ray, y, rays.of[6 + j]);
  }
}

// One Gaussian on one row of pixels, as add_to_row.
HWY_INLINE bool add_back(const SplatTile& tile, const float* g, const float* box, int64_t y,
                         Pixels& pixels, Wanted& wanted, Sums& sums, RaySums& rays) {
  F brightest = set(-1.0F);
  for (int64_t i = 0; i < kSide; i += kLanes) {
    const Meeting m = meet(tile, g, box, pixels, y, i);
    F light = load(pixels.light[y] + i);
    const F none = set(0.0F), most = set(tile.most_alpha);
    const M is_seen = less(none, m.seen);
    if (any(is_seen)) {
      const F alpha = min(m.raw, most), weight = light * alpha;
      const F pass = set(1.0F) - alpha;
      F own = load(wanted.dy[3][y] + i);
#pragma GCC unroll 4
      for (int64_t c = 0; c < 4; ++c) {
        const F dy = load(wanted.dy[c < 3 ? c : 4][y] + i);
        sums.of[kColour + c] = sums.of[kColour + c] + select(is_seen, weight * dy, none);
        own = mul_add(set(g[kColour + c]), dy, own);
      }
      const F before = load(wanted.behind[y] + i), behind = neg_mul_add(weight, own, before);
      const F d_alpha = light * own - behind / pass;
      store(select(is_seen, behind, before), wanted.behind[y] + i);
      light = select(is_seen, light * pass, light);
      store(light, pixels.light[y] + i);
      // One that covers as much as it may does not change.
      const M open = less(none, select(less(most, m.raw), none, m.seen));
      if (any(open)) {
        sums.of[kOpacity] = sums.of[kOpacity] + select(open, d_alpha * m.fall, none);
        add_place(g, m, open, none - d_alpha * m.raw / m.squares, load(pixels.x + i),
                  set(static_cast<float>(tile.top + y) + 0.5F), sums, rays);
      }
    }
    brightest = max(brightest, light);
  }
  return largest(brightest) >= tile.threshold;
}

void draw_back(const SplatTile& tile, const SplatBack& back) {
  Pixels pixels(tile);
  Wanted wanted(tile, back);
  RaySums rays;
  for (F& each : rays.of) each = set(0.0F);
  for (const int64_t n : tile.found) {
    if (pixels.rows_left == 0) break;
    const float *g = tile.gaussians + n * kFields, *box = tile.bounds + 4 * n;
    Sums sums;
    for (int64_t y = 0; y < tile.height; ++y) {
      if (!reaches(tile, box, y, pixels) || add_back(tile, g, box, y, pixels, wanted, sums, rays))
        continue;
      pixels.dark[y] = true;
      --pixels.rows_left;
    }
    sums.add_to(back.gaussians + n * kFields);
  }
  for (int64_t i = 0; i < 9; ++i) back.rays[i] += sum(rays.of[i]);
}

SplatFunctions make() { return {draw, draw_back}; }

}  // namespace
}  // namespace rlx::vector::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace rlx::vector {
SplatFunctions splats(Isa isa) { return RLX_OF_ISA(isa, make); }
}  // namespace rlx::vector
#endif
