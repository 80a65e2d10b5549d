// half_spectrum(x, turns): twice the spectrum of n = 2 h real samples, [.., h + 1, 2], from the
// transform z of h numbers whose parts are those samples, [.., h, 2]:
//   y_k = z_k + conj z_-k - i turns_k (z_k - conj z_-k), turns_k = exp(-2 pi i k / n).
// Inverse, twice z from the spectrum. Frequencies 0 and n / 2 are real and come `ends` times: their
// factor in a gradient is not that of the others.

#include <complex>

#include "rlx/base/fourier.h"
#include "rlx/codegen/each_element.h"
#include "rlx/ops/kernel.h"
#include "rlx/ops/ops_fft.h"
#include "rlx/ops/views.h"

namespace rlx {

const OpDef& half_spectrum_op();

namespace {

struct Extents {
  int64_t half, in, out;  // numbers of a line
  explicit Extents(const Attrs& attrs, int64_t turns) : half(turns - 1), in(half), out(half + 1) {
    if (attrs.get<bool>("inverse")) std::swap(in, out);
  }
};

Types infer(const InferSite& site) {
  const TensorType &x = site.in(0), &turns = site.in(1);
  const size_t rank = x.shape.size();
  require(is_float(x.dtype) && rank >= 2 && x.shape.back().is(2), "half_spectrum: x is ", x,
          ", it needs floats whose last dim is 2, the parts of a number");
  require(is_float(turns.dtype) && turns.shape.size() == 2 && turns.shape[0].is_number() &&
              turns.shape[0].number() > 1 && turns.shape[1].is(2),
          "half_spectrum: turns is ", turns, ", it needs floats of [numbers, 2]");
  const Extents extents(site.attrs, turns.shape[0].number());
  require(x.shape[rank - 2].is(extents.in), "half_spectrum: x is ", x, ", with ", turns.shape[0],
          " turns it has ", extents.in, " numbers");
  TensorType y = x;
  y.shape[rank - 2] = extents.out;
  return {y};
}

void reference(const ReferenceSite& site) {
  using Complex = std::complex<double>;
  const Tensor& x = site.in(0);
  const bool inverse = site.attrs.get<bool>("inverse");
  const double ends = site.attrs.get<double>("ends");
  const Extents extents(site.attrs, site.in(1).shape()[0]);
  const int64_t h = extents.half;
  for (int64_t line = 0; line < x.count() / (2 * extents.in); ++line) {
    const auto number = [&](int64_t k) {
      const int64_t at = 2 * (line * extents.in + k % extents.in);
      return Complex(x.at(at), inverse && k % h == 0 ? 0 : x.at(at + 1));
    };
    for (int64_t k = 0; k < extents.out; ++k) {
      const Turn turn = turn_of(k, 2 * h);
      const Complex a = number(k), b = std::conj(number(h - k)),
                    t = Complex(-turn.sine, inverse ? turn.cosine : -turn.cosine);
      Complex y = (a + b + t * (a - b)) * (k % h == 0 ? ends : 1.0);
      if (!inverse && k % h == 0) y = y.real();
      site.out().set(2 * (line * extents.out + k), y.real());
      site.out().set(2 * (line * extents.out + k) + 1, y.imag());
    }
  }
}

Steps lower(const LowerSite& site) {
  const Extents extents(site.attrs(), site.in(1).shape[0].number());
  Dispatch dispatch{.kernel = kernel("half_spectrum"),
                    .operands = {site.read("x", 0), site.read("turns", 1)},
                    .constants = {{"INVERSE", site.attrs().get<bool>("inverse")}},
                    .params = {{"half_count", Dim(extents.half)},
                               {"given", Dim(extents.in)},
                               {"wanted", Dim(extents.out)},
                               {"ends", site.attrs().get<double>("ends")}}};
  return each_element(std::move(dispatch), site.results[0], site.traits);
}

// It is its own transpose the other way round, but for the ends: of 0 and n / 2, each of which is
// made of both parts of one number, the others of two numbers.
Gradients gradient(const GradientSite& site) {
  const bool inverse = site.attrs().get<bool>("inverse");
  return {half_spectrum(site.dy(), site.in(1), !inverse,
                        site.attrs().get<double>("ends") * (inverse ? 0.5 : 2)),
          std::nullopt};
}

}  // namespace

const OpDef& half_spectrum_op() {
  static const OpDef op{
      .name = "half_spectrum",
      .family = "signals",
      .inputs = {2, 2, {"x", "turns"}},
      .attrs = {{"inverse", false}, {"ends", 1.0}},
      .infer = infer,
      .reference = reference,
      .lower = lower,
      .gradient = gradient,
      .never_fails = true,
  };
  return op;
}

Value half_spectrum(Value x, Value turns, bool inverse, double ends) {
  return x.apply(half_spectrum_op(), {x, turns}, {{"inverse", inverse}, {"ends", ends}});
}

}  // namespace rlx
