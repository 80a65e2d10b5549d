// Scenes of Gaussians from files: .ply as training writes them, .ply packed into words with chunks,
// .spz, and .splat.
#pragma once

#include <array>
#include <fstream>
#include <iterator>
#include <map>
#include <sstream>

#include "splat_file.h"
#include "splat_spz.h"

namespace splat_files {

// Elements of a .ply and where their properties lie, all of 1, 2, 4 or 8 bytes.
struct Element {
  std::string name;
  int64_t count = 0, bytes = 0, first = 0;
  std::map<std::string, int64_t> at;  // in bytes, from the start of a row
};

class Ply {
 public:
  Ply(const std::string& file, const std::string& bytes) : file_(file), bytes_(bytes) {
    const size_t end = bytes.find("end_header\n");
    if (end == std::string::npos) refuse(file, "the header of the .ply has no end");
    std::istringstream header(bytes.substr(0, end));
    for (std::string line; std::getline(header, line);) read_line(line);
    auto first = static_cast<int64_t>(end + 11);
    for (Element& element : elements_) {
      element.first = first;
      if (element.count < 0 ||
          (element.bytes > 0 && element.count > (size() - first) / element.bytes))
        refuse(file, "the file is shorter than its " + element.name + " elements");
      first += element.count * element.bytes;
    }
  }

  const Element* find(const std::string& name) const {
    for (const Element& element : elements_)
      if (element.name == name) return &element;
    return nullptr;
  }
  template <class T>
  T at(const Element& element, int64_t row, const std::string& property) const {
    const auto found = element.at.find(property);
    if (found == element.at.end()) refuse(file_, element.name + " has no property " + property);
    T value;
    std::memcpy(&value, bytes_.data() + element.first + row * element.bytes + found->second,
                sizeof value);
    return value;
  }

 private:
  int64_t size() const { return static_cast<int64_t>(bytes_.size()); }
  void read_line(const std::string& line) {
    std::istringstream words(line);
    std::string kind, type, name;
    words >> kind >> type >> name;
    if (kind == "format" && type != "binary_little_endian")
      refuse(file_, "it is a .ply of format " + type);
    if (kind == "element") {
      elements_.push_back({type, std::atoll(name.c_str()), 0, 0, {}});
    } else if (kind == "property") {
      if (elements_.empty() || type == "list")
        refuse(file_, "it has properties that scenes have not");
      const int64_t bytes = type == "double"                                     ? 8
                            : type == "float" || type == "uint" || type == "int" ? 4
                            : type == "ushort" || type == "short"                ? 2
                                                                                 : 1;
      elements_.back().at[name] = elements_.back().bytes;
      elements_.back().bytes += bytes;
    }
  }

  const std::string& file_;
  const std::string& bytes_;
  std::vector<Element> elements_;
};

inline float part(uint32_t word, int shift, int bits) {
  const uint32_t most = (1u << bits) - 1;
  return static_cast<float>((word >> shift) & most) / static_cast<float>(most);
}

// Words of 11, 10 and 11 bits between the limits of a chunk of 256, and a quaternion without its
// largest part.
inline SplatFile read_packed(const Ply& ply, const Element& vertices, const Element& chunks,
                             const std::string& file) {
  SplatFile scene;
  scene.count = vertices.count;
  if (chunks.count < (vertices.count + 255) / 256) refuse(file, "it has too few chunks");
  scene.reserve();
  for (int64_t n = 0; n < scene.count; ++n) {
    const auto between = [&](const std::string& what, float share) {
      const auto low = ply.at<float>(chunks, n / 256, "min_" + what),
                 high = ply.at<float>(chunks, n / 256, "max_" + what);
      return low + (high - low) * share;
    };
    const auto place = ply.at<uint32_t>(vertices, n, "packed_position"),
               size = ply.at<uint32_t>(vertices, n, "packed_scale"),
               turn = ply.at<uint32_t>(vertices, n, "packed_rotation"),
               colour = ply.at<uint32_t>(vertices, n, "packed_color");
    constexpr const char* kAxes[] = {"x", "y", "z"};
    constexpr const char* kColours[] = {"r", "g", "b"};
    constexpr int kShift[] = {21, 11, 0}, kBits[] = {11, 10, 11};
    const bool limits = chunks.at.count("min_r") != 0;
    for (int i = 0; i < 3; ++i) {
      const auto at = size_t(3 * n + i);
      scene.position[at] = between(kAxes[i], part(place, kShift[i], kBits[i]));
      scene.log_scale[at] =
          between(std::string("scale_") + kAxes[i], part(size, kShift[i], kBits[i]));
      const float share = part(colour, 24 - 8 * i, 8);
      scene.colour[at] = ((limits ? between(kColours[i], share) : share) - 0.5f) / kFirstHarmonic;
    }
    scene.opacity[size_t(n)] = logit(part(colour, 0, 8));
    float others[3], squares = 0;
    for (int i = 0; i < 3; ++i) {
      others[i] = (part(turn, 20 - 10 * i, 10) - 0.5f) * std::sqrt(2.0f);
      squares += others[i] * others[i];
    }
    for (uint32_t i = 0, next = 0; i < 4; ++i)
      scene.rotation[size_t(4 * n) + i] =
          i == turn >> 30 ? std::sqrt(std::max(0.0f, 1 - squares)) : others[next++];
  }
  return scene;
}

inline SplatFile read_plain(const Ply& ply, const Element& vertices) {
  SplatFile scene;
  scene.count = vertices.count;
  int64_t rest = 0;
  while (vertices.at.count("f_rest_" + std::to_string(rest))) ++rest;
  scene.harmonics = rest >= 45 ? 16 : rest >= 24 ? 9 : rest >= 9 ? 4 : 1;
  scene.reserve();
  const auto read = [&](int64_t n, const std::string& name) {
    return ply.at<float>(vertices, n, name);
  };
  for (int64_t n = 0; n < scene.count; ++n) {
    for (int64_t i = 0; i < 3; ++i) {
      scene.position[size_t(3 * n + i)] = read(n, std::string(1, "xyz"[i]));
      scene.log_scale[size_t(3 * n + i)] = read(n, "scale_" + std::to_string(i));
    }
    for (int64_t i = 0; i < 4; ++i)
      scene.rotation[size_t(4 * n + i)] = read(n, "rot_" + std::to_string(i));
    scene.opacity[size_t(n)] = read(n, "opacity");
    for (int64_t c = 0; c < 3; ++c) {
      const int64_t first = n * scene.harmonics;
      scene.colour[size_t(3 * first + c)] = read(n, "f_dc_" + std::to_string(c));
      for (int64_t k = 1; k < scene.harmonics; ++k)  // all of red, then green, then blue
        scene.colour[size_t(3 * (first + k) + c)] =
            read(n, "f_rest_" + std::to_string(c * (scene.harmonics - 1) + k - 1));
    }
  }
  return scene;
}

// 32 bytes each: place and size as floats, colour and quaternion as bytes.
inline SplatFile read_splat(const std::string& bytes, const std::string& file) {
  if (bytes.size() % 32 != 0) refuse(file, "a .splat has 32 bytes for each Gaussian");
  SplatFile scene;
  scene.count = static_cast<int64_t>(bytes.size() / 32);
  scene.reserve();
  for (size_t n = 0; n < size_t(scene.count); ++n) {
    float numbers[6];
    std::memcpy(numbers, bytes.data() + 32 * n, sizeof numbers);
    const auto byte = [&](size_t i) { return static_cast<unsigned char>(bytes[32 * n + 24 + i]); };
    for (size_t i = 0; i < 3; ++i) {
      scene.position[3 * n + i] = numbers[i];
      scene.log_scale[3 * n + i] = std::log(std::max(numbers[3 + i], 1e-9f));
      scene.colour[3 * n + i] = (static_cast<float>(byte(i)) / 255 - 0.5f) / kFirstHarmonic;
    }
    scene.opacity[n] = logit(static_cast<float>(byte(3)) / 255);
    for (size_t i = 0; i < 4; ++i)
      scene.rotation[4 * n + i] = (static_cast<float>(byte(4 + i)) - 128) / 128;
  }
  return scene;
}

}  // namespace splat_files

inline SplatFile load_splats(const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  if (!in) throw rlx::Error(rlx::ErrorKind::io, "cannot read '" + file + "'");
  const std::string bytes{std::istreambuf_iterator<char>(in), {}};
  if (bytes.rfind("NGSP", 0) == 0 || bytes.rfind("\x1f\x8b", 0) == 0)
    return splat_files::read_spz(bytes, file);
  if (bytes.rfind("ply", 0) != 0) return splat_files::read_splat(bytes, file);
  const splat_files::Ply ply(file, bytes);
  const splat_files::Element *vertices = ply.find("vertex"), *chunks = ply.find("chunk");
  if (!vertices) splat_files::refuse(file, "it has no vertices");
  return chunks ? splat_files::read_packed(ply, *vertices, *chunks, file)
                : splat_files::read_plain(ply, *vertices);
}
