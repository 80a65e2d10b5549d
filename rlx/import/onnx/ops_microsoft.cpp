// Operators of com.microsoft that exporters and optimisers emit.

#include <cmath>

#include "rlx/import/onnx/site.h"
#include "rlx/ops/ops.h"

namespace rlx::onnx {
namespace {

using Site = const NodeSite&;

Items fused_matmul(Site site) {
  const Value y = matmul(site.in(0), site.in(1), site.flag("transA"), site.flag("transB"));
  const double alpha = site.real("alpha", 1);
  return {alpha == 1 ? y : y * site.scalar(y.dtype(), alpha)};
}

Items gelu_operator(Site site) { return {gelu(site.in(0))}; }
Items bias_gelu(Site site) { return {gelu(site.in(0) + site.in(1))}; }
Items fast_gelu(Site site) {
  return {gelu_tanh(site.has(1) ? site.in(0) + site.in(1) : site.in(0))};
}
Items quick_gelu(Site site) {
  const Value x = site.in(0);
  return {x * sigmoid(x * site.scalar(x.dtype(), site.real("alpha", 1.702)))};
}

// The sum is a further result, where something reads it.
Items with_sum(Site site, Value y, Value sum) {
  Items results{y};
  results.resize(4);
  if (site.wants(3)) results[3] = sum;
  return results;
}
Items skip_layer_norm(Site site) {
  Value sum = site.in(0) + site.in(1);
  if (site.has(4)) sum = sum + site.in(4);
  const Value y = layer_norm(sum, site.in(2), site.maybe(3), -1, site.real("epsilon", 1e-5));
  return with_sum(site, y, sum);
}
Items skip_simplified(Site site) {
  Value sum = site.in(0) + site.in(1);
  if (site.has(3)) sum = sum + site.in(3);
  return with_sum(site, rms_norm(sum, site.in(2), -1, site.real("epsilon", 1e-5)), sum);
}
Items layer_norm_operator(Site site) {
  return {layer_norm(site.in(0), site.in(1), site.maybe(2), site.integer("axis", -1),
                     site.real("epsilon", 1e-5))};
}
Items simplified(Site site) {
  return {rms_norm(site.in(0), site.in(1), site.integer("axis", -1), site.real("epsilon", 1e-5))};
}

}  // namespace

std::span<const Operator> microsoft_operators() {
  static constexpr Operator kOperators[] = {
      {"BiasGelu", bias_gelu},
      {"FastGelu", fast_gelu},
      {"FusedMatMul", fused_matmul},
      {"Gelu", gelu_operator},
      {"LayerNormalization", layer_norm_operator},
      {"QuickGelu", quick_gelu},
      {"SimplifiedLayerNormalization", simplified},
      {"SkipLayerNormalization", skip_layer_norm},
      {"SkipSimplifiedLayerNormalization", skip_simplified},
  };
  return kOperators;
}

}  // namespace rlx::onnx
