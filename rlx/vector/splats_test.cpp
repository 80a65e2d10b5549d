#include "rlx/vector/splats.h"

#include <gtest/gtest.h>

#include <numeric>

#include "rlx/vector/testing.h"

namespace rlx::vector {
namespace {

// Balls before a camera at the origin that looks along z: the formulas, in double.
struct Scene {
  static constexpr int64_t kCount = 40, kFields = SplatTile::kFields;
  std::vector<float> gaussians = std::vector<float>(kCount * kFields), bounds, picture;
  std::vector<int64_t> found = std::vector<int64_t>(kCount);
  std::vector<float> rays = {-0.5F, -0.4F, 1, 0.05F, 0, 0, 0, 0.05F, 0};
  std::vector<float> background = {0.1F, 0.2F, 0.3F};
  SplatTile tile;

  Scene(int64_t width, int64_t height, float threshold) : picture(size_t(width * height * 5)) {
    const std::vector<float> random = random_floats(kCount * 9, 0, 1, 7);
    for (int64_t n = 0; n < kCount; ++n) {
      const float* r = random.data() + n * 9;
      float* g = gaussians.data() + n * kFields;
      const float middle[] = {r[0] - 0.5F, r[1] - 0.5F, 1.5F + r[2]};
      for (int64_t i = 0; i < 3; ++i) {
        const float size = 0.05F + 0.3F * r[3 + i];
        g[4 * i] = 1 / size;
        g[9 + i] = middle[i] / size;
        g[13 + i] = r[6 + i];
      }
      g[12] = n % 5 == 0 ? 1.0F : 0.7F * r[8];
      g[16] = middle[2];
      for (const float edge : {r[0] * 10 - 2, r[1] * 10 - 2, r[0] * 10 + 9, r[1] * 10 + 7})
        bounds.push_back(edge);
    }
    std::iota(found.begin(), found.end(), 0);
    tile = {.gaussians = gaussians.data(),
            .bounds = bounds.data(),
            .rays = rays.data(),
            .background = background.data(),
            .found = found,
            .left = 3,
            .top = 2,
            .width = width,
            .height = height,
            .cutoff = 1 / 255.0F,
            .threshold = threshold,
            .most_alpha = 0.99F,
            .to = picture.data(),
            .row = width * 5};
  }

  std::vector<double> pixel(int64_t column, int64_t line) const {
    const double x = double(tile.left + column) + 0.5, y = double(tile.top + line) + 0.5;
    std::vector<double> sums(5, 0.0);
    double light = 1;
    for (int64_t n = 0; n < kCount && light >= tile.threshold; ++n) {
      const float *g = gaussians.data() + n * kFields, *box = bounds.data() + 4 * n;
      if (!(x >= box[0] && x <= box[2] && y >= box[1] && y <= box[3])) continue;
      double along[3], squares = 0, moment = 0;
      for (int64_t i = 0; i < 3; ++i) {
        along[i] = 0;
        for (int64_t j = 0; j < 3; ++j)
          along[i] +=
              g[3 * i + j] * (rays[size_t(j)] + x * rays[size_t(3 + j)] + y * rays[size_t(6 + j)]);
        squares += along[i] * along[i];
      }
      for (int64_t i = 0; i < 3; ++i) {
        const int64_t j = (i + 1) % 3, k = (i + 2) % 3;
        const double part = g[9 + j] * along[k] - g[9 + k] * along[j];
        moment += part * part;
      }
      const double raw = g[12] * std::exp(-0.5 * moment / squares);
      if (!(raw >= tile.cutoff)) continue;
      const double alpha = std::min(raw, double(tile.most_alpha));
      for (int64_t c = 0; c < 3; ++c) sums[size_t(c)] += light * alpha * g[13 + c];
      sums[3] += light * alpha;
      sums[4] += light * alpha * g[16];
      light *= 1 - alpha;
    }
    for (size_t c = 0; c < 3; ++c) sums[c] += light * background[c];
    return sums;
  }
};

void expect_picture(const Scene& scene) {
  for (int64_t y = 0; y < scene.tile.height; ++y)
    for (int64_t x = 0; x < scene.tile.width; ++x) {
      const std::vector<double> want = scene.pixel(x, y);
      for (int64_t c = 0; c < 5; ++c)
        ASSERT_NEAR(scene.picture[size_t((y * scene.tile.width + x) * 5 + c)], want[size_t(c)],
                    3e-5)
            << x << ' ' << y << ' ' << c;
    }
}

TEST(VectorSplats, TilesAreWhatTheFormulasSay) {
  for (const Isa isa : isas())
    for (const int64_t side : {16, 11}) {
      Scene scene(side, side - 2, 1e-4F);
      splats(isa).draw(scene.tile);
      expect_picture(scene);
    }
}

TEST(VectorSplats, PixelsThatAreDarkSeeNothingMore) {
  for (const Isa isa : isas()) {
    Scene scene(16, 16, 0.5F);
    splats(isa).draw(scene.tile);
    expect_picture(scene);
  }
}

TEST(VectorSplats, WhatIsNoNumberStaysOutOfPixelsThatDoNotSeeIt) {
  for (const Isa isa : isas()) {
    Scene scene(16, 16, 1e-4F);
    for (int64_t c = 13; c < 17; ++c) scene.gaussians[size_t(3 * Scene::kFields + c)] = NAN;
    for (int64_t i = 0; i < 9; ++i) scene.gaussians[size_t(4 * Scene::kFields + i)] = 0;
    for (size_t i = 12; i < 16; ++i) scene.bounds[i] = i < 14 ? 0 : 7;  // of the former
    splats(isa).draw(scene.tile);
    EXPECT_TRUE(std::isnan(scene.picture[0]));
    for (int64_t y = 0; y < 16; ++y)
      for (int64_t c = 0; c < 5; ++c)
        EXPECT_TRUE(std::isfinite(scene.picture[size_t((y * 16 + 15) * 5 + c)])) << y << ' ' << c;
  }
}

// The sum of the picture's numbers, each times one of its own.
double weighed(const Scene& scene, const std::vector<float>& dy) {
  double sum = 0;
  for (int64_t y = 0; y < scene.tile.height; ++y)
    for (int64_t x = 0; x < scene.tile.width; ++x) {
      const std::vector<double> pixel = scene.pixel(x, y);
      for (size_t c = 0; c < 5; ++c) sum += pixel[c] * dy[size_t(y * scene.tile.width + x) * 5 + c];
    }
  return sum;
}

TEST(VectorSplats, TheWayBackIsTheChangeOfThePicture) {
  for (const Isa isa : isas())
    for (const int64_t side : {16, 11}) {
      SCOPED_TRACE(name_of(isa));
      Scene scene(side, side - 2, 0);
      scene.tile.cutoff = 0;  // nothing jumps
      for (auto& each : scene.bounds) each = each < 5 ? -100.0F : 100.0F;
      const std::vector<float> dy = random_floats(side * (side - 2) * 5, -1, 1, 9);
      splats(isa).draw(scene.tile);
      std::vector<float> gaussians(scene.gaussians.size()), rays(9);
      splats(isa).draw_back(scene.tile, {.y = scene.picture.data(),
                                         .dy = dy.data(),
                                         .gaussians = gaussians.data(),
                                         .rays = rays.data()});
      const auto expect_change = [&](float& number, float got, const std::string& what) {
        const float was = number, step = 1e-3F * std::max(1.0F, std::abs(was));
        number = was + step;
        const double up = weighed(scene, dy), high = number;
        number = was - step;
        const double down = weighed(scene, dy), low = number;
        number = was;
        const double want = (up - down) / (high - low);
        EXPECT_NEAR(got, want, 2e-3 * std::max(1.0, std::abs(want))) << what;
      };
      for (int64_t n = 1; n < Scene::kCount; n += 7)  // every fifth covers as much as it may
        if (n % 5 != 0)
          for (int64_t f = 0; f < Scene::kFields; ++f) {
            const auto i = size_t(n * Scene::kFields + f);
            expect_change(scene.gaussians[i], gaussians[i],
                          "gaussian " + std::to_string(n) + " field " + std::to_string(f));
          }
    }
}

}  // namespace
}  // namespace rlx::vector
