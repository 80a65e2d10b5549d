// Pictures for the examples: from and to files, and as tensors.
#pragma once

#include <stb/stb_image.h>
#include <stb/stb_image_write.h>

#include <algorithm>
#include <string>
#include <vector>

#include "rlx/rlx.h"

struct Picture {
  int width = 0, height = 0;
  std::vector<unsigned char> rgb;

  // Between pixels; what is outside is as the border.
  float at(float x, float y, int channel) const {
    x = std::clamp(x, 0.0f, static_cast<float>(width - 1));
    y = std::clamp(y, 0.0f, static_cast<float>(height - 1));
    const int left = static_cast<int>(x), top = static_cast<int>(y);
    const int right = std::min(left + 1, width - 1), bottom = std::min(top + 1, height - 1);
    const float dx = x - static_cast<float>(left), dy = y - static_cast<float>(top);
    const auto pixel = [&](int px, int py) {
      return static_cast<float>(rgb[static_cast<size_t>((py * width + px) * 3 + channel)]);
    };
    return (pixel(left, top) * (1 - dx) + pixel(right, top) * dx) * (1 - dy) +
           (pixel(left, bottom) * (1 - dx) + pixel(right, bottom) * dx) * dy;
  }
  void dot(int x, int y) {
    constexpr unsigned char kRed[] = {230, 30, 60};
    if (x < 0 || y < 0 || x >= width || y >= height) return;
    std::copy(kRed, kRed + 3, rgb.begin() + (y * width + x) * 3);
  }
};

inline Picture load_picture(const char* file) {
  Picture picture;
  int channels = 0;
  unsigned char* pixels = stbi_load(file, &picture.width, &picture.height, &channels, 3);
  if (!pixels)
    throw rlx::Error(rlx::ErrorKind::io,
                     std::string("cannot read '") + file + "': " + stbi_failure_reason());
  picture.rgb.assign(pixels, pixels + picture.width * picture.height * 3);
  stbi_image_free(pixels);
  return picture;
}

// Pixels as a network wants them: [1, 3, height, width], each `place`d in the picture.
template <class Place>
rlx::Tensor sampled(const Picture& picture, int64_t height, int64_t width, const float (&mean)[3],
                    const float (&deviation)[3], Place place) {
  rlx::Tensor tensor(rlx::DType::f32, {1, 3, height, width});
  float* out = tensor.mutable_data<float>().data();
  for (int c = 0; c < 3; ++c)
    for (int64_t y = 0; y < height; ++y)
      for (int64_t x = 0; x < width; ++x) {
        const auto [px, py] = place(static_cast<float>(x) + 0.5f, static_cast<float>(y) + 0.5f);
        *out++ = (picture.at(px - 0.5f, py - 0.5f, c) / 255 - mean[c]) / deviation[c];
      }
  return tensor;
}

inline void save_picture(const char* file, const Picture& picture) {
  if (!stbi_write_png(file, picture.width, picture.height, 3, picture.rgb.data(),
                      3 * picture.width))
    throw rlx::Error(rlx::ErrorKind::io, std::string("cannot write '") + file + "'");
}
