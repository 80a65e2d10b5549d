// One signal from a WAV, an EDF or a CSV file, with its rate.
#pragma once

#include <cstdlib>
#include <sstream>

#include "wav.h"

struct Recording {
  std::string name;
  double rate = 1;  // samples per second
  std::vector<float> samples;
};

// European Data Format: a header of text in fixed columns, then records of 16-bit integers, of each
// signal in turn.
inline Recording load_edf(const std::string& bytes, size_t which) {
  const auto problem = [](const char* what) {
    return rlx::Error(rlx::ErrorKind::io, std::string("cannot read the EDF: ") + what);
  };
  const auto field = [&](size_t at, size_t width) {
    if (at + width > bytes.size()) throw problem("its header ends early");
    const std::string part = bytes.substr(at, width);
    return part.substr(0, part.find_last_not_of(' ') + 1);
  };
  const auto number = [&](size_t at, size_t width) { return std::atof(field(at, width).c_str()); };
  const auto header = static_cast<size_t>(number(184, 8));
  const auto records = static_cast<int64_t>(number(236, 8));
  const auto signals = static_cast<size_t>(number(252, 4));
  const double seconds = number(244, 8);
  if (which >= signals) throw problem("it has no such signal");
  // Of all signals: 16 label, 80 transducer, 8 unit, 8 8 physical and 8 8 digital ends, 80, 8
  // count.
  const auto column = [&](size_t offset, size_t width) {
    return 256 + signals * offset + which * width;
  };
  const double low = number(column(104, 8), 8), high = number(column(112, 8), 8),
               digital_low = number(column(120, 8), 8), digital_high = number(column(128, 8), 8);
  size_t before = 0, record = 0, count = 0;  // 16-bit integers
  for (size_t s = 0; s < signals; ++s) {
    const auto samples = static_cast<size_t>(number(256 + signals * 216 + s * 8, 8));
    if (s < which) before += samples;
    if (s == which) count = samples;
    record += samples;
  }
  if (count == 0 || seconds <= 0 || digital_high <= digital_low) throw problem("it has no samples");
  Recording recording{field(column(0, 16), 16), static_cast<double>(count) / seconds, {}};
  for (int64_t r = 0; r < records; ++r)
    for (size_t i = 0; i < count; ++i) {
      const size_t at = header + 2 * (static_cast<size_t>(r) * record + before + i);
      if (at + 2 > bytes.size()) return recording;
      const auto raw = static_cast<int16_t>(static_cast<unsigned char>(bytes[at]) |
                                            static_cast<unsigned char>(bytes[at + 1]) << 8);
      recording.samples.push_back(static_cast<float>(low + (raw - digital_low) * (high - low) /
                                                               (digital_high - digital_low)));
    }
  return recording;
}

inline Recording load_csv(const std::string& text, size_t which) {
  const char* rate = std::getenv("RATE");
  Recording recording{"column " + std::to_string(which), rate ? std::atof(rate) : 1.0, {}};
  std::istringstream lines(text);
  bool is_first = true;
  for (std::string line; std::getline(lines, line); is_first = false) {
    std::istringstream cells(line);
    std::string cell;
    for (size_t i = 0; i <= which; ++i)
      if (!std::getline(cells, cell, ',')) cell.clear();
    char* end = nullptr;
    const float value = std::strtof(cell.c_str(), &end);
    if (end != cell.c_str())
      recording.samples.push_back(value);
    else if (is_first)
      recording.name = cell;
  }
  return recording;
}

inline Recording load_recording(const std::string& file, int which) {
  std::ifstream stream(file, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(stream), {}};
  if (!stream) throw rlx::Error(rlx::ErrorKind::io, "cannot read '" + file + "'");
  const auto column = static_cast<size_t>(std::max(which, 0));
  const std::string name = file.substr(file.find_last_of('/') + 1);
  Recording recording;
  if (bytes.compare(0, 4, "RIFF") == 0)
    recording = {name, kRate, load_wav(file.c_str())};
  else if (bytes.compare(0, 8, "0       ") == 0)
    recording = load_edf(bytes, column), recording.name = name + ", " + recording.name;
  else
    recording = load_csv(bytes, column), recording.name = name + ", " + recording.name;
  if (recording.samples.size() < 32 || recording.rate <= 0)
    throw rlx::Error(rlx::ErrorKind::io, "'" + file + "' has fewer than 32 samples, or no rate");
  return recording;
}
