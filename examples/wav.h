// Sound for the examples: a WAV file as samples from -1 to 1, mono, at 16 kHz.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "rlx/rlx.h"

constexpr int kRate = 16000;

// Any rate at 16 kHz: a windowed sinc, which ends where the lower of the two rates does.
inline std::vector<float> resampled(const std::vector<float>& from, int rate) {
  if (rate == kRate) return from;
  const double step = static_cast<double>(rate) / kRate, cut = std::min(1.0, 1 / step) * 0.95;
  const int reach = static_cast<int>(std::ceil(16 / cut));
  std::vector<float> to(static_cast<size_t>(static_cast<double>(from.size()) / step));
  for (size_t i = 0; i < to.size(); ++i) {
    const double at = static_cast<double>(i) * step, pi = std::acos(-1.0);
    const auto centre = static_cast<int64_t>(at);
    double sum = 0;
    for (int64_t k = std::max<int64_t>(centre - reach, 0); k <= centre + reach; ++k) {
      if (k >= static_cast<int64_t>(from.size())) break;
      const double t = static_cast<double>(k) - at;
      if (std::abs(t) > reach) continue;
      const double sinc = t == 0 ? cut : std::sin(pi * cut * t) / (pi * t);
      sum += from[static_cast<size_t>(k)] * sinc * 0.5 * (1 + std::cos(pi * t / reach));
    }
    to[i] = static_cast<float>(sum);
  }
  return to;
}

// PCM of 8, 16, 24 or 32 bits or floats, any rate; channels are averaged.
inline std::vector<float> load_wav(const char* file) {
  std::ifstream stream(file, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(stream), {}};
  const auto problem = [&](const char* what) {
    return rlx::Error(rlx::ErrorKind::io, std::string("cannot read '") + file + "': " + what);
  };
  if (!stream) throw problem("there is no such file");
  if (bytes.size() < 12 || bytes.compare(0, 4, "RIFF") != 0 || bytes.compare(8, 4, "WAVE") != 0)
    throw problem("it is no WAV file");
  const auto number = [&](size_t at, size_t count) {  // little endian
    uint32_t value = 0;
    for (size_t i = 0; i < count; ++i)
      value |= static_cast<uint32_t>(static_cast<unsigned char>(bytes[at + i])) << (8 * i);
    return value;
  };
  uint32_t format = 0, channels = 0, rate = 0, bits = 0;
  for (size_t at = 12; at + 8 <= bytes.size();) {
    const size_t begin = at + 8, size = std::min<size_t>(number(at + 4, 4), bytes.size() - begin);
    if (bytes.compare(at, 4, "fmt ") == 0 && size >= 16) {
      format = number(begin, 2), channels = number(begin + 2, 2);
      rate = number(begin + 4, 4), bits = number(begin + 14, 2);
    } else if (bytes.compare(at, 4, "data") == 0) {
      const size_t width = bits / 8;
      if (channels == 0 || rate == 0 || width == 0 || width > 4 || (format == 3 && width != 4))
        throw problem("only PCM and floats of 32 bits are known");
      std::vector<float> mono(size / width / channels);
      for (size_t i = 0; i < mono.size() * channels; ++i) {
        const uint32_t raw = number(begin + i * width, width);
        float value = 0;
        if (format == 3)
          std::memcpy(&value, &raw, 4);
        else if (width == 1)
          value = (static_cast<float>(raw) - 128) / 128;
        else
          value = static_cast<float>(static_cast<int32_t>(raw << (32 - 8 * width)) / 2147483648.0);
        mono[i / channels] += value / static_cast<float>(channels);
      }
      return resampled(mono, static_cast<int>(rate));
    }
    at = begin + size + size % 2;
  }
  throw problem("it has no samples");
}
