// Draws what frequencies a signal has and when: its spectrogram as a PNG, and the mean of its power
// with the strongest peaks as an SVG.
//   spectrum FILE OUT.png OUT.svg [COLUMN]   a WAV, an EDF, or a CSV with a line of names first
//                                            COLUMN: of a CSV, or the signal of an EDF, from 0
// A CSV has one sample a line, RATE=samples per second in the environment, else 1.

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>

#include "devices.h"
#include "picture.h"
#include "recording.h"
#include "rlx/rlx.h"

using namespace rlx;

namespace {

constexpr int64_t kPeaks = 5;

// A segment of about a quarter of a second of sound, or four of a slow signal, but never so long
// that fewer than eight of them fit.
int64_t segment_of(const Recording& recording) {
  const double wanted = recording.rate > 2000 ? recording.rate / 16 : recording.rate * 4;
  int64_t length = 16;
  while (static_cast<double>(2 * length) <= wanted &&
         16 * length <= static_cast<int64_t>(recording.samples.size()))
    length *= 2;
  return length;
}

// From black over violet and orange to white.
void colour(float level, unsigned char* rgb) {
  constexpr float kStops[][3] = {{0, 0, 4},     {66, 10, 104},  {147, 38, 103},
                                 {221, 81, 58}, {252, 165, 10}, {252, 255, 164}};
  const float at = std::clamp(level, 0.0f, 1.0f) * 5;
  const int stop = std::min(static_cast<int>(at), 4);
  for (int c = 0; c < 3; ++c)
    rgb[c] = static_cast<unsigned char>(kStops[stop][c] + (kStops[stop + 1][c] - kStops[stop][c]) *
                                                              (at - static_cast<float>(stop)));
}

// Time to the right, frequencies upwards, the upper 80 dB.
Picture drawn(const Tensor& power) {
  const int64_t frames = power.shape()[0], bins = power.shape()[1];
  Picture picture{static_cast<int>(std::min<int64_t>(frames, 1600)),
                  static_cast<int>(std::min<int64_t>(bins, 512)),
                  {}};
  picture.rgb.resize(static_cast<size_t>(picture.width) * static_cast<size_t>(picture.height) * 3);
  const auto values = power.data<float>();
  const float top = std::log10(std::max(*std::max_element(values.begin(), values.end()), 1e-30f));
  for (int y = 0; y < picture.height; ++y)
    for (int x = 0; x < picture.width; ++x) {
      // The strongest of what falls on a pixel.
      const int64_t f0 = x * frames / picture.width,
                    f1 = std::max(f0 + 1, (x + 1) * frames / picture.width);
      const int64_t row = picture.height - 1 - y, b0 = row * bins / picture.height,
                    b1 = std::max(b0 + 1, (row + 1) * bins / picture.height);
      float most = 0;
      for (int64_t f = f0; f < f1; ++f)
        for (int64_t b = b0; b < b1; ++b)
          most = std::max(most, values[static_cast<size_t>(f * bins + b)]);
      const float level = (std::log10(std::max(most, 1e-30f)) - top) / 8 + 1;
      colour(level, &picture.rgb[static_cast<size_t>((y * picture.width + x) * 3)]);
    }
  return picture;
}

struct Peak {
  int64_t bin;
  double hertz, power;
};

// The strongest bins that are higher than both neighbours, from all bins in order of power; none
// within a fortieth of the range from a stronger one.
std::vector<Peak> peaks_of(const Tensor& powers, const Tensor& bins, const Tensor& mean,
                           double step) {
  std::vector<Peak> peaks;
  for (int64_t i = 0; i < bins.count() && static_cast<int64_t>(peaks.size()) < kPeaks; ++i) {
    const int64_t bin = bins.integer_at(i), last = mean.count() - 1;
    if (bin == 0 || bin == last) continue;
    const bool is_near = std::any_of(peaks.begin(), peaks.end(), [&](const Peak& peak) {
      return std::abs(peak.bin - bin) <= mean.count() / 40;
    });
    if (!is_near && mean.at(bin) > mean.at(bin - 1) && mean.at(bin) >= mean.at(bin + 1))
      peaks.push_back({bin, static_cast<double>(bin) * step, powers.at(i)});
  }
  return peaks;
}

void write_svg(const char* file, const Tensor& mean, double step, const std::vector<Peak>& peaks,
               const std::string& title) {
  constexpr double kWidth = 900, kHeight = 360, kLeft = 70, kTop = 50, kRight = 20, kBottom = 50;
  const int64_t bins = mean.count();
  double high = -300, low = 300;
  const auto level = [&](int64_t bin) { return 10 * std::log10(std::max(mean.at(bin), 1e-30)); };
  for (int64_t bin = 1; bin < bins; ++bin) {
    high = std::max(high, level(bin));
    low = std::min(low, level(bin));
  }
  low = std::floor(std::max(low, high - 100) / 10) * 10;
  high = std::ceil((high + 3) / 10) * 10;
  const double end = step * static_cast<double>(bins - 1);
  const auto x = [&](double hertz) { return kLeft + hertz / end * (kWidth - kLeft - kRight); };
  const auto y = [&](double db) {
    return kTop + (high - std::max(db, low)) / (high - low) * (kHeight - kTop - kBottom);
  };
  std::ofstream out(file);
  out.precision(6);
  out << "<svg xmlns='http://www.w3.org/2000/svg' width='" << kWidth << "' height='" << kHeight
      << "' font-family='sans-serif' font-size='12'>\n<rect width='100%' height='100%' "
         "fill='white'/>\n<text x='"
      << kLeft << "' y='22' font-size='15'>" << title << "</text>\n";
  for (double db = low; db <= high; db += 20)
    out << "<path d='M" << kLeft << ' ' << y(db) << 'H' << kWidth - kRight
        << "' stroke='#ddd'/><text x='" << kLeft - 8 << "' y='" << y(db) + 4
        << "' text-anchor='end'>" << db << " dB</text>\n";
  double tick = std::pow(10, std::floor(std::log10(end / 4)));
  if (end / tick > 20) tick *= 5;
  if (end / tick > 10) tick *= 2;
  for (double hertz = 0; hertz <= end * 1.0001; hertz += tick)
    out << "<text x='" << x(hertz) << "' y='" << kHeight - kBottom + 20 << "' text-anchor='middle'>"
        << hertz << "</text>\n";
  out << "<text x='" << kWidth / 2 << "' y='" << kHeight - 10
      << "' text-anchor='middle'>frequency in Hz</text>\n<polyline fill='none' stroke='#42309c' "
         "stroke-width='1.2' points='";
  for (int64_t bin = 1; bin < bins; ++bin)
    out << x(static_cast<double>(bin) * step) << ',' << y(level(bin)) << ' ';
  out << "'/>\n";
  std::vector<std::pair<double, double>> labels;  // where they are, a line above one in the way
  for (const Peak& peak : peaks) {
    constexpr double kLabel = 75, kLine = 13;
    const double across = x(peak.hertz), at = y(level(peak.bin));
    double up = at - 6;
    const auto is_taken = [&](const std::pair<double, double>& other) {
      return std::abs(other.first - across) < kLabel && std::abs(other.second - up) < kLine;
    };
    while (std::any_of(labels.begin(), labels.end(), is_taken)) up -= kLine;
    labels.emplace_back(across, up);
    out << "<circle cx='" << across << "' cy='" << at << "' r='3.5' fill='#d33'/><text x='"
        << across + 6 << "' y='" << up << "'>" << std::round(peak.hertz * 100) / 100
        << " Hz</text>\n";
  }
  out << "</svg>\n";
  if (!out) throw Error(ErrorKind::io, std::string("cannot write '") + file + "'");
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) {
    std::fprintf(stderr, "usage: spectrum FILE OUT.png OUT.svg [COLUMN]\n");
    return 2;
  }
  try {
    const Recording recording = load_recording(argv[1], argc > 4 ? std::atoi(argv[4]) : 0);
    const auto samples = static_cast<int64_t>(recording.samples.size());
    const int64_t length = segment_of(recording), rest = samples - length;
    // About a thousand columns, unless they would hardly overlap.
    const int64_t step = std::max<int64_t>({std::min(length / 8, rest / 1000), rest / 1600, 1});
    Tensor signal(DType::f32, {samples});
    std::copy(recording.samples.begin(), recording.samples.end(),
              signal.mutable_data<float>().data());

    Graph graph;
    const Value x = graph.input("x", f32({samples}));
    const SpectrumOptions options{.rate = recording.rate, .length = length};
    graph.output("picture", psd(frames(x, step, length), options));
    graph.output("mean", welch(x, options));
    const TopK strongest = welch_peaks(x, length / 2 + 1, options);
    graph.output("powers", strongest.values);
    graph.output("bins", strongest.indices);
    const TensorMap results = compile(graph, {.device = best_device()}).run({{"x", signal}});

    save_picture(argv[2], drawn(results.at("picture")));
    const double hertz = recording.rate / static_cast<double>(length);
    const std::vector<Peak> peaks =
        peaks_of(results.at("powers"), results.at("bins"), results.at("mean"), hertz);
    write_svg(argv[3], results.at("mean"), hertz, peaks, recording.name);
    std::printf("%s: %.2f s at %g Hz, segments of %lld\n", recording.name.c_str(),
                static_cast<double>(samples) / recording.rate, recording.rate,
                static_cast<long long>(length));
    for (const Peak& peak : peaks) std::printf("%10.2f Hz  %.4g\n", peak.hertz, peak.power);
    return 0;
  } catch (const Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
