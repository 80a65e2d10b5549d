// Operators of com.microsoft that exporters and optimisers emit.

#include <cmath>

#include "rlx/import/onnx/site.h"
#include "rlx/ops/ops_activation.h"
#include "rlx/ops/ops_core.h"
#include "rlx/ops/ops_norm.h"

namespace rlx::onnx {
namespace {

using Site = const NodeSite&;

// Matrices whose batches lie between their rows and columns.
Value batches_first(Value x) {
  Ints order;
  for (int64_t d = 1; d + 1 < rank(x.type()); ++d) order.push_back(d);
  order.push_back(0);
  order.push_back(rank(x.type()) - 1);
  return transpose(x, order);
}
Items fused_matmul(Site site) {
  const Value a = site.flag("transBatchA") ? batches_first(site.in(0)) : site.in(0);
  const Value b = site.flag("transBatchB") ? batches_first(site.in(1)) : site.in(1);
  const Value y = matmul(a, b, site.flag("transA"), site.flag("transB"));
  const double alpha = site.real("alpha", 1);
  return {alpha == 1 ? y : y * site.scalar(y.dtype(), alpha)};
}

// ---- An operator of ONNX and the activation after it ----

Value activated(Site site, Value x, const std::string& name, const Floats& given) {
  const auto parameter = [&](size_t i, double otherwise) {
    return i < given.size() ? given[i] : otherwise;
  };
  if (name.empty()) return x;
  if (name == "Relu") return relu(x);
  if (name == "Tanh") return tanh(x);
  if (name == "Sigmoid") return sigmoid(x);
  if (name == "LeakyRelu") return leaky_relu(x, parameter(0, 0.01));
  if (name == "Clip") return clip(x, parameter(0, -INFINITY), parameter(1, INFINITY));
  if (name == "HardSigmoid") return hard_sigmoid(x, parameter(0, 0.2), parameter(1, 0.5));
  site.fail_node("activation '", name, "' is not there");
}
Value as_onnx(Site site, std::span<const Operator> family, std::string_view name) {
  constexpr int64_t kOpset = 17;
  const NodeSite inner{site.node,        kOpset,           site.graph, site.inputs,
                       site.make_bodies, site.inline_body, site.named, site.spending};
  for (const Operator& op : family)
    if (op.name == name) return op.convert(inner).at(0).value;
  site.fail_node("there is no ", name);
}
Items fused_conv(Site site) {
  Value y = as_onnx(site, window_operators(), "Conv");
  if (site.has(3)) y = y + site.in(3);
  return {activated(site, y, site.string("activation"), site.floats("activation_params"))};
}
Items fused_gemm(Site site) {
  const Value y = as_onnx(site, math_operators(), "Gemm");
  return {activated(site, y, site.string("activation"), {site.real("activation_alpha", 0.01)})};
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
  const Value y = layer_norm(sum, site.in(2), site.maybe(3), -1, site.real("epsilon", 1e-12));
  return with_sum(site, y, sum);
}
Items skip_simplified(Site site) {
  Value sum = site.in(0) + site.in(1);
  if (site.has(3)) sum = sum + site.in(3);
  return with_sum(site, rms_norm(sum, site.in(2), -1, site.real("epsilon", 1e-12)), sum);
}
Items layer_norm_operator(Site site) {
  return {layer_norm(site.in(0), site.in(1), site.maybe(2), site.integer("axis", -1),
                     site.real("epsilon", 1e-5))};
}
Items simplified(Site site) {
  return {rms_norm(site.in(0), site.in(1), site.integer("axis", -1), site.real("epsilon", 1e-5))};
}

// Words, positions and segments summed and normalised; how many words of each batch the mask keeps.
Items embed_layer_norm(Site site) {
  const Value ids = site.in(0), positions = site.in(3);
  if (rank(ids.type()) != 2) site.fail_node("input_ids are ", ids.type(), ", not [B, S]");
  const Value places = site.has(8) ? site.in(8) : counting(ids, ids.shape()[1], DType::i32);
  Value sum = gather(site.in(2), ids) + gather(positions, places);
  if (site.has(1)) sum = sum + gather(site.in(4), site.in(1));
  const Value y = layer_norm(sum, site.in(5), site.in(6), -1, site.real("epsilon", 1e-12));
  const Value none = expand(site.scalar(DType::i32, 0), {ids.shape()[0]});
  return {y, site.has(7) ? rlx::sum(site.in(7), {1}) : none, sum};
}

}  // namespace

std::span<const Operator> microsoft_operators() {
  static constexpr Operator kOperators[] = {
      {"BiasGelu", bias_gelu},
      {"EmbedLayerNormalization", embed_layer_norm},
      {"FastGelu", fast_gelu},
      {"FusedConv", fused_conv},
      {"FusedGemm", fused_gemm},
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
