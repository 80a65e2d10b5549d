// conv_transpose(x, w, bias): each element of x spreads its window of w over y, and what falls on
// one place is added up. It is how conv's input depends on its output.

#include "rlx/ops/activation.h"
#include "rlx/ops/convolution.h"
#include "rlx/ops/ops_convolution.h"
#include "rlx/ops/views.h"

namespace rlx {

const OpDef& conv_op();
const OpDef& conv_transpose_op();

namespace {

// Where y begins and ends, by axis: as output_shape says, or as the pads do. `extents` gives y's
// end beside the pads: conv's input, whose last elements its windows may not have reached.
struct Form {
  Windows windows;
  int64_t groups;
  Dims window, before, extents;

  Form(const Attrs& attrs, const Dims& x, const Dims& w)
      : windows("conv_transpose", attrs, x.size() - 2),
        groups(attrs.get<int64_t>("groups")),
        window(spatial_dims(w)) {
    const size_t axes = window.size();
    Dims more = list(attrs, "output_padding", axes), shape = list(attrs, "output_shape", axes);
    const Dims given = list(attrs, "extents", axes);
    for (const Dim& pad : more)
      require(!pad.is_number() || pad.number() >= 0, "conv_transpose: output_padding [",
              joined(more), "] are negative");
    if (more.empty()) more.assign(axes, 0);
    const bool same = !windows.auto_pad.empty() && windows.auto_pad != "valid";
    for (size_t d = 0; d < axes; ++d) {
      const Dim& in = x[d + 2];
      const Dim full = Dim(windows.strides[d]) * (in - 1) + more[d] + windows.reach(window[d], d);
      if (shape.empty() && !same) {
        before.push_back(windows.before[d]);
        extents.push_back(given.empty() ? full - windows.before[d] - windows.after[d] : given[d]);
        continue;
      }
      const Dim wanted = shape.empty() ? in * Dim(windows.strides[d]) : shape[d];
      const Dim padding = larger(full - wanted, 0);
      before.push_back(windows.auto_pad == "same_upper" ? floor_div(padding, 2)
                                                        : ceil_div(padding, 2));
      extents.push_back(wanted);
    }
  }

  static Dims list(const Attrs& attrs, const std::string& name, size_t axes) {
    Dims dims = dims_attr(attrs, name);
    require(dims.empty() || dims.size() == axes, "conv_transpose: ", name, " [", joined(dims),
            "] are not ", axes, " numbers, one per spatial dim");
    return dims;
  }

  Convolution convolution(const Dims& x, const Dims& w) const {
    const auto numbers = [](const Ints& values) { return Dims(values.begin(), values.end()); };
    return {{three(extents), three(spatial_dims(x)), three(window), three(numbers(windows.strides)),
             three(numbers(windows.dilations)), three(before, 0)},
            x[0],
            groups,
            floor_div(w[0], groups),
            w[1],
            true};
  }
};

Types infer(const InferSite& site) {
  const TensorType &x = site.in(0), &w = site.in(1);
  spatial_axes("conv_transpose", x);
  const int64_t groups = site.attrs.get<int64_t>("groups");
  require(is_float(x.dtype), "conv_transpose: x is ", x, ", it needs floats");
  require(w.dtype == x.dtype && rank(w) == rank(x), "conv_transpose: w is ", w, ", it needs to be ",
          x.dtype, "[C, O / groups, window..] of the rank of x ", x);
  require(groups > 0, "conv_transpose: groups ", groups, " is not positive");
  site.equal(x.shape[1], w.shape[0], text("the channels of ", x, " are not those of w ", w));
  site.multiple_of(
      w.shape[0], groups,
      text(w.shape[0], " channels of w ", w, " cannot be parted into ", groups, " groups"));
  const Dim channels = w.shape[1] * Dim(groups);
  require_bias(site, 2, x.dtype, channels);
  const Form form(site.attrs, x.shape, w.shape);
  Dims shape = {x.shape[0], channels};
  for (const Dim& extent : form.extents) {
    require(!extent.is_number() || extent.number() >= 0, "conv_transpose: the pads of x ", x,
            " leave nothing of y [", joined(form.extents), "]");
    shape.push_back(extent);
  }
  return {{x.dtype, shape}};
}

void reference(const ReferenceSite& site) {
  const Tensor &x = site.in(0), &w = site.in(1);
  const Dims x_shape = x.type().shape, w_shape = w.type().shape;
  const Convolution form = Form(site.attrs, x_shape, w_shape).convolution(x_shape, w_shape);
  finish_convolution(site, convolve(bound(form, site.symbols), numbers_of(x), numbers_of(w)));
}

Steps lower(const LowerSite& site) {
  const Dims &x = site.in(0).shape, &w = site.in(1).shape;
  const Convolution form = Form(site.attrs(), x, w).convolution(x, w);
  return lower_convolution(site, float_convolution(site, form));
}

// x is to y as conv's output to its input.
Gradients gradient(const GradientSite& site) {
  const Value x = site.in(0), w = site.in(1);
  const Form form(site.attrs(), x.shape(), w.shape());
  const size_t axes = form.window.size();
  const Value dy = site.dy();
  Windows windows = form.windows;
  windows.auto_pad.clear();
  windows.before = form.before;
  windows.after.clear();
  for (size_t d = 0; d < axes; ++d) {
    const Dim full =
        Dim(windows.strides[d]) * (x.shape()[d + 2] - 1) + windows.reach(form.window[d], d);
    windows.after.push_back(larger(full - form.extents[d] - form.before[d], 0));
  }
  Value dx = dy.apply(conv_op(), {dy, w},
                      convolution_attrs(windows, windows.before, windows.after, form.groups));
  for (size_t d = 2; d < axes + 2; ++d)  // y may reach further than the windows do
    if (!(dx.shape()[d] == x.shape()[d])) dx = slice_axis(dx, d, 0, x.shape()[d]);
  Gradients gradients = {dx, convolution_weight_gradient(dy, x, windows, form.window, form.groups)};
  if (site.inputs.size() > 2) gradients.push_back(bias_gradient(site.inputs[2], dy));
  return gradients;
}

}  // namespace

const OpDef& conv_transpose_op() {
  static const OpDef op{
      .name = "conv_transpose",
      .family = "convolution",
      .inputs = {2, 3, {"x", "w", "bias"}},
      .attrs = window_attrs({{"output_padding", Ints{}},
                             {"output_shape", Ints{}},
                             {"extents", Ints{}},
                             {"groups", 1}}),
      .infer = infer,
      .reference = reference,
      .lower = lower,
      .gradient = gradient,
      .never_fails = true,
      .accuracy = {16},
      .onnx = "ConvTranspose",
  };
  return op;
}

Value conv_transpose(Value x, Value w, Value bias, const ConvTransposeOptions& options) {
  require_activation("conv_transpose", options.activation);
  const Value y = x.apply(conv_transpose_op(), {x, w, bias},
                          {{"strides", options.strides},
                           {"dilations", options.dilations},
                           {"pads", options.pads},
                           {"auto_pad", options.auto_pad},
                           {"output_padding", options.output_padding},
                           {"output_shape", options.output_shape},
                           {"groups", options.groups}});
  return with_activation("conv_transpose", y, options.activation);
}

}  // namespace rlx
