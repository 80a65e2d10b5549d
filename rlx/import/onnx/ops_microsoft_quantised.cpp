// Quantised products and nets as com.microsoft has them.

#include "rlx/import/onnx/site.h"
#include "rlx/ops/ops_activation.h"
#include "rlx/ops/ops_core.h"
#include "rlx/ops/ops_integer.h"
#include "rlx/ops/ops_pool.h"
#include "rlx/ops/ops_quantise.h"
#include "rlx/ops/ops_recurrent.h"

namespace rlx::onnx {
namespace {

using Site = const NodeSite&;

Value with_bias(Site site, Value y, size_t i) { return site.has(i) ? y + site.in(i) : y; }

// ---- Products of bytes ----

Items dynamic_quantise_matmul(Site site) {
  const DynamicallyQuantised a = dynamic_quantise(site.in(0));
  const Value sums = matmul_integer(a.y, site.in(1), a.zero_point, site.maybe(3));
  return {with_bias(site, cast(sums, DType::f32) * (a.scale * site.in(2)), 4)};
}

Items matmul_integer_to_float(Site site) {
  const Value sums = matmul_integer(site.in(0), site.in(1), site.maybe(4), site.maybe(5));
  // A scale of a's rows stands beside the columns.
  const Value a_scale = site.in(2), b_scale = site.in(3);
  const bool by_rows = rank(a_scale.type()) == 1 && !a_scale.shape()[0].is(1);
  const Value scale = (by_rows ? unsqueeze(a_scale, {-1}) : a_scale) * b_scale;
  return {with_bias(site, cast(sums, b_scale.dtype()) * scale, 6)};
}

// The bias is i32, in units of both scales; without a scale the result stays floats.
Items quantised_gemm(Site site) {
  const auto turned = [&](size_t i, const char* flag) {
    return site.flag(flag) ? transpose(site.in(i), {1, 0}) : site.in(i);
  };
  Value sums =
      matmul_integer(turned(0, "transA"), turned(3, "transB"), site.maybe(2), site.maybe(5));
  sums = with_bias(site, sums, 6);
  const Value scale = site.in(1) * site.in(4) * site.scalar(DType::f32, site.real("alpha", 1));
  const Value y = cast(sums, DType::f32) * scale;
  if (!site.has(7)) return {y};
  return {quantise(y, site.in(7), site.maybe(8), {site.in(0).dtype()})};
}

// ---- Operators between bytes, each by the floats they stand for ----

Items quantise_operator(Site site) {
  return {quantise(site.in(0), site.in(1), site.maybe(2), {DType::u8, site.integer("axis", 1)})};
}
Items dequantise_operator(Site site) {
  return {dequantise(site.in(0), site.in(1), site.maybe(2), {DType::u8, site.integer("axis", 1)})};
}

// The operand whose bytes, scale and zero point start at input i.
Value real_operand(Site site, size_t i) {
  return dequantise(site.in(i), site.in(i + 1), site.maybe(i + 2));
}
// Back to bytes, as a scale and a zero point from input i on say.
Items as_quantised(Site site, Value y, size_t i, DType dtype) {
  return {quantise(y, site.in(i), site.maybe(i + 1), {dtype})};
}

template <Value (*kFunction)(Value, Value)>
Items quantised_binary(Site site) {
  const Value y = kFunction(real_operand(site, 0), real_operand(site, 3));
  return as_quantised(site, y, 6, site.in(0).dtype());
}
template <Value (*kFunction)(Site, Value)>
Items quantised_unary(Site site) {
  return as_quantised(site, kFunction(site, real_operand(site, 0)), 3, site.in(0).dtype());
}
Value added(Value x, Value y) { return x + y; }
Value multiplied(Value x, Value y) { return x * y; }
Value sigmoid_of(Site, Value x) { return sigmoid(x); }
Value leaky_of(Site site, Value x) { return leaky_relu(x, site.real("alpha", 0.01)); }
Value softmax_of(Site site, Value x) {
  constexpr int64_t kOneAxisSince = 13;
  if (site.integer("opset", kOneAxisSince) < kOneAxisSince)
    site.fail_node("softmax over several axes is not there");
  return softmax(x, site.integer("axis", -1));
}
Value global_average_of(Site site, Value x) {
  if (!site.flag("channels_last")) return global_average_pool(x);
  Ints axes;
  for (int64_t d = 1; d + 1 < rank(x.type()); ++d) axes.push_back(d);
  return mean(x, axes, true);
}

Items quantised_concat(Site site) {
  Values parts;
  for (size_t i = 2; i < site.inputs.size(); i += 3) parts.push_back(real_operand(site, i));
  if (parts.empty()) site.fail_node("has no operands");
  return as_quantised(site, concat(parts, site.integer("axis")), 0, site.in(2).dtype());
}

// ---- DynamicQuantizeLSTM ----

// Weights [D, inputs, 4 * H] of bytes, as ONNX's LSTM has them: floats [D, 4 * H, inputs]. Scale
// and zero point are one for each direction, or one for each column of it.
Value dequantised(Site site, size_t i, size_t scale_at, size_t zero_at) {
  const Tensor bytes = site.known_tensor(i), scale = site.known_tensor(scale_at),
               zero = site.known_tensor(zero_at);
  if (bytes.shape().size() != 3) site.fail_node("weights are ", bytes.type(), ", not of 3 dims");
  const int64_t directions = bytes.shape()[0], inputs = bytes.shape()[1],
                columns = bytes.shape()[2];
  const auto place = [&](const Tensor& of, int64_t d, int64_t column) {
    if (of.count() == directions) return d;
    if (of.count() != directions * columns)
      site.fail_node("a scale or zero point ", of.type(), " does not fit weights ", bytes.type());
    return d * columns + column;
  };
  site.spend_elements(bytes.count());
  Tensor floats(DType::f32, {directions, columns, inputs});
  for (int64_t d = 0; d < directions; ++d)
    for (int64_t c = 0; c < columns; ++c)
      for (int64_t k = 0; k < inputs; ++k)
        floats.set((d * columns + c) * inputs + k,
                   (bytes.at((d * inputs + k) * columns + c) - zero.at(place(zero, d, c))) *
                       scale.at(place(scale, d, c)));
  return site.constant(floats);
}

// The weights are what the bytes stand for; x and the state stay floats, which is nearer to what
// was trained than rounding them at every step.
Items dynamic_quantise_lstm(Site site) {
  RecurrentOptions options;
  options.bias = site.maybe(3);
  options.sequence_lens = site.maybe(4);
  options.initial_h = site.maybe(5);
  options.initial_c = site.maybe(6);
  options.peepholes = site.maybe(7);
  options.direction = site.string("direction", "forward");
  options.clip = site.real("clip", 0);
  options.activations = site.strings("activations");
  options.activation_alpha = site.floats("activation_alpha");
  options.activation_beta = site.floats("activation_beta");
  options.input_forget = site.flag("input_forget");
  const Values results =
      lstm(site.in(0), dequantised(site, 1, 8, 9), dequantised(site, 2, 10, 11), options);
  return {results.begin(), results.end()};
}

}  // namespace

std::span<const Operator> microsoft_quantised_operators() {
  static constexpr Operator kOperators[] = {
      {"DequantizeLinear", dequantise_operator},
      {"DynamicQuantizeLSTM", dynamic_quantise_lstm},
      {"DynamicQuantizeMatMul", dynamic_quantise_matmul},
      {"MatMulIntegerToFloat", matmul_integer_to_float},
      {"QGemm", quantised_gemm},
      {"QLinearAdd", quantised_binary<added>},
      {"QLinearConcat", quantised_concat},
      {"QLinearGlobalAveragePool", quantised_unary<global_average_of>},
      {"QLinearLeakyRelu", quantised_unary<leaky_of>},
      {"QLinearMul", quantised_binary<multiplied>},
      {"QLinearSigmoid", quantised_unary<sigmoid_of>},
      {"QLinearSoftmax", quantised_unary<softmax_of>},
      {"QuantizeLinear", quantise_operator},
  };
  return kOperators;
}

}  // namespace rlx::onnx
