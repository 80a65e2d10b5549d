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

// A number of a row.
struct Property {
  std::string type;
  int64_t at = 0;  // in bytes, from the start of the row
};
struct Element {
  std::string name;
  int64_t count = 0, bytes = 0, first = 0;
  std::map<std::string, Property> properties;

  bool has(const std::string& property) const { return properties.count(property) != 0; }
  // How many of f_rest_0, f_rest_1 .. there are.
  int64_t harmonics_behind_the_first() const {
    int64_t rest = 0;
    while (has("f_rest_" + std::to_string(rest))) ++rest;
    return rest;
  }
};

template <class T>
double number_at(const char* bytes) {
  T value;
  std::memcpy(&value, bytes, sizeof value);
  return static_cast<double>(value);
}
struct NumberType {
  const char *name, *other_name;
  int64_t bytes;
  double (*read)(const char* bytes);
};
constexpr NumberType kNumberTypes[] = {
    {"char", "int8", 1, number_at<int8_t>},    {"uchar", "uint8", 1, number_at<uint8_t>},
    {"short", "int16", 2, number_at<int16_t>}, {"ushort", "uint16", 2, number_at<uint16_t>},
    {"int", "int32", 4, number_at<int32_t>},   {"uint", "uint32", 4, number_at<uint32_t>},
    {"float", "float32", 4, number_at<float>}, {"double", "float64", 8, number_at<double>},
};
inline const NumberType& number_type(const std::string& name, const std::string& file) {
  for (const NumberType& type : kNumberTypes)
    if (name == type.name || name == type.other_name) return type;
  refuse(file, "a property is of type '" + name + "', which numbers of a .ply are not");
}

// One property of all rows of an element.
class Column {
 public:
  Column(const char* first, int64_t step, const NumberType& type)
      : first_(first), step_(step), type_(&type) {}
  float operator[](int64_t row) const { return static_cast<float>(number(row)); }
  uint32_t word(int64_t row) const { return static_cast<uint32_t>(number(row)); }
  bool is_word() const { return type_->name == std::string("uint"); }

 private:
  double number(int64_t row) const { return type_->read(first_ + row * step_); }

  const char* first_;
  int64_t step_;
  const NumberType* type_;
};

class Ply {
 public:
  Ply(const std::string& file, const std::string& bytes) : file_(file), bytes_(bytes) {
    const size_t end = bytes.find("end_header\n");
    if (end == std::string::npos) refuse(file, "the header of the .ply has no end");
    std::istringstream header(bytes.substr(0, end));
    for (std::string line; std::getline(header, line);) read_line(line);
    if (!has_format_) refuse(file, "the header of the .ply names no format");
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
  Column column(const Element& element, const std::string& property) const {
    const auto found = element.properties.find(property);
    if (found == element.properties.end())
      refuse(file_, element.name + " has no property " + property);
    return {bytes_.data() + element.first + found->second.at, element.bytes,
            number_type(found->second.type, file_)};
  }
  // Bits of several numbers, which no other type can hold.
  Column words(const Element& element, const std::string& property) const {
    const Column column = this->column(element, property);
    if (!column.is_word()) refuse(file_, "property " + property + " is no uint");
    return column;
  }
  std::vector<Column> columns(const Element& element, const std::string& name,
                              int64_t count) const {
    std::vector<Column> columns;
    for (int64_t i = 0; i < count; ++i)
      columns.push_back(column(element, name + std::to_string(i)));
    return columns;
  }
  std::vector<Column> axes(const Element& element, const std::string& name,
                           const std::string& axes) const {
    std::vector<Column> columns;
    for (const char axis : axes) columns.push_back(column(element, name + axis));
    return columns;
  }

 private:
  int64_t size() const { return static_cast<int64_t>(bytes_.size()); }
  void read_line(const std::string& line) {
    std::istringstream words(line);
    std::string kind, type, name;
    words >> kind >> type >> name;
    if (kind == "format") {
      has_format_ = true;
      if (type != "binary_little_endian") refuse(file_, "it is a .ply of format " + type);
    } else if (kind == "element") {
      elements_.push_back({type, std::atoll(name.c_str()), 0, 0, {}});
    } else if (kind == "property") {
      if (elements_.empty() || type == "list")
        refuse(file_, "it has properties that scenes have not");
      Element& element = elements_.back();
      element.properties[name] = {type, element.bytes};
      element.bytes += number_type(type, file_).bytes;
    }
  }

  const std::string& file_;
  const std::string& bytes_;
  bool has_format_ = false;
  std::vector<Element> elements_;
};

// All of red, then of green and of blue, without the first of each.
inline int64_t harmonics_of(int64_t rest, const std::string& file) {
  for (const int64_t harmonics : {1, 4, 9, 16})
    if (rest == 3 * (harmonics - 1)) return harmonics;
  refuse(file, "it has " + std::to_string(rest) +
                   " numbers f_rest_; harmonics of degree 0 to 3 have 0, 9, 24 or 45");
}
template <class Value>
void read_harmonics(SplatFile& scene, const std::vector<Column>& rest, Value value) {
  for (int64_t n = 0; n < scene.count; ++n)
    for (int64_t c = 0; c < 3; ++c)
      for (int64_t k = 1; k < scene.harmonics; ++k)
        scene.colour[size_t(3 * (n * scene.harmonics + k) + c)] =
            value(rest[size_t(c * (scene.harmonics - 1) + k - 1)][n]);
}

inline float part(uint32_t word, int shift, int bits) {
  const uint32_t most = (1u << bits) - 1;
  return static_cast<float>((word >> shift) & most) / static_cast<float>(most);
}

// Words of 11, 10 and 11 bits between the limits of a chunk of 256, and a quaternion without its
// largest part. Harmonics are bytes from -4 to 4, in an element of their own.
inline SplatFile read_packed(const Ply& ply, const Element& vertices, const Element& chunks,
                             const std::string& file) {
  struct Limits {
    std::vector<Column> low, high;
    float between(int64_t row, size_t i, float share) const {
      return low[i][row / 256] + (high[i][row / 256] - low[i][row / 256]) * share;
    }
  };
  const auto limits_of = [&](const std::string& what, const std::string& axes) {
    return Limits{ply.axes(chunks, "min_" + what, axes), ply.axes(chunks, "max_" + what, axes)};
  };
  const Limits places = limits_of("", "xyz"), sizes = limits_of("scale_", "xyz"),
               colours = chunks.has("min_r") ? limits_of("", "rgb") : Limits();
  const Column place = ply.words(vertices, "packed_position"),
               size = ply.words(vertices, "packed_scale"),
               turn = ply.words(vertices, "packed_rotation"),
               colour = ply.words(vertices, "packed_color");
  const Element* others = ply.find("sh");
  SplatFile scene;
  scene.count = vertices.count;
  scene.harmonics = others ? harmonics_of(others->harmonics_behind_the_first(), file) : 1;
  if (chunks.count < scene.count / 256 + (scene.count % 256 != 0))
    refuse(file, "it has too few chunks");
  if (others && others->count < scene.count)
    refuse(file, "it has harmonics of only " + std::to_string(others->count) + " Gaussians");
  scene.reserve();
  constexpr int kShift[] = {21, 11, 0}, kBits[] = {11, 10, 11};
  for (int64_t n = 0; n < scene.count; ++n) {
    for (size_t i = 0; i < 3; ++i) {
      const size_t at = 3 * size_t(n) + i;
      scene.position[at] = places.between(n, i, part(place.word(n), kShift[i], kBits[i]));
      scene.log_scale[at] = sizes.between(n, i, part(size.word(n), kShift[i], kBits[i]));
      const float share = part(colour.word(n), 24 - 8 * static_cast<int>(i), 8);
      scene.colour[size_t(3 * n * scene.harmonics) + i] =
          ((colours.low.empty() ? share : colours.between(n, i, share)) - 0.5f) / kFirstHarmonic;
    }
    scene.opacity[size_t(n)] = logit(part(colour.word(n), 0, 8));
    float rest[3], squares = 0;
    for (int i = 0; i < 3; ++i) {
      rest[i] = (part(turn.word(n), 20 - 10 * i, 10) - 0.5f) * std::sqrt(2.0f);
      squares += rest[i] * rest[i];
    }
    for (uint32_t i = 0, next = 0; i < 4; ++i)
      scene.rotation[size_t(4 * n) + i] =
          i == turn.word(n) >> 30 ? std::sqrt(std::max(0.0f, 1 - squares)) : rest[next++];
  }
  if (others)
    read_harmonics(scene, ply.columns(*others, "f_rest_", 3 * (scene.harmonics - 1)),
                   [](float byte) { return byte * (8.0f / 255) - 4; });
  return scene;
}

inline SplatFile read_plain(const Ply& ply, const Element& vertices, const std::string& file) {
  const std::vector<Column> place = ply.axes(vertices, "", "xyz"),
                            size = ply.columns(vertices, "scale_", 3),
                            turn = ply.columns(vertices, "rot_", 4),
                            colour = ply.columns(vertices, "f_dc_", 3);
  const Column opacity = ply.column(vertices, "opacity");
  SplatFile scene;
  scene.count = vertices.count;
  scene.harmonics = harmonics_of(vertices.harmonics_behind_the_first(), file);
  scene.reserve();
  for (int64_t n = 0; n < scene.count; ++n) {
    for (size_t i = 0; i < 3; ++i) {
      scene.position[3 * size_t(n) + i] = place[i][n];
      scene.log_scale[3 * size_t(n) + i] = size[i][n];
      scene.colour[size_t(3 * n * scene.harmonics) + i] = colour[i][n];
    }
    for (size_t i = 0; i < 4; ++i) scene.rotation[4 * size_t(n) + i] = turn[i][n];
    scene.opacity[size_t(n)] = opacity[n];
  }
  read_harmonics(scene, ply.columns(vertices, "f_rest_", 3 * (scene.harmonics - 1)),
                 [](float value) { return value; });
  return scene;
}

// 32 bytes each: place and size as floats, colour and quaternion as bytes.
inline SplatFile read_splat(const std::string& bytes, const std::string& file) {
  if (bytes.empty() || bytes.size() % 32 != 0)
    refuse(file, "a .splat has 32 bytes for each Gaussian");
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

inline SplatFile splats_of(const std::string& bytes, const std::string& file) {
  if (bytes.rfind("NGSP", 0) == 0 || bytes.rfind("\x1f\x8b", 0) == 0)
    return splat_files::read_spz(bytes, file);
  if (bytes.rfind("ply", 0) != 0) return splat_files::read_splat(bytes, file);
  const splat_files::Ply ply(file, bytes);
  const splat_files::Element *vertices = ply.find("vertex"), *chunks = ply.find("chunk");
  if (!vertices) splat_files::refuse(file, "it has no vertices");
  return chunks ? splat_files::read_packed(ply, *vertices, *chunks, file)
                : splat_files::read_plain(ply, *vertices, file);
}

inline SplatFile load_splats(const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  if (!in) throw rlx::Error(rlx::ErrorKind::io, "cannot read '" + file + "'");
  const std::string bytes{std::istreambuf_iterator<char>(in), {}};
  return splats_of(bytes, file);
}
