// fourier(x, turns): of lines of n complex numbers, x [.., n, 2], scale times the sum over t of
// x_t exp(-2 pi i k t / n), or + where it is inverse. n has no prime factor beyond 7, and turns
// holds exp(-2 pi i t / n): kernels' own sines are too far off. fft.cpp makes other lengths of it.

#include "rlx/ops/fourier.h"

#include <algorithm>

#include "rlx/base/fourier.h"
#include "rlx/ops/kernel.h"
#include "rlx/ops/ops_fft.h"
#include "rlx/ops/views.h"

namespace rlx {
namespace {

using Complex = std::complex<double>;

Types infer(const InferSite& site) {
  const TensorType &x = site.in(0), &turns = site.in(1);
  const size_t rank = x.shape.size();
  require(is_float(x.dtype) && rank >= 2 && x.shape.back().is(2), "fourier: x is ", x,
          ", it needs floats whose last dim is 2, the parts of a number");
  const Dim& length = x.shape[rank - 2];
  require(length.is_number() && is_smooth(length.number()), "fourier: a length of ", length,
          " is not a product of 2, 3, 5 and 7");
  require(is_float(turns.dtype) && turns.shape == Dims{length, 2}, "fourier: turns is ", turns,
          ", of ", length, " numbers it is floats of [", length, ", 2]");
  return {x};
}

// ---- Reference ----

// By the first of `radices`: n / radix transforms of `radix`, and radix ones of the rest.
void transform(const Complex* x, int64_t step, int64_t n, const int* radices, double sign,
               Complex* y) {
  if (n == 1) {
    *y = *x;
    return;
  }
  const int64_t radix = *radices, m = n / radix;
  for (int64_t j = 0; j < radix; ++j)
    transform(x + j * step, step * radix, m, radices + 1, sign, y + j * m);
  std::vector<Complex> parts(static_cast<size_t>(radix));
  for (int64_t k = 0; k < m; ++k) {
    for (int64_t j = 0; j < radix; ++j) parts[size_t(j)] = y[j * m + k];
    for (int64_t i = 0; i < radix; ++i) {
      Complex sum = 0;
      for (int64_t j = 0; j < radix; ++j) {
        const Turn turn = turn_of(j * (k + i * m) % n, n);
        sum += parts[size_t(j)] * Complex(turn.cosine, sign * turn.sine);
      }
      y[i * m + k] = sum;
    }
  }
}

void reference(const ReferenceSite& site) {
  const Tensor& x = site.in(0);
  const int64_t n = x.shape()[x.shape().size() - 2];
  const double scale = site.attrs.get<double>("scale");
  std::vector<Complex> line(static_cast<size_t>(n));
  for (int64_t at = 0; at < x.count(); at += 2 * n) {
    for (int64_t t = 0; t < n; ++t) line[size_t(t)] = {x.at(at + 2 * t), x.at(at + 2 * t + 1)};
    const std::vector<Complex> y = transformed(line, site.attrs.get<bool>("inverse"));
    for (int64_t k = 0; k < n; ++k) {
      site.out().set(at + 2 * k, y[size_t(k)].real() * scale);
      site.out().set(at + 2 * k + 1, y[size_t(k)].imag() * scale);
    }
  }
}

// ---- Kernels ----

constexpr int64_t kBlock = 1024;  // numbers in workgroup memory, twice

// The lengths of the passes over memory: one where a line fits workgroup memory, else as few as
// there can be while a workgroup still has several of them side by side.
std::vector<int64_t> passes_of(int64_t n) {
  constexpr int64_t kMost = kBlock / 8;
  if (n <= kBlock) return {n};
  for (size_t count = 2;; ++count) {
    std::vector<int64_t> passes(count, 1);
    int64_t rest = n;
    for (const int64_t prime : {7, 5, 3, 2})
      for (; rest % prime == 0; rest /= prime)
        *std::min_element(passes.begin(), passes.end()) *= prime;
    if (*std::max_element(passes.begin(), passes.end()) <= kMost) return passes;
  }
}

Steps lower(const LowerSite& site) {
  const TensorType& type = site.in(0);
  const int64_t n = type.shape[type.shape.size() - 2].number();
  const Dim lines = product(type.shape, 0, type.shape.size() - 2);
  const std::vector<int64_t> passes = passes_of(n);
  const bool inverse = site.attrs().get<bool>("inverse");
  Steps steps;
  Operand from = site.read("x", 0);
  int64_t done = 1;
  for (size_t i = 0; i < passes.size(); ++i) {
    const bool is_last = i + 1 == passes.size();
    const Operand to =
        is_last ? site.write("y") : site.temporary("y", {DType::f32, {lines, Dim(n), Dim(2)}});
    const int64_t length = passes[i], each = kBlock / length;
    Dims radices(8, Dim(0));  // as many as any length up to a block has
    const std::vector<int> radices_here = radices_of(length);
    std::copy(radices_here.begin(), radices_here.end(), radices.begin());
    const Dim columns = lines * Dim(n / length);
    steps.add(Dispatch{
        .kernel = kernel("fourier"),
        .operands = {from, site.read("turns", 1), to},
        .constants = {{"BLOCK", kBlock}},
        .params = {{"columns", columns},
                   {"each", Dim(each)},
                   {"apart", Dim(n / length)},
                   {"length", Dim(length)},
                   {"done", Dim(done)},
                   {"stages", Dim(static_cast<int64_t>(radices_here.size()))},
                   {"radices", radices},
                   {"swap_in", Dim(inverse && i == 0 ? 1 : 0)},
                   {"swap_out", Dim(inverse && is_last ? 1 : 0)},
                   {"scale", is_last ? site.attrs().get<double>("scale") : 1.0}},
        .workgroups = ceil_div(columns, each),
    });
    from = LowerSite::named(to, "x", Access::read);
    done *= length;
  }
  return steps;
}

// The matrix is symmetric: its adjoint is its conjugate.
Gradients gradient(const GradientSite& site) {
  return {fourier(site.dy(), site.in(1), !site.attrs().get<bool>("inverse"),
                  site.attrs().get<double>("scale")),
          std::nullopt};
}

}  // namespace

std::vector<Complex> transformed(const std::vector<Complex>& x, bool inverse) {
  std::vector<Complex> y(x.size());
  const std::vector<int> radices = radices_of(static_cast<int64_t>(x.size()));
  transform(x.data(), 1, static_cast<int64_t>(x.size()), radices.data(), inverse ? 1 : -1,
            y.data());
  return y;
}

const OpDef& fourier_op() {
  static const OpDef op{
      .name = "fourier",
      .family = "signals",
      .inputs = {2, 2, {"x", "turns"}},
      .attrs = {{"inverse", false}, {"scale", 1.0}},
      .infer = infer,
      .reference = reference,
      .lower = lower,
      .gradient = gradient,
      .never_fails = true,
  };
  return op;
}

Value fourier(Value x, Value turns, bool inverse, double scale) {
  return x.apply(fourier_op(), {x, turns}, {{"inverse", inverse}, {"scale", scale}});
}

}  // namespace rlx
