// Rows for Fourier transforms: the op fourier, and fft and its kin, which are made of it.

#include <functional>

#include "rlx/base/fourier.h"
#include "rlx/base/text.h"
#include "rlx/conformance/op_cases.h"
#include "rlx/ops/ops_fft.h"

namespace rlx {
namespace {

// A transform has about as many roundings, one behind the other, as its length has twos; their
// sizes add up at worst: ulps of the largest grow with this, not with its root.
int64_t fft_terms(int64_t n, int64_t transforms = 1) {
  int64_t levels = 1;
  for (; n > 1; n = (n + 1) / 2) ++levels;
  return transforms * transforms * levels * levels;
}

CaseInput turns(int64_t n) {
  Tensor tensor(DType::f32, {n, 2});
  for (int64_t t = 0; t < n; ++t) {
    const Turn turn = turn_of(t, n);
    tensor.set(2 * t, turn.cosine);
    tensor.set(2 * t + 1, 0 - turn.sine);
  }
  return given(tensor);
}

std::vector<OpCase> fourier_rows() {
  std::vector<OpCase> cases;
  const auto row = [&](const TensorType& x, const Attrs& attrs, const char* why,
                       const SymbolValues& symbols = {}) {
    const int64_t n = x.shape[x.shape.size() - 2].number();
    cases.push_back({.op = "fourier",
                     .inputs = {normal(x), turns(n)},
                     .attrs = attrs,
                     .why = why,
                     .terms = fft_terms(n),
                     .symbols = symbols,
                     .gradient = n <= 256});
  };
  row(f32({3, 1, 2}), {}, "one number");
  row(f32({5, 2, 2}), {{"scale", 0.5}}, "a factor");
  row(f32({2, 3, 2}), {{"inverse", true}}, "three, backwards");
  row(f32({2, 3, 4, 2}), {}, "four");
  row(f32({17, 5, 2}), {{"inverse", true}}, "five, more lines than lanes");
  row(f32({7, 7, 2}), {}, "seven");
  row(f32({3, 8, 2}), {{"inverse", true}, {"scale", 0.125}}, "eight, both attributes");
  row(f32({33, 60, 2}), {}, "several radices");
  row(f32({3, 210, 2}), {{"inverse", true}}, "all odd radices");
  row(f32({16, 1000, 2}), {}, "as many lines as lanes");
  row(f32({1, 1024, 2}), {}, "all of a workgroup's memory");
  row(f32({2, 1029, 2}), {{"inverse", true}}, "two passes, odd radices");
  row(f32({1, 4096, 2}), {{"scale", 0.015625}}, "two passes");
  row(f32({1, 32768, 2}), {{"inverse", true}}, "three passes");
  row(f32({0, 12, 2}), {}, "nothing");
  row(f32({"n", 12, 2}), {}, "a symbolic number of lines", {{"n", 19}});
  row(type(DType::f16, {3, 63, 2}), {}, "f16");
  return cases;
}

std::vector<OpCase> half_spectrum_rows() {
  std::vector<OpCase> cases;
  const auto row = [&](const TensorType& x, int64_t half, const Attrs& attrs, const char* why,
                       const SymbolValues& symbols = {}) {
    Tensor first(DType::f32, {half + 1, 2});
    for (int64_t k = 0; k <= half; ++k) {
      const Turn turn = turn_of(k, 2 * half);
      first.set(2 * k, turn.cosine);
      first.set(2 * k + 1, 0 - turn.sine);
    }
    cases.push_back({.op = "half_spectrum",
                     .inputs = {normal(x), given(first)},
                     .attrs = attrs,
                     .why = why,
                     .terms = 4,
                     .symbols = symbols});
  };
  row(f32({3, 1, 2}), 1, {}, "two samples");
  row(f32({3, 2, 2}), 1, {{"inverse", true}}, "two samples, backwards");
  row(f32({2, 3, 2}), 3, {{"ends", 2.0}}, "a factor for the ends");
  row(f32({2, 4, 2}), 3, {{"inverse", true}, {"ends", 0.5}}, "both attributes");
  row(f32({5, 3, 63, 2}), 63, {}, "odd, more axes");
  row(f32({33, 65, 2}), 64, {{"inverse", true}}, "even, backwards");
  row(f32({2, 513, 2}), 513, {}, "longer than a workgroup");
  row(f32({0, 4, 2}), 4, {}, "nothing");
  row(f32({"n", 4, 2}), 4, {}, "a symbolic number of lines", {{"n", 19}});
  row(type(DType::f16, {3, 7, 2}), 7, {}, "f16");
  return cases;
}

using Compose = std::function<Value(Value)>;

void add(std::vector<OpCase>& cases, const char* op, const TensorType& x, int64_t length,
         const char* why, const Compose& compose, int64_t transforms = 1,
         const SymbolValues& symbols = {}) {
  cases.push_back({.op = op,
                   .inputs = {normal(x)},
                   .why = why,
                   .terms = fft_terms(length, transforms),
                   .symbols = symbols,
                   .gradient = length <= 300,
                   .compose = [compose](const Values& v) -> Values { return {compose(v[0])}; }});
}

std::vector<OpCase> fft_rows() {
  std::vector<OpCase> cases;
  const auto forward = [&](const TensorType& x, int64_t axis, const FftOptions& o, int64_t length,
                           const char* why, const SymbolValues& symbols = {}) {
    add(
        cases, "fft", x, length, why, [=](Value v) { return fft(v, axis, o); },
        is_smooth(length) ? 1 : 2, symbols);
  };
  const auto inverse = [&](const TensorType& x, int64_t axis, const FftOptions& o, int64_t length,
                           const char* why) {
    add(
        cases, "ifft", x, length, why, [=](Value v) { return ifft(v, axis, o); },
        is_smooth(length) ? 1 : 2);
  };
  forward(f32({3, 63, 2}), -1, {}, 63, "the last axis");
  forward(f32({2, 15, 3, 2}), 1, {}, 15, "an axis in the middle");
  forward(f32({9, 2, 5, 2}), 0, {.norm = "ortho"}, 9, "the first axis, ortho");
  forward(f32({2, 65, 2}), -1, {}, 65, "a factor of 13: a chirp");
  forward(f32({257, 2}), 0, {.norm = "forward"}, 257, "a prime, forward");
  forward(f32({1, 1031, 2}), -1, {}, 1031, "a longer prime");
  forward(f32({2, 9, 2}), -1, {.length = 16}, 16, "zeros follow");
  forward(f32({2, 9, 2}), -1, {.length = 4}, 4, "cut");
  forward(f32({"n", 11, 2}), -1, {}, 11, "a symbolic batch", {{"n", 3}});
  forward(type(DType::f16, {2, 33, 2}), -1, {}, 33, "f16");
  forward(f32({0, 13, 2}), -1, {}, 13, "nothing");
  inverse(f32({3, 63, 2}), -1, {}, 63, "the last axis");
  inverse(f32({2, 17, 3, 2}), 1, {.norm = "ortho"}, 17, "a prime in the middle, ortho");
  inverse(f32({2, 9, 2}), -1, {.length = 11, .norm = "forward"}, 11, "zeros follow, forward");
  inverse(f32({1, 1, 2}), -1, {}, 1, "one number");
  inverse(f32({0, 6, 2}), -1, {}, 6, "nothing");
  return cases;
}

std::vector<OpCase> real_rows() {
  std::vector<OpCase> cases;
  const auto forward = [&](const TensorType& x, int64_t axis, const FftOptions& o, int64_t length,
                           const char* why, const SymbolValues& symbols = {}) {
    add(
        cases, "rfft", x, length, why, [=](Value v) { return rfft(v, axis, o); }, 2, symbols);
  };
  const auto inverse = [&](const TensorType& x, int64_t axis, const FftOptions& o, int64_t length,
                           const char* why) {
    add(
        cases, "irfft", x, length, why, [=](Value v) { return irfft(v, axis, o); }, 2);
  };
  forward(f32({3, 63}), -1, {}, 63, "odd");
  forward(f32({3, 64}), -1, {}, 64, "even");
  forward(f32({2, 65, 2}), 1, {.norm = "ortho"}, 65, "a chirp in the middle, ortho");
  forward(f32({2, 26}), -1, {.norm = "forward"}, 26, "half of it is a prime, forward");
  forward(f32({2, 1}), -1, {}, 1, "one sample");
  forward(f32({2, 2}), -1, {}, 2, "two samples");
  forward(f32({2, 9}), -1, {.length = 12}, 12, "zeros follow");
  forward(f32({2, 9}), -1, {.length = 4}, 4, "cut");
  forward(f32({1, 2062}), -1, {}, 2062, "long");
  forward(f32({"n", 10}), -1, {}, 10, "a symbolic batch", {{"n", 3}});
  forward(type(DType::f16, {2, 30}), -1, {}, 30, "f16");
  inverse(f32({3, 33, 2}), -1, {}, 64, "even");
  inverse(f32({3, 32, 2}), -1, {.length = 63}, 63, "odd");
  inverse(f32({14, 2, 2}), 0, {.norm = "ortho"}, 26, "the first axis, ortho");
  inverse(f32({2, 7, 2}), -1, {.length = 20, .norm = "forward"}, 20, "zeros follow, forward");
  inverse(f32({2, 9, 2}), -1, {.length = 6}, 6, "cut");
  inverse(f32({2, 1, 2}), -1, {.length = 1}, 1, "one sample");
  forward(f32({0, 8}), -1, {}, 8, "nothing");
  inverse(f32({0, 5, 2}), -1, {}, 8, "nothing");
  inverse(f32({5, 65, 2}), -1, {}, 128, "more than a workgroup");
  return cases;
}

std::vector<OpCase> several_axes_rows() {
  std::vector<OpCase> cases;
  add(
      cases, "fftn", f32({6, 5, 2}), 30, "all axes", [](Value v) { return fftn(v); }, 2);
  add(
      cases, "fftn", f32({4, 6, 5, 2}), 120, "two axes, cut and followed by zeros",
      [](Value v) {
        return fftn(v, {.axes = {0, -1}, .lengths = {3, 8}, .norm = "ortho"});
      },
      2);
  add(
      cases, "fftn", f32({3, 7, 1, 2}), 21, "an axis of 1", [](Value v) { return fftn(v); }, 2);
  add(
      cases, "ifftn", f32({6, 11, 2}), 66, "all axes", [](Value v) { return ifftn(v); }, 3);
  add(
      cases, "ifftn", f32({2, 6, 4, 2}), 24, "the last two, forward",
      [](Value v) {
        return ifftn(v, {.axes = {1, 2}, .norm = "forward"});
      },
      2);
  add(cases, "ifftn", f32({1, 1, 2}), 1, "one number", [](Value v) { return ifftn(v); });
  add(
      cases, "rfftn", f32({5, 6}), 30, "all axes", [](Value v) { return rfftn(v); }, 3);
  add(
      cases, "rfftn", f32({3, 4, 7}), 28, "the last two",
      [](Value v) {
        return rfftn(v, {.axes = {1, 2}});
      },
      3);
  add(
      cases, "rfftn", f32({3, 9}), 30, "lengths, ortho",
      [](Value v) {
        return rfftn(v, {.axes = {0, 1}, .lengths = {3, 10}, .norm = "ortho"});
      },
      3);
  add(
      cases, "irfftn", f32({5, 4, 2}), 30, "all axes", [](Value v) { return irfftn(v); }, 3);
  add(
      cases, "irfftn", f32({3, 4, 5, 2}), 36, "an odd length",
      [](Value v) {
        return irfftn(v, {.axes = {1, 2}, .lengths = {4, 9}});
      },
      3);
  add(
      cases, "irfftn", f32({4, 6, 2}), 40, "forward",
      [](Value v) { return irfftn(v, {.norm = "forward"}); }, 3);
  const FftnOptions last_two{.axes = {1, 2}};
  const auto both_ends = [&](const char* op, const Dims& tail, int64_t length,
                             const std::function<Value(Value)>& compose) {
    for (const int64_t batch : {0, 5}) {
      Dims shape{batch};
      shape.insert(shape.end(), tail.begin(), tail.end());
      add(cases, op, {DType::f32, shape}, length, batch ? "more than a workgroup" : "nothing",
          compose, 3);
    }
  };
  both_ends("fftn", {5, 12, 2}, 60, [=](Value v) { return fftn(v, last_two); });
  both_ends("ifftn", {5, 12, 2}, 60, [=](Value v) { return ifftn(v, last_two); });
  both_ends("rfftn", {6, 10}, 60, [=](Value v) { return rfftn(v, last_two); });
  both_ends("irfftn", {6, 7, 2}, 72, [=](Value v) { return irfftn(v, last_two); });
  return cases;
}

std::vector<OpCase> number_rows() {
  std::vector<OpCase> cases;
  const auto frequencies = [&](const char* op, int64_t n, double spacing, const char* why) {
    const bool half = op[0] == 'r';
    cases.push_back({.op = op,
                     .inputs = {normal(f32({}))},
                     .why = why,
                     .gradient = false,
                     .compose = [=](const Values& v) -> Values {
                       return {half ? rfftfreq(v[0], n, spacing) : fftfreq(v[0], n, spacing)};
                     }});
  };
  for (const char* op : {"fftfreq", "rfftfreq"}) {
    frequencies(op, 9, 1, "odd");
    frequencies(op, 10, 0.25, "even, a spacing");
    frequencies(op, 1, 1, "one");
  }
  const auto product = [&](const TensorType& a, const TensorType& b, const char* why) {
    cases.push_back(
        {.op = "complex_mul",
         .inputs = {normal(a), normal(b)},
         .why = why,
         .terms = 2,
         .compose = [](const Values& v) -> Values { return {complex_mul(v[0], v[1])}; }});
  };
  product(f32({3, 65, 2}), f32({3, 65, 2}), "each by each");
  product(f32({3, 63, 2}), f32({63, 2}), "broadcast");
  product(f32({1, 2}), f32({257, 2}), "one by many");
  product(f32({0, 2}), f32({0, 2}), "nothing");
  for (const auto& x : {f32({3, 65, 2}), f32({2}), f32({0, 2}), type(DType::f16, {63, 2})})
    cases.push_back({.op = "complex_power",
                     .inputs = {normal(x)},
                     .why = text("of ", x),
                     .terms = 2,
                     .compose = [](const Values& v) -> Values { return {complex_power(v[0])}; }});
  return cases;
}

}  // namespace

std::vector<OpCase> fft_cases() {
  std::vector<OpCase> all;
  for (const auto& cases : {fourier_rows(), half_spectrum_rows(), fft_rows(), real_rows(),
                            several_axes_rows(), number_rows()})
    all.insert(all.end(), cases.begin(), cases.end());
  return all;
}

}  // namespace rlx
