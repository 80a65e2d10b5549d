// Rows for signals: frames, windows, spectra, mel bands. All are made of other ops.

#include <functional>

#include "rlx/conformance/op_cases.h"
#include "rlx/ops/ops_signal.h"

namespace rlx {
namespace {

std::vector<OpCase> dft_rows() {
  std::vector<OpCase> cases;
  // Sums of as many terms as there are samples, of which some cancel: errors are of their size.
  const auto row = [&](const TensorType& x, int64_t axis, const DftOptions& options, int64_t terms,
                       const char* why, SymbolValues symbols = {}) {
    cases.push_back({.op = "dft",
                     .inputs = {normal(x)},
                     .why = why,
                     .terms = terms,
                     .symbols = std::move(symbols),
                     .compose = [axis, options](const Values& v) -> Values {
                       return {dft(v[0], axis, options)};
                     }});
  };
  row(f32({2, 7, 1}), 1, {}, 14, "real numbers, an odd length");
  row(f32({2, 8, 3, 2}), 1, {}, 16, "complex numbers, an axis in the middle");
  row(f32({3, 63, 2}), -2, {.inverse = true}, 126, "inverse");
  row(f32({2, 65, 1}), 1, {.onesided = true}, 65, "one side");
  row(f32({2, 9, 1}), 1, {.length = 16}, 9, "longer than the samples");
  row(f32({2, 9, 2}), 1, {.length = 4}, 8, "shorter than the samples");
  row(f32({1, 257, 1}), 1, {.onesided = true}, 257, "longer than a workgroup");
  row(f32({0, 9, 1}), 1, {}, 9, "nothing");
  row(f32({3, 1, 2}), 1, {}, 2, "one sample");
  row(f32({"n", 12, 1}), 1, {}, 12, "a symbolic batch", {{"n", 3}});
  return cases;
}

std::vector<OpCase> stft_rows() {
  std::vector<OpCase> cases;
  const auto row = [&](const TensorType& x, int64_t step, int64_t length, bool window,
                       bool onesided, const char* why, SymbolValues symbols = {}) {
    std::vector<CaseInput> inputs{normal(x)};
    if (window) inputs.push_back(positive(f32({length})));
    cases.push_back({.op = "stft",
                     .inputs = inputs,
                     .why = why,
                     .terms = 4 * length,
                     .symbols = std::move(symbols),
                     .compose = [step, length, onesided](const Values& v) -> Values {
                       return {stft(v[0], step, length, v.size() > 1 ? v[1] : Value{}, onesided)};
                     }});
  };
  row(f32({2, 37, 1}), 5, 9, true, true, "frames that overlap, and a window");
  row(f32({1, 30, 1}), 10, 8, false, true, "frames apart");
  row(f32({1, 30, 2}), 7, 8, true, false, "complex numbers");
  row(f32({1, 5, 1}), 2, 8, false, true, "too short for a frame");
  row(f32({1, "n", 1}), 4, 8, true, true, "a symbolic length", {{"n", 29}});
  return cases;
}

std::vector<OpCase> window_rows() {
  std::vector<OpCase> cases;
  const auto row = [&](int64_t size, DType size_dtype, const Floats& terms, bool periodic,
                       DType dtype, const char* why) {
    Tensor number(size_dtype, {});
    number.set_integer(0, size);
    cases.push_back({.op = "cosine_window",
                     .inputs = {given(number)},
                     .why = why,
                     .terms = 8,
                     .gradient = false,
                     .compose = [terms, periodic, dtype](const Values& v) -> Values {
                       return {cosine_window(v[0], terms, periodic, dtype)};
                     }});
  };
  row(10, DType::i32, {0.5, 0.5}, true, DType::f32, "Hann, periodic");
  row(65, DType::i64, {0.42, 0.5, 0.08}, false, DType::f32, "Blackman, symmetric");
  row(1031, DType::i64, {25.0 / 46, 21.0 / 46}, true, DType::f16, "Hamming, in f16");
  row(0, DType::i64, {0.5, 0.5}, true, DType::f32, "nothing");
  return cases;
}

using Compose = std::function<Value(const Values&)>;
OpCase made(const char* op, const std::vector<CaseInput>& inputs, const char* why, int64_t terms,
            const Compose& compose, const SymbolValues& symbols = {}) {
  return {.op = op,
          .inputs = inputs,
          .why = why,
          .terms = terms,
          .symbols = symbols,
          .compose = [compose](const Values& v) -> Values { return {compose(v)}; }};
}

std::vector<OpCase> frame_rows() {
  std::vector<OpCase> cases;
  const auto plain = [&](const TensorType& x, int64_t step, int64_t length, const char* why,
                         const SymbolValues& symbols = {}) {
    cases.push_back(made(
        "frames", {normal(x)}, why, 1, [=](const Values& v) { return frames(v[0], step, length); },
        symbols));
  };
  plain(f32({65}), 3, 7, "that overlap");
  plain(f32({2, 3, 30}), 9, 8, "apart, of several signals");
  plain(f32({2, 5}), 1, 8, "too short for one");
  plain(f32({2, "n"}), 4, 8, "a symbolic length", {{"n", 29}});
  plain(f32({0, 20}), 4, 8, "of no signal");
  plain(f32({3, 101}), 5, 9, "more than a workgroup");
  const auto back = [&](const TensorType& x, int64_t step, int64_t length, bool window,
                        const char* why, const SymbolValues& symbols = {}) {
    std::vector<CaseInput> inputs{normal(x)};
    if (window) inputs.push_back(positive(f32({length})));
    cases.push_back(made(
        "istft", inputs, why, 100,
        [=](const Values& v) { return istft(v[0], step, length, v.size() > 1 ? v[1] : Value{}); },
        symbols));
  };
  back(f32({2, 7, 5, 2}), 4, 8, true, "frames that overlap, and a window");
  back(f32({1, 3, 5, 2}), 9, 9, false, "side by side");
  back(f32({1, 3, 5, 2}), 11, 8, true, "apart: nothing in between");
  back(f32({1, "n", 4, 2}), 2, 6, true, "a symbolic number of frames", {{"n", 5}});
  back(f32({0, 7, 5, 2}), 4, 8, true, "of no signal");
  back(f32({3, 9, 5, 2}), 4, 8, true, "more than a workgroup");
  return cases;
}

std::vector<OpCase> power_rows() {
  std::vector<OpCase> cases;
  const auto row = [&](const char* op, const TensorType& x, const SpectrumOptions& options,
                       const char* why, const SymbolValues& symbols = {}) {
    const bool is_psd = op[0] == 'p';
    cases.push_back(made(
        op, {normal(x)}, why, 100,
        [=](const Values& v) { return is_psd ? psd(v[0], options) : welch(v[0], options); },
        symbols));
  };
  row("psd", f32({63}), {}, "odd");
  row("psd", f32({2, 64}), {.rate = 8, .window = "boxcar"}, "as SciPy's periodogram");
  row("psd", f32({3, 65}), {.window = "hamming", .detrend = false, .scaling = "none"}, "as it is");
  row("psd", f32({1, 30}), {.rate = 3, .window = "blackman", .scaling = "spectrum"}, "spectrum");
  row("psd", f32({0, 20}), {}, "of no signal");
  row("psd", f32({3, 90}), {}, "more than a workgroup");
  row("welch", f32({0, 64}), {.length = 16}, "of no signal");
  row("welch", f32({2, 257}), {.length = 32}, "half over");
  row("welch", f32({100}), {.rate = 100, .length = 25, .step = 10}, "an odd length, a step");
  row("welch", f32({70}), {.scaling = "spectrum"}, "shorter than a segment");
  row("welch", f32({2, "n"}), {.length = 16, .detrend = false, .scaling = "none"},
      "a symbolic length", {{"n", 65}});
  const auto peaks = [&](const TensorType& x, int64_t k, const SpectrumOptions& options,
                         const char* why) {
    cases.push_back({.op = "welch_peaks",
                     .inputs = {normal(x)},
                     .why = why,
                     .terms = 100,
                     .compose = [=](const Values& v) -> Values {
                       const TopK found = welch_peaks(v[0], k, options);
                       return {found.values, found.indices};
                     }});
  };
  peaks(f32({257}), 3, {.length = 32}, "three of one signal");
  peaks(f32({2, 130}), 1, {.length = 30, .scaling = "none"}, "one of two");
  peaks(f32({65}), 9, {.length = 16, .step = 4, .detrend = false}, "all there are");
  peaks(f32({0, 64}), 2, {.length = 16}, "of no signal");
  const auto convolution = [&](const TensorType& x, const TensorType& h, const char* mode,
                               const char* why) {
    const std::string how = mode;
    cases.push_back(made("fft_conv", {normal(x), normal(h)}, why, 200,
                         [=](const Values& v) { return fft_conv(v[0], v[1], how); }));
  };
  convolution(f32({65}), f32({7}), "full", "full");
  convolution(f32({3, 63}), f32({8}), "same", "same, broadcast");
  convolution(f32({2, 1, 30}), f32({3, 9}), "valid", "valid, both broadcast");
  convolution(f32({1}), f32({257}), "full", "one sample");
  convolution(f32({0, 20}), f32({5}), "same", "of no signal");
  return cases;
}

std::vector<OpCase> mel_rows() {
  std::vector<OpCase> cases;
  const auto constant = [&](const char* op, const char* why, const std::function<Value(Value)>& f) {
    OpCase row = made(op, {normal(f32({}))}, why, 4, [=](const Values& v) { return f(v[0]); });
    row.gradient = false;
    cases.push_back(row);
  };
  constant("window", "hann", [](Value x) { return window(x, "hann", 65); });
  constant("window", "hamming", [](Value x) { return window(x, "hamming", 64); });
  constant("window", "blackmanharris",
           [](Value x) { return window(x, "blackmanharris", 63, false); });
  constant("window", "nuttall", [](Value x) { return window(x, "nuttall", 30); });
  constant("window", "flattop", [](Value x) { return window(x, "flattop", 31, false); });
  constant("window", "bartlett", [](Value x) { return window(x, "bartlett", 33, false); });
  constant("window", "one", [](Value x) { return window(x, "blackman", 1); });
  constant("mel_filters", "Whisper's", [](Value x) { return mel_filters(x); });
  constant("mel_filters", "HTK, one height", [](Value x) {
    return mel_filters(x, {.rate = 8000,
                           .length = 257,
                           .bands = 13,
                           .low = 100,
                           .high = 3500,
                           .htk = true,
                           .equal_area = false});
  });
  constant("mel_filters", "HTK, one area", [](Value x) {
    return mel_filters(x, {.rate = 22050, .length = 512, .bands = 40, .htk = true});
  });
  constant("mel_filters", "few bands",
           [](Value x) { return mel_filters(x, {.rate = 800, .length = 30, .bands = 4}); });
  constant("mel_filters", "above a low end", [](Value x) {
    return mel_filters(x, {.rate = 8000, .length = 24, .bands = 5, .low = 300, .high = 3000});
  });
  constant("mel_filters", "HTK, few bands", [](Value x) {
    return mel_filters(x, {.length = 26, .bands = 3, .htk = true, .equal_area = false});
  });
  const auto row = [&](const TensorType& x, const LogMelOptions& options, const char* why,
                       const SymbolValues& symbols = {}) {
    cases.push_back(made(
        "log_mel", {normal(x)}, why, 400, [=](const Values& v) { return log_mel(v[0], options); },
        symbols));
  };
  const LogMelOptions few{.mel = {.rate = 800, .length = 40, .bands = 6}, .step = 16};
  LogMelOptions frame = few;
  frame.per_frame = true;
  row(f32({2, 200}), few, "the maximum of a clip");
  row(f32({3, 65}), frame, "the maximum of a frame");
  row(f32({1, "n"}), few, "a symbolic length", {{"n", 129}});
  row(f32({1, 1600}), {}, "as Whisper has it");
  row(f32({0, 200}), few, "of no clip");
  return cases;
}

}  // namespace

std::vector<OpCase> signal_cases() {
  std::vector<OpCase> all;
  for (const auto& cases :
       {dft_rows(), stft_rows(), window_rows(), frame_rows(), power_rows(), mel_rows()})
    all.insert(all.end(), cases.begin(), cases.end());
  return all;
}

}  // namespace rlx
