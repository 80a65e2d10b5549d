#include "rlx/ops/windows.h"

#include <algorithm>

#include "rlx/lower/step.h"
#include "rlx/ops/views.h"

namespace rlx {
namespace {

Ints numbers(std::string_view op, const Attrs& attrs, const std::string& name, size_t axes) {
  Ints values = attrs.get_or<Ints>(name, {});
  if (values.empty()) values.assign(axes, 1);
  const bool right = values.size() == axes &&
                     std::all_of(values.begin(), values.end(), [](int64_t n) { return n > 0; });
  require(right, op, ": ", name, " [", joined(values), "] are not ", axes,
          " positive numbers, one per spatial dim");
  require_32_bits(op, name, values);
  return values;
}

}  // namespace

void require_32_bits(std::string_view op, std::string_view name, const Ints& values) {
  for (const int64_t value : values)
    require(value <= INT32_MAX, op, ": ", name, " [", joined(values), "] are beyond ", INT32_MAX);
}

Windows::Windows(std::string_view op, const Attrs& attrs, size_t axes)
    : strides(numbers(op, attrs, "strides", axes)),
      dilations(numbers(op, attrs, "dilations", axes)),
      auto_pad(attrs.get_or<std::string>("auto_pad", "")),
      ceil_mode(attrs.get_or("ceil_mode", false)) {
  Dims pads = dims_attr(attrs, "pads");
  if (pads.empty()) pads.assign(2 * axes, 0);
  require(pads.size() == 2 * axes, op, ": pads [", joined(pads), "] are not ", 2 * axes,
          " numbers, before and after each spatial dim");
  const bool none = std::all_of(pads.begin(), pads.end(), [](const Dim& pad) { return pad.is(0); });
  for (const Dim& pad : pads)
    require(!pad.is_number() || pad.number() >= 0, op, ": pads [", joined(pads), "] are negative");
  before.assign(pads.begin(), pads.begin() + static_cast<int64_t>(axes));
  after.assign(pads.begin() + static_cast<int64_t>(axes), pads.end());
  require(auto_pad.empty() || auto_pad == "valid" || is_same(), op, ": auto_pad '", auto_pad,
          "' is none of same_upper, same_lower, valid");
  require(auto_pad.empty() || none, op, ": takes pads or auto_pad, not both");
}

Dim Windows::reach(const Dim& window, size_t axis) const {
  return Dim(dilations[axis]) * (window - 1) + 1;
}

// What it takes for a result of ceil(extent / stride).
Dim Windows::same_padding(const Dim& extent, const Dim& window, size_t axis) const {
  const Dim stride = strides[axis], places = ceil_div(extent, stride);
  return larger((places - 1) * stride + reach(window, axis) - extent, 0);
}

Dim Windows::pad_before(const Dim& extent, const Dim& window, size_t axis) const {
  if (!is_same()) return before[axis];
  const Dim all = same_padding(extent, window, axis);
  return auto_pad == "same_upper" ? floor_div(all, 2) : ceil_div(all, 2);
}

Dim Windows::pad_after(const Dim& extent, const Dim& window, size_t axis) const {
  if (!is_same()) return after[axis];
  return same_padding(extent, window, axis) - pad_before(extent, window, axis);
}

Dim Windows::places(const Dim& extent, const Dim& window, size_t axis) const {
  const Dim stride = strides[axis];
  if (is_same()) return ceil_div(extent, stride);
  const Dim first = extent + before[axis], room = first + after[axis] - reach(window, axis);
  if (!ceil_mode) return floor_div(room, stride) + 1;
  return smaller(ceil_div(room, stride) + 1, ceil_div(first, stride));
}

std::vector<AttrSpec> window_attrs(std::vector<AttrSpec> more) {
  std::vector<AttrSpec> attrs = {
      {"strides", Ints{}}, {"dilations", Ints{}}, {"pads", Ints{}}, {"auto_pad", ""}};
  attrs.insert(attrs.end(), more.begin(), more.end());
  return attrs;
}

size_t spatial_axes(std::string_view op, const TensorType& x) {
  require(rank(x) >= 3 && rank(x) <= 5, op, ": x is ", x,
          ", it needs [B, C, spatial..] with 1 to 3 spatial dims");
  return x.shape.size() - 2;
}

Dims spatial_dims(const Dims& shape) { return {shape.begin() + 2, shape.end()}; }

Dims window_places(std::string_view op, const Windows& windows, const TensorType& x,
                   const Dims& window) {
  Dims places;
  for (size_t d = 0; d < window.size(); ++d) {
    places.push_back(windows.places(x.shape[d + 2], window[d], d));
    require(!places[d].is_number() || places[d].number() >= 0, op, ": the window [", joined(window),
            "] is larger than x ", x, " with its pads");
  }
  return places;
}

std::array<Dim, 3> three(const Dims& dims, const Dim& filler) {
  std::array<Dim, 3> result = {filler, filler, filler};
  std::copy(dims.begin(), dims.end(), result.end() - static_cast<int64_t>(dims.size()));
  return result;
}

Slide<Dim> slide(const Windows& windows, const Dims& in, const Dims& window, const Dims& out) {
  Dims before;
  for (size_t d = 0; d < in.size(); ++d) before.push_back(windows.pad_before(in[d], window[d], d));
  const auto numbers = [](const Ints& values) { return Dims(values.begin(), values.end()); };
  return {three(in),
          three(out),
          three(window),
          three(numbers(windows.strides)),
          three(numbers(windows.dilations)),
          three(before, 0)};
}

Slide<int64_t> bound(const Slide<Dim>& slide, const SymbolValues& symbols) {
  const auto values = [&](const std::array<Dim, 3>& dims) {
    return std::array<int64_t, 3>{dims[0].value(symbols), dims[1].value(symbols),
                                  dims[2].value(symbols)};
  };
  return {values(slide.in),      values(slide.out),       values(slide.window),
          values(slide.strides), values(slide.dilations), values(slide.before)};
}

std::vector<Param> slide_params(const Slide<Dim>& slide) {
  const auto list = [](const std::array<Dim, 3>& dims) { return Dims(dims.begin(), dims.end()); };
  return {{"in_extent", list(slide.in)},        {"out_extent", list(slide.out)},
          {"window", list(slide.window)},       {"strides", list(slide.strides)},
          {"dilations", list(slide.dilations)}, {"before", list(slide.before)}};
}

}  // namespace rlx
