// Transforms of every kind of length are within 4 log2(n) ulps of the root mean square of their
// result, beside sums in double, on the CPU and on every adapter found.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <complex>

#include "rlx/conformance/device_test.h"
#include "rlx/conformance/random.h"
#include "rlx/ops/ops_fft.h"
#include "rlx/runtime/program.h"

namespace rlx {
namespace {

using Complex = std::complex<double>;
using Numbers = std::vector<Complex>;

constexpr double kPi = 3.14159265358979323846;
constexpr size_t kTerms = 1 << 16, kFew = 8;  // of sums, and how many of them at least

Tensor noise(const Shape& shape) {
  Random random(joined(shape));
  Tensor tensor(DType::f32, shape);
  for (int64_t i = 0; i < tensor.count(); ++i) tensor.set(i, 2 * random.uniform() - 1);
  return tensor;
}
Numbers pairs(const Tensor& x) {
  Numbers numbers;
  for (int64_t i = 0; i < x.count(); i += 2) numbers.emplace_back(x.at(i), x.at(i + 1));
  return numbers;
}
Numbers reals(const Tensor& x) {
  Numbers numbers;
  for (int64_t i = 0; i < x.count(); ++i) numbers.emplace_back(x.at(i), 0);
  return numbers;
}
// The spectrum of n real numbers that has these for its first half.
Numbers mirrored(Numbers bins, int64_t n) {
  bins.resize(static_cast<size_t>(n));
  bins[0] = bins[0].real();
  for (size_t k = 1; 2 * k <= bins.size(); ++k) bins[bins.size() - k] = std::conj(bins[k]);
  if (n % 2 == 0) bins[bins.size() / 2] = bins[bins.size() / 2].real();
  return bins;
}

double ulp_of(double x) { return std::ldexp(1.0, std::ilogb(x) - 23); }

// e^(-+2 pi i t / n) for all t.
Numbers turns_of(int64_t n, bool inverse) {
  Numbers turns(static_cast<size_t>(n));
  for (size_t t = 0; t < turns.size(); ++t)
    turns[t] =
        std::polar(1.0, (inverse ? 2 : -2) * kPi * static_cast<double>(t) / static_cast<double>(n));
  return turns;
}

// The sums over one axis after the other that give a bin of the transform of x.
class Sums {
 public:
  Sums(const Numbers& x, Shape shape, bool inverse) : x_(x), shape_(std::move(shape)) {
    for (const int64_t n : shape_) turns_.push_back(turns_of(n, inverse));
  }
  Complex at(const Shape& bin) const { return part(bin, 0, 0); }

 private:
  // Of the elements that begin at `row`, counted in elements of this axis.
  Complex part(const Shape& bin, size_t axis, size_t row) const {
    const size_t n = turns_[axis].size(), k = static_cast<size_t>(bin[axis]);
    const bool last = axis + 1 == shape_.size();
    double real = 0, imaginary = 0;
    for (size_t t = 0, at = 0; t < n; ++t, at = (at + k) % n) {
      const Complex x = last ? x_[row * n + t] : part(bin, axis + 1, row * n + t);
      const double a = x.real(), b = x.imag(), c = turns_[axis][at].real(),
                   s = turns_[axis][at].imag();
      real += a * c - b * s;
      imaginary += a * s + b * c;
    }
    return {real, imaginary};
  }

  const Numbers& x_;
  Shape shape_;
  std::vector<Numbers> turns_;
};

// `got` is the transform of x, or the first part of it along the last axis.
void expect_close(const char* what, const Numbers& got, const Numbers& x, const Shape& shape,
                  bool inverse) {
  const double elements = static_cast<double>(x.size()), scale = inverse ? 1 / elements : 1;
  const Sums sums(x, shape, inverse);
  Shape kept = shape;
  kept.back() = static_cast<int64_t>(got.size() * static_cast<size_t>(shape.back()) / x.size());
  double square = 0, worst = 0;
  for (const Complex& each : x) square += std::norm(each);
  const size_t some = std::max(kFew, kTerms / x.size());
  for (size_t k = 0; k < got.size(); k += got.size() / some + 1) {
    Shape bin(shape.size());
    for (size_t d = shape.size(), rest = k; d-- > 0; rest /= static_cast<size_t>(kept[d]))
      bin[d] = static_cast<int64_t>(rest % static_cast<size_t>(kept[d]));
    const Complex wanted = scale * sums.at(bin);
    worst = std::max(
        {worst, std::abs(got[k].real() - wanted.real()), std::abs(got[k].imag() - wanted.imag())});
  }
  // Of all parts of the whole result: what their squares add up to is known.
  const double rms = scale * std::sqrt(square / 2);
  EXPECT_LE(worst, 4 * std::max(1.0, std::log2(elements)) * ulp_of(rms))
      << what << " of " << joined(shape);
}

class FftError : public DeviceTest {
 protected:
  void expect_within_bounds(int64_t n) const {
    const Tensor z = noise({n, 2}), x = noise({n}), bins = noise({n / 2 + 1, 2});
    Graph graph;
    const Value from_z = graph.input("z", z.type()), from_bins = graph.input("bins", bins.type());
    graph.output("fft", fft(from_z));
    graph.output("ifft", ifft(from_z));
    graph.output("rfft", rfft(graph.input("x", x.type())));
    graph.output("irfft", irfft(from_bins, -1, {.length = n}));
    const TensorMap y = compile(graph, {.device = device(), .strict = true})
                            .run({{"z", z}, {"x", x}, {"bins", bins}});
    expect_close("fft", pairs(y.at("fft")), pairs(z), {n}, false);
    expect_close("ifft", pairs(y.at("ifft")), pairs(z), {n}, true);
    expect_close("rfft", pairs(y.at("rfft")), reals(x), {n}, false);
    expect_close("irfft", reals(y.at("irfft")), mirrored(pairs(bins), n), {n}, true);
  }
};
INSTANTIATE_TEST_SUITE_P(EveryDevice, FftError, every_device(), device_name);
class FftErrorLong : public FftError {};
INSTANTIATE_TEST_SUITE_P(EveryDevice, FftErrorLong, every_device(), device_name);

TEST_P(FftError, EveryKindOfLengthIsWithinItsBound) {
  for (const int64_t power_of_2 : {2, 64, 1024, 32768}) expect_within_bounds(power_of_2);
  for (const int64_t smooth : {7, 60, 1000, 1215, 5040}) expect_within_bounds(smooth);
  for (const int64_t with_large_prime : {11, 97, 1031}) expect_within_bounds(with_large_prime);
}

TEST_P(FftError, APrimeWhoseChirpTakesSeveralPassesIsWithinItsBound) { expect_within_bounds(8191); }

TEST_P(FftError, SeveralAxesAreWithinTheBoundOfAllTheirElements) {
  for (const Shape& shape : {Shape{12, 35, 22}, Shape{3, 8192}}) {
    Shape of_pairs = shape;
    of_pairs.push_back(2);
    const Tensor z = noise(of_pairs), x = noise(shape);
    Graph graph;
    const Value from_z = graph.input("z", z.type());
    graph.output("fftn", fftn(from_z));
    graph.output("ifftn", ifftn(from_z));
    graph.output("rfftn", rfftn(graph.input("x", x.type())));
    const TensorMap y =
        compile(graph, {.device = device(), .strict = true}).run({{"z", z}, {"x", x}});
    expect_close("fftn", pairs(y.at("fftn")), pairs(z), shape, false);
    expect_close("ifftn", pairs(y.at("ifftn")), pairs(z), shape, true);
    expect_close("rfftn", pairs(y.at("rfftn")), reals(x), shape, false);
  }
}

TEST_P(FftErrorLong, APrimeOf17BitsIsWithinItsBound) { expect_within_bounds(65537); }
TEST_P(FftErrorLong, AMillionNumbersAreWithinTheirBound) { expect_within_bounds(1 << 20); }

}  // namespace
}  // namespace rlx
