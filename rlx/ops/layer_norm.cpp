// layer_norm(x) = (x - mean x) / sqrt(variance x + epsilon) * gamma + beta, over trailing axes.

#include "rlx/ops/elementwise.h"
#include "rlx/ops/norm.h"
#include "rlx/ops/ops_core.h"
#include "rlx/ops/ops_norm.h"

namespace rlx {
namespace {

void reference(const ReferenceSite& site) {
  const Tensor& x = site.in(0);
  const NormRows rows(Dims(x.shape()),
                      axis_of("layer_norm", site.attrs.get<int64_t>("axis"), x.type()));
  norm_reference(site, rows.count.number(), rows.length.number(),
                 [](int64_t, int64_t i) { return i; });
}

Gradients gradient(const GradientSite& site) {
  const Value x = site.in(0), dy = site.dy();
  const Value gamma = site.inputs.size() > 1 ? site.in(1) : Value{};
  const Value beta = site.inputs.size() > 2 ? site.in(2) : Value{};
  const NormGradient norm = norm_gradient(x, gamma ? dy * gamma : dy, trailing_axes(site),
                                          site.attrs().get<double>("epsilon"));
  Gradients gradients(site.inputs.size());
  gradients[0] = norm.dx;
  if (gamma) gradients[1] = unbroadcast(dy * norm.normal, gamma);
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
      .never_fails = true,
      .accuracy = {16},
      .variants = {row_variants()},
      .onnx = "LayerNormalization",
  };
  return op;
}

Value layer_norm(Value x, Value gamma, Value beta, int64_t axis, double epsilon) {
  return x.apply(layer_norm_op(), {x, gamma, beta}, {{"axis", axis}, {"epsilon", epsilon}});
}

}  // namespace rlx
