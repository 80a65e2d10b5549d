#include "rlx/backend/cpu/fast_resize.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

#include "rlx/backend/cpu/scratch.h"

namespace rlx::detail {
namespace {

using Mode = ResizeOptions::Mode;
using Coordinates = ResizeOptions::Coordinates;
using Rounding = ResizeOptions::Rounding;

// Element i of an axis is the sum of weight(k, i) * element place(k, i).
struct AxisTaps {
  int64_t in = 1, out = 1, taps = 1;
  int64_t repeats = 0;  // each element so often, side by side; 0: another order
  std::vector<int32_t> places;
  std::vector<float> weights;

  void stay(int64_t extent) {
    in = out = extent;
    taps = 1;
    repeats = 1;
  }
};

int64_t floor_divide(int64_t a, int64_t b) { return a / b - (a % b < 0 ? 1 : 0); }
int64_t rounded(int64_t numerator, int64_t divisor, Rounding rounding) {
  switch (rounding) {
    case Rounding::floor:
      return floor_divide(numerator, divisor);
    case Rounding::ceil:
      return -floor_divide(-numerator, divisor);
    case Rounding::prefer_floor:
      return -floor_divide(divisor - 2 * numerator, 2 * divisor);
    case Rounding::prefer_ceil:
      return floor_divide(divisor + 2 * numerator, 2 * divisor);
  }
  return 0;
}

// A scale p / q whose quotients f32 has without an error, so that ties are what they seem.
bool is_plain(double scale, int64_t& p, int64_t& q) {
  for (q = 1; q <= 64; q *= 2) {
    const double numerator = scale * static_cast<double>(q);
    if (numerator != std::floor(numerator)) continue;
    p = static_cast<int64_t>(numerator);
    return p > 0 && (q == 1 || p <= 64);
  }
  return false;
}

// False where the nearest depends on how quotients are rounded.
bool find_nearest(AxisTaps& axis, const ResizeOptions& options, double scale) {
  int64_t p = 1, q = 1;
  if (!is_plain(scale, p, q)) return false;
  const bool half = options.coordinates == Coordinates::half_pixel ||
                    options.coordinates == Coordinates::pytorch_half_pixel;
  if (options.coordinates == Coordinates::align_corners || axis.out == 1) return false;
  const int64_t slope = 2 * q, divisor = 2 * p,
                start = half                                                     ? q - p
                        : options.coordinates == Coordinates::half_pixel_forward ? q
                                                                                 : 0;
  axis.places.resize(static_cast<size_t>(axis.out));
  axis.repeats = q == 1 && axis.out == p * axis.in ? p : 0;
  for (int64_t i = 0; i < axis.out; ++i) {
    const int64_t at =
        std::clamp<int64_t>(rounded(slope * i + start, divisor, options.rounding), 0, axis.in - 1);
    axis.places[static_cast<size_t>(i)] = static_cast<int32_t>(at);
    if (axis.repeats != 0 && at != i / p) axis.repeats = 0;
  }
  return true;
}

double coordinate(const AxisTaps& axis, const ResizeOptions& options, double scale, int64_t i) {
  const double at = static_cast<double>(i);
  switch (options.coordinates) {
    case Coordinates::half_pixel:
      return (at + 0.5) / scale - 0.5;
    case Coordinates::pytorch_half_pixel:
      return axis.out == 1 ? 0 : (at + 0.5) / scale - 0.5;
    case Coordinates::align_corners:
      return axis.out == 1
                 ? 0
                 : at * static_cast<double>(axis.in - 1) / static_cast<double>(axis.out - 1);
    case Coordinates::asymmetric:
      return at / scale;
    case Coordinates::half_pixel_forward:
      return (at + 0.5) / scale;
  }
  return 0;
}

double cubic_weight(double distance, double a) {
  const double x = std::abs(distance);
  if (x <= 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  return x < 2 ? ((a * x - 5 * a) * x + 8 * a) * x - 4 * a : 0;
}

void find_sums(AxisTaps& axis, const ResizeOptions& options, double scale) {
  const bool cubic = options.mode == Mode::cubic;
  axis.taps = cubic ? 4 : 2;
  axis.repeats = 0;
  axis.places.resize(static_cast<size_t>(axis.taps * axis.out));
  axis.weights.resize(axis.places.size());
  for (int64_t i = 0; i < axis.out; ++i) {
    const double at = coordinate(axis, options, scale, i), base = std::floor(at);
    for (int64_t k = 0; k < axis.taps; ++k) {
      const double place = base + static_cast<double>(cubic ? k - 1 : k);
      const auto index = static_cast<size_t>(k * axis.out + i);
      axis.places[index] =
          static_cast<int32_t>(std::clamp(place, 0.0, static_cast<double>(axis.in - 1)));
      axis.weights[index] = static_cast<float>(cubic ? cubic_weight(place - at, options.cubic_a)
                                                     : std::max(1 - std::abs(place - at), 0.0));
    }
  }
}

class ResizeKernel : public image::CallKernel {
 public:
  ResizeKernel(CpuEnginePtr engine, ResizeOptions options, Behind behind)
      : engine_(std::move(engine)),
        options_(std::move(options)),
        behind_(std::move(behind)),
        scratch_(engine_->team.threads()) {}

  bool run(image::CallSite& site) override {
    const image::Argument& given = site.inputs[0];
    Tensor& y = site.results[0];
    if (!is_f32(given) || given.shape.empty() || !behind_.place(site)) return false;
    if (y.count() == 0) return true;
    if (!find_taps(given.shape, site.shape_of(0))) return false;
    if (!site.stored.empty()) return repeat_pixels(site);
    std::optional<image::Argument> copy;
    const float* from = floats_of(without_view(given, *engine_, copy));
    float* to = y.mutable_data<float>().data();
    const int64_t in_plane = rows_.in * columns_.in, out_plane = rows_.out * columns_.out;
    // Parts of planes, so that few of them are shared too.
    constexpr int64_t kRows = 16;
    const int64_t parts = (rows_.out + kRows - 1) / kRows, planes = y.count() / out_plane;
    scratch_.resize(options_.mode == Mode::nearest ? 0 : columns_.in);
    engine_->team.run(
        planes * parts, CpuEngine::kGrain / (kRows * columns_.out) + 1,
        [&](int64_t begin, int64_t end) {
          const Scratch::Part mixed(scratch_);
          for (int64_t i = begin; i < end; ++i) {
            const int64_t first = i % parts * kRows;
            const int64_t last = std::min(first + kRows, rows_.out), plane = i / parts * out_plane;
            run_rows(from + i / parts * in_plane, to + plane, first, last, mixed.data());
            behind_.run(plane + first * columns_.out, plane + last * columns_.out);
          }
        });
    return true;
  }

 private:
  // False for axes before the last two, and for scales that are not ours.
  bool find_taps(const Shape& x, const Shape& y) {
    if (x == x_ && y == y_) return found_;
    x_ = x;
    y_ = y;
    found_ = false;
    const size_t rank = x.size();
    rows_.stay(rank > 1 ? x[rank - 2] : 1);
    columns_.stay(x[rank - 1]);
    const size_t given = options_.axes.empty() ? rank : options_.axes.size();
    for (size_t i = 0; i < given; ++i) {
      const int64_t named = options_.axes.empty() ? static_cast<int64_t>(i) : options_.axes[i];
      const auto d = static_cast<size_t>(named < 0 ? named + static_cast<int64_t>(rank) : named);
      const bool same = x[d] == y[d] && (options_.scales.empty() || options_.scales[i] == 1);
      if (same) continue;
      if (d + 2 < rank || x[d] >= int64_t{1} << 24 || y[d] >= int64_t{1} << 24) return false;
      AxisTaps& axis = d + 1 == rank ? columns_ : rows_;
      axis.in = x[d];
      axis.out = y[d];
      const double scale = options_.scales.empty()
                               ? static_cast<double>(y[d]) / static_cast<double>(x[d])
                               : options_.scales[i];
      if (options_.mode != Mode::nearest)
        find_sums(axis, options_, scale);
      else if (!find_nearest(axis, options_, scale))
        return false;
    }
    return found_ = true;
  }

  // The nearest pixels [batch, channels, height, width] whose channels lie innermost.
  bool repeat_pixels(image::CallSite& site) {
    const image::Argument& x = site.inputs[0];
    const Steps steps(x);
    if (x.shape.size() != 4 || steps[1] != 1 || rows_.taps > 1 || columns_.taps > 1) return false;
    const auto place = [](const AxisTaps& axis, int64_t i) {
      return axis.repeats == 1 ? i : axis.places[static_cast<size_t>(i)];
    };
    const int64_t channels = x.shape[1];
    const float* from = floats_of(x);
    float* to = site.results[0].mutable_data<float>().data();
    engine_->team.run(x.shape[0] * rows_.out, CpuEngine::kGrain / (columns_.out * channels) + 1,
                      [&](int64_t begin, int64_t end) {
                        for (int64_t i = begin; i < end; ++i) {
                          const float* row = from + i / rows_.out * steps[0] +
                                             place(rows_, i % rows_.out) * steps[2];
                          float* pixel = to + i * columns_.out * channels;
                          for (int64_t j = 0; j < columns_.out; ++j, pixel += channels)
                            std::memcpy(pixel, row + place(columns_, j) * steps[3],
                                        static_cast<size_t>(channels) * sizeof(float));
                          behind_.run({i * columns_.out, (i + 1) * columns_.out}, {0, channels});
                        }
                      });
    return true;
  }

  void run_rows(const float* x, float* y, int64_t begin, int64_t end, float* mixed) const {
    int64_t last = -1;  // the row of x that the last row of y was made of
    for (int64_t r = begin; r < end; ++r) {
      float* to = y + r * columns_.out;
      const float* row = x;
      if (rows_.taps > 1) {
        const float* rows[4];
        float weights[4];
        for (int64_t k = 0; k < rows_.taps; ++k) {
          const auto index = static_cast<size_t>(k * rows_.out + r);
          rows[k] = x + rows_.places[index] * columns_.in;
          weights[k] = rows_.weights[index];
        }
        engine_->planes.mix(rows, weights, rows_.taps, mixed, columns_.in);
        row = mixed;
      } else {
        const int64_t place = rows_.repeats == 1 ? r : rows_.places[static_cast<size_t>(r)];
        if (place == last) {
          std::memcpy(to, to - columns_.out, static_cast<size_t>(columns_.out) * sizeof(float));
          continue;
        }
        last = place;
        row = x + place * columns_.in;
      }
      run_columns(row, to);
    }
  }
  void run_columns(const float* row, float* to) const {
    if (columns_.taps > 1)
      return engine_->planes.take(row, columns_.places.data(), columns_.weights.data(),
                                  columns_.taps, to, columns_.out);
    if (columns_.repeats != 0)
      return engine_->planes.repeat(row, columns_.repeats, to, columns_.in);
    for (int64_t i = 0; i < columns_.out; ++i) to[i] = row[columns_.places[static_cast<size_t>(i)]];
  }

  CpuEnginePtr engine_;
  ResizeOptions options_;
  Behind behind_;
  Shape x_, y_;  // that the taps are of
  bool found_ = false;
  AxisTaps rows_, columns_;
  Scratch scratch_;
};

}  // namespace

std::unique_ptr<image::CallKernel> resize_kernel(CpuEnginePtr engine, ResizeOptions options,
                                                 Behind behind) {
  return std::make_unique<ResizeKernel>(std::move(engine), std::move(options), std::move(behind));
}

}  // namespace rlx::detail
