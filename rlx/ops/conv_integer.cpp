// conv_integer(x, w, x_zero, w_zero): conv of bytes less their zero points, in i32; the padding is
// x_zero. qlinear_conv is made of it.

#include "rlx/codegen/elementwise.h"
#include "rlx/ops/convolution.h"
#include "rlx/ops/ops_convolution.h"
#include "rlx/ops/ops_core.h"
#include "rlx/ops/ops_integer.h"

namespace rlx {
namespace {

bool is_byte(DType dtype) { return dtype == DType::i8 || dtype == DType::u8; }

Types infer(const InferSite& site) {
  const TensorType &x = site.in(0), &w = site.in(1);
  spatial_axes("conv_integer", x);
  require(is_byte(x.dtype) && is_byte(w.dtype) && rank(w) == rank(x),
          "conv_integer: needs i8 or u8 of one rank, got ", x, " and ", w);
  if (site.has(2))
    require(site.in(2).dtype == x.dtype && count(site.in(2).shape).is(1),
            "conv_integer: x_zero is ", site.in(2), ", it needs to be one ", x.dtype);
  if (site.has(3)) {
    const TensorType& zero = site.in(3);
    require(zero.dtype == w.dtype && rank(zero) < 2, "conv_integer: w_zero is ", zero,
            ", it needs to be ", w.dtype, "[] or one per output channel");
    if (rank(zero) == 1)
      site.broadcasts_to(zero.shape[0], w.shape[0], text("w_zero ", zero, " does not fit w ", w));
  }
  return {{DType::i32, convolution_shape(site)}};
}

void reference(const ReferenceSite& site) {
  const Tensor &x = site.in(0), &w = site.in(1);
  std::vector<double> values = numbers_of(x), weights = numbers_of(w);
  if (site.has(2))
    for (double& value : values) value -= site.in(2).at(0);
  if (site.has(3)) {
    const int64_t channels = site.in(3).count(),
                  each = channels == 1 ? w.count() : w.count() / channels;
    for (size_t i = 0; i < weights.size(); ++i)
      weights[i] -= site.in(3).at(static_cast<int64_t>(i) / each);
  }
  const Convolution form =
      convolution_of(site.attrs, x.type().shape, w.type().shape, site.out().type().shape);
  const std::vector<double> sums = convolve(bound(form, site.symbols), values, weights);
  for (int64_t i = 0; i < site.out().count(); ++i)
    site.out().set_integer(i, static_cast<int64_t>(sums[size_t(i)]));
}

Steps lower(const LowerSite& site) {
  const Dims& w = site.in(1).shape;
  ConvolutionKernel kernel{convolution_of(site.attrs(), site.in(0).shape, w, site.out().shape),
                           site.inputs[0], site.inputs[1], site.results[0], "i32"};
  kernel.x_value = "i32(load_x(i))";
  kernel.w_value = "i32(load_w(i))";
  if (site.has(2)) {
    kernel.operands.push_back(site.read("x_zero", 2));
    kernel.x_value += " - i32(load_x_zero(0u))";
  }
  if (site.has(3)) {
    kernel.operands.push_back(broadcast(site.read("w_zero", 3), {w[0]}));
    kernel.w_value += " - i32(load_w_zero(channel))";
  }
  return lower_convolution(site, kernel);
}

// One number per channel, as it broadcasts over y.
Value per_channel(Value x, size_t axes) {
  if (rank(x.type()) == 0) return x;
  Dims shape(axes + 1, 1);
  shape[0] = x.shape()[0];
  return reshape(x, shape);
}

}  // namespace

const OpDef& conv_integer_op() {
  static const OpDef op{
      .name = "conv_integer",
      .family = "convolution",
      .inputs = {2, 4, {"x", "w", "x_zero", "w_zero"}},
      .attrs = window_attrs({{"groups", 1}}),
      .infer = infer,
      .reference = reference,
      .lower = lower,
      .never_fails = true,
      .gradient_reason = "integers have none",
      .onnx = "ConvInteger",
  };
  return op;
}

Value conv_integer(Value x, Value w, Value x_zero, Value w_zero, const ConvOptions& options) {
  require(options.activation.empty(), "conv_integer: takes no activation, got '",
          options.activation, "'");
  return x.apply(conv_integer_op(), {x, w, x_zero, w_zero},
                 {{"strides", options.strides},
                  {"dilations", options.dilations},
                  {"pads", options.pads},
                  {"auto_pad", options.auto_pad},
                  {"groups", options.groups}});
}

Value qlinear_conv(const QuantisedOperand& x, const QuantisedOperand& w, Value y_scale,
                   Value y_zero, Value bias, const ConvOptions& options) {
  const size_t axes = x.values.shape().size() - 2;
  const Value sums = conv_integer(x.values, w.values, x.zero, w.zero, options);
  const Value scale = x.scale * per_channel(w.scale, axes) / y_scale;
  return requantise(sums, scale, y_zero, bias.present() ? per_channel(bias, axes) : bias);
}

}  // namespace rlx
