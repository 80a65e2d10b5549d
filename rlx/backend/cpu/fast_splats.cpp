#include "rlx/backend/cpu/fast_splats.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "rlx/vector/splats.h"

namespace rlx::detail {
namespace {

using vector::SplatTile;
constexpr int64_t kFields = SplatTile::kFields, kChannels = SplatTile::kChannels,
                  kTile = SplatTile::kSide;
constexpr int64_t kMiddle = 9, kOpacity = 12, kColour = 13, kDepth = 16;
// The way back adds up as many parts, whatever the number of threads: its sums have one order.
constexpr int64_t kParts = 4;

using Three = std::array<float, 3>;

Three cross(const float* a, const float* b) {
  return {a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]};
}
float dot(const float* a, const float* b) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }

struct Scene {
  const float *gaussians, *bounds, *rays;
  int64_t count, width, height, across, down;

  Scene(const image::CallSite& site, const Shape& picture)
      : gaussians(site.in(0)->data<float>().data()),
        bounds(site.in(1)->data<float>().data()),
        rays(site.in(2)->data<float>().data()),
        count(site.in(0)->shape()[0]),
        width(picture[1]),
        height(picture[0]),
        across((width + kTile - 1) / kTile),
        down((height + kTile - 1) / kTile) {}

  // pixel(x, y) for the pixels of a tile.
  template <class Pixel>
  void each_pixel(int64_t tile, const Pixel& pixel) const {
    const int64_t left = tile % across * kTile, top = tile / across * kTile;
    for (int64_t y = top; y < std::min(top + kTile, height); ++y)
      for (int64_t x = left; x < std::min(left + kTile, width); ++x) pixel(x, y);
  }

  Three ray_at(float x, float y) const {
    Three ray;
    for (size_t i = 0; i < 3; ++i) ray[i] = rays[i] + x * rays[3 + i] + y * rays[6 + i];
    return ray;
  }
};

// Those that reach a tile, in their order: of those that reach its row of tiles, which are found
// once for the tiles of a row that come one after the other.
class Finder {
 public:
  explicit Finder(const Scene& scene) : scene_(scene) {}

  const std::vector<int64_t>& find(int64_t tile) {
    const int64_t row = tile / scene_.across;
    if (row != row_) {
      row_ = row;
      in_row_.clear();
      const auto top = static_cast<float>(row * kTile);
      for (int64_t n = 0; n < scene_.count; ++n)
        if (overlaps(n, 1, top)) in_row_.push_back(n);
    }
    found_.clear();
    const auto left = static_cast<float>(tile % scene_.across * kTile);
    for (const int64_t n : in_row_)
      if (overlaps(n, 0, left)) found_.push_back(n);
    return found_;
  }

 private:
  bool overlaps(int64_t n, int64_t axis, float first) const {
    const float* box = scene_.bounds + 4 * n + axis;
    return box[0] <= first + kTile && box[2] >= first;
  }

  const Scene& scene_;
  int64_t row_ = -1;
  std::vector<int64_t> in_row_, found_;
};

struct Meeting {
  Three along, moment;
  float squares = 0, distance = 0, fall = 0, raw = 0, alpha = 0;
};

// False where the pixel does not see it.
bool meet(const Scene& scene, int64_t n, float x, float y, const Three& ray,
          const SplatLimits& limits, Meeting& met) {
  const float* box = scene.bounds + 4 * n;
  if (!(x >= box[0] && x <= box[2] && y >= box[1] && y <= box[3])) return false;
  const float* g = scene.gaussians + n * kFields;
  for (size_t i = 0; i < 3; ++i) met.along[i] = dot(g + 3 * i, ray.data());
  met.moment = cross(g + kMiddle, met.along.data());
  met.squares = dot(met.along.data(), met.along.data());
  met.distance = dot(met.moment.data(), met.moment.data()) / met.squares;
  met.fall = std::exp(-0.5f * met.distance);
  met.raw = g[kOpacity] * met.fall;
  met.alpha = std::min(met.raw, limits.most_alpha);
  return met.raw >= limits.cutoff;
}

bool all_f32(const image::CallSite& site) {
  return std::all_of(site.inputs.begin(), site.inputs.end(),
                     [](const image::Argument& x) { return is_f32(x); });
}

bool draw(const CpuEngine& engine, const vector::SplatFunctions& vectors, const SplatLimits& limits,
          image::CallSite& site) {
  if (!all_f32(site)) return false;
  Tensor& picture = site.results[0];
  if (picture.count() == 0) return true;
  const Scene scene(site, picture.shape());
  const float* background = site.in(3)->data<float>().data();
  float* to = picture.mutable_data<float>().data();
  engine.team.run(scene.down, 1, [&](int64_t begin, int64_t end) {
    Finder finder(scene);
    for (int64_t tile = begin * scene.across; tile < end * scene.across; ++tile) {
      const int64_t left = tile % scene.across * kTile, top = tile / scene.across * kTile;
      vectors.draw({.gaussians = scene.gaussians,
                    .bounds = scene.bounds,
                    .rays = scene.rays,
                    .background = background,
                    .found = finder.find(tile),
                    .left = left,
                    .top = top,
                    .width = std::min(kTile, scene.width - left),
                    .height = std::min(kTile, scene.height - top),
                    .cutoff = limits.cutoff,
                    .threshold = limits.threshold,
                    .most_alpha = limits.most_alpha,
                    .to = to + (top * scene.width + left) * kChannels,
                    .row = scene.width * kChannels});
    }
  });
  return true;
}

// What one pixel adds to the gradients of the Gaussians that it sees.
void add_pixel(const Scene& scene, const std::vector<int64_t>& found, const SplatLimits& limits,
               float px, float py, const float* y, const float* dy, float* sums, float* ray_sums) {
  const Three ray = scene.ray_at(px, py);
  float light = 1, behind = 0;
  for (int64_t c = 0; c < kChannels; ++c) behind += y[c] * dy[c];
  Meeting met;
  for (const int64_t n : found) {
    if (!(light >= limits.threshold)) break;
    if (!meet(scene, n, px, py, ray, limits, met)) continue;
    const float* g = scene.gaussians + n * kFields;
    float* row = sums + n * kFields;
    const float weight = light * met.alpha;
    const float own = dot(g + kColour, dy) + dy[3] + g[kDepth] * dy[4];
    for (int64_t c = 0; c < 3; ++c) row[kColour + c] += weight * dy[c];
    row[kDepth] += weight * dy[4];
    behind -= weight * own;
    const float d_alpha = light * own - behind / (1 - met.alpha);
    light *= 1 - met.alpha;
    if (met.raw > limits.most_alpha) continue;
    row[kOpacity] += d_alpha * met.fall;
    const float d_distance = -0.5f * d_alpha * met.raw;
    const float d_squares = -d_distance * met.distance / met.squares;
    Three d_moment;
    for (size_t i = 0; i < 3; ++i) d_moment[i] = 2 * d_distance / met.squares * met.moment[i];
    const Three d_middle = cross(met.along.data(), d_moment.data()),
                turned = cross(d_moment.data(), g + kMiddle);
    for (size_t i = 0; i < 3; ++i) {
      row[static_cast<size_t>(kMiddle) + i] += d_middle[i];
      const float d_along = turned[i] + 2 * d_squares * met.along[i];
      for (size_t j = 0; j < 3; ++j) {
        row[3 * i + j] += d_along * ray[j];
        const float d_ray = d_along * g[3 * i + j];
        ray_sums[j] += d_ray, ray_sums[3 + j] += d_ray * px, ray_sums[6 + j] += d_ray * py;
      }
    }
  }
}

bool draw_back(const CpuEngine& engine, const SplatLimits& limits, std::vector<float>& parts,
               image::CallSite& site) {
  if (!all_f32(site)) return false;
  const Scene scene(site, site.in(3)->shape());
  const float *y = site.in(3)->data<float>().data(), *dy = site.in(4)->data<float>().data();
  const int64_t numbers = scene.count * kFields, each = numbers + 9,
                tiles = scene.across * scene.down;
  parts.assign(static_cast<size_t>(kParts * each), 0);
  engine.team.run(kParts, 1, [&](int64_t begin, int64_t end) {
    Finder finder(scene);
    for (int64_t part = begin; part < end; ++part) {
      float* sums = parts.data() + part * each;
      for (int64_t tile = part; tile < tiles; tile += kParts) {
        const std::vector<int64_t>& found = finder.find(tile);
        scene.each_pixel(tile, [&](int64_t px, int64_t py) {
          const int64_t at = (py * scene.width + px) * kChannels;
          add_pixel(scene, found, limits, static_cast<float>(px) + 0.5f,
                    static_cast<float>(py) + 0.5f, y + at, dy + at, sums, sums + numbers);
        });
      }
    }
  });
  const auto add_up = [&](int64_t first, Tensor& result) {
    const std::span<float> to = result.mutable_data<float>();
    for (size_t i = 0; i < to.size(); ++i) {
      to[i] = 0;
      for (int64_t part = 0; part < kParts; ++part)
        to[i] += parts[static_cast<size_t>(part * each + first) + i];
    }
  };
  add_up(0, site.results[0]);
  add_up(numbers, site.results[1]);
  return true;
}

}  // namespace

std::unique_ptr<image::CallKernel> splat_kernel(CpuEnginePtr engine, SplatLimits limits) {
  return make_kernel(
      [engine = std::move(engine), vectors = vector::splats(vector::best_isa()),
       limits](image::CallSite& site) { return draw(*engine, vectors, limits, site); });
}
std::unique_ptr<image::CallKernel> splat_gradient_kernel(CpuEnginePtr engine, SplatLimits limits) {
  return make_kernel([engine = std::move(engine), limits,
                      parts = std::vector<float>()](image::CallSite& site) mutable {
    return draw_back(*engine, limits, parts, site);
  });
}

}  // namespace rlx::detail
