// conv(x, w, bias) = sum over channels and window of x * w + bias, in 1, 2 or 3 spatial dims; x is
// padded with zeros.

#include <optional>

#include "rlx/codegen/elementwise.h"
#include "rlx/codegen/render.h"
#include "rlx/ops/activation.h"
#include "rlx/ops/convolution.h"
#include "rlx/ops/ops_convolution.h"
#include "rlx/ops/product.h"
#include "rlx/ops/strided.h"
#include "rlx/ops/views.h"

namespace rlx {

const OpDef& conv_op();
const OpDef& conv_transpose_op();

namespace {

Types infer(const InferSite& site) {
  const TensorType &x = site.in(0), &w = site.in(1);
  spatial_axes("conv", x);
  require(is_float(x.dtype), "conv: x is ", x, ", it needs floats");
  require(w.dtype == x.dtype && rank(w) == rank(x), "conv: w is ", w, ", it needs to be ", x.dtype,
          "[O, C / groups, window..] of the rank of x ", x);
  const Dims shape = convolution_shape(site);
  require_bias(site, 2, x.dtype, w.shape[0]);
  return {{x.dtype, shape}};
}

void reference(const ReferenceSite& site) {
  const Tensor &x = site.in(0), &w = site.in(1);
  const Convolution form =
      convolution_of(site.attrs, x.type().shape, w.type().shape, site.out().type().shape);
  finish_convolution(site, convolve(bound(form, site.symbols), numbers_of(x), numbers_of(w)));
}

// The spatial dims as one, where they lie end to end.
std::optional<Dim> spatial_stride(const Operand& x) {
  const ViewDims view = collapse(spatial_dims(x.shape), {0, spatial_dims(x.layout.strides)});
  if (view.strides.size() > 1) return std::nullopt;
  return view.strides.empty() ? Dim(1) : view.strides[0];
}

// A window of one element that never looks beside x. Channels that are alone have their own kernel.
bool is_pointwise(const Convolution& form) {
  const Slide<Dim>& slide = form.slide;
  for (size_t d = 0; d < 3; ++d)
    if (!slide.window[d].is(1) || !slide.before[d].is(0) ||
        !(slide.out[d] == floor_div(slide.in[d] - 1, slide.strides[d]) + 1))
      return false;
  return form.groups.is(1) || !form.inputs.is(1);
}

// The elements of x that a window of one sees.
Operand seen_of(Operand x, const Convolution& form) {
  const size_t axes = x.shape.size() - 2;
  for (size_t d = 0; d < axes; ++d) {
    x.shape[d + 2] = form.slide.out[d + 3 - axes];
    x.layout.strides[d + 2] = x.layout.strides[d + 2] * form.slide.strides[d + 3 - axes];
  }
  return x;
}

// w[O, C] times the images [C, pixels], for each group.
Steps lower_pointwise(const LowerSite& site, const Convolution& form) {
  const Operand& w = site.inputs[1];
  Operand x = seen_of(site.inputs[0], form);
  Steps steps;
  std::optional<Dim> pixel_stride = spatial_stride(x);
  // Strides skip pixels, which the load does, where an image can be bound as it lies.
  std::optional<Operand> skipping;
  const Operand& image = site.inputs[0];
  const Dims one_image(image.shape.begin() + 1, image.shape.end());
  if (!pixel_stride && form.groups.is(1) && is_concrete(one_image) && image.contiguous() &&
      fits_binding(x.dtype, one_image, site.traits)) {
    skipping = x;
    x.layout = Layout::row_major(x.shape);
    pixel_stride = 1;
  }
  if (!pixel_stride) {
    const Operand seen = site.temporary("x", {x.dtype, x.shape});
    steps.add(copy_view(x, seen, site.traits));
    x = seen;
    pixel_stride = 1;
  }
  const auto stride = [](const Operand& operand, size_t d) { return operand.layout.strides[d]; };
  Product product;
  product.batch = {form.batches, form.groups};
  product.m = form.outputs;
  product.k = form.inputs;
  product.n = count(spatial_dims(x.shape));
  product.a = {
      flat(w), w.layout.offset, {0, stride(w, 0) * form.outputs}, stride(w, 0), stride(w, 1)};
  product.b = {skipping ? *skipping : flat(x),
               x.layout.offset,
               {stride(x, 0), stride(x, 1) * form.inputs},
               stride(x, 1),
               *pixel_stride};
  if (skipping) product.b.behind = count(one_image);
  product.y = site.write("y");
  if (site.has(2)) {
    product.finish_operands = {LowerSite::named(broadcast(site.inputs[2], {x.shape[0], w.shape[0]}),
                                                "bias", Access::read)};
    product.finish = "v + load_bias(row)";
  }
  return steps.append(lower_product(site, product));
}

Steps lower(const LowerSite& site) {
  const Convolution form =
      convolution_of(site.attrs(), site.in(0).shape, site.in(1).shape, site.out().shape);
  if (site.choices.get("conv.variant", own_kernels) == own_kernels && is_pointwise(form))
    return lower_pointwise(site, form);
  return lower_convolution(site, float_convolution(site, form));
}

Gradients gradient(const GradientSite& site) {
  const Value x = site.in(0), w = site.in(1);
  const size_t axes = x.shape().size() - 2;
  const Windows windows("conv", site.attrs(), axes);
  const int64_t groups = site.attrs().get<int64_t>("groups");
  const Value dy = site.dy();
  const Dims window = spatial_dims(w.shape()), in = spatial_dims(x.shape());
  Dims before, after;
  for (size_t d = 0; d < axes; ++d) {
    before.push_back(windows.pad_before(in[d], window[d], d));
    after.push_back(windows.pad_after(in[d], window[d], d));
  }
  Attrs spread = convolution_attrs(windows, before, after, groups);
  spread.set("extents", in);
  Gradients gradients = {x.apply(conv_transpose_op(), {dy, w}, spread),
                         convolution_weight_gradient(x, dy, windows, window, groups)};
  if (site.inputs.size() > 2) gradients.push_back(bias_gradient(site.inputs[2], dy));
  return gradients;
}

}  // namespace

const OpDef& conv_op() {
  static const OpDef op{
      .name = "conv",
      .family = "convolution",
      .inputs = {2, 3, {"x", "w", "bias"}},
      .attrs = window_attrs({{"groups", 1}}),
      .infer = infer,
      .reference = reference,
      .lower = lower,
      .gradient = gradient,
      .never_fails = true,
      .accuracy = {16},
      .variants = {{"conv.variant", 2}},
      .onnx = "Conv",
  };
  return op;
}

Value conv(Value x, Value w, Value bias, const ConvOptions& options) {
  require_activation("conv", options.activation);
  const Value y = x.apply(conv_op(), {x, w, bias},
                          {{"strides", options.strides},
                           {"dilations", options.dilations},
                           {"pads", options.pads},
                           {"auto_pad", options.auto_pad},
                           {"groups", options.groups}});
  return with_activation("conv", y, options.activation);
}

Value conv2d(Value x, Value w, Value bias, const ConvOptions& options) {
  require(rank(x.type()) == 4, "conv2d: x is ", x.type(), ", it needs [B, C, H, W]");
  return conv(x, w, bias, options);
}

}  // namespace rlx
