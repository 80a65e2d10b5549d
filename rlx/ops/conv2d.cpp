// conv2d(x, w, bias) = activation(sum over channels and window of x * w + bias); x is padded with
// zeros.

#include "rlx/ops/activation.h"
#include "rlx/ops/kernel.h"
#include "rlx/ops/ops.h"
#include "rlx/ops/strided.h"

namespace rlx {
namespace {

struct Form {
  Ints strides, dilations, pads;
  int64_t groups;
  std::string activation;

  explicit Form(const Attrs& attrs)
      : strides(attrs.get<Ints>("strides")),
        dilations(attrs.get<Ints>("dilations")),
        pads(attrs.get<Ints>("pads")),
        groups(attrs.get<int64_t>("groups")),
        activation(attrs.get<std::string>("activation")) {}

  // The places of a window along one axis.
  Dim places(const Dim& extent, const Dim& window, size_t axis) const {
    const Dim reach = Dim(dilations[axis]) * (window - 1) + 1;
    return floor_div(extent + pads[axis] + pads[axis + 2] - reach, strides[axis]) + 1;
  }
};

Types infer(const InferSite& site) {
  const TensorType &x = site.in(0), &w = site.in(1);
  const Form form(site.attrs);
  require(is_float(x.dtype) && rank(x) == 4, "conv2d: x is ", x, ", it needs floats [B, C, H, W]");
  require(w.dtype == x.dtype && rank(w) == 4, "conv2d: w is ", w, ", it needs to be ", x.dtype,
          "[O, C / groups, kH, kW]");
  require(form.strides.size() == 2 && form.strides[0] > 0 && form.strides[1] > 0,
          "conv2d: strides [", joined(form.strides), "] are not two positive numbers");
  require(form.dilations.size() == 2 && form.dilations[0] > 0 && form.dilations[1] > 0,
          "conv2d: dilations [", joined(form.dilations), "] are not two positive numbers");
  require(form.pads.size() == 4, "conv2d: pads [", joined(form.pads), "] are not four numbers");
  for (const int64_t pad : form.pads)
    require(pad >= 0, "conv2d: pads [", joined(form.pads), "] are negative");
  require(form.groups > 0, "conv2d: groups ", form.groups, " is not positive");
  require_activation("conv2d", form.activation);
  site.equal(
      x.shape[1], w.shape[1] * Dim(form.groups),
      text("the channels of ", x, " are not those of w ", w, " in ", form.groups, " groups"));
  if (w.shape[0].is_number())
    require(w.shape[0].number() % form.groups == 0, "conv2d: ", w.shape[0], " channels of w ", w,
            " cannot be parted into ", form.groups, " groups");
  if (site.has(2)) {
    const TensorType& bias = site.in(2);
    require(rank(bias) == 1 && bias.dtype == x.dtype, "conv2d: bias is ", bias, ", it needs to be ",
            x.dtype, '[', w.shape[0], ']');
    site.equal(bias.shape[0], w.shape[0], text("bias ", bias, " does not fit w ", w));
  }
  const Dim height = form.places(x.shape[2], w.shape[2], 0),
            width = form.places(x.shape[3], w.shape[3], 1);
  for (const Dim& extent : {height, width})
    require(!extent.is_number() || extent.number() >= 0, "conv2d: the window of w ", w,
            " is larger than x ", x, " with its pads");
  return {{x.dtype, {x.shape[0], w.shape[0], height, width}}};
}

void reference(const ReferenceSite& site) {
  const Tensor &x = site.in(0), &w = site.in(1);
  const Form form(site.attrs);
  const Shape &in = x.shape(), &window = w.shape(), &out = site.out().shape();
  const int64_t group_outputs = out[1] / form.groups;
  int64_t at = 0;
  for (int64_t b = 0; b < out[0]; ++b)
    for (int64_t o = 0; o < out[1]; ++o)
      for (int64_t row = 0; row < out[2]; ++row)
        for (int64_t column = 0; column < out[3]; ++column) {
          double total = site.has(2) ? site.in(2).at(o) : 0;
          for (int64_t c = 0; c < window[1]; ++c)
            for (int64_t i = 0; i < window[2]; ++i)
              for (int64_t j = 0; j < window[3]; ++j) {
                const int64_t y_at = row * form.strides[0] + i * form.dilations[0] - form.pads[0];
                const int64_t x_at =
                    column * form.strides[1] + j * form.dilations[1] - form.pads[1];
                const bool inside = y_at >= 0 && y_at < in[2] && x_at >= 0 && x_at < in[3];
                const int64_t channel = o / group_outputs * window[1] + c;
                const double value =
                    inside ? x.at(((b * in[1] + channel) * in[2] + y_at) * in[3] + x_at) : 0;
                total += value * w.at(((o * window[1] + c) * window[2] + i) * window[3] + j);
              }
          site.out().set(at++, activated(total, form.activation));
        }
}

Steps lower(const LowerSite& site) {
  const Form form(site.attrs());
  const Operand& x = site.inputs[0];
  const Dims &in = site.in(0).shape, &window = site.in(1).shape, &out = site.out().shape;
  const Dim group_outputs = floor_div(out[1], form.groups);
  Dispatch dispatch{
      .kernel = kernel("conv2d"),
      .operands = {LowerSite::named(flat(x), "x", Access::read), site.read("w", 1),
                   site.write("y")},
      .params = {{"x_strides", x.layout.strides},
                 {"x_first", x.layout.offset},
                 {"batches", out[0]},
                 {"groups", Dim(form.groups)},
                 {"group_inputs", window[1]},
                 {"group_outputs", group_outputs},
                 {"height", in[2]},
                 {"width", in[3]},
                 {"window_height", window[2]},
                 {"window_width", window[3]},
                 {"out_height", out[2]},
                 {"out_width", out[3]},
                 {"stride_y", Dim(form.strides[0])},
                 {"stride_x", Dim(form.strides[1])},
                 {"dilation_y", Dim(form.dilations[0])},
                 {"dilation_x", Dim(form.dilations[1])},
                 {"pad_top", Dim(form.pads[0])},
                 {"pad_left", Dim(form.pads[1])}},
  };
  for (KernelText& include : activation_includes(form.activation))
    dispatch.kernel.includes.push_back(include);
  dispatch.prelude = {activation_function(form.activation)};
  if (site.has(2)) dispatch.operands.push_back(site.read("bias", 2));
  dispatch.prelude.push_back(site.has(2)
                                 ? "fn start(channel: u32) -> f32 { return load_bias(channel); }"
                                 : "fn start(channel: u32) -> f32 { return 0.0; }");
  const int64_t lanes = site.traits.device_class == DeviceClass::software ? 8 : 64;
  dispatch.constants = {{"WORKGROUP", site.choices.get("conv2d.lanes", lanes)}};
  const int64_t pixels = 4 * std::get<int64_t>(dispatch.constants[0].value);
  dispatch.workgroups =
      out[0] * Dim(form.groups) * ceil_div(group_outputs, 4) * ceil_div(out[2] * out[3], pixels);
  return dispatch;
}

}  // namespace

const OpDef& conv2d_op() {
  static const OpDef op{
      .name = "conv2d",
      .family = "convolution",
      .inputs = {2, 3, {"x", "w", "bias"}},
      .attrs = {{"strides", Ints{1, 1}},
                {"dilations", Ints{1, 1}},
                {"pads", Ints{0, 0, 0, 0}},
                {"groups", 1},
                {"activation", ""}},
      .infer = infer,
      .reference = reference,
      .lower = lower,
      .accuracy = {8},
      .gradient_reason = "comes with the catalogue",
      .onnx = "Conv",
  };
  return op;
}

Value conv2d(Value x, Value w, Value bias, const Conv2dOptions& options) {
  return x.apply(conv2d_op(), {x, w, bias},
                 {{"strides", options.strides},
                  {"dilations", options.dilations},
                  {"pads", options.pads},
                  {"groups", options.groups},
                  {"activation", options.activation}});
}

}  // namespace rlx
