// layer_norm(x) = (x - mean x) / sqrt(variance x + epsilon) * gamma + beta, over trailing axes.

#include <cmath>

#include "rlx/ops/elementwise.h"
#include "rlx/ops/norm.h"

namespace rlx {
namespace {

void reference(const ReferenceSite& site) {
  const Tensor& x = site.in(0);
  const NormRows rows(Dims(x.shape()),
                      axis_of("layer_norm", site.attrs.get<int64_t>("axis"), x.type()));
  const int64_t length = rows.length.number();
  for (int64_t row = 0; row < rows.count.number(); ++row) {
    double total = 0, squares = 0;
    for (int64_t i = 0; i < length; ++i) total += x.at(row * length + i);
    const double mean = total / static_cast<double>(length);
    for (int64_t i = 0; i < length; ++i) squares += std::pow(x.at(row * length + i) - mean, 2);
    const double variance = squares / static_cast<double>(length);
    const double inverse = 1 / std::sqrt(variance + site.attrs.get<double>("epsilon"));
    for (int64_t i = 0; i < length; ++i) {
      const double scale = site.has(1) ? site.in(1).at(i) : 1,
                   shift = site.has(2) ? site.in(2).at(i) : 0;
      site.out().set(row * length + i, (x.at(row * length + i) - mean) * inverse * scale + shift);
    }
  }
}

// With n = (x - mean) * inverse and g = dy * gamma: dx = inverse * (g - mean g - n * mean(g * n)).
Gradients gradient(const GradientSite& site) {
  const Value x = site.in(0), dy = site.dy();
  const Value gamma = site.inputs.size() > 1 ? site.in(1) : Value{};
  const Value beta = site.inputs.size() > 2 ? site.in(2) : Value{};
  const Ints axes = trailing_axes(site);
  const Value centred = x - mean(x, axes, true);
  const Value variance = mean(centred * centred, axes, true);
  const Value inverse = rsqrt(variance + scalar(x, site.attrs().get<double>("epsilon")));
  const Value normal = centred * inverse, g = gamma ? dy * gamma : dy;
  Gradients gradients{inverse * (g - mean(g, axes, true) - normal * mean(g * normal, axes, true))};
  if (site.inputs.size() > 1) gradients.emplace_back();
  if (site.inputs.size() > 2) gradients.emplace_back();
  if (gamma) gradients[1] = unbroadcast(dy * normal, gamma);
  if (beta) gradients[2] = unbroadcast(dy, beta);
  return gradients;
}

}  // namespace

const OpDef& layer_norm_op() {
  static const OpDef op{
      .name = "layer_norm",
      .family = "normalisation",
      .inputs = {1, 3, {"x", "gamma", "beta"}},
      .attrs = {{"axis", -1}, {"epsilon", 1e-5}},
      .infer = infer_norm,
      .reference = reference,
      .lower = [](const LowerSite& site) { return Steps(norm_dispatch(site, "layer_norm")); },
      .gradient = gradient,
      .accuracy = {16},
      .onnx = "LayerNormalization",
  };
  return op;
}

Value layer_norm(Value x, Value gamma, Value beta, int64_t axis, double epsilon) {
  return x.apply(layer_norm_op(), {x, gamma, beta}, {{"axis", axis}, {"epsilon", epsilon}});
}

}  // namespace rlx
