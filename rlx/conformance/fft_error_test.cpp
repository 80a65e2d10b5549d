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

// `got` is the transform of x, or the first part of it.
void expect_close(const char* what, const Numbers& got, const Numbers& x, bool inverse) {
  const size_t n = x.size();
  const double count = static_cast<double>(n), scale = inverse ? 1 / count : 1;
  std::vector<Complex> turns(n);
  double square = 0, worst = 0;
  for (size_t t = 0; t < n; ++t) {
    turns[t] = std::polar(1.0, (inverse ? 2 : -2) * kPi * static_cast<double>(t) / count);
    square += std::norm(x[t]);
  }
  const size_t some = std::max(kFew, kTerms / n);
  for (size_t k = 0; k < got.size(); k += got.size() / some + 1) {
    double real = 0, imaginary = 0;
    for (size_t t = 0, at = 0; t < n; ++t, at = (at + k) % n) {
      const double a = x[t].real(), b = x[t].imag(), c = turns[at].real(), s = turns[at].imag();
      real += a * c - b * s;
      imaginary += a * s + b * c;
    }
    worst = std::max({worst, std::abs(got[k].real() - scale * real),
                      std::abs(got[k].imag() - scale * imaginary)});
  }
  // Of all parts of the whole result: what their squares add up to is known.
  const double rms = scale * std::sqrt(square / 2);
  EXPECT_LE(worst, 4 * std::max(1.0, std::log2(count)) * ulp_of(rms)) << what << " of " << n;
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
    expect_close("fft", pairs(y.at("fft")), pairs(z), false);
    expect_close("ifft", pairs(y.at("ifft")), pairs(z), true);
    expect_close("rfft", pairs(y.at("rfft")), reals(x), false);
    expect_close("irfft", reals(y.at("irfft")), mirrored(pairs(bins), n), true);
  }
};
INSTANTIATE_TEST_SUITE_P(EveryDevice, FftError, every_device(), device_name);

TEST_P(FftError, EveryKindOfLengthIsWithinItsBound) {
  for (const int64_t power_of_2 : {2, 64, 1024, 32768}) expect_within_bounds(power_of_2);
  for (const int64_t smooth : {7, 60, 1000, 1215, 5040}) expect_within_bounds(smooth);
  for (const int64_t with_large_prime : {11, 97, 1031}) expect_within_bounds(with_large_prime);
}

}  // namespace
}  // namespace rlx
