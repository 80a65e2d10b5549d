#include "rlx/backend/cpu/fast_splats.h"

#include <algorithm>

#include "rlx/vector/splats.h"

namespace rlx::detail {
namespace {

using vector::SplatTile;
constexpr int64_t kFields = SplatTile::kFields, kChannels = SplatTile::kChannels,
                  kTile = SplatTile::kSide;
// The way back adds up as many parts, whatever the number of threads: its sums have one order.
constexpr int64_t kParts = 4;

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

  vector::SplatTile tile(int64_t number, const SplatLimits& limits) const {
    const int64_t left = number % across * kTile, top = number / across * kTile;
    return {.gaussians = gaussians,
            .bounds = bounds,
            .rays = rays,
            .left = left,
            .top = top,
            .width = std::min(kTile, width - left),
            .height = std::min(kTile, height - top),
            .cutoff = limits.cutoff,
            .threshold = limits.threshold,
            .most_alpha = limits.most_alpha,
            .row = width * kChannels};
  }
  // Where a tile's first pixel is.
  int64_t place(const vector::SplatTile& tile) const {
    return (tile.top * width + tile.left) * kChannels;
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
      SplatTile one = scene.tile(tile, limits);
      one.background = background;
      one.found = finder.find(tile);
      one.to = to + scene.place(one);
      vectors.draw(one);
    }
  });
  return true;
}

bool draw_back(const CpuEngine& engine, const vector::SplatFunctions& vectors,
               const SplatLimits& limits, std::vector<float>& parts, image::CallSite& site) {
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
        SplatTile one = scene.tile(tile, limits);
        one.found = finder.find(tile);
        const int64_t at = scene.place(one);
        vectors.draw_back(one,
                          {.y = y + at, .dy = dy + at, .gaussians = sums, .rays = sums + numbers});
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
  return make_kernel([engine = std::move(engine), vectors = vector::splats(vector::best_isa()),
                      limits, parts = std::vector<float>()](image::CallSite& site) mutable {
    return draw_back(*engine, vectors, limits, parts, site);
  });
}

}  // namespace rlx::detail
