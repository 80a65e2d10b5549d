// Rows for signals: dft, stft, cosine_window. All are made of other ops.

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

}  // namespace

std::vector<OpCase> signal_cases() {
  std::vector<OpCase> all;
  for (const auto& cases : {dft_rows(), stft_rows(), window_rows()})
    all.insert(all.end(), cases.begin(), cases.end());
  return all;
}

}  // namespace rlx
