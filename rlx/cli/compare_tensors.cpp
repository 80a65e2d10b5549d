#include "rlx/cli/compare_tensors.h"

#include <algorithm>
#include <cmath>

#include "rlx/base/error.h"
#include "rlx/cli/complex.h"

namespace rlx::cli {

double default_tolerance(DType dtype) {
  if (!is_float(dtype) && dtype != DType::c64) return 0;
  // 1e-3 for f32, where a deep graph of sums may end; what is stored coarser is off by some
  // roundings of its own.
  constexpr double kSums = 1e-3, kRoundings = 16;
  return std::max(kSums, kRoundings * info(dtype).epsilon);
}

namespace {

bool alike(double x, double y) { return x == y || (std::isnan(x) && std::isnan(y)); }

}  // namespace

Difference compare_tensors(const Tensor& a, const Tensor& b, double tolerance) {
  if (a.dtype() != b.dtype() || a.shape() != b.shape())
    fail(ErrorKind::invalid_input, "compare: one is ", a.type(), ", the other ", b.type());
  constexpr double kSmallest = 1e-3;  // below this, differences count as if numbers were this large
  Difference found;
  found.tolerance = default_tolerance(a.dtype());
  if (tolerance >= 0 && found.tolerance > 0) found.tolerance = tolerance;
  double largest = kSmallest;
  for (int64_t i = 0; i < a.count(); ++i) {
    const std::complex<double> x = complex_at(a, i), y = complex_at(b, i);
    for (const double size : {std::abs(x), std::abs(y)})
      if (std::isfinite(size)) largest = std::max(largest, size);
    const bool same = is_integer(a.dtype())
                          ? a.integer_at(i) == b.integer_at(i)
                          : alike(x.real(), y.real()) && alike(x.imag(), y.imag());
    if (same) continue;
    double apart = std::abs(x - y);
    if (std::isnan(apart)) apart = INFINITY;
    if (is_integer(a.dtype())) apart = std::max(apart, 1.0);  // large ones may round to equal
    if (found.at < 0 || apart > found.absolute) found.at = i, found.absolute = apart;
  }
  found.relative = found.absolute / largest;
  return found;
}

}  // namespace rlx::cli
