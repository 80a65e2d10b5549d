// dft and stft as ONNX has them, and what else is made of frames and their transforms: istft,
// spectra of power, convolution.

#include <algorithm>

#include "rlx/base/fourier.h"
#include "rlx/ops/kernel.h"
#include "rlx/ops/ops_fft.h"
#include "rlx/ops/ops_signal.h"
#include "rlx/ops/ops_sort.h"
#include "rlx/ops/views.h"

namespace rlx {
namespace {

// Which sample is element t of frame f: [frames, length].
Value frame_places(Value like, const Dim& frames, int64_t step, int64_t length) {
  const Value start = counting(like, frames, DType::i32);
  return unsqueeze(start * scalar(start, static_cast<double>(step)), {1}) +
         unsqueeze(counting(like, length, DType::i32), {0});
}
Dim frame_count(const char* op, const Dim& samples, int64_t step, int64_t length) {
  require(step > 0 && length > 0, op, ": frames of ", length, " every ", step, " cannot be");
  return larger(floor_div(samples - Dim(length), step) + 1, 0);
}

// Of real numbers half of the frequencies tell the others, and those that are real are so exactly.
Value real_dft(Value x, int64_t at, const DftOptions& options) {
  Value y =
      rfft(x, at, {.length = options.length, .norm = options.inverse ? "forward" : "backward"});
  const Value conjugate = constant_beside(y, Tensor::of(y.dtype(), {2}, {1, -1}));
  if (!options.onesided) {
    const int64_t n =
        options.length > 0 ? options.length : x.shape()[static_cast<size_t>(at)].number();
    y = concat({y, slice(y, {n - 1 - n / 2}, {0}, {at}, {-1}) * conjugate}, at);
  }
  return options.inverse ? y * conjugate : y;
}

}  // namespace

Value dft(Value x, int64_t axis, const DftOptions& options) {
  const TensorType type = x.type();
  require(is_float(type.dtype) && rank(type) >= 2 &&
              (type.shape.back().is(1) || type.shape.back().is(2)),
          "dft: x is ", type, ", it needs floats whose last dim is 1, or 2 if they are complex");
  const size_t along = axis_of("dft", axis, type), last = type.shape.size() - 1;
  require(along != last, "dft: axis ", axis, " of ", type, " is that of the parts of a number");
  require(type.shape[along].is_number(), "dft: the number of samples must be known, it is ",
          type.shape[along]);
  const auto at = static_cast<int64_t>(along);
  const FftOptions of{.length = options.length};
  const bool real = type.shape.back().is(1);
  if (real) return real_dft(squeeze(x, {-1}), at, options);
  const Value y = options.inverse ? ifft(x, at, of) : fft(x, at, of);
  return options.onesided ? slice_axis(y, along, 0, floor_div(y.shape()[along], 2) + 1) : y;
}

Value stft(Value signal, int64_t step, int64_t length, Value window, bool onesided) {
  const TensorType& type = signal.type();
  require(rank(type) == 3, "stft: the signal is ", type,
          ", it needs to be [batch, samples, 1 or 2]");
  const Dim count = frame_count("stft", type.shape[1], step, length);
  require(!window.present() || (rank(window.type()) == 1 && window.shape()[0].is(length)),
          "stft: the window ", window.present() ? window.type() : type, " does not fit frames of ",
          length);
  // [batch, frames, length, parts]
  Value x = gather(signal, frame_places(signal, count, step, length), 1);
  if (window.present()) x = x * unsqueeze(window, {1});
  return dft(x, 2, {.onesided = onesided});
}

Value frames(Value x, int64_t step, int64_t length) {
  require(rank(x.type()) >= 1, "frames: x is ", x.type(), ", it has no samples");
  const Dim count = frame_count("frames", x.shape().back(), step, length);
  return gather(x, frame_places(x, count, step, length),
                static_cast<int64_t>(x.shape().size()) - 1);
}

Value istft(Value spectrum, int64_t step, int64_t length, Value window) {
  const TensorType& type = spectrum.type();
  require(rank(type) == 4 && type.shape[2].is(length / 2 + 1) && type.shape[3].is(2),
          "istft: the spectrum is ", type, ", of frames of ", length, " it is [batch, frames, ",
          length / 2 + 1, ", 2]");
  require(step > 0, "istft: frames every ", step, " cannot be");
  require(!window.present() || (rank(window.type()) == 1 && window.shape()[0].is(length)),
          "istft: the window ", window.present() ? window.type() : type, " does not fit frames of ",
          length);
  const Dim count = type.shape[1], samples = larger((count - 1) * Dim(step) + Dim(length), 0);
  Value x = irfft(spectrum, 2, {.length = length}), weight = scalar(x, 1);
  if (window.present()) {
    x = x * window;
    weight = window * window;
  }
  const Dim all = count * Dim(length);
  const Value places = reshape(frame_places(x, count, step, length), {all});
  const Value sums = scatter(zeros(x, {type.shape[0], samples}), places,
                             reshape(x, {type.shape[0], all}), 1, "add");
  const Value weights = reshape(expand(weight, {count, Dim(length)}), {all});
  const Value total = scatter(zeros(x, {samples}), places, weights, 0, "add");
  const Value least = scalar(total, 1e-11);
  return sums / where(greater(total, least), total, scalar(total, 1));
}

// ---- Power ----

namespace {

// Segments [.., length] to [.., bins].
Value power_of(Value x, const SpectrumOptions& options) {
  require(
      options.scaling == "density" || options.scaling == "spectrum" || options.scaling == "none",
      "psd: the scaling is '", options.scaling, "', not density, spectrum or none");
  require(options.rate > 0, "psd: a rate of ", options.rate, " is not positive");
  require(x.shape().back().is_number(), "psd: the number of samples must be known, it is ",
          x.shape().back());
  const int64_t n = x.shape().back().number();
  if (options.detrend) x = x - mean(x, {-1}, true);
  const Value w = window(x, options.window, n);
  const Value power = complex_power(rfft(x * w));
  Tensor doubled(x.dtype(), {n / 2 + 1});
  for (int64_t k = 0; k <= n / 2; ++k) doubled.set(k, k == 0 || 2 * k == n ? 1 : 2);
  Value factor = constant_beside(x, doubled);
  if (options.scaling == "density")
    factor = factor / (sum(w * w) * scalar(w, options.rate));
  else if (options.scaling == "spectrum")
    factor = factor / (sum(w) * sum(w));
  return power * factor;
}

}  // namespace

Value psd(Value x, const SpectrumOptions& options) {
  require(is_float(x.dtype()) && rank(x.type()) >= 1, "psd: x is ", x.type(),
          ", it needs samples that are floats");
  return power_of(x, options);
}

Value welch(Value x, const SpectrumOptions& options) {
  require(is_float(x.dtype()) && rank(x.type()) >= 1, "welch: x is ", x.type(),
          ", it needs samples that are floats");
  const Dim& samples = x.shape().back();
  int64_t length = options.length > 0 ? options.length : 256;
  if (samples.is_number() && samples.number() > 0) length = std::min(length, samples.number());
  const int64_t step = options.step > 0 ? options.step : std::max<int64_t>(length - length / 2, 1);
  return mean(power_of(frames(x, step, length), options), {-2});
}

TopK welch_peaks(Value x, int64_t k, const SpectrumOptions& options) {
  return top_k(welch(x, options), k);
}

Value fft_conv(Value x, Value h, const std::string& mode) {
  require(rank(x.type()) >= 1 && rank(h.type()) >= 1 && x.shape().back().is_number() &&
              h.shape().back().is_number(),
          "fft_conv: of ", x.type(), " and ", h.type(), " the last dims must be known");
  require(mode == "full" || mode == "same" || mode == "valid", "fft_conv: the mode is '", mode,
          "', not full, same or valid");
  const int64_t a = x.shape().back().number(), b = h.shape().back().number(), full = a + b - 1;
  require(a > 0 && b > 0, "fft_conv: of ", x.type(), " and ", h.type(), " one has no samples");
  int64_t length = full;
  while (!is_smooth(length) || length % 2 == 1) ++length;
  const FftOptions of{.length = length};
  const Value y = irfft(complex_mul(rfft(x, -1, of), rfft(h, -1, of)), -1, of);
  const size_t last = y.shape().size() - 1;
  const int64_t count = mode == "full"   ? full
                        : mode == "same" ? a
                                         : std::max(a, b) - std::min(a, b) + 1;
  const int64_t first = mode == "full" ? 0 : mode == "same" ? (b - 1) / 2 : std::min(a, b) - 1;
  return slice_axis(y, last, first, first + count);
}

}  // namespace rlx
