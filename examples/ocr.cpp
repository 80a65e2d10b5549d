// Reads the text in a picture: PP-OCRv4 finds the lines, each is straightened, and read.
//   ocr MODELS PICTURE [OUT.png]     MODELS: the folder with the .onnx files and the alphabet

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <numeric>

#include "devices.h"
#include "picture.h"
#include "rlx/rlx.h"

using namespace rlx;

// A line of text: a rectangle about (x, y) whose long side has the direction (ux, uy).
struct Line {
  float x = 0, y = 0, ux = 1, uy = 0, width = 0, height = 0;
  std::string text = {};
  float confidence = 0;
};

// The rectangle around a patch of pixels that are likely text, along its main direction.
Line line_around(const std::vector<std::pair<int, int>>& pixels) {
  double mx = 0, my = 0, xx = 0, yy = 0, xy = 0;
  const auto n = static_cast<double>(pixels.size());
  for (const auto& [x, y] : pixels) mx += x / n, my += y / n;
  for (const auto& [x, y] : pixels) {
    xx += (x - mx) * (x - mx), yy += (y - my) * (y - my), xy += (x - mx) * (y - my);
  }
  const double angle = 0.5 * std::atan2(2 * xy, xx - yy);
  const double ux = std::cos(angle), uy = std::sin(angle);
  double low_u = 1e9, high_u = -1e9, low_v = 1e9, high_v = -1e9;
  for (const auto& [x, y] : pixels) {
    const double u = (x - mx) * ux + (y - my) * uy, v = (y - my) * ux - (x - mx) * uy;
    low_u = std::min(low_u, u), high_u = std::max(high_u, u);
    low_v = std::min(low_v, v), high_v = std::max(high_v, v);
  }
  const double u = (low_u + high_u) / 2, v = (low_v + high_v) / 2;
  double width = high_u - low_u + 1, height = high_v - low_v + 1;
  // The network marks the cores of lines. Its authors add 1.5; on menu.png that loses two
  // spaces, 1.9 an accent.
  const double margin = 1.7 * width * height / (2 * (width + height));
  return {static_cast<float>(mx + u * ux - v * uy + 0.5),
          static_cast<float>(my + u * uy + v * ux + 0.5),
          static_cast<float>(ux),
          static_cast<float>(uy),
          static_cast<float>(width + 2 * margin),
          static_cast<float>(height + 2 * margin)};
}

std::vector<Line> find_lines(const Program& detector, const Picture& picture) {
  const float limit = 960.0f / static_cast<float>(std::max(picture.width, picture.height));
  const float scale = std::min(1.0f, limit);
  const auto rounded = [&](int size) {  // the network halves five times
    return std::max<int64_t>(32, std::lround(static_cast<float>(size) * scale / 32) * 32);
  };
  const int64_t width = rounded(picture.width), height = rounded(picture.height);
  const float sx = static_cast<float>(picture.width) / static_cast<float>(width),
              sy = static_cast<float>(picture.height) / static_cast<float>(height);
  const Tensor x =
      sampled(picture, height, width, {0.485f, 0.456f, 0.406f}, {0.229f, 0.224f, 0.225f},
              [&](float px, float py) { return std::pair(px * sx, py * sy); });
  const Tensor map = detector.run({{"x", x}}).begin()->second;
  const auto likely = map.data<float>();

  std::vector<bool> seen(likely.size());
  std::vector<Line> lines;
  for (size_t start = 0; start < likely.size(); ++start) {
    if (seen[start] || likely[start] < 0.3f) continue;
    std::vector<std::pair<int, int>> patch;
    std::vector<size_t> open = {start};
    seen[start] = true;
    double sum = 0;
    while (!open.empty()) {
      const size_t at = open.back();
      open.pop_back();
      const int64_t px = static_cast<int64_t>(at) % width, py = static_cast<int64_t>(at) / width;
      patch.emplace_back(static_cast<int>(px), static_cast<int>(py));
      sum += likely[at];
      for (const auto& [nx, ny] :
           {std::pair(px - 1, py), {px + 1, py}, {px, py - 1}, {px, py + 1}}) {
        if (nx < 0 || ny < 0 || nx >= width || ny >= height) continue;
        const auto next = static_cast<size_t>(ny * width + nx);
        if (seen[next] || likely[next] < 0.3f) continue;
        seen[next] = true;
        open.push_back(next);
      }
    }
    if (patch.size() < 12 || sum / static_cast<double>(patch.size()) < 0.6) continue;
    Line line = line_around(patch);
    line.x *= sx, line.y *= sy, line.width *= sx, line.height *= sy;  // nearly the same scale
    lines.push_back(line);
  }
  std::sort(lines.begin(), lines.end(), [](const Line& a, const Line& b) {
    return std::abs(a.y - b.y) > std::min(a.height, b.height) / 2 ? a.y < b.y : a.x < b.x;
  });
  return lines;
}

void read_line(const Program& reader, const Strings& alphabet, const Picture& picture, Line& line) {
  constexpr int64_t kHeight = 48;
  const auto width = std::max<int64_t>(16, std::lround(kHeight * line.width / line.height));
  const float scale = line.height / kHeight;
  const Tensor x = sampled(
      picture, kHeight, width, {0.5f, 0.5f, 0.5f}, {0.5f, 0.5f, 0.5f}, [&](float px, float py) {
        const float u = (px - static_cast<float>(width) / 2) * scale,
                    v = (py - kHeight / 2.0f) * scale;
        return std::pair(line.x + u * line.ux - v * line.uy, line.y + u * line.uy + v * line.ux);
      });
  const Tensor steps = reader.run({{"x", x}}).begin()->second;  // [1, steps, letters]
  const int64_t letters = steps.shape()[2];
  if (letters != static_cast<int64_t>(alphabet.size()))
    throw Error(ErrorKind::invalid_model, "the alphabet has " + std::to_string(alphabet.size()) +
                                              " letters, the model " + std::to_string(letters));
  int64_t before = 0, count = 0;
  for (int64_t step = 0; step < steps.shape()[1]; ++step) {
    const float* row = steps.data<float>().data() + step * letters;
    const int64_t best = std::max_element(row, row + letters) - row;
    if (best != 0 && best != before) {  // 0 is between letters
      line.text += alphabet[static_cast<size_t>(best)];
      line.confidence += row[best];
      ++count;
    }
    before = best;
  }
  if (count > 0) line.confidence /= static_cast<float>(count);
}

void draw(Picture& picture, const Line& line) {
  for (const float side : {-0.5f, 0.5f})
    for (float t = -0.5f; t <= 0.5f; t += 0.25f / std::max(line.width, line.height))
      for (const auto& [u, v] : {std::pair(t * line.width, side * line.height),
                                 std::pair(side * line.width, t * line.height)}) {
        const int x = static_cast<int>(line.x + u * line.ux - v * line.uy);
        const int y = static_cast<int>(line.y + u * line.uy + v * line.ux);
        for (int i = 0; i < 4; ++i) picture.dot(x + i % 2, y + i / 2);
      }
}

int main(int argc, char** argv) try {
  if (argc < 3 || argc > 4) {
    std::fprintf(stderr, "usage: ocr MODELS PICTURE [OUT.png]\n");
    return 2;
  }
  const std::string models = argv[1];
  const auto start = std::chrono::steady_clock::now();
  auto stage = [last = start](const char* name) mutable {
    const auto now = std::chrono::steady_clock::now();
    std::printf("%-24s %6.0f ms\n", name,
                std::chrono::duration<double, std::milli>(now - last).count());
    last = now;
  };
  Picture picture = load_picture(argv[2]);
  Strings alphabet = {""};
  std::ifstream letters(models + "/ppocr_keys_v1.txt");
  for (std::string letter; std::getline(letters, letter);) alphabet.push_back(letter);
  alphabet.emplace_back(" ");

  const Device device = best_device();
  const Program detector =
      compile(onnx::load_onnx(models + "/ch_PP-OCRv4_det_infer.onnx"), {.device = device});
  const Program reader =
      compile(onnx::load_onnx(models + "/ch_PP-OCRv4_rec_infer.onnx"), {.device = device});
  std::printf("on %s\n", device.name().c_str());
  stage("loading");
  std::vector<Line> lines = find_lines(detector, picture);
  stage("finding lines");
  for (Line& line : lines) read_line(reader, alphabet, picture, line);
  stage("reading them");

  for (const Line& line : lines) {
    if (line.text.empty()) continue;
    std::printf("%4.0f%%  (%4.0f, %4.0f) %4.0f x %-3.0f  %s\n", 100 * line.confidence, line.x,
                line.y, line.width, line.height, line.text.c_str());
    draw(picture, line);
  }
  const char* out = argc > 3 ? argv[3] : "ocr.png";
  save_picture(out, picture);
  std::printf("the picture with the lines found: %s\n", out);
} catch (const Error& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
