#include "rlx/conformance/tolerance.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "rlx/base/text.h"

namespace rlx {
namespace {

double smallest_normal(DType dtype) {
  switch (dtype) {
    case DType::f64:
      return std::numeric_limits<double>::min();
    case DType::f16:
      return 0x1p-14;
    default:
      return 0x1p-126;
  }
}
double largest_finite(DType dtype) {
  switch (dtype) {
    case DType::f64:
      return std::numeric_limits<double>::max();
    case DType::f16:
      return 65504;
    default:
      return std::numeric_limits<float>::max();
  }
}

bool exact(DType dtype) { return !is_float(dtype) && dtype != DType::c64; }

// Complex numbers as twice as many real ones.
std::vector<double> numbers_of(const Tensor& tensor) {
  std::vector<double> numbers;
  if (tensor.dtype() == DType::c64) {
    for (const auto& z : tensor.data<float[2]>()) numbers.insert(numbers.end(), {z[0], z[1]});
    return numbers;
  }
  for (int64_t i = 0; i < tensor.count(); ++i) numbers.push_back(tensor.at(i));
  return numbers;
}

double largest_of(const std::vector<double>& numbers) {
  double largest = 0;
  for (const double x : numbers)
    if (std::isfinite(x)) largest = std::max(largest, std::abs(x));
  return largest;
}

// How far `got` is from `want`, in units of what is allowed; more than 1 is wrong.
double excess(double got, double want, double allowed, DType dtype) {
  if (std::isnan(want)) return std::isnan(got) ? 0 : INFINITY;
  if (std::isnan(got)) return INFINITY;
  if (got == want) return 0;
  // Where rounding decides between the largest number and infinity, either is right.
  const double limit = largest_finite(dtype) * (1 - info(dtype).epsilon);
  if (std::isinf(want) || std::isinf(got)) {
    const double finite = std::isinf(want) ? got : want, infinite = std::isinf(want) ? want : got;
    const bool near = std::isfinite(finite) && std::abs(finite) + allowed >= limit;
    return near && std::signbit(finite) == std::signbit(infinite) ? 0 : INFINITY;
  }
  return allowed > 0 ? std::abs(got - want) / allowed : INFINITY;
}

std::optional<Mismatch> compare_integers(const Tensor& got, const Tensor& want) {
  std::optional<Mismatch> worst;
  for (int64_t i = 0; i < want.count(); ++i) {
    if (got.integer_at(i) == want.integer_at(i)) continue;
    if (!worst) worst = Mismatch{i, got.at(i), want.at(i), std::abs(got.at(i) - want.at(i))};
    ++worst->count;
  }
  return worst;
}

}  // namespace

double allowed_error(const Tolerance& tolerance, DType dtype, double reference, double largest) {
  if (exact(dtype)) return 0;
  const double own = std::isfinite(reference) ? std::abs(reference) : 0;
  const double magnitude = tolerance.terms > 1 ? std::max(own, largest) : own;
  const double compute_eps = info(dtype == DType::f64 ? DType::f64 : DType::f32).epsilon;
  const double roots = std::sqrt(static_cast<double>(tolerance.terms));
  const double computed = tolerance.ulps * tolerance.slack * compute_eps * roots * magnitude;
  const bool narrow = dtype == DType::f16 || dtype == DType::bf16;
  const double rounding = narrow ? info(dtype).epsilon * own : 0;
  // A device may take subnormal results for zero.
  return computed + rounding + tolerance.slack * tolerance.absolute + smallest_normal(dtype);
}

std::string Mismatch::message() const {
  if (at < 0) return "the result's type differs";
  std::ostringstream out;
  out.precision(9);
  out << "element " << at << " is " << got << ", it should be " << want << " (off by " << error
      << ", allowed " << allowed << "); " << count << " wrong";
  return out.str();
}

std::optional<Mismatch> compare(const Tensor& got, const Tensor& want, const Tolerance& tolerance,
                                const Tensor* otherwise) {
  if (got.type() != want.type()) return Mismatch{.at = -1};
  if (exact(want.dtype())) {
    std::optional<Mismatch> worst = compare_integers(got, want);
    return worst && otherwise ? compare_integers(got, *otherwise) : worst;
  }
  const std::vector<double> gots = numbers_of(got), wants = numbers_of(want);
  const std::vector<double> others = otherwise ? numbers_of(*otherwise) : std::vector<double>{};
  const double largest = largest_of(wants);
  std::optional<Mismatch> worst;
  double worst_excess = 1;
  int64_t wrong = 0;
  for (size_t i = 0; i < wants.size(); ++i) {
    const auto excess_over = [&](double reference) {
      return excess(gots[i], reference, allowed_error(tolerance, want.dtype(), reference, largest),
                    want.dtype());
    };
    double over = excess_over(wants[i]);
    if (over > 1 && otherwise) over = std::min(over, excess_over(others[i]));
    if (over <= 1) continue;
    ++wrong;
    if (worst && over <= worst_excess) continue;
    worst_excess = over;
    worst = Mismatch{static_cast<int64_t>(i), gots[i], wants[i], std::abs(gots[i] - wants[i]),
                     allowed_error(tolerance, want.dtype(), wants[i], largest)};
  }
  if (worst) worst->count = wrong;
  return worst;
}

}  // namespace rlx
