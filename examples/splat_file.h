// What files of Gaussians are read into.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "rlx/rlx.h"

struct SplatFile {
  int64_t count = 0, harmonics = 1;
  std::vector<float> position, log_scale, rotation, opacity,
      colour;  // rows, as gaussian_splat has them

  void reserve() {
    position.resize(size_t(3 * count)), log_scale.resize(size_t(3 * count));
    rotation.resize(size_t(4 * count)), opacity.resize(size_t(count));
    colour.resize(size_t(3 * harmonics * count));
  }
};

namespace splat_files {

constexpr float kFirstHarmonic = 0.28209479f;

inline float logit(float share) {
  const float p = std::clamp(share, 1e-4f, 1 - 1e-4f);
  return std::log(p / (1 - p));
}

[[noreturn]] inline void refuse(const std::string& file, const std::string& why) {
  throw rlx::Error(rlx::ErrorKind::invalid_model, "'" + file + "': " + why);
}

}  // namespace splat_files
