#include "rlx/ops/convolution.h"

#include <algorithm>
#include <numeric>

#include "rlx/ops/kernel.h"
#include "rlx/ops/ops_core.h"
#include "rlx/ops/strided.h"
#include "rlx/ops/views.h"

namespace rlx {

const OpDef& conv_op();

ConvolutionOf<int64_t> bound(const Convolution& convolution, const SymbolValues& symbols) {
  return {bound(convolution.slide, symbols),  convolution.batches.value(symbols),
          convolution.groups.value(symbols),  convolution.inputs.value(symbols),
          convolution.outputs.value(symbols), convolution.transposed};
}

Dims convolution_shape(const InferSite& site) {
  const std::string& op = site.op.name;
  const TensorType &x = site.in(0), &w = site.in(1);
  const Windows windows(op, site.attrs, x.shape.size() - 2);
  const int64_t groups = site.attrs.get<int64_t>("groups");
  require(groups > 0, op, ": groups ", groups, " is not positive");
  site.equal(x.shape[1], w.shape[1] * Dim(groups),
             text("the channels of ", x, " are not those of w ", w, " in ", groups, " groups"));
  site.multiple_of(
      w.shape[0], groups,
      text(w.shape[0], " channels of w ", w, " cannot be parted into ", groups, " groups"));
  Dims shape = {x.shape[0], w.shape[0]};
  for (const Dim& extent : window_places(op, windows, x, spatial_dims(w.shape)))
    shape.push_back(extent);
  return shape;
}

Convolution convolution_of(const Attrs& attrs, const Dims& x, const Dims& w, const Dims& y) {
  const Windows windows("conv", attrs, x.size() - 2);
  const Dim groups = attrs.get<int64_t>("groups");
  return {slide(windows, spatial_dims(x), spatial_dims(w), spatial_dims(y)), x[0], groups, w[1],
          floor_div(w[0], groups)};
}

namespace {

// The taps of all places that meet the plane, found once for all channels.
struct Meetings {
  std::vector<size_t> ends;  // by place, into the others
  std::vector<int64_t> taps, elements;

  explicit Meetings(const Slide<int64_t>& slide) {
    for (int64_t place = 0; place < slide.places(); ++place) {
      for_each_tap(slide, place, [&](int64_t tap, int64_t at) {
        taps.push_back(tap);
        elements.push_back(at);
      });
      ends.push_back(taps.size());
    }
  }
};

// What one channel of x adds to one of y. Transposed, places are of x and elements of y.
void add_plane(const Meetings& meetings, bool transposed, const double* x, const double* w,
               double* y) {
  size_t i = 0;
  for (size_t place = 0; place < meetings.ends.size(); ++place)
    for (; i < meetings.ends[place]; ++i) {
      const auto element = size_t(meetings.elements[i]);
      y[transposed ? element : place] += x[transposed ? place : element] * w[meetings.taps[i]];
    }
}

}  // namespace

std::vector<double> convolve(const ConvolutionOf<int64_t>& c, const std::vector<double>& x,
                             const std::vector<double>& w) {
  const Slide<int64_t>& slide = c.slide;
  const int64_t plane = slide.in[0] * slide.in[1] * slide.in[2], places = slide.places();
  const int64_t x_plane = c.transposed ? places : plane, y_plane = c.transposed ? plane : places;
  const Meetings meetings(slide);
  std::vector<double> y(static_cast<size_t>(c.batches * c.groups * c.outputs * y_plane));
  for (int64_t b = 0; b < c.batches; ++b)
    for (int64_t o = 0; o < c.groups * c.outputs; ++o)
      for (int64_t i = 0; i < c.inputs; ++i) {
        const int64_t input = o / c.outputs * c.inputs + i;
        const int64_t window = c.transposed ? input * c.outputs + o % c.outputs : o * c.inputs + i;
        add_plane(meetings, c.transposed, x.data() + (b * c.groups * c.inputs + input) * x_plane,
                  w.data() + window * slide.taps(),
                  y.data() + (b * c.groups * c.outputs + o) * y_plane);
      }
  return y;
}

namespace {

constexpr int64_t kPixels = 4;  // per invocation

Dims strides_of_weights(const Operand& w, const Convolution& c) {
  const Dims& strides = w.layout.strides;
  const Dim &output = strides[c.transposed ? 1 : 0], &input = strides[c.transposed ? 0 : 1];
  const Dim group = strides[0] * (c.transposed ? c.inputs : c.outputs);
  const std::array<Dim, 3> taps = three(spatial_dims(strides), 0);
  return {output, input, taps[0], taps[1], taps[2], group};
}

// Strides of 1 spread x as the mirrored window would gather it.
bool gathers(const Convolution& c) {
  const auto& strides = c.slide.strides;
  return !c.transposed || std::all_of(strides.begin(), strides.end(),
                                      [](const Dim& stride) { return stride.is(1); });
}

bool is_depthwise(const Convolution& c) { return c.inputs.is(1) && !c.groups.is(1) && gathers(c); }

// What the kernels share: operands, functions and params. The kernel has x as `in` and y as `out`.
Dispatch convolution_dispatch(const ConvolutionKernel& given, const Slide<Dim>& slide,
                              const Dim& w_first, const Dims& w_strides) {
  const Convolution& c = given.convolution;
  Dispatch dispatch;
  for (const KernelText& include : given.includes) dispatch.kernel.includes.push_back(include);
  dispatch.operands = {LowerSite::named(flat(given.x), "x", Access::read),
                       LowerSite::named(flat(given.w), "w", Access::read),
                       LowerSite::named(given.y, "y", Access::write)};
  for (const Operand& operand : given.operands) dispatch.operands.push_back(operand);
  dispatch.prelude = given.functions;
  for (const std::string& function :
       {text("alias T = ", given.type, ";"),
        text("fn x_value(i: u32) -> T { return ", given.x_value, "; }"),
        text("fn w_value(i: u32, channel: u32) -> T { return ", given.w_value, "; }"),
        text("fn finish(v: T, channel: u32) -> T { return ", given.finish, "; }")})
    dispatch.prelude.push_back(function);
  const Dims& x_strides = given.x.layout.strides;
  const std::array<Dim, 3> x_spatial = three(spatial_dims(x_strides), 0);
  dispatch.params = slide_params(slide);
  const std::vector<Param> own = {
      {"x_strides", Dims{x_strides[0], x_strides[1], x_spatial[0], x_spatial[1], x_spatial[2]}},
      {"w_strides", w_strides},
      {"x_first", given.x.layout.offset},
      {"w_first", w_first},
      {"batches", c.batches},
      {"groups", c.groups},
      {"group_inputs", c.inputs},
      {"group_outputs", c.outputs}};
  dispatch.params.insert(dispatch.params.end(), own.begin(), own.end());
  return dispatch;
}

Dispatch direct_dispatch(const LowerSite& site, const ConvolutionKernel& given) {
  const Convolution& c = given.convolution;
  const bool software = site.traits.device_class == DeviceClass::software;
  const int64_t lanes = site.choices.get("conv.lanes", software ? 8 : 64);
  int64_t channels = site.choices.get("conv.channels", 4);
  if (c.outputs.is_number()) channels = std::clamp<int64_t>(c.outputs.number(), 1, channels);
  Slide<Dim> slide = c.slide;
  if (c.transposed) std::swap(slide.in, slide.out);
  Dispatch dispatch =
      convolution_dispatch(given, slide, given.w.layout.offset, strides_of_weights(given.w, c));
  dispatch.kernel.source = kernel("conv").source;
  dispatch.constants = {{"WORKGROUP", lanes}, {"CHANNELS", channels}, {"TRANSPOSED", c.transposed}};
  dispatch.workgroups = c.groups * ceil_div(c.outputs, channels) *
                        ceil_div(c.batches * slide.places(), kPixels * lanes);
  return dispatch;
}

// How a lane reads a line of x: elements `step` apart, of which neighbouring outputs and
// neighbouring taps need others.
struct Line {
  int64_t step, along, apart;

  Line(int64_t stride, int64_t dilation, int64_t taps)
      : step(taps == 1 ? stride : std::gcd(stride, dilation)),
        along(stride / step),
        apart(dilation / step) {}
  int64_t length(int64_t outputs, int64_t taps) const {
    return (outputs - 1) * along + (taps - 1) * apart + 1;
  }
};

Dispatch depthwise_dispatch(const LowerSite& site, const ConvolutionKernel& given) {
  constexpr int64_t kLanes = 64, kMostTaps = 7, kLongestLine = 32;  // a line stays in registers
  const Convolution& c = given.convolution;
  Slide<Dim> slide = c.slide;
  Dims w_strides = strides_of_weights(given.w, c);
  Dim w_first = given.w.layout.offset;
  if (c.transposed) {
    std::swap(slide.in, slide.out);
    for (size_t d = 0; d < 3; ++d) {
      const Dim last = slide.window[d] - 1;
      slide.before[d] = last * slide.dilations[d] - slide.before[d];
      w_first = w_first + last * w_strides[d + 2];
      w_strides[d + 2] = Dim(0) - w_strides[d + 2];
    }
  }
  const int64_t outputs = site.choices.get("conv.outputs", 8);
  const int64_t stride = slide.strides[2].number(), dilation = slide.dilations[2].number();
  int64_t taps = slide.window[2].is_number()
                     ? std::clamp<int64_t>(slide.window[2].number(), 1, kMostTaps)
                     : kMostTaps;
  while (taps > 1 && Line(stride, dilation, taps).length(outputs, taps) > kLongestLine) --taps;
  const Line line(stride, dilation, taps);

  Dispatch dispatch = convolution_dispatch(given, slide, w_first, w_strides);
  dispatch.kernel.source = kernel("conv_depthwise").source;
  dispatch.constants = {{"WORKGROUP", kLanes}, {"OUTPUTS", outputs},  {"TAPS", taps},
                        {"STEP", line.step},   {"ALONG", line.along}, {"APART", line.apart}};
  dispatch.workgroups = ceil_div(c.batches * c.groups * c.outputs * slide.out[0] * slide.out[1] *
                                     ceil_div(slide.out[2], outputs),
                                 kLanes);
  return dispatch;
}

}  // namespace

Steps lower_convolution(const LowerSite& site, const ConvolutionKernel& given) {
  const bool own = site.choices.get("conv.variant", own_kernels) == own_kernels;
  Dispatch dispatch =
      (own && is_depthwise(given.convolution) ? depthwise_dispatch : direct_dispatch)(site, given);
  dispatch.kernel.name = site.node.op->name;
  return dispatch;
}

ConvolutionKernel float_convolution(const LowerSite& site, const Convolution& convolution) {
  ConvolutionKernel kernel{convolution, site.inputs[0], site.inputs[1], site.results[0]};
  if (site.has(2)) {
    kernel.operands = {site.read("bias", 2)};
    kernel.finish = "v + load_bias(channel)";
  }
  return kernel;
}

void finish_convolution(const ReferenceSite& site, const std::vector<double>& sums) {
  const Shape& shape = site.out().shape();
  const int64_t plane = sums.empty() ? 1 : site.out().count() / shape[0] / shape[1];
  for (int64_t i = 0; i < site.out().count(); ++i) {
    const double bias = site.has(2) ? site.in(2).at(i / plane % shape[1]) : 0;
    site.out().set(i, sums[size_t(i)] + bias);
  }
}

std::optional<Value> bias_gradient(Value bias, Value dy) {
  if (!bias.present()) return std::nullopt;
  Ints others = {0};
  for (int64_t d = 2; d < rank(dy.type()); ++d) others.push_back(d);
  return sum(dy, others);
}

// The gradient is a convolution itself: dy is the window, it slides over x, and its positions are
// the taps of the forward windows. Batch and channels swap roles, and so do strides and dilations.
Value convolution_weight_gradient(Value x, Value dy, const Windows& windows, const Dims& window,
                                  int64_t groups) {
  const size_t axes = window.size();
  const Dim batches = x.shape()[0], inputs = floor_div(x.shape()[1], groups),
            outputs = dy.shape()[1];
  Dims before, after;
  for (size_t d = 0; d < axes; ++d) {
    const Dim &extent = x.shape()[d + 2], &places = dy.shape()[d + 2];
    before.push_back(windows.pad_before(extent, window[d], d));
    // Enough padding for every tap, also where a stride leaves elements at the end unused.
    const Dim reach = (places - 1) * Dim(windows.strides[d]) + windows.reach(window[d], d);
    after.push_back(larger(reach - extent - before[d], 0));
  }
  const auto swapped = [&](Value v, const Dim& channels, bool by_group) {
    // [B, G * N, ..] to [N, G * B, ..], or to [G * N, B, ..].
    Dims split = {batches, groups, channels},
         joined = by_group ? Dims{channels, batches * groups} : Dims{channels * groups, batches};
    Ints order = by_group ? Ints{2, 1, 0} : Ints{1, 2, 0};
    for (size_t d = 0; d < axes; ++d) {
      split.push_back(v.shape()[d + 2]);
      joined.push_back(v.shape()[d + 2]);
      order.push_back(static_cast<int64_t>(d) + 3);
    }
    return reshape(transpose(reshape(v, split), order), joined);
  };
  Windows taps = windows;
  std::swap(taps.strides, taps.dilations);
  const Value images = swapped(x, inputs, true);
  Value dw = images.apply(conv_op(), {images, swapped(dy, floor_div(outputs, groups), false)},
                          convolution_attrs(taps, before, after, groups));
  Ints order = {1, 0};
  for (size_t d = 0; d < axes; ++d) {
    order.push_back(static_cast<int64_t>(d) + 2);
    if (!(dw.shape()[d + 2] == window[d])) dw = slice_axis(dw, d + 2, 0, window[d]);
  }
  return transpose(dw, order);
}

std::vector<double> numbers_of(const Tensor& tensor) {
  std::vector<double> numbers(static_cast<size_t>(tensor.count()));
  for (int64_t i = 0; i < tensor.count(); ++i) numbers[size_t(i)] = tensor.at(i);
  return numbers;
}

void require_bias(const InferSite& site, size_t i, DType dtype, const Dim& channels) {
  if (!site.has(i)) return;
  const TensorType& bias = site.in(i);
  require(rank(bias) == 1 && bias.dtype == dtype, site.op.name, ": bias is ", bias,
          ", it needs to be ", dtype, '[', channels, ']');
  site.equal(bias.shape[0], channels, text("bias ", bias, " does not fit ", channels, " channels"));
}

Attrs convolution_attrs(const Windows& windows, const Dims& before, const Dims& after,
                        int64_t groups) {
  Dims pads = before;
  pads.insert(pads.end(), after.begin(), after.end());
  return {{"strides", windows.strides},
          {"dilations", windows.dilations},
          {"pads", pads},
          {"groups", groups}};
}

}  // namespace rlx
