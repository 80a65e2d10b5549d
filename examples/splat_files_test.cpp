// Files of Gaussians, made here byte by byte: what is read of them, and what is said of bad ones.
#include "splat_files.h"

#include <gtest/gtest.h>

using rlx::Error;

namespace {

class Bytes {
 public:
  explicit Bytes(std::string text = "") : text_(std::move(text)) {}
  template <class T>
  Bytes& add(std::initializer_list<T> values) {
    for (const T value : values) text_.append(reinterpret_cast<const char*>(&value), sizeof value);
    return *this;
  }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

std::string properties(const std::string& type, const std::vector<std::string>& names) {
  std::string lines;
  for (const std::string& name : names) lines.append("property " + type + " " + name + "\n");
  return lines;
}
std::string numbered(const std::string& type, const std::string& name, int count) {
  std::vector<std::string> names;
  for (int i = 0; i < count; ++i) names.push_back(name + std::to_string(i));
  return properties(type, names);
}
Bytes ply(const std::string& elements) {
  return Bytes("ply\nformat binary_little_endian 1.0\n" + elements + "end_header\n");
}

const std::string kPlain = properties("float", {"x", "y", "z", "opacity"}) +
                           numbered("float", "scale_", 3) + numbered("float", "rot_", 4) +
                           numbered("float", "f_dc_", 3);
const std::string kLimits = properties(
    "float", {"min_x", "min_y", "min_z", "max_x", "max_y", "max_z", "min_scale_x", "min_scale_y",
              "min_scale_z", "max_scale_x", "max_scale_y", "max_scale_z"});
const std::string kPacked =
    properties("uint", {"packed_position", "packed_rotation", "packed_scale", "packed_color"});

Bytes plain() {
  return ply("element vertex 1\n" + kPlain)
      .add<float>({1, 2, 3, 0.5F, -1, -2, -3, 0.1F, 0.2F, 0.3F, 0.4F, 7, 8, 9});
}
Bytes packed() {
  return ply("element chunk 1\n" + kLimits + "element vertex 1\n" + kPacked)
      .add<float>({0, 0, 0, 1, 1, 1, 0, 0, 0, 1, 1, 1})
      .add<uint32_t>({0, 0, 0, 0});
}

std::string message(const std::string& bytes) {
  try {
    splats_of(bytes, "scene");
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}
void expect_near(const std::vector<float>& read, const std::vector<float>& wanted) {
  ASSERT_EQ(read.size(), wanted.size());
  for (size_t i = 0; i < read.size(); ++i) EXPECT_NEAR(read[i], wanted[i], 1e-5) << i;
}

}  // namespace

TEST(SplatFiles, APlyIsReadByNamesAndTypes) {
  Bytes bytes = ply("comment of somebody\nelement vertex 2\n" + properties("uint8", {"label"}) +
                    properties("double", {"z"}) + properties("float32", {"x", "nx", "y"}) +
                    numbered("short", "scale_", 3) + properties("int8", {"opacity"}) +
                    numbered("float", "rot_", 4) + numbered("uint16", "f_dc_", 3));
  for (const float n : {0.0F, 10.0F})
    bytes.add<uint8_t>({255})
        .add<double>({n + 3})
        .add<float>({n + 1, -1, n + 2})
        .add<int16_t>({-400, 5, 6})
        .add<int8_t>({-7})
        .add<float>({n, 0.25F, 0.5F, 0.75F})
        .add<uint16_t>({40000, 1, 2});
  const SplatFile scene = splats_of(bytes.text(), "scene.ply");
  EXPECT_EQ(scene.count, 2);
  EXPECT_EQ(scene.harmonics, 1);
  EXPECT_EQ(scene.position, (std::vector<float>{1, 2, 3, 11, 12, 13}));
  EXPECT_EQ(scene.log_scale, (std::vector<float>{-400, 5, 6, -400, 5, 6}));
  EXPECT_EQ(scene.rotation, (std::vector<float>{0, 0.25, 0.5, 0.75, 10, 0.25, 0.5, 0.75}));
  EXPECT_EQ(scene.opacity, (std::vector<float>{-7, -7}));
  EXPECT_EQ(scene.colour, (std::vector<float>{40000, 1, 2, 40000, 1, 2}));
}

TEST(SplatFiles, HarmonicsOfAPlyAreAllOfRedThenGreenThenBlue) {
  const SplatFile scene =
      splats_of(ply("element vertex 1\n" + kPlain + numbered("float", "f_rest_", 9))
                    .add<float>({1, 2, 3, 0, 0, 0, 0, 1, 0, 0, 0, 7, 8, 9})
                    .add<float>({11, 12, 13, 21, 22, 23, 31, 32, 33})
                    .text(),
                "scene.ply");
  EXPECT_EQ(scene.harmonics, 4);
  EXPECT_EQ(scene.colour, (std::vector<float>{7, 8, 9, 11, 21, 31, 12, 22, 32, 13, 23, 33}));
}

// Four Gaussians, the first three in the first chunk of 256, the last in the second. What is left
// between them is zeros.
TEST(SplatFiles, APackedPlyLiesBetweenTheLimitsOfItsChunks) {
  Bytes bytes = ply("element chunk 2\n" + kLimits +
                    properties("float", {"min_r", "min_g", "min_b", "max_r", "max_g", "max_b"}) +
                    "element vertex 257\n" + kPacked);
  bytes.add<float>({0, 10, 20, 1, 11, 22, -8, -7, -6, -4, -3, -2, 0, 0.25F, 0.5F, 1, 1, 1})
      .add<float>({-1, 0, 0, 1, 0, 0, 0, 0, 0, 1, 1, 1, 0, 0, 0, 0.5F, 1, 1});
  const auto turn = [](uint32_t largest, uint32_t a, uint32_t b, uint32_t c) {
    return largest << 30 | a << 20 | b << 10 | c;
  };
  const uint32_t places[] = {0, 2047U << 21 | 1023U << 11 | 2047U, 2047U, 2047U << 21};
  const uint32_t turns[] = {turn(0, 1023, 0, 511), turn(1, 1023, 0, 511), turn(2, 1023, 0, 511),
                            turn(3, 1023, 0, 511)};
  for (uint32_t n = 0; n < 257; ++n) {
    const uint32_t at = n < 3 ? n : n == 256 ? 3 : 0;
    bytes.add<uint32_t>({places[at], turns[at], places[at], at == 0 ? 0 : 0xff00ff33U});
  }
  const SplatFile scene = splats_of(bytes.text(), "scene.ply");
  ASSERT_EQ(scene.count, 257);
  const auto row = [](const std::vector<float>& all, size_t n, size_t width) {
    return std::vector<float>(all.begin() + static_cast<ptrdiff_t>(n * width),
                              all.begin() + static_cast<ptrdiff_t>((n + 1) * width));
  };
  expect_near(row(scene.position, 0, 3), {0, 10, 20});
  expect_near(row(scene.position, 1, 3), {1, 11, 22});
  expect_near(row(scene.position, 2, 3), {0, 10, 22});
  expect_near(row(scene.position, 256, 3), {1, 0, 0});
  expect_near(row(scene.log_scale, 0, 3), {-8, -7, -6});
  expect_near(row(scene.log_scale, 1, 3), {-4, -3, -2});
  const float half = std::sqrt(0.5F), little = -half / 1023;
  expect_near(row(scene.rotation, 0, 4), {0, half, -half, little});
  expect_near(row(scene.rotation, 1, 4), {half, 0, -half, little});
  expect_near(row(scene.rotation, 2, 4), {half, -half, 0, little});
  expect_near(row(scene.rotation, 256, 4), {half, -half, little, 0});
  const auto first = [](float share) { return (share - 0.5F) / 0.28209479F; };
  expect_near(row(scene.colour, 0, 3), {first(0), first(0.25F), first(0.5F)});
  expect_near(row(scene.colour, 1, 3), {first(1), first(0.25F), first(1)});
  expect_near(row(scene.colour, 256, 3), {first(0.5F), first(0), first(1)});
  EXPECT_NEAR(scene.opacity[1], std::log(0.2F / 0.8F), 1e-4);
}

TEST(SplatFiles, HarmonicsOfAPackedPlyAreBytes) {
  const std::string head = "element chunk 1\n" + kLimits + "element vertex 1\n" + kPacked +
                           "element sh 1\n" + numbered("uchar", "f_rest_", 9);
  const SplatFile scene = splats_of(ply(head)
                                        .add<float>({0, 0, 0, 1, 1, 1, 0, 0, 0, 1, 1, 1})
                                        .add<uint32_t>({0, 0, 0, 0xffffffffU})
                                        .add<uint8_t>({0, 51, 102, 153, 204, 255, 0, 255, 0})
                                        .text(),
                                    "scene.ply");
  EXPECT_EQ(scene.harmonics, 4);
  const float first = 0.5F / 0.28209479F;
  expect_near(scene.colour, {first, first, first, -4, 0.8F, -4, -2.4F, 2.4F, 4, -0.8F, 4, -4});
}

TEST(SplatFiles, ASplatHasSizesAndBytes) {
  Bytes bytes;
  for (const float n : {0.0F, 1.0F})
    bytes.add<float>({n + 1, n + 2, n + 3, 1, std::exp(-2.0F), std::exp(3.0F)})
        .add<uint8_t>({255, 0, 51, 204, 255, 128, 0, 192});
  const SplatFile scene = splats_of(bytes.text(), "scene.splat");
  EXPECT_EQ(scene.count, 2);
  EXPECT_EQ(scene.position, (std::vector<float>{1, 2, 3, 2, 3, 4}));
  expect_near(scene.log_scale, {0, -2, 3, 0, -2, 3});
  const float red = 0.5F / 0.28209479F, blue = -0.3F / 0.28209479F;
  expect_near(scene.colour, {red, -red, blue, red, -red, blue});
  EXPECT_NEAR(scene.opacity[0], std::log(0.8F / 0.2F), 1e-4);
  expect_near(scene.rotation, {127 / 128.0F, 0, -1, 0.5F, 127 / 128.0F, 0, -1, 0.5F});
}

TEST(SplatFiles, WhatIsWrongWithAFileIsSaid) {
  const auto vertices = [](const std::string& lines) { return ply(lines).text(); };
  const std::pair<std::string, std::string> cases[] = {
      {"ply\nformat binary_little_endian 1.0\n", "'scene': the header of the .ply has no end"},
      {"ply\nelement vertex 0\nend_header\n", "'scene': the header of the .ply names no format"},
      {"ply\nformat ascii 1.0\nend_header\n", "'scene': it is a .ply of format ascii"},
      {vertices(""), "'scene': it has no vertices"},
      {vertices("element vertex 9223372036854775807\n"), "'scene': vertex has no property x"},
      {vertices("element vertex 9223372036854775807\n" + kPlain),
       "'scene': the file is shorter than its vertex elements"},
      {vertices("element vertex -1\n" + kPlain),
       "'scene': the file is shorter than its vertex elements"},
      {vertices("element vertex 1\n" + properties("half", {"x"})),
       "'scene': a property is of type 'half', which numbers of a .ply are not"},
      {vertices("element vertex 1\nproperty list uchar int indices\n"),
       "'scene': it has properties that scenes have not"},
      {vertices("element vertex 0\n" + kPlain + numbered("float", "f_rest_", 12)),
       "'scene': it has 12 numbers f_rest_; harmonics of degree 0 to 3 have 0, 9, 24 or 45"},
      {vertices("element chunk 0\n" + kLimits + "element vertex 0\n" +
                properties("uchar", {"packed_position"})),
       "'scene': property packed_position is no uint"},
      {ply("element chunk 0\n" + kLimits + "element vertex 1\n" + kPacked)
           .add<uint32_t>({0, 0, 0, 0})
           .text(),
       "'scene': it has too few chunks"},
      {ply("element chunk 1\n" + kLimits + "element vertex 1\n" + kPacked + "element sh 0\n")
           .add<float>({0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0})
           .add<uint32_t>({0, 0, 0, 0})
           .text(),
       "'scene': it has harmonics of only 0 Gaussians"},
      {"", "'scene': a .splat has 32 bytes for each Gaussian"},
      {std::string(33, 'a'), "'scene': a .splat has 32 bytes for each Gaussian"},
  };
  for (const auto& [bytes, wanted] : cases) EXPECT_EQ(message(bytes), wanted) << bytes;
}

// A number of each type as the last of a file: reading more bytes than it has would leave the file.
TEST(SplatFiles, NoTypeIsReadBeyondTheEnd) {
  for (const auto& [type, bytes] : std::map<std::string, size_t>{{"char", 1},
                                                                 {"uint8", 1},
                                                                 {"ushort", 2},
                                                                 {"int16", 2},
                                                                 {"int32", 4},
                                                                 {"float32", 4},
                                                                 {"float64", 8}}) {
    const std::string head = ply("element vertex 1\n" + properties("float", {"x", "y", "z"}) +
                                 numbered("float", "scale_", 3) + numbered("float", "rot_", 4) +
                                 numbered("float", "f_dc_", 3) + properties(type, {"opacity"}))
                                 .text();
    const std::string whole = head + std::string(13 * 4 + bytes, '\0');
    EXPECT_EQ(splats_of(std::string(whole.begin(), whole.end()), "scene.ply").opacity,
              std::vector<float>{0})
        << type;
    EXPECT_EQ(message(whole.substr(0, whole.size() - 1)),
              "'scene': the file is shorter than its vertex elements")
        << type;
  }
}

// Every file that is one byte away from a good one, or cut off, is a scene or an Error.
TEST(SplatFiles, DamagedFilesAreReadOrRefused) {
  for (const std::string& good : {plain().text(), packed().text()}) {
    ASSERT_EQ(message(good), "");
    for (size_t i = 0; i < good.size(); ++i) {
      EXPECT_NE(message(good.substr(0, i)), "") << "cut to " << i << " bytes";
      for (const char other : {'\0', '1', '9', 'e', '\n', ' ', '\xff'}) {
        std::string bad = good;
        bad[i] = other;
        message(bad);
      }
    }
  }
}
