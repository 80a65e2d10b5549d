// Points with labels, and MNIST's handwritten digits as such.
#pragma once

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "rlx/rlx.h"
#if __has_include(<nlohmann/json.hpp>)
#include <nlohmann/json.hpp>
#define RLX_HAVE_JSON
#endif

struct Points {
  int64_t dims = 0;
  std::vector<float> numbers;
  std::vector<int> labels;
  int64_t count() const { return static_cast<int64_t>(labels.size()); }
};

namespace digits {

constexpr size_t kPixels = 28 * 28, kWanted = 5000;

[[noreturn]] inline void refuse(const std::string& file, const std::string& why) {
  throw rlx::Error(rlx::ErrorKind::io, "'" + file + "' " + why);
}
inline std::string bytes_of(const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  if (!in) refuse(file, "cannot be read");
  return {std::istreambuf_iterator<char>(in), {}};
}

}  // namespace digits

// FOLDER/0.json to 9.json, {"data": [pixels of one after the other, from 0 to 1]}: as many of each.
inline Points read_digits([[maybe_unused]] const std::string& folder) {
#ifdef RLX_HAVE_JSON
  using namespace digits;
  Points points{static_cast<int64_t>(kPixels), {}, {}};
  for (int digit = 0; digit < 10; ++digit) {
    const std::string file = folder + "/" + std::to_string(digit) + ".json";
    const nlohmann::json all = nlohmann::json::parse(bytes_of(file), nullptr, false);
    if (!all.is_object() || !all.contains("data") || !all["data"].is_array())
      refuse(file, "is no {\"data\": [..]}");
    const nlohmann::json& pixels = all["data"];
    const size_t count = std::min(kWanted / 10, pixels.size() / kPixels);
    for (size_t i = 0; i < count * kPixels; ++i) {
      if (!pixels[i].is_number()) refuse(file, "has pixels that are no numbers");
      points.numbers.push_back(pixels[i].get<float>());
    }
    points.labels.insert(points.labels.end(), count, digit);
  }
  return points;
#else
  digits::refuse(folder, "is JSON, and nlohmann-json was not there when this program was built");
#endif
}

// Big-endian: 2051, how many, rows, columns, then a byte for each pixel; 2049, how many, labels.
inline Points read_idx(const std::string& images, const std::string& labels) {
  using namespace digits;
  const std::string pixels = bytes_of(images), numbers = bytes_of(labels);
  const auto word = [](const std::string& bytes, size_t i) {
    uint64_t value = 0;
    for (size_t k = 4 * i; k < 4 * i + 4 && k < bytes.size(); ++k)
      value = value << 8 | static_cast<unsigned char>(bytes[k]);
    return value;
  };
  if (pixels.size() < 16 || word(pixels, 0) != 2051) refuse(images, "is no IDX file of pictures");
  if (numbers.size() < 8 || word(numbers, 0) != 2049) refuse(labels, "is no IDX file of labels");
  const uint64_t size = word(pixels, 2) * word(pixels, 3);
  const size_t count = std::min<size_t>(kWanted, static_cast<size_t>(word(pixels, 1)));
  if (size == 0 || count > (pixels.size() - 16) / size || count > numbers.size() - 8)
    refuse(images, "or '" + labels + "' is shorter than it says");
  Points points{static_cast<int64_t>(size), {}, {}};
  for (size_t i = 0; i < count * size; ++i)
    points.numbers.push_back(static_cast<float>(static_cast<unsigned char>(pixels[16 + i])) / 255);
  for (size_t i = 0; i < count; ++i)
    points.labels.push_back(static_cast<unsigned char>(numbers[8 + i]));
  return points;
}
