// slice(x, starts, ends, axes, steps): NumPy's x[start:end:step] along each axis, as a view of x.

#include "rlx/ops/kernel.h"
#include "rlx/ops/ops_core.h"
#include "rlx/ops/view_elements.h"
#include "rlx/ops/views.h"

namespace rlx {

const OpDef& slice_op();

namespace {

struct AxisSlice {
  size_t axis = 0;
  Dim start, length;
  int64_t step = 1;
};

// Exporters write the largest integer for "to the end".
bool is_far(const Dim& at, const Dim& extent) {
  const int64_t far = extent.is_number() ? int64_t{1} << 62 : INT32_MAX;
  return at.is_number() && (at.number() >= far || at.number() <= -far);
}

// A position counted from the start; one that only the run knows is moved by `extent` if negative.
Dim from_start(const Dim& at, const Dim& extent) {
  if (!may_be_negative(at)) return at;
  if (at.is_number()) return at + extent;
  const Dim near = max(at, -(int64_t{1} << 48));  // so that its negative exists
  return near + extent * min(max(Dim(0) - near, 0), 1);
}

// Bounds that a length of 0 makes good for are left out: they would only hide what is known.
AxisSlice forward(size_t axis, const Dim& start, const Dim& end, const Dim& extent, int64_t step) {
  Dim last = is_far(end, extent) ? (end.number() > 0 ? extent : Dim(0)) : from_start(end, extent);
  if (end.is_number() ? end.number() >= 0 : true) last = smaller(last, extent);
  const Dim first =
      is_far(start, extent) ? (start.number() > 0 ? extent : Dim(0)) : from_start(start, extent);
  // last - max(first, 0)
  const Dim span = smaller(last - first, may_be_negative(first) ? last : last - first);
  return {axis, larger(first, 0), larger(ceil_div(span, step), 0), step};
}

AxisSlice backward(size_t axis, const Dim& start, const Dim& end, const Dim& extent, int64_t step) {
  Dim last = is_far(end, extent) ? (end.number() > 0 ? extent : Dim(-1)) : from_start(end, extent);
  if (end.is_number() ? end.number() < 0 : true) last = larger(last, -1);
  Dim first = is_far(start, extent) ? (start.number() > 0 ? extent - 1 : Dim(-1))
                                    : from_start(start, extent);
  // min(first, extent - 1) - last
  const Dim span = smaller(first - last, extent - 1 - last);
  first = smaller(first, extent - 1);
  return {axis, first, larger(ceil_div(span, -step), 0), step};
}

struct Bounds {
  Dims starts, ends;
};

std::vector<AxisSlice> resolve(const TensorType& x, const Bounds& bounds, const Attrs& attrs) {
  const Ints &axes = attrs.get<Ints>("axes"), &steps = attrs.get<Ints>("steps");
  const size_t count = bounds.starts.size();
  require(bounds.ends.size() == count, "slice: there are ", count, " starts and ",
          bounds.ends.size(), " ends");
  require(axes.empty() || axes.size() == count, "slice: there are ", count, " starts and ",
          axes.size(), " axes");
  require(steps.empty() || steps.size() == count, "slice: there are ", count, " starts and ",
          steps.size(), " steps");
  std::vector<AxisSlice> slices;
  for (size_t i = 0; i < count; ++i) {
    const size_t axis = axis_of("slice", axes.empty() ? static_cast<int64_t>(i) : axes[i], x);
    for (const AxisSlice& other : slices)
      require(other.axis != axis, "slice: axis ", axis, " is named twice");
    const int64_t step = steps.empty() ? 1 : steps[i];
    require(step != 0, "slice: the step of axis ", axis, " is 0");
    require(step != INT64_MIN, "slice: the step of axis ", axis, ", ", step, ", has no negative");
    slices.push_back((step > 0 ? forward : backward)(axis, bounds.starts[i], bounds.ends[i],
                                                     x.shape[axis], step));
  }
  return slices;
}

Dims elements_of(const InferSite& site, size_t i) {
  const TensorType& type = site.in(i);
  require(is_integer(type.dtype) && rank(type) == 1, "slice: ", site.op.inputs.names[i],
          " must be a list of integers, got ", type);
  const auto& elements = site.host(i).elements;
  return {elements.begin(), elements.end()};
}

std::vector<AxisSlice> resolve(const InferSite& site) {
  const bool operands = site.has(1) && site.has(2),
             attrs = site.attrs.has("starts") && site.attrs.has("ends");
  require(operands != attrs,
          "slice: takes starts and ends as attributes or as operands, and one of them");
  const Bounds bounds =
      operands ? Bounds{elements_of(site, 1), elements_of(site, 2)}
               : Bounds{dims_attr(site.attrs, "starts"), dims_attr(site.attrs, "ends")};
  return resolve(site.in(0), bounds, site.attrs);
}

Types infer(const InferSite& site) {
  TensorType y = site.in(0);
  for (const AxisSlice& slice : resolve(site)) y.shape[slice.axis] = slice.length;
  return {y};
}

Layout sliced(Layout layout, const std::vector<AxisSlice>& slices) {
  for (const AxisSlice& slice : slices) {
    layout.offset = layout.offset + slice.start * layout.strides[slice.axis];
    layout.strides[slice.axis] = layout.strides[slice.axis] * Dim(slice.step);
  }
  return layout;
}

std::optional<Layout> view(const ViewSite& site) {
  return tidy(sliced(site.input, resolve(site.infer)), site.result.shape);
}

void reference(const ReferenceSite& site) {
  const auto elements = [&](size_t i) {
    Dims list;
    for (int64_t e = 0; e < site.in(i).count(); ++e) list.emplace_back(site.in(i).integer_at(e));
    return list;
  };
  const auto numbers = [&](const char* name) {
    Dims list = dims_attr(site.attrs, name);
    for (Dim& dim : list) dim = dim.value(site.symbols);
    return list;
  };
  const Tensor& x = site.in(0);
  const Bounds bounds =
      site.has(1) ? Bounds{elements(1), elements(2)} : Bounds{numbers("starts"), numbers("ends")};
  const auto slices = resolve(x.type(), bounds, site.attrs);
  copy_strided(x, sliced(Layout::row_major(x.shape()), slices), site.out(), {});
}

std::optional<HostValue> symbolic(const InferSite& site) {
  if (!site.has_host(0)) return std::nullopt;
  const HostValue& x = site.host(0);
  const std::vector<AxisSlice> slices = resolve(site);
  Shape shape = x.shape;
  for (const AxisSlice& slice : slices) {
    if (!slice.start.is_number() || !slice.length.is_number()) return std::nullopt;
    shape[slice.axis] = slice.length.number();
  }
  return elements_of_view(x, sliced(Layout::row_major(Dims(x.shape)), slices), shape);
}

// dy with step - 1 zeros after each element along the axis.
Value spread(Value dy, size_t axis, int64_t step) {
  const Dim length = dy.shape()[axis];
  Dims apart = dy.shape(), gaps = dy.shape(), result = dy.shape();
  apart.insert(apart.begin() + static_cast<int64_t>(axis) + 1, 1);
  gaps.insert(gaps.begin() + static_cast<int64_t>(axis) + 1, step - 1);
  result[axis] = length * Dim(step);
  return reshape(concat({reshape(dy, apart), zeros(dy, gaps)}, static_cast<int64_t>(axis) + 1),
                 result);
}

// dy where it came from, zeros elsewhere.
Gradients gradient(const GradientSite& site) {
  const auto elements = [&](size_t i) {
    const auto& known = site.in(i).producer().host_values[size_t(site.in(i).result)];
    return Dims(known->elements.begin(), known->elements.end());
  };
  const TensorType& x = site.in(0).type();
  const Bounds bounds = site.inputs.size() > 2 ? Bounds{elements(1), elements(2)}
                                               : Bounds{dims_attr(site.attrs(), "starts"),
                                                        dims_attr(site.attrs(), "ends")};
  Value dy = site.dy();
  for (AxisSlice part : resolve(x, bounds, site.attrs())) {
    const int64_t axis = static_cast<int64_t>(part.axis);
    const Dim extent = x.shape[part.axis];
    if (part.length == extent && part.step == 1) continue;
    if (part.step < 0) {  // turned round, it is a slice with a positive step
      dy = slice(dy, Ints{-1}, Ints{INT64_MIN}, {axis}, {-1});
      part.start = larger(part.start + (part.length - 1) * Dim(part.step), 0);
      part.step = -part.step;
    }
    if (part.step > 1) dy = spread(dy, part.axis, part.step);
    Dims before = dy.shape(), after = dy.shape();
    before[part.axis] = smaller(part.start, extent);
    const Dim left = extent - before[part.axis] - dy.shape()[part.axis];
    after[part.axis] =
        part.step == 1 ? left : larger(left, 0);  // the last gap may reach beyond the end
    Values parts;
    if (!before[part.axis].is(0)) parts.push_back(zeros(dy, before));
    parts.push_back(dy);
    if (!after[part.axis].is(0)) parts.push_back(zeros(dy, after));
    if (parts.size() > 1) dy = concat(parts, axis);
    if (!(dy.shape()[part.axis] == extent)) dy = slice_axis(dy, part.axis, 0, extent);
  }
  Gradients gradients(site.inputs.size());
  gradients[0] = dy.shape() == x.shape ? dy : reshape(dy, x.shape);
  return gradients;
}

}  // namespace

const OpDef& slice_op() {
  static const OpDef op{
      .name = "slice",
      .family = "shape",
      .inputs = {1, 3, {"x", "starts", "ends"}},
      .attrs = {{"starts", {}, true}, {"ends", {}, true}, {"axes", Ints{}}, {"steps", Ints{}}},
      .host_inputs = {1, 2},
      .infer = infer,
      .reference = reference,
      .lower = copy_of_view,
      .gradient = gradient,
      .view = view,
      .symbolic = symbolic,
      .never_fails = true,
      .onnx = "Slice",
  };
  return op;
}

Value slice(Value x, const Ints& starts, const Ints& ends, const Ints& axes, const Ints& steps) {
  return x.apply(slice_op(), {x},
                 {{"starts", starts}, {"ends", ends}, {"axes", axes}, {"steps", steps}});
}
Value slice(Value x, Value starts, Value ends, const Ints& axes, const Ints& steps) {
  return x.apply(slice_op(), {x, starts, ends}, {{"axes", axes}, {"steps", steps}});
}

}  // namespace rlx
