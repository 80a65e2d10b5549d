// ONNX operators that move, pick, repeat and reshape elements, and that make tensors of nothing.

#include <algorithm>
#include <cmath>

#include "rlx/import/onnx/site.h"
#include "rlx/ops/ops_core.h"
#include "rlx/ops/ops_fill.h"
#include "rlx/ops/ops_index.h"
#include "rlx/ops/ops_rearrange.h"
#include "rlx/ops/ops_resize.h"
#include "rlx/ops/ops_scatter.h"

namespace rlx::onnx {
namespace {

using Site = const NodeSite&;

Items constant_operator(Site site) {
  const auto numbers = [&](DType dtype, const std::vector<double>& values) {
    return site.constant(
        Tensor::of(dtype, {static_cast<int64_t>(values.size())}, std::span<const double>(values)));
  };
  for (const Attribute& attribute : site.node.attributes) {
    const std::string& name = attribute.name;
    if (name == "value" && attribute.t)
      return {tensor_item(site.constant(attribute.t->tensor), attribute.t->is_string)};
    if (name == "value_string")
      return {tensor_item(site.constant(padded_strings(name, {}, {attribute.s})), true)};
    if (name == "value_strings") {
      const Shape shape{static_cast<int64_t>(attribute.strings.size())};
      return {tensor_item(site.constant(padded_strings(name, shape, attribute.strings)), true)};
    }
    if (name == "value_float") return {site.scalar(DType::f32, attribute.f)};
    if (name == "value_int") {
      Tensor tensor(DType::i64, {});
      tensor.set_integer(0, attribute.i);
      return {site.constant(tensor)};
    }
    if (name == "value_floats") return {numbers(DType::f32, attribute.floats)};
    if (name == "value_ints")
      return {site.list(Ints(attribute.ints.begin(), attribute.ints.end()))};
  }
  site.fail_node("has no value that rlx can hold");
}

Tensor fill_value(Site site) {
  const Attribute* value = site.attribute("value");
  if (value && value->t && value->t->is_string) site.fail_node("does not make strings");
  return value && value->t ? value->t->tensor : Tensor::scalar(DType::f32, 0);
}
Items constant_of_shape(Site site) {
  const auto fill = [&] { return site.constant(fill_value(site).reshaped({})); };
  const Value given = site.in(0);
  const auto& host = given.producer().host_values[static_cast<size_t>(given.result)];
  if (!host && !site.maybe_ints(0) && is_concrete(given.shape()))
    return {expand(fill(), given)};  // the data tells
  const Dims shape = site.known_dims(0);
  for (const Dim& dim : shape)  // for expand -1 keeps what there is, here it is a mistake
    if (dim.is_number() && dim.number() < 0)
      site.fail_node("the dim ", dim, " of ", shape, " is negative");
  return {expand(fill(), shape)};
}

Items reshape_operator(Site site) {
  const Value x = site.in(0);
  if (site.opset < 5) {
    const Ints shape = site.ints("shape");
    return {reshape(x, site.list(shape))};
  }
  // A 0 takes the dim of x, unless zeros are meant.
  if (site.flag("allowzero")) return {reshape(x, site.known_dims(1))};
  if (const auto known = site.maybe_ints(1)) {
    Dims dims;
    for (size_t d = 0; d < known->size(); ++d)
      dims.push_back((*known)[d] == 0 ? x.shape().at(d) : Dim((*known)[d]));
    return {reshape(x, dims)};
  }
  return {reshape(x, site.in(1))};
}

Ints axes_operand(Site site) { return site.opset >= 13 ? site.known_ints(1) : site.ints("axes"); }
Items squeeze_operator(Site site) {
  const Value x = site.in(0);
  const bool given = site.opset >= 13 ? site.has(1) : site.attribute("axes") != nullptr;
  Ints axes;
  if (given) {
    axes = axes_operand(site);
  } else {
    for (size_t d = 0; d < x.shape().size(); ++d)
      if (x.shape()[d].is(1)) axes.push_back(static_cast<int64_t>(d));
  }
  return {axes.empty() ? x : squeeze(x, axes)};
}
Items unsqueeze_operator(Site site) { return {unsqueeze(site.in(0), axes_operand(site))}; }

Items transpose_operator(Site site) {
  const Value x = site.in(0);
  Ints order = site.ints("perm");
  if (!site.attribute("perm"))
    for (int64_t d = rank(x.type()); d-- > 0;) order.push_back(d);
  return {transpose(x, order)};
}
Items flatten_operator(Site site) { return {flatten(site.in(0), site.integer("axis", 1))}; }
bool are_all(Value value, int64_t number) {
  const auto known = known_numbers(value);
  return known && std::all_of(known->begin(), known->end(), [&](int64_t n) { return n == number; });
}

// PyTorch writes ones for each -1 of a shape in front of Expand. For expand -1 keeps what there is,
// which is the same, and its elements are known where those of the shape are.
Value without_ones(Value shape) {
  const rlx::Node& where = shape.producer();
  if (where.op->name != "where") return shape;
  const rlx::Node& equal = where.inputs[0].producer();
  const bool is_default = equal.op->name == "eq" && equal.inputs[0] == where.inputs[2] &&
                          are_all(equal.inputs[1], -1) && are_all(where.inputs[1], 1);
  return is_default ? where.inputs[2] : shape;
}

Items expand_operator(Site site) {
  const Value x = site.in(0);
  const Value wanted = site.in(1);
  const auto& host = wanted.producer().host_values[static_cast<size_t>(wanted.result)];
  if (!host && !site.maybe_ints(1)) return {expand(x, without_ones(wanted))};
  // Both sides broadcast: a dim of the target may be 1 where x's is not.
  Dims target = site.known_dims(1);
  const Dims& own = x.shape();
  while (target.size() < own.size()) target.insert(target.begin(), Dim(1));
  const size_t extra = target.size() - own.size();
  for (size_t d = 0; d < own.size(); ++d)
    if (target[d + extra].is(1)) target[d + extra] = own[d];
  return {expand(x, target)};
}

Items concat_operator(Site site) {
  return {concat(site.all_inputs(), site.integer("axis", site.opset < 4 ? 1 : 0))};
}

Items slice_operator(Site site) {
  const Value x = site.in(0);
  if (site.opset < 10) {
    Ints axes = site.ints("axes");
    return {slice(x, site.ints("starts"), site.ints("ends"), axes)};
  }
  const Ints axes = site.has(3) ? site.known_ints(3) : Ints{};
  const Ints steps = site.has(4) ? site.known_ints(4) : Ints{};
  const auto starts = site.maybe_ints(1), ends = site.maybe_ints(2);
  if (starts && ends) return {slice(x, *starts, *ends, axes, steps)};
  return {slice(x, site.in(1), site.in(2), axes, steps)};
}

Items split_operator(Site site) {
  const Value x = site.in(0);
  const int64_t axis = site.integer("axis", 0);
  std::optional<Dims> lengths;
  if (site.opset >= 13 && site.has(1)) lengths = site.known_dims(1);
  if (site.opset < 13 && site.attribute("split")) {
    const Ints numbers = site.ints("split");
    lengths = Dims(numbers.begin(), numbers.end());
  }
  const Values parts =
      lengths ? split(x, *lengths, axis) : split(x, static_cast<int64_t>(site.outputs()), axis);
  return {parts.begin(), parts.end()};
}

Items pad_operator(Site site) {
  const Value x = site.in(0);
  const std::string mode = site.string("mode", "constant");
  if (site.opset < 11) {
    const Ints pads = site.ints(site.opset < 2 ? "paddings" : "pads");
    return {pad(x, Dims(pads.begin(), pads.end()), mode, site.real("value", 0))};
  }
  const Ints axes = site.has(3) ? site.known_ints(3) : Ints{};
  return {pad(x, site.in(1), mode, site.maybe(2), axes)};
}

Items tile_operator(Site site) {
  const Value x = site.in(0);
  if (const auto known = site.maybe_ints(1)) return {tile(x, Dims(known->begin(), known->end()))};
  return {tile(x, site.in(1))};
}

Items shape_operator(Site site) {
  const Value x = site.in(0);
  if (!site.attribute("start") && !site.attribute("end")) return {shape_of(x)};
  return {shape_of(x, site.integer("start", 0), site.integer("end", rank(x.type())))};
}
Items size_operator(Site site) { return {size_of(site.in(0))}; }

Items gather_operator(Site site) {
  return {gather(site.in(0), site.in(1), site.integer("axis", 0))};
}
Items gather_elements_operator(Site site) {
  return {gather_elements(site.in(0), site.in(1), site.integer("axis", 0))};
}
Items gather_nd_operator(Site site) {
  return {gather_nd(site.in(0), site.in(1), site.integer("batch_dims", 0))};
}
Items scatter_elements_operator(Site site) {
  return {scatter_elements(site.in(0), site.in(1), site.in(2), site.integer("axis", 0),
                           site.string("reduction", "none"))};
}
Items scatter_nd_operator(Site site) {
  return {scatter_nd(site.in(0), site.in(1), site.in(2), site.string("reduction", "none"))};
}

// Keeps the slices whose condition holds: data-dependent, so on the host.
Items compress(Site site) {
  Value x = site.in(0);
  Value condition = site.in(1);
  int64_t axis = 0;
  if (site.attribute("axis"))
    axis = site.integer("axis");
  else
    x = reshape(x, {Dim(-1)});
  const Value kept = reshape(non_zero(condition), {Dim(-1)});
  return {gather(x, kept, axis)};
}

Items one_hot_operator(Site site) {
  const Value depth = site.in(1);
  const Value whole = is_integer(depth.dtype()) ? depth : cast(depth, DType::i64);
  Value indices = site.in(0);
  if (!is_integer(indices.dtype())) indices = cast(indices, DType::i64);
  return {one_hot(indices, whole, site.in(2), site.integer("axis", -1))};
}

// The integer that a float is, where that can be told.
Value whole_number(Site site, size_t i) {
  const Item& item = site.inputs[i];
  if (item.integers) return cast(item.integers, DType::i64);
  const std::optional<Tensor> known = site.maybe_tensor(i);
  if (!known || known->count() != 1 || known->at(0) != std::floor(known->at(0))) return {};
  return site.list({static_cast<int64_t>(known->at(0))});
}
// Floats that are integers are counted on the host, where those are known before the run.
Items range_operator(Site site) {
  const Value start = site.in(0), limit = site.in(1), delta = site.in(2);
  if (!is_float(start.dtype())) return {range(start, limit, delta)};
  if (site.maybe_tensor(0) && site.maybe_tensor(1) && site.maybe_tensor(2)) {
    const double from = site.known_number(0), to = site.known_number(1), by = site.known_number(2);
    return {range(start, from, to, by)};
  }
  const Value bounds[] = {whole_number(site, 0), whole_number(site, 1), whole_number(site, 2)};
  if (bounds[0] && bounds[1] && bounds[2])
    return {cast(range(bounds[0], bounds[1], bounds[2]), start.dtype())};
  return {float_range(start, limit, delta)};
}

Items trilu_operator(Site site) {
  const bool upper = site.flag("upper", true);
  if (!site.has(1)) return {trilu(site.in(0), upper)};
  if (const auto k = site.maybe_ints(1)) return {trilu(site.in(0), upper, k->at(0))};
  return {trilu(site.in(0), upper, site.in(1))};
}

Items eye_like_operator(Site site) {
  const Value x = site.in(0);
  const std::optional<DType> dtype = site.attribute("dtype")
                                         ? dtype_of(static_cast<int>(site.integer("dtype")))
                                         : std::optional<DType>(x.dtype());
  if (!dtype) site.fail_node("the dtype is none of rlx");
  return {eye_like(x, *dtype, site.integer("k", 0))};
}

Items reverse_sequence_operator(Site site) {
  return {reverse_sequence(site.in(0), site.in(1), site.integer("time_axis", 0),
                           site.integer("batch_axis", 1))};
}

Items depth_to_space_operator(Site site) {
  return {depth_to_space(site.in(0), site.integer("blocksize"), site.string("mode", "DCR"))};
}
Items space_to_depth_operator(Site site) {
  return {space_to_depth(site.in(0), site.integer("blocksize"))};
}

// ---- Resize ----

Floats known_floats(Site site, size_t i) {
  const Tensor tensor = site.known_tensor(i);
  Floats values;
  for (int64_t k = 0; k < tensor.count(); ++k) values.push_back(tensor.at(k));
  return values;
}

bool has_elements(Site site, size_t i) {
  return site.has(i) && !(site.in(i).shape().size() == 1 && site.in(i).shape()[0].is(0));
}

Items upsample(Site site) {
  ResizeOptions options{
      .mode = site.string("mode", "nearest"), .coordinates = "asymmetric", .rounding = "floor"};
  options.exact = site.exact_resize;
  options.scales = site.opset >= 9 ? known_floats(site, 1) : site.floats("scales");
  return {resize(site.in(0), Dims{}, options)};
}

// One scale for all axes: the smallest or the largest that the sizes ask for.
Value keep_aspect(Site site, const std::string& policy, ResizeOptions options) {
  if (policy != "not_larger" && policy != "not_smaller")
    site.fail_node("keep_aspect_ratio_policy is '", policy, "'");
  const Value x = site.in(0);
  const Ints asked = site.known_ints(3);
  if (options.axes.empty())
    for (int64_t d = 0; d < rank(x.type()); ++d) options.axes.push_back(d);
  if (asked.size() != options.axes.size())
    site.fail_node("there are ", asked.size(), " sizes for ", options.axes.size(), " axes");
  if (asked.empty()) site.fail_node("there is no axis of ", x.type(), " to keep the ratio of");
  Floats extents;
  for (const int64_t axis : options.axes) {
    const Dim& extent = x.shape().at(static_cast<size_t>(axis < 0 ? axis + rank(x.type()) : axis));
    if (!extent.is_number()) site.fail_node("an aspect ratio is kept of known extents only");
    extents.push_back(static_cast<double>(extent.number()));
  }
  double scale = static_cast<double>(asked[0]) / extents[0];
  for (size_t i = 1; i < asked.size(); ++i) {
    const double next = static_cast<double>(asked[i]) / extents[i];
    scale = policy == "not_larger" ? std::min(scale, next) : std::max(scale, next);
  }
  Dims sizes;
  for (const double extent : extents) {
    const double size = std::floor(scale * extent + 0.5);
    if (!(std::abs(size) < 0x1p40))
      site.fail_node("a scale of ", scale, " for an extent of ", extent, " keeps no aspect ratio");
    sizes.emplace_back(static_cast<int64_t>(size));
  }
  options.scales.assign(asked.size(), scale);
  return resize(x, sizes, options);
}

Items resize_operator(Site site) {
  if (site.opset < 11) return upsample(site);
  const Value x = site.in(0);
  ResizeOptions options;
  options.mode = site.string("mode", "nearest");
  options.coordinates = site.string("coordinate_transformation_mode", "half_pixel");
  options.rounding = site.string("nearest_mode", "round_prefer_floor");
  options.axes = site.ints("axes");
  options.exact = site.exact_resize;
  options.antialias = site.flag("antialias");
  options.exclude_outside = site.flag("exclude_outside");
  options.cubic_a = site.real("cubic_coeff_a", -0.75);
  options.outside_value = site.real("extrapolation_value", 0);
  if (options.coordinates == "tf_crop_and_resize") options.roi = known_floats(site, 1);
  if (has_elements(site, 2)) {
    options.scales = known_floats(site, 2);
    return {resize(x, Dims{}, options)};
  }
  const std::string policy = site.string("keep_aspect_ratio_policy", "stretch");
  if (policy != "stretch") return {keep_aspect(site, policy, options)};
  if (const auto sizes = site.maybe_ints(3))
    return {resize(x, Dims(sizes->begin(), sizes->end()), options)};
  return {resize(x, site.in(3), options)};
}

}  // namespace

std::span<const Operator> shape_operators() {
  static constexpr Operator kOperators[] = {
      {"Compress", compress},
      {"Concat", concat_operator},
      {"Constant", constant_operator},
      {"ConstantOfShape", constant_of_shape},
      {"DepthToSpace", depth_to_space_operator},
      {"Expand", expand_operator},
      {"EyeLike", eye_like_operator},
      {"Flatten", flatten_operator},
      {"Gather", gather_operator},
      {"GatherElements", gather_elements_operator},
      {"GatherND", gather_nd_operator},
      {"OneHot", one_hot_operator},
      {"Pad", pad_operator},
      {"Range", range_operator},
      {"Reshape", reshape_operator},
      {"Resize", resize_operator},
      {"ReverseSequence", reverse_sequence_operator},
      {"Scatter", scatter_elements_operator},
      {"ScatterElements", scatter_elements_operator},
      {"ScatterND", scatter_nd_operator},
      {"Shape", shape_operator},
      {"Size", size_operator},
      {"Slice", slice_operator},
      {"SpaceToDepth", space_to_depth_operator},
      {"Split", split_operator},
      {"Squeeze", squeeze_operator},
      {"Tile", tile_operator},
      {"Transpose", transpose_operator},
      {"Trilu", trilu_operator},
      {"Unsqueeze", unsqueeze_operator},
      {"Upsample", upsample},
  };
  return kOperators;
}

}  // namespace rlx::onnx
