// resize(x, sizes or scales): x with other extents along some axes, each element the nearest of x
// or a linear or cubic sum of those around it. Coordinates, rounding and weights are ONNX's.

#include "rlx/ops/kernel.h"
#include "rlx/ops/ops_resize.h"
#include "rlx/ops/resizing.h"
#include "rlx/ops/views.h"

namespace rlx {

const OpDef& resize_op();
const OpDef& resize_gradient_op();

namespace {

// The extents along the axes that are named; none where only scales are given.
Dims sizes_of(const InferSite& site) {
  require(!(site.attrs.has("sizes") && site.has(1)),
          "resize: takes sizes as attribute or as operand, and one of them");
  if (!site.has(1)) return dims_attr(site.attrs, "sizes");
  const TensorType& type = site.in(1);
  require(is_integer(type.dtype) && rank(type) == 1,
          "resize: sizes must be a list of integers, got ", type);
  const auto& elements = site.host(1).elements;
  return {elements.begin(), elements.end()};
}

Types infer(const InferSite& site) {
  TensorType y = site.in(0);
  check_resize("resize", y, site.attrs);
  const Dims sizes = sizes_of(site);
  const Floats& scales = site.attrs.get<Floats>("scales");
  const Ints& given = site.attrs.get<Ints>("axes");
  const size_t count = given.empty() ? y.shape.size() : given.size();
  require(!sizes.empty() || !scales.empty() || count == 0, "resize: takes sizes or scales");
  require(sizes.empty() || sizes.size() == count, "resize: there are ", sizes.size(), " sizes for ",
          count, " axes of ", site.in(0));
  for (size_t i = 0; i < count; ++i) {
    const size_t axis = given.empty() ? i : axis_of("resize", given[i], site.in(0));
    const Dim from = y.shape[axis];
    y.shape[axis] = sizes.empty() ? scaled(from, scales[i]) : larger(sizes[i], 0);
    require(!sizes.empty() ? !sizes[i].is_number() || sizes[i].number() >= 0 : true,
            "resize: size ", sizes.empty() ? Dim(0) : sizes[i], " of dim ", axis, " is negative");
    site.at_most(
        smaller(y.shape[axis], 1), from,
        text("dim ", axis, " of ", site.in(0), " is empty, it cannot become ", y.shape[axis]));
  }
  return {y};
}

void reference(const ReferenceSite& site) {
  const Tensor& x = site.in(0);
  Tensor& y = site.out();
  if (y.count() == 0) return;  // beside a dim of 0 another may be too long for a table of taps
  const ResizeTaps taps(x.shape(), y.shape(), site.attrs);
  const bool whole = site.attrs.get<std::string>("mode") == "nearest";
  Tensor outside(x.dtype(), {});
  if (x.dtype() != DType::c64) outside.set(0, site.attrs.get<double>("outside_value"));
  for (int64_t i = 0; i < y.count(); ++i) {
    double sum = 0;
    const bool seen = taps.for_each(i, [&](int64_t at, double weight) {
      if (whole)
        copy_elements(x, at, y, i, 1);
      else if (weight != 0)
        sum += weight * x.at(at);
    });
    if (!seen)
      copy_elements(outside, 0, y, i, 1);
    else if (!whole)
      y.set(i, sum);
  }
}

Steps lower(const LowerSite& site) {
  return lower_resize(site, resized_axes(site.in(0).shape, site.out().shape, site.attrs()));
}

Gradients gradient(const GradientSite& site) {
  Attrs attrs = site.attrs();
  attrs.erase("sizes");
  attrs.set("shape", site.in(0).shape());
  Gradients gradients(site.inputs.size());
  gradients[0] = site.dy().apply(resize_gradient_op(), {site.dy()}, attrs);
  return gradients;
}

std::vector<AttrSpec> attrs() {
  std::vector<AttrSpec> list = resize_attrs();
  list.push_back({"sizes", {}, true});
  return list;
}

}  // namespace

const OpDef& resize_op() {
  static const OpDef op{
      .name = "resize",
      .family = "shape",
      .inputs = {1, 2, {"x", "sizes"}},
      .attrs = attrs(),
      .host_inputs = {1},
      .infer = infer,
      .reference = reference,
      .lower = lower,
      .gradient = gradient,
      .never_fails = true,
      .accuracy = {8},
      .onnx = "Resize",
  };
  return op;
}

namespace {

Attrs attrs_of(const ResizeOptions& options) {
  return {{"mode", options.mode},           {"coordinates", options.coordinates},
          {"rounding", options.rounding},   {"axes", options.axes},
          {"scales", options.scales},       {"roi", options.roi},
          {"antialias", options.antialias}, {"exclude_outside", options.exclude_outside},
          {"cubic_a", options.cubic_a},     {"outside_value", options.outside_value},
          {"exact", options.exact}};
}

}  // namespace

Value resize(Value x, const Dims& sizes, const ResizeOptions& options) {
  Attrs attrs = attrs_of(options);
  if (!sizes.empty()) attrs.set("sizes", sizes);
  return x.apply(resize_op(), {x}, attrs);
}
Value resize(Value x, Value sizes, const ResizeOptions& options) {
  return x.apply(resize_op(), {x, sizes}, attrs_of(options));
}

}  // namespace rlx
