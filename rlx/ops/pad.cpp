// pad(x, pads, value, mode): x with `pads` elements before and after along each axis: a constant
// value, or x reflected, its edge, or x again. Negative pads take elements off.

#include <algorithm>

#include "rlx/codegen/each_element.h"
#include "rlx/codegen/elementwise.h"
#include "rlx/ops/kernel.h"
#include "rlx/ops/ops_core.h"
#include "rlx/ops/strided.h"
#include "rlx/ops/views.h"

namespace rlx {

const OpDef& pad_op();

namespace {

constexpr const char* kModes[] = {"constant", "reflect", "edge", "wrap"};

int64_t mode_of(const Attrs& attrs) {
  const std::string& mode = attrs.get<std::string>("mode");
  for (size_t i = 0; i < std::size(kModes); ++i)
    if (mode == kModes[i]) return static_cast<int64_t>(i);
  fail(ErrorKind::invalid_graph, "pad: there is no mode '", mode,
       "'; it takes constant, reflect, edge, wrap");
}

struct Pads {
  Dims before, after;  // of every axis
};

// From a list of what comes before each axis and then of what comes after.
Pads pads_of(const TensorType& x, const Dims& list, const Attrs& attrs) {
  Ints axes = attrs.get<Ints>("axes");
  if (axes.empty() && !list.empty())
    for (int64_t d = 0; d < rank(x); ++d) axes.push_back(d);
  require(list.size() == 2 * axes.size(), "pad: there are ", list.size(), " pads for ", axes.size(),
          " axes of ", x);
  Pads pads{Dims(x.shape.size(), 0), Dims(x.shape.size(), 0)};
  for (size_t i = 0; i < axes.size(); ++i) {
    const size_t axis = axis_of("pad", axes[i], x);
    pads.before[axis] = list[i];
    pads.after[axis] = list[axes.size() + i];
  }
  return pads;
}

Dims pad_list(const InferSite& site) {
  require(site.attrs.has("pads") != site.has(1),
          "pad: takes pads as attribute or as operand, and one of them");
  if (!site.has(1)) return dims_attr(site.attrs, "pads");
  const TensorType& type = site.in(1);
  require(is_integer(type.dtype) && rank(type) == 1, "pad: pads must be a list of integers, got ",
          type);
  const auto& elements = site.host(1).elements;
  return {elements.begin(), elements.end()};
}

Types infer(const InferSite& site) {
  const TensorType& x = site.in(0);
  const bool constant = mode_of(site.attrs) == 0;
  const Pads pads = pads_of(x, pad_list(site), site.attrs);
  require(!site.has(2) || (site.in(2).dtype == x.dtype && count(site.in(2).shape).is(1)),
          "pad: the value must be one ", x.dtype, ", got ", site.has(2) ? site.in(2) : x);
  TensorType y = x;
  for (size_t d = 0; d < x.shape.size(); ++d) {
    const Dim extent = x.shape[d] + pads.before[d] + pads.after[d];
    require(!extent.is_number() || extent.number() >= 0, "pad: pads ", pads.before[d], " and ",
            pads.after[d], " take more off dim ", d, " of ", x, " than there is");
    y.shape[d] = larger(extent, 0);
    if (!constant)
      site.at_most(smaller(y.shape[d], 1), x.shape[d],
                   text("dim ", d, " of ", x, " is empty, there is nothing to repeat"));
  }
  return {y};
}

int64_t floor_mod(int64_t a, int64_t b) { return (a % b + b) % b; }

// The coordinate in x that is seen at c, or -1.
int64_t seen_at(int64_t c, int64_t extent, int64_t mode) {
  if (mode == 0) return c < extent ? c : -1;
  if (extent == 0) fail(ErrorKind::invalid_input, "pad: an empty dim has nothing to repeat");
  if (mode == 2) return std::clamp<int64_t>(c, 0, extent - 1);
  if (mode == 3) return floor_mod(c, extent);
  const int64_t period = std::max<int64_t>(2 * (extent - 1), 1), at = floor_mod(c, period);
  return at < extent ? at : period - at;
}

void reference(const ReferenceSite& site) {
  const Tensor& x = site.in(0);
  Dims list = dims_attr(site.attrs, "pads");
  for (Dim& dim : list) dim = dim.value(site.symbols);
  for (int64_t i = 0; site.has(1) && i < site.in(1).count(); ++i)
    list.emplace_back(site.in(1).integer_at(i));
  const Pads pads = pads_of(x.type(), list, site.attrs);
  const int64_t mode = mode_of(site.attrs);
  Tensor value(x.dtype(), {});
  if (x.dtype() != DType::c64) value.set(0, site.attrs.get<double>("value"));
  if (site.has(2)) value = site.in(2);
  const Shape &from = x.shape(), &to = site.out().shape(), strides = strides_of(from);
  for (int64_t i = 0; i < site.out().count(); ++i) {
    int64_t rest = i, at = 0;
    bool inside = true;
    for (size_t d = to.size(); d-- > 0; rest /= to[d]) {
      const int64_t c = seen_at(rest % to[d] - pads.before[d].number(), from[d], mode);
      inside = inside && c >= 0;
      at += c * strides[d];
    }
    copy_elements(inside ? x : value, inside ? at : 0, site.out(), i, 1);
  }
}

// Extents, elements before, and stride of each dim; neighbours that are not padded are one.
Dims padded_dims(const LowerSite& site, const Pads& pads) {
  const Dims &from = site.in(0).shape, &to = site.out().shape;
  const Dims& strides = site.inputs[0].layout.strides;
  const auto is_whole_dim = [&](size_t d) { return pads.before[d].is(0) && pads.after[d].is(0); };
  Dims entries;
  bool joins = false;
  for (size_t d = 0; d < from.size(); ++d) {
    const bool whole = is_whole_dim(d);
    const size_t last = entries.size();
    if (joins && whole && entries[last - 1] == strides[d] * from[d]) {
      entries[last - 4] = entries[last - 4] * to[d];
      entries[last - 3] = entries[last - 3] * from[d];
      entries[last - 1] = strides[d];
    } else {
      for (const Dim& entry : {to[d], from[d], pads.before[d], strides[d]})
        entries.push_back(entry);
    }
    joins = whole;
  }
  return entries.empty() ? Dims{1, 1, 0, 0} : entries;
}

std::string fill_function(const LowerSite& site, Dispatch& dispatch) {
  const DType dtype = site.out().dtype;
  const std::string type = site.compute_type(dtype);
  std::string value = "load_value(0u)";
  if (site.has(2)) {
    dispatch.operands.push_back(site.read("value", 2));
  } else if (dtype == DType::c64) {
    value = "vec2<f32>()";
  } else {
    Tensor whole(is_float(dtype) ? DType::f32 : dtype, {});
    whole.set(0, site.attrs().get<double>("value"));
    if (is_float(dtype))
      dispatch.params.emplace_back("value", whole.at(0));
    else
      dispatch.params.push_back(Param::signed_number("value", whole.integer_at(0)));
    value = convert_expression("params.value", is_float(dtype) ? DType::f32 : DType::i32, dtype);
  }
  return text("fn fill() -> ", type, " { return ", value, "; }");
}

Steps lower(const LowerSite& site) {
  const bool operand = site.node.inputs.size() > 1 && site.node.inputs[1].present();
  Dims list = dims_attr(site.attrs(), "pads");
  if (operand) list.assign(site.host(1).elements.begin(), site.host(1).elements.end());
  const Dims dims = padded_dims(site, pads_of(site.in(0), list, site.attrs()));
  Dispatch dispatch{.kernel = kernel("pad"),
                    .operands = {LowerSite::named(flat(site.inputs[0]), "x", Access::read)},
                    .constants = {{"DIMS", static_cast<int64_t>(dims.size() / 4)},
                                  {"MODE", mode_of(site.attrs())}},
                    .params = {{"dims", dims}, {"offset", site.inputs[0].layout.offset}}};
  dispatch.prelude.push_back(fill_function(site, dispatch));
  return each_element(std::move(dispatch), site.results[0], site.traits);
}

Value padded(Value x, const Pads& pads, const char* mode) {
  Dims list = pads.before;
  list.insert(list.end(), pads.after.begin(), pads.after.end());
  return x.apply(pad_op(), {x}, {{"pads", list}, {"mode", mode}});
}

// Adds the gradients of repeated elements. Their source indices are 0, 1, .. padded in the same
// mode.
Value sum_repeated(Value dy, const TensorType& x, const Pads& pads, const char* mode) {
  for (size_t d = 0; d < x.shape.size(); ++d) {
    if (pads.before[d].is(0) && pads.after[d].is(0)) continue;
    const Value from =
        padded(counting(dy, x.shape[d], DType::i32), {{pads.before[d]}, {pads.after[d]}}, mode);
    Dims shape = dy.shape();
    shape[d] = x.shape[d];
    dy = scatter(zeros(dy, shape), from, dy, static_cast<int64_t>(d), "add");
  }
  return dy;
}

// Of a constant the rest is taken off again, and what was taken off is zeros.
Gradients gradient(const GradientSite& site) {
  const Value x = site.in(0), dy = site.dy();
  Dims list = dims_attr(site.attrs(), "pads");
  if (site.inputs.size() > 1 && site.in(1).present()) {
    const auto& known = site.in(1).producer().host_values[size_t(site.in(1).result)];
    list.assign(known->elements.begin(), known->elements.end());
  }
  const Pads pads = pads_of(x.type(), list, site.attrs());
  const int64_t mode = mode_of(site.attrs());
  Gradients gradients(site.inputs.size());
  if (mode != 0) {
    gradients[0] = sum_repeated(dy, x.type(), pads, kModes[mode]);
    return gradients;
  }
  Pads back = pads;
  for (Dims* side : {&back.before, &back.after})
    for (Dim& pad : *side) pad = Dim(0) - pad;
  const Value dx = padded(dy, back, "constant");
  gradients[0] = dx.shape() == x.shape() ? dx : reshape(dx, x.shape());
  if (site.inputs.size() > 2 && site.in(2).present()) {
    const Value inside = padded(expand(scalar(x, 1), x.shape()), pads, "constant");
    gradients[2] = reshape(sum(dy * (scalar(dy, 1) - inside)), site.in(2).shape());
  }
  return gradients;
}

}  // namespace

const OpDef& pad_op() {
  static const OpDef op{
      .name = "pad",
      .family = "shape",
      .inputs = {1, 3, {"x", "pads", "value"}},
      .attrs = {{"mode", "constant"}, {"pads", {}, true}, {"axes", Ints{}}, {"value", 0.0}},
      .host_inputs = {1},
      .infer = infer,
      .reference = reference,
      .lower = lower,
      .gradient = gradient,
      .never_fails = true,
      .onnx = "Pad",
  };
  return op;
}

Value pad(Value x, const Dims& pads, const std::string& mode, double value, const Ints& axes) {
  return x.apply(pad_op(), {x}, {{"pads", pads}, {"mode", mode}, {"value", value}, {"axes", axes}});
}
Value pad(Value x, Value pads, const std::string& mode, Value value, const Ints& axes) {
  return x.apply(pad_op(), {x, pads, value}, {{"mode", mode}, {"axes", axes}});
}

}  // namespace rlx
