// Windows and mel bands, and what Whisper listens to. Constants are made here, in double.

#include <algorithm>
#include <cmath>

#include "rlx/base/fourier.h"
#include "rlx/ops/kernel.h"
#include "rlx/ops/ops_fft.h"
#include "rlx/ops/ops_signal.h"
#include "rlx/ops/views.h"

namespace rlx {

Value cosine_window(Value size, const Floats& terms, bool periodic, DType dtype) {
  require(is_integer(size.dtype()) && size.shape().empty(),
          "cosine_window: the size must be one integer, got ", size.type());
  const Value place = cast(range(scalar(size, 0), size, scalar(size, 1)), DType::f32);
  const Value count = cast(size, DType::f32), whole = periodic ? count : count - scalar(count, 1);
  constexpr double kTurn = 6.283185307179586;
  const Value angle = place * (scalar(whole, kTurn) / whole);
  Value y = scalar(angle, terms.empty() ? 0 : terms[0]);
  for (size_t k = 1; k < terms.size(); ++k)
    y = y + scalar(angle, k % 2 == 0 ? terms[k] : -terms[k]) *
                cos(angle * scalar(angle, static_cast<double>(k)));
  return cast(y, dtype);
}

namespace {

// The terms of windows that are sums of cosines.
struct CosineWindow {
  std::string_view name;
  std::vector<double> terms;
};
const std::vector<CosineWindow>& cosine_windows() {
  static const std::vector<CosineWindow> windows = {
      {"boxcar", {1}},
      {"hann", {0.5, 0.5}},
      {"hamming", {0.54, 0.46}},
      {"blackman", {0.42, 0.5, 0.08}},
      {"blackmanharris", {0.35875, 0.48829, 0.14128, 0.01168}},
      {"nuttall", {0.3635819, 0.4891775, 0.1365995, 0.0106411}},
      {"flattop", {0.21557895, 0.41663158, 0.277263158, 0.083578947, 0.006947368}},
  };
  return windows;
}

}  // namespace

Value window(Value like, const std::string& name, int64_t length, bool periodic) {
  require(length > 0, "window: a length of ", length, " is not positive");
  Tensor tensor(like.dtype(), {length});
  const int64_t whole = length == 1 ? 1 : periodic ? length : length - 1;
  const auto fill = [&](const auto& value) {
    for (int64_t i = 0; i < length; ++i) tensor.set(i, length == 1 ? 1 : value(i));
  };
  for (const CosineWindow& known : cosine_windows())
    if (known.name == name) {
      fill([&](int64_t i) {
        double sum = 0;
        for (size_t k = 0; k < known.terms.size(); ++k)
          sum += (k % 2 == 0 ? 1 : -1) * known.terms[k] *
                 turn_of(static_cast<int64_t>(k) * i, whole).cosine;
        return sum;
      });
      return constant_beside(like, tensor);
    }
  require(name == "bartlett", "window: '", name,
          "' is none of boxcar, hann, hamming, blackman, blackmanharris, nuttall, flattop, "
          "bartlett");
  fill([&](int64_t i) {
    return 1 - std::abs(2 * static_cast<double>(i) / static_cast<double>(whole) - 1);
  });
  return constant_beside(like, tensor);
}

namespace {

// Slaney's scale is linear up to 1000 Hz, in steps of 200 / 3, and 27 steps for a factor of 6.4
// from there on.
constexpr double kLinear = 200.0 / 3, kKnee = 1000;
double mel_of(double hertz, bool htk) {
  if (htk) return 2595 * std::log10(1 + hertz / 700);
  if (hertz < kKnee) return hertz / kLinear;
  return kKnee / kLinear + 27 * std::log(hertz / kKnee) / std::log(6.4);
}
double hertz_of(double mel, bool htk) {
  if (htk) return 700 * (std::pow(10, mel / 2595) - 1);
  const double knee = kKnee / kLinear;
  if (mel < knee) return mel * kLinear;
  return kKnee * std::exp((mel - knee) * std::log(6.4) / 27);
}

}  // namespace

Value mel_filters(Value like, const MelOptions& options) {
  const double high = options.high > 0 ? options.high : options.rate / 2;
  require(options.bands > 0 && options.length > 0 && options.rate > 0 && options.low >= 0 &&
              options.low < high,
          "mel_filters: ", options.bands, " bands from ", options.low, " to ", high, " Hz of ",
          options.length, " samples at ", options.rate, " Hz cannot be");
  const double low_mel = mel_of(options.low, options.htk), high_mel = mel_of(high, options.htk);
  const auto edge = [&](int64_t i) {
    const double part = static_cast<double>(i) / static_cast<double>(options.bands + 1);
    return hertz_of(low_mel + (high_mel - low_mel) * part, options.htk);
  };
  const int64_t bins = options.length / 2 + 1;
  Tensor weights(like.dtype(), {options.bands, bins});
  for (int64_t band = 0; band < options.bands; ++band) {
    const double from = edge(band), top = edge(band + 1), to = edge(band + 2);
    const double height = options.equal_area ? 2 / (to - from) : 1;
    for (int64_t k = 0; k < bins; ++k) {
      const double hertz =
          static_cast<double>(k) * options.rate / static_cast<double>(options.length);
      const double up = (hertz - from) / (top - from), down = (to - hertz) / (to - top);
      weights.set(band * bins + k, height * std::max(0.0, std::min(up, down)));
    }
  }
  return constant_beside(like, weights);
}

Value log_mel(Value x, const LogMelOptions& options) {
  const int64_t length = options.mel.length, step = options.step, half = length / 2;
  require(is_float(x.dtype()) && rank(x.type()) >= 1, "log_mel: x is ", x.type(),
          ", it needs samples that are floats");
  require(step > 0 && length > 1, "log_mel: frames of ", length, " every ", step, " cannot be");
  Dims pads(2 * x.shape().size(), Dim(0));
  pads[x.shape().size() - 1] = pads.back() = half;
  const Value padded = pad(x, pads, "reflect");
  const Value every = frames(padded, step, length);  // [.., 1 + samples / step, length]
  const size_t along = every.shape().size() - 2;
  const Value whole = slice_axis(every, along, 0, larger(every.shape()[along] - 1, 0));
  const Value power = complex_power(rfft(whole * window(x, "hann", length)));
  const Value energy = matmul(power, mel_filters(x, options.mel), false, true);
  const Value least = scalar(energy, 1e-10);
  const Value level = log(maximum(energy, least)) * scalar(energy, 0.43429448190325182765);
  const Value top = reduce_max(level, options.per_frame ? Ints{-1} : Ints{-2, -1}, true);
  const Value floored = maximum(level, top - scalar(top, 8));
  const Value y = (floored + scalar(level, 4)) * scalar(level, 0.25);
  Ints order;
  for (size_t d = 0; d < y.shape().size(); ++d) order.push_back(static_cast<int64_t>(d));
  std::swap(order[order.size() - 1], order[order.size() - 2]);
  return transpose(y, order);
}

}  // namespace rlx
