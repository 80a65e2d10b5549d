// Fourier transforms of the CPU beside sums in double, for every instruction set.
#include "rlx/vector/fft.h"

#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <functional>

#include "rlx/base/fourier.h"

namespace rlx::vector {
namespace {

using Complex = std::complex<double>;

std::vector<float> numbers(int64_t count) {
  std::vector<float> x(static_cast<size_t>(2 * count));
  uint32_t state = 12345;
  for (float& v : x)
    v = static_cast<float>(static_cast<int32_t>(state = state * 1664525 + 1013904223)) * 0x1p-31f;
  return x;
}

// Element k of the transform of n numbers that are `step` apart.
Complex element(const float* x, int64_t n, int64_t step, int64_t k) {
  Complex sum = 0;
  for (int64_t t = 0; t < n; ++t) {
    const Turn turn = turn_of(k * t % n, n);
    sum += Complex(x[2 * t * step], x[2 * t * step + 1]) * Complex(turn.cosine, -turn.sine);
  }
  return sum;
}

// Whether y, lines of n side by side, is within 4 log2(n) ulps of its root mean square.
void expect_close(const std::vector<float>& y, int64_t n, int64_t lines,
                  const std::function<Complex(int64_t line, int64_t k)>& wanted) {
  double square = 0, worst = 0;
  const int64_t stride = std::max<int64_t>(1, n / 300);  // of long ones some
  int64_t count = 0;
  for (int64_t line = 0; line < lines; ++line)
    for (int64_t k = 0; k < n; k += stride, ++count) {
      const Complex want = wanted(line, k);
      const size_t at = static_cast<size_t>(2 * (line * n + k));
      square += std::norm(want);
      worst = std::max({worst, std::abs(y[at] - want.real()), std::abs(y[at + 1] - want.imag())});
    }
  const double rms = std::sqrt(square / static_cast<double>(2 * count));
  const double ulp = std::ldexp(1.0, std::ilogb(rms) - 23);
  EXPECT_LE(worst, 4 * std::max(1.0, std::log2(static_cast<double>(n))) * ulp)
      << lines << " of " << n;
}

class Fft : public testing::TestWithParam<Isa> {
 protected:
  void SetUp() override {
    if (GetParam() > best_isa()) GTEST_SKIP() << "this processor does not have it";
    functions_ = fft(GetParam());
  }
  void run(FftLines lines, int64_t count) {
    std::vector<float> scratch(static_cast<size_t>(functions_.scratch(lines.length->length)));
    functions_.lines(lines, {0, count}, scratch.data());
  }
  FftFunctions functions_ = {};
};

TEST_P(Fft, EverySmoothLengthIsWithinItsError) {
  for (int64_t n = 1; n <= 512; ++n) {
    if (!is_smooth(n)) continue;
    const FftLength length(n);
    const int64_t lines = functions_.lanes + 1;
    const std::vector<float> x = numbers(n * lines);
    std::vector<float> y(x.size());
    run({.length = &length, .x = x.data(), .y = y.data(), .x_line = n, .y_line = n}, lines);
    expect_close(y, n, lines, [&](int64_t line, int64_t k) {
      return element(x.data() + 2 * line * n, n, 1, k);
    });
  }
}

TEST_P(Fft, LinesMayLieAcross) {
  for (const int64_t n : {1, 6, 35, 128}) {
    const FftLength length(n);
    const int64_t lines = 2 * functions_.lanes + 3;
    const std::vector<float> x = numbers(n * lines);
    std::vector<float> across(x.size()), y(x.size());
    run({.length = &length,
         .x = x.data(),
         .y = across.data(),
         .x_step = lines,
         .x_line = 1,
         .y_step = lines,
         .y_line = 1},
        lines);
    for (int64_t i = 0; i < n * lines; ++i)
      for (int64_t part = 0; part < 2; ++part)
        y[static_cast<size_t>(2 * (i % lines * n + i / lines) + part)] =
            across[static_cast<size_t>(2 * i + part)];
    expect_close(y, n, lines, [&](int64_t line, int64_t k) {
      return element(x.data() + 2 * line, n, lines, k);
    });
  }
}

TEST_P(Fft, SwappedPartsAreTheInverse) {
  const FftLength length(60);
  const int64_t lines = functions_.lanes + 2;
  const std::vector<float> x = numbers(60 * lines);
  std::vector<float> y(x.size()), back(x.size());
  run({.length = &length, .x = x.data(), .y = y.data(), .x_line = 60, .y_line = 60}, lines);
  run({.length = &length,
       .x = y.data(),
       .y = back.data(),
       .x_line = 60,
       .y_line = 60,
       .swaps_in = true,
       .swaps_out = true,
       .scale = 1.0f / 60},
      lines);
  for (size_t i = 0; i < x.size(); ++i) EXPECT_NEAR(back[i], x[i], 2e-6) << i;
}

TEST_P(Fft, HalvesOfASpectrumAreMadeOfPairs) {
  for (const bool inverse : {false, true})
    for (const int64_t h : {1, 2, 3, 16, 17, 31, 64, 100}) {
      const std::vector<float> x = numbers(h + 1);
      std::vector<float> turns, y(static_cast<size_t>(2 * h + 2), 7.0F);
      for (int64_t k = 0; k <= h; ++k) {
        const Turn turn = turn_of(k, 2 * h);
        turns.push_back(static_cast<float>(turn.cosine));
        turns.push_back(static_cast<float>(-turn.sine));
      }
      fft(GetParam()).half(x.data(), turns.data(), h, inverse, y.data());
      for (int64_t k = 0; k <= h; ++k) {
        const size_t at = static_cast<size_t>(2 * k);
        if (k % h == 0) {  // not its business
          EXPECT_EQ(y[at], 7.0F);
          continue;
        }
        const Complex a(x[at], x[at + 1]), b(x[size_t(2 * (h - k))], -x[size_t(2 * (h - k) + 1)]);
        const Turn turn = turn_of(k, 2 * h);
        const Complex t(-turn.sine, inverse ? turn.cosine : -turn.cosine);
        const Complex wanted = a + b + t * (a - b);
        EXPECT_NEAR(y[at], wanted.real(), 2e-6) << h << ' ' << k;
        EXPECT_NEAR(y[at + 1], wanted.imag(), 2e-6) << h << ' ' << k;
      }
    }
}

TEST_P(Fft, TwoPassesAreOneTransform) {
  for (const int64_t n : {64, 630, 4096, 5040, 65536}) {
    const FftPlan plan(n, 0, functions_.lanes);  // as few lines as can be
    const int64_t rows = plan.first.length, columns = plan.second.length;
    ASSERT_GT(columns, 1) << n;
    const std::vector<float> x = numbers(n);
    std::vector<float> middle(x.size()), y(x.size());
    run({.length = &plan.first,
         .x = x.data(),
         .y = middle.data(),
         .x_step = columns,
         .x_line = 1,
         .y_step = columns,
         .y_line = 1,
         .between = plan.between.data()},
        columns);
    run({.length = &plan.second,
         .x = middle.data(),
         .y = y.data(),
         .x_line = columns,
         .y_step = rows,
         .y_line = 1},
        rows);
    expect_close(y, n, 1, [&](int64_t, int64_t k) { return element(x.data(), n, 1, k); });
  }
}

INSTANTIATE_TEST_SUITE_P(Isas, Fft,
                         testing::Values(Isa::baseline, Isa::sse4, Isa::avx2, Isa::avx512),
                         [](const auto& isa) { return std::string(name_of(isa.param)); });

}  // namespace
}  // namespace rlx::vector
