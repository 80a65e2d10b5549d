#include "rlx/ops/reduce_gradients.h"

#include <cmath>

#include "rlx/ops/ops_core.h"
#include "rlx/ops/ops_reduction.h"
#include "rlx/ops/reduce.h"

namespace rlx {
namespace {

// A value of the result's shape, with the reduced axes back as ones.
Value with_axes(Value y, const GradientSite& site) {
  if (site.attrs().get<bool>("keep")) return y;
  const std::vector<bool> reduced =
      reduced_axes(site.node.op->name, site.attrs(), site.in(0).type());
  Ints axes;
  for (size_t d = 0; d < reduced.size(); ++d)
    if (reduced[d]) axes.push_back(static_cast<int64_t>(d));
  return axes.empty() ? y : unsqueeze(y, axes);
}

// dy, with the reduced axes back, divided by the length of a row: by one extent after the other, in
// floats, since their product may be more than an integer of a device, or a half, holds.
Value mean_share(const GradientSite& site) {
  const Value x = site.in(0);
  const std::vector<bool> reduced = reduced_axes(site.node.op->name, site.attrs(), x.type());
  const DType wide = bytes_of(x.dtype()) < 4 ? DType::f32 : x.dtype();
  Value share = with_axes(site.dy(), site);
  if (share.dtype() != wide) share = cast(share, wide);
  double row_length = 1;
  for (size_t d = 0; d < reduced.size(); ++d) {
    if (!reduced[d]) continue;
    if (x.shape()[d].is_number()) {
      row_length *= static_cast<double>(x.shape()[d].number());
      continue;
    }
    const int64_t at = static_cast<int64_t>(d);
    const Value extent = squeeze(slice(shape_of(x), Ints{at}, Ints{at + 1}), {0});
    share = share / cast(extent, wide);
  }
  share = share / scalar(share, row_length);
  return share.dtype() == x.dtype() ? share : cast(share, x.dtype());
}

}  // namespace

Gradients gradient_of_sum(const GradientSite& site) {
  return {expand(with_axes(site.dy(), site), site.in(0).shape())};
}

Gradients gradient_of_mean(const GradientSite& site) {
  return {expand(mean_share(site), site.in(0).shape())};
}

// Equals share the gradient.
Gradients gradient_of_extreme(const GradientSite& site) {
  const Value x = site.in(0);
  const Value chosen = cast(equal(x, with_axes(site.y(), site)), x.dtype());
  const Value chosen_count =
      with_axes(sum(chosen, site.attrs().get<Ints>("axes"), site.attrs().get<bool>("keep")), site);
  return {chosen * (with_axes(site.dy(), site) / chosen_count)};
}

// The product of the others, which is not y / x where x is 0.
Gradients gradient_of_product(const GradientSite& site) {
  const Value x = site.in(0), dy = with_axes(site.dy(), site);
  const Ints& axes = site.attrs().get<Ints>("axes");
  const Value is_zero = equal(x, scalar(x, 0)), zero = cast(is_zero, x.dtype());
  const Value factors = where(is_zero, scalar(x, 1), x);
  const Value other_zeros = sum(zero, axes, true) - zero;
  const Value others = prod(factors, axes, true) / factors;
  return {where(equal(other_zeros, scalar(x, 0)), dy * others, scalar(x, 0))};
}

Gradients gradient_of_l1(const GradientSite& site) {
  return {sign(site.in(0)) * with_axes(site.dy(), site)};
}

// x / y, and 0 where y is.
Gradients gradient_of_l2(const GradientSite& site) {
  const Value x = site.in(0), y = with_axes(site.y(), site), zero = scalar(x, 0);
  const Value share = with_axes(site.dy(), site) / y;
  return {x * where(equal(y, zero), zero, share)};
}

Gradients gradient_of_sum_square(const GradientSite& site) {
  const Value x = site.in(0);
  return {scalar(x, 2) * x * with_axes(site.dy(), site)};
}

Gradients gradient_of_mean_square(const GradientSite& site) {
  const Value x = site.in(0);
  return {scalar(x, 2) * x * mean_share(site)};
}

Gradients gradient_of_log_sum(const GradientSite& site) {
  const Value x = site.in(0);
  const Value total = sum(x, site.attrs().get<Ints>("axes"), true);
  return {expand(with_axes(site.dy(), site) / total, x.shape())};
}

// exp(x - y); a row of -infinity has none.
Gradients gradient_of_logsumexp(const GradientSite& site) {
  const Value x = site.in(0), y = with_axes(site.y(), site);
  const Value share = exp(x - y) * with_axes(site.dy(), site);
  return {where(equal(y, scalar(x, -INFINITY)), scalar(x, 0), share)};
}

}  // namespace rlx
