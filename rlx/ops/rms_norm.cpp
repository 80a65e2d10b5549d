// rms_norm(x) = x / sqrt(mean x^2 + epsilon) * gamma, over trailing axes.

#include <cmath>

#include "rlx/ops/elementwise.h"
#include "rlx/ops/norm.h"
#include "rlx/ops/ops_core.h"
#include "rlx/ops/ops_norm.h"

namespace rlx {
namespace {

void reference(const ReferenceSite& site) {
  const Tensor& x = site.in(0);
  const NormRows rows(Dims(x.shape()),
                      axis_of("rms_norm", site.attrs.get<int64_t>("axis"), x.type()));
  const int64_t length = rows.length.number();
  for (int64_t row = 0; row < rows.count.number(); ++row) {
    double squares = 0;
    for (int64_t i = 0; i < length; ++i) squares += std::pow(x.at(row * length + i), 2);
    const double mean_square = squares / static_cast<double>(length);
    const double inverse = 1 / std::sqrt(mean_square + site.attrs.get<double>("epsilon"));
    for (int64_t i = 0; i < length; ++i)
      site.out().set(row * length + i,
                     x.at(row * length + i) * inverse * (site.has(1) ? site.in(1).at(i) : 1));
  }
}

// With n = x * inverse and g = dy * gamma: dx = inverse * (g - n * mean(g * n)).
Gradients gradient(const GradientSite& site) {
  const Value x = site.in(0), dy = site.dy();
  const Value gamma = site.inputs.size() > 1 ? site.in(1) : Value{};
  const Ints axes = trailing_axes(site);
  const Value inverse =
      rsqrt(mean_square(x, axes, true) + scalar(x, site.attrs().get<double>("epsilon")));
  const Value normal = x * inverse, g = gamma ? dy * gamma : dy;
  Gradients gradients{inverse * (g - normal * mean(g * normal, axes, true))};
  if (site.inputs.size() > 1) gradients.emplace_back();
  if (gamma) gradients[1] = unbroadcast(dy * normal, gamma);
  return gradients;
}

}  // namespace

const OpDef& rms_norm_op() {
  static const OpDef op{
      .name = "rms_norm",
      .family = "normalisation",
      .inputs = {1, 2, {"x", "gamma"}},
      .attrs = {{"axis", -1}, {"epsilon", 1e-6}},
      .infer = infer_norm,
      .reference = reference,
      .lower = [](const LowerSite& site) { return Steps(norm_dispatch(site, "rms_norm")); },
      .gradient = gradient,
      .never_fails = true,
      .accuracy = {16},
      .variants = {row_variants()},
  };
  return op;
}

Value rms_norm(Value x, Value gamma, int64_t axis, double epsilon) {
  return x.apply(rms_norm_op(), {x, gamma}, {{"axis", axis}, {"epsilon", epsilon}});
}

}  // namespace rlx
