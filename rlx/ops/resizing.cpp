#include "rlx/ops/resizing.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

#include "rlx/codegen/each_element.h"
#include "rlx/codegen/elementwise.h"
#include "rlx/ops/kernel.h"
#include "rlx/ops/strided.h"
#include "rlx/ops/views.h"

namespace rlx {
namespace {

constexpr const char* kModes[] = {"nearest", "linear", "cubic"};
constexpr const char* kRoundings[] = {"floor", "ceil", "round_prefer_floor", "round_prefer_ceil"};
constexpr const char* kCoordinates[] = {
    "half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners",
    "asymmetric", "tf_half_pixel_for_nn", "tf_crop_and_resize"};

template <size_t N>
int64_t choice(std::string_view op, const Attrs& attrs, const char* attr,
               const char* const (&names)[N]) {
  const std::string& name = attrs.get<std::string>(attr);
  std::string list;
  for (size_t i = 0; i < N; ++i) {
    if (name == names[i]) return static_cast<int64_t>(i);
    list += text(i ? ", " : "", names[i]);
  }
  fail(ErrorKind::invalid_graph, op, ": there is no ", attr, " '", name, "'; it takes ", list);
}
int64_t mode_of(const Attrs& attrs) { return choice("resize", attrs, "mode", kModes); }
bool crops(const Attrs& attrs) {
  return attrs.get<std::string>("coordinates") == "tf_crop_and_resize";
}
bool antialiases(const Attrs& attrs) { return attrs.get<bool>("antialias") && mode_of(attrs) != 0; }

struct Fraction {
  int64_t p = 0, q = 1;
};

// The simplest fraction that is the same float, or the nearest with terms up to `most`.
Fraction fraction_of(double value, int64_t most) {
  const double size = std::abs(value);
  Fraction last{1, 0}, best{static_cast<int64_t>(std::floor(size)), 1};
  double rest = size - std::floor(size);
  const auto is_size = [&] {
    return static_cast<float>(static_cast<double>(best.p) / static_cast<double>(best.q)) ==
           static_cast<float>(size);
  };
  while (rest > 1e-9 && !is_size()) {
    const double term = std::floor(1 / rest);
    rest = 1 / rest - term;
    const Fraction next{static_cast<int64_t>(term) * best.p + last.p,
                        static_cast<int64_t>(term) * best.q + last.q};
    if (next.p > most || next.q > most) break;
    last = best;
    best = next;
  }
  return {value < 0 ? -best.p : best.p, best.q};
}

// Scales are floats, and a float near 1 is a fraction of such terms; coordinates, which are
// products of a term and an extent, stay far inside 64 bits.
constexpr int64_t kMostTerms = int64_t{1} << 24;

// 1 where the extent is 1, else 0.
Dim is_one(const Dim& extent) { return larger(Dim(2) - extent, 0); }

void set_crop(ResizedAxis& axis, double start, double end) {
  const Fraction from = fraction_of(start, 1000), to = fraction_of(end, 1000);
  const int64_t common = std::lcm(from.q, to.q);
  const Dim first = from.p * (common / from.q), span = Dim(to.p * (common / to.q)) - first;
  const Dim last_in = axis.in - 1, last_out = larger(axis.out - 1, 1);
  axis.slope = Dim(2) * span * last_in;
  axis.start = Dim(2) * first * last_in * last_out + is_one(axis.out) * span * last_in;
  axis.divisor = Dim(2 * common) * last_out;
}

void set_coordinates(ResizedAxis& axis, const Attrs& attrs, size_t given) {
  const Dim &p = axis.p, &q = axis.q;
  switch (choice("resize", attrs, "coordinates", kCoordinates)) {
    case 0:
      axis.slope = Dim(2) * q, axis.start = q - p, axis.divisor = Dim(2) * p;
      return;
    case 1:
      axis.slope = Dim(2) * q, axis.divisor = Dim(2) * p;
      axis.start = q - p + axis.in * p - axis.out * q;
      return;
    case 2:
      axis.slope = Dim(2) * q, axis.divisor = Dim(2) * p;
      axis.start = (q - p) * (Dim(1) - is_one(axis.out));
      return;
    case 3:
      axis.slope = axis.in - 1, axis.start = 0, axis.divisor = larger(axis.out - 1, 1);
      // As ONNX is written the last corner is that of the scaled extent, which no element may have.
      if (attrs.get<bool>("exact") && !attrs.get<Floats>("scales").empty()) {
        axis.slope = (axis.in - 1) * q;
        axis.divisor = larger(axis.in * p - q, 1);
      }
      return;
    case 4:
      axis.slope = q, axis.start = 0, axis.divisor = p;
      return;
    case 5:
      axis.slope = Dim(2) * q, axis.start = q, axis.divisor = Dim(2) * p;
      return;
    default: {
      const Floats& roi = attrs.get<Floats>("roi");
      set_crop(axis, roi[given], roi[given + roi.size() / 2]);
    }
  }
}

// Where a quotient in f32 can be on the other side of an integer, or of a half, than the fraction
// it stands for. It cannot where the scale is a float with a small numerator.
void set_floats(ResizedAxis& axis, const Attrs& attrs, const std::optional<double>& scale) {
  const int64_t coordinates = choice("resize", attrs, "coordinates", kCoordinates);
  const bool half = coordinates == 0 || coordinates == 2, asymmetric = coordinates == 4,
             only_before = coordinates == 5;
  if (attrs.get<bool>("exact") || mode_of(attrs) != 0 || !(half || asymmetric || only_before))
    return;
  const bool known = axis.p.is_number() && axis.q.is_number() && !axis.q.is(0);
  if (known && axis.p.number() <= 64 && (axis.q.number() & (axis.q.number() - 1)) == 0) return;
  if (coordinates == 2 && axis.out.is(1)) return;  // its coordinate is 0 whatever the scale
  axis.floats = scale ? ResizedAxis::Floats::of_scale : ResizedAxis::Floats::of_extents;
  axis.scale = scale ? static_cast<float>(*scale) : 1;
  axis.before = asymmetric ? 0.0F : 0.5F;
  axis.after = half ? 0.5F : 0.0F;
}

// As onnxruntime finds it: in f32, and what is this near to a half counts as one.
int64_t nearest_in_floats(const ResizedAxis& axis, int64_t i, int64_t rounding) {
  const float scale =
      axis.floats == ResizedAxis::Floats::of_scale
          ? axis.scale
          : static_cast<float>(axis.p.number()) / static_cast<float>(axis.q.number());
  const float quotient = (static_cast<float>(i) + axis.before) / scale,
              coordinate = quotient - axis.after, whole = std::floor(coordinate),
              part = coordinate - whole;
  const auto at = static_cast<int64_t>(whole);
  if (rounding == 0) return at;
  if (rounding == 1) return at + (part > 0 ? 1 : 0);
  if (std::abs(part - 0.5F) < 1e-6F) return rounding == 2 ? at : at + 1;
  return at + (part > 0.5F ? 1 : 0);
}

double cubic_weight(double distance, double a) {
  const double x = std::abs(distance);
  if (x <= 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  if (x < 2) return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a;
  return 0;
}

// A whole scale is a float as it is; of a single element pytorch_half_pixel's coordinate is 0.
bool in_floats(const ResizedAxis& axis) {
  return axis.floats != ResizedAxis::Floats::none && !axis.out.is(1) &&
         axis.p.number() % axis.q.number() != 0;
}

int64_t floor_divide(int64_t a, int64_t b) { return a / b - (a % b < 0 ? 1 : 0); }

int64_t nearest(int64_t numerator, int64_t divisor, int64_t rounding) {
  switch (rounding) {
    case 0:
      return floor_divide(numerator, divisor);
    case 1:
      return -floor_divide(-numerator, divisor);
    case 2:
      return -floor_divide(divisor - 2 * numerator, 2 * divisor);
    default:
      return floor_divide(divisor + 2 * numerator, 2 * divisor);
  }
}

Taps weighted_taps(const ResizedAxis& axis, int64_t numerator, const Attrs& attrs) {
  const int64_t divisor = axis.divisor.number(), reach = axis.reach.number(),
                extent = axis.in.number(), base = floor_divide(numerator, divisor);
  const double fraction =
      static_cast<double>(numerator - base * divisor) / static_cast<double>(divisor);
  const bool antialias = antialiases(attrs), exclude = attrs.get<bool>("exclude_outside");
  const double scale = static_cast<double>(axis.p.number()) / static_cast<double>(axis.q.number());
  const double stretch = antialias ? std::min(scale, 1.0) : 1.0;
  Taps taps;
  double total = 0;
  for (int64_t step = 1 - reach; step <= reach; ++step) {
    const int64_t at = base + step;
    if (exclude && (at < 0 || at >= extent)) continue;
    const double distance = (static_cast<double>(step) - fraction) * stretch;
    const double weight = mode_of(attrs) == 1
                              ? std::max(1 - std::abs(distance), 0.0)
                              : cubic_weight(distance, attrs.get<double>("cubic_a"));
    total += weight;
    if (weight != 0) taps.push_back({std::clamp<int64_t>(at, 0, extent - 1), weight});
  }
  if (antialias || exclude)
    for (Tap& tap : taps) tap.weight /= total;
  return taps;
}

int64_t bits_of(float value) {
  uint32_t bits = 0;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}
// 0, or how the kernel finds the scale. Of one element in all, which is the first, there is none.
Dim floats_of(const ResizedAxis& axis) {
  return Dim(static_cast<int64_t>(axis.floats)) * smaller(larger(axis.out - 1, 0), 1);
}

// Extents, strides and lines, as lib/resize.wgsl has them; neighbours that stay are one.
Dims resize_dims(const std::vector<ResizedAxis>& axes, const Dims& strides) {
  Dims entries;
  bool joins = false;
  for (size_t d = 0; d < axes.size(); ++d) {
    const ResizedAxis& axis = axes[d];
    const size_t last = entries.size();
    if (joins && !axis.resized && entries[last - 10] == strides[d] * axis.in) {
      entries[last - 12] = entries[last - 12] * axis.out;
      entries[last - 11] = entries[last - 11] * axis.in;
      entries[last - 10] = strides[d];
    } else {
      for (const Dim& entry :
           {axis.out, axis.in, strides[d], Dim(axis.resized ? 1 : 0), axis.slope, axis.start,
            axis.divisor, axis.reach, axis.p, axis.q, Dim(bits_of(axis.scale)), floats_of(axis)})
        entries.push_back(entry);
    }
    joins = !axis.resized;
  }
  return entries.empty() ? Dims{1, 1, 0, 0, 1, 0, 1, 1, 1, 1, 0, 0} : entries;
}

// Can the coordinates, doubled to be rounded, leave 32 bits?
bool may_overflow(const std::vector<ResizedAxis>& axes) {
  return std::any_of(axes.begin(), axes.end(), [](const ResizedAxis& axis) {
    const Dim largest = axis.slope * axis.out + axis.divisor * (axis.in + 1);
    return axis.resized && largest.is_number() && std::abs(largest.number()) >= int64_t{1} << 29;
  });
}

}  // namespace

std::vector<AttrSpec> resize_attrs() {
  return {{"mode", "nearest"},
          {"coordinates", "half_pixel"},
          {"rounding", "round_prefer_floor"},
          {"axes", Ints{}},
          {"scales", Floats{}},
          {"roi", Floats{}},
          {"antialias", false},
          {"exclude_outside", false},
          {"cubic_a", -0.75},
          {"outside_value", 0.0},
          {"exact", false}};
}

void check_resize(std::string_view op, const TensorType& x, const Attrs& attrs) {
  const int64_t mode = choice(op, attrs, "mode", kModes);
  choice(op, attrs, "coordinates", kCoordinates);
  choice(op, attrs, "rounding", kRoundings);
  require(mode == 0 || is_float(x.dtype), op, ": ", kModes[mode], " of ", x.dtype,
          " is not defined, take nearest");
  const Ints& axes = attrs.get<Ints>("axes");
  const size_t count = axes.empty() ? x.shape.size() : axes.size();
  const Floats &scales = attrs.get<Floats>("scales"), &roi = attrs.get<Floats>("roi");
  require(scales.empty() || scales.size() == count, op, ": there are ", scales.size(),
          " scales for ", count, " axes of ", x);
  constexpr int64_t kMost = int64_t{1} << 30;
  for (const double scale : scales) {
    require(scale > 0, op, ": scale ", scale, " is not positive");
    require(scale * static_cast<double>(kMostTerms) >= 1, op, ": scale ", scale, " is below 1 / ",
            kMostTerms);
  }
  for (const Floats& given : {scales, roi})
    for (const double number : given)
      require(std::abs(number) <= static_cast<double>(kMost), op, ": a scale or place of ", number,
              " is beyond ", kMost);
  require(!crops(attrs) || roi.size() == 2 * count, op, ": there are ", roi.size(),
          " numbers in roi for ", count, " axes of ", x);
}

Dim scaled(const Dim& extent, double scale) {
  const Fraction exact = fraction_of(scale, kMostTerms);
  return floor_div(extent * Dim(exact.p), exact.q);
}

std::vector<ResizedAxis> resized_axes(const Dims& x, const Dims& y, const Attrs& attrs) {
  const Ints& given = attrs.get<Ints>("axes");
  const Floats& scales = attrs.get<Floats>("scales");
  std::vector<ResizedAxis> axes(x.size());
  for (size_t d = 0; d < x.size(); ++d) {
    axes[d].out = y[d];
    axes[d].in = x[d];
  }
  for (size_t i = 0; i < (given.empty() ? x.size() : given.size()); ++i) {
    ResizedAxis& axis = axes[given.empty() ? i : axis_of("resize", given[i], {DType::f32, x})];
    const bool same = scales.empty() ? axis.in == axis.out : scales[i] == 1 && axis.in == axis.out;
    if (same && !crops(attrs)) continue;
    axis.resized = true;
    axis.p = axis.out;
    axis.q = axis.in;
    if (!scales.empty()) {
      const Fraction exact = fraction_of(scales[i], kMostTerms);
      axis.p = exact.p;
      axis.q = exact.q;
    } else if (axis.p.is_number() && axis.q.is_number() && !axis.p.is(0)) {
      const int64_t common = std::gcd(axis.p.number(), axis.q.number());
      axis.p = axis.p.number() / common;
      axis.q = axis.q.number() / common;
    }
    set_coordinates(axis, attrs, i);
    set_floats(axis, attrs, scales.empty() ? std::nullopt : std::optional(scales[i]));
    const int64_t reach = mode_of(attrs) == 2 ? 2 : 1;
    axis.reach = reach;
    if (antialiases(attrs))
      axis.reach = larger(ceil_div(Dim(reach) * axis.q, larger(axis.p, 1)), reach);
  }
  return axes;
}

std::vector<Taps> taps_of(const ResizedAxis& axis, const Attrs& attrs) {
  std::vector<Taps> taps(static_cast<size_t>(axis.out.number()));
  const int64_t rounding = choice("resize", attrs, "rounding", kRoundings);
  for (int64_t i = 0; i < axis.out.number(); ++i) {
    Taps& here = taps[static_cast<size_t>(i)];
    const int64_t extent = axis.in.number(), divisor = axis.divisor.number(),
                  numerator = axis.slope.number() * i + axis.start.number();
    if (!axis.resized)
      here = {{i, 1.0}};
    else if (crops(attrs) && (numerator < 0 || numerator > (extent - 1) * divisor))
      here = {};
    else if (mode_of(attrs) == 0)
      here = {{std::clamp<int64_t>(in_floats(axis) ? nearest_in_floats(axis, i, rounding)
                                                   : nearest(numerator, divisor, rounding),
                                   0, extent - 1),
               1.0}};
    else
      here = weighted_taps(axis, numerator, attrs);
  }
  return taps;
}

ResizeTaps::ResizeTaps(const Shape& x, const Shape& y, const Attrs& attrs) : from(x), to(y) {
  for (const ResizedAxis& axis :
       resized_axes(Dims(x.begin(), x.end()), Dims(y.begin(), y.end()), attrs))
    axes.push_back(taps_of(axis, attrs));
}

namespace {

// The constants and params of lib/resize.wgsl.
Dispatch resize_dispatch(const char* name, const Attrs& attrs, const std::vector<ResizedAxis>& axes,
                         const Dims& dims) {
  ResizedAxis::Floats floats = ResizedAxis::Floats::none;
  double before = 0, after = 0;  // the same for all that have any
  for (const ResizedAxis& axis : axes) {
    if (axis.floats == ResizedAxis::Floats::none) continue;
    floats = axis.floats;
    before = double{axis.before};
    after = double{axis.after};
  }
  const bool exclude = attrs.get<bool>("exclude_outside"), antialias = antialiases(attrs);
  return {.kernel = kernel(name, {"numbers", "truncate", "resize"}),
          .operands = {},
          .constants = {{"DIMS", static_cast<int64_t>(dims.size() / 12)},
                        {"MODE", mode_of(attrs)},
                        {"ROUNDING", choice("resize", attrs, "rounding", kRoundings)},
                        {"NORMALISE", exclude || antialias},
                        {"EXCLUDE_OUTSIDE", exclude},
                        {"ANTIALIAS", antialias},
                        {"CROPS", crops(attrs)},
                        {"FLOATS", floats != ResizedAxis::Floats::none},
                        {"BEFORE", before},
                        {"AFTER", after}},
          .params = {{"dims", dims}, {"cubic_a", attrs.get<double>("cubic_a")}}};
}

constexpr const char* kTooFar = "its coordinates leave the 32 bits a device has";

}  // namespace

Steps lower_resize(const LowerSite& site, const std::vector<ResizedAxis>& axes) {
  if (may_overflow(axes)) return site.on_host(kTooFar);
  const Attrs& attrs = site.attrs();
  const DType dtype = site.out().dtype;
  const std::string type = site.compute_type(dtype);
  Dispatch dispatch =
      resize_dispatch("resize", attrs, axes, resize_dims(axes, site.inputs[0].layout.strides));
  dispatch.operands = {LowerSite::named(flat(site.inputs[0]), "x", Access::read)};
  dispatch.params.emplace_back("offset", site.inputs[0].layout.offset);
  dispatch.params.emplace_back("outside_value", attrs.get<double>("outside_value"));
  const bool sums = mode_of(attrs) != 0;  // what is only copied may be anything
  dispatch.prelude = {
      text("fn outside() -> ", type, " { return ",
           dtype == DType::c64 ? "vec2<f32>(params.outside_value, 0.0)"
                               : convert_expression("params.outside_value", DType::f32, dtype),
           "; }"),
      text("fn number_at(at: u32) -> f32 { return ", is_float(dtype) ? "load_x(at)" : "0.0", "; }"),
      text("fn result_at(at: u32) -> ", type, " { return ",
           sums ? "weighted_sum(at)" : "load_x(at)", "; }")};
  if (!sums) dispatch.prelude.emplace_back("// Loads: x 1 for each result.");
  return each_element(std::move(dispatch), site.results[0], site.traits);
}

Steps lower_resize_gradient(const LowerSite& site, const std::vector<ResizedAxis>& axes) {
  if (may_overflow(axes)) return site.on_host(kTooFar);
  std::vector<size_t> resized;
  for (size_t d = axes.size(); d-- > 0;)
    if (axes[d].resized) resized.push_back(d);
  if (resized.empty()) return copy_view(site.inputs[0], site.results[0], site.traits);
  Steps steps;
  Operand from = site.inputs[0];
  for (const size_t d : resized) {
    Dims shape = from.shape;
    const Dim inner = product(shape, d + 1, shape.size());
    shape[d] = axes[d].in;
    const bool last = d == resized.back();
    const Operand to = last ? site.results[0] : site.temporary("sums", {DType::f32, shape});
    Dispatch dispatch = resize_dispatch("resize_gradient", site.attrs(), {axes[d]},
                                        resize_dims({axes[d]}, {inner}));
    dispatch.operands = {LowerSite::named(from, "x", Access::read)};
    steps.add(each_element(std::move(dispatch), to, site.traits));
    from = to;
  }
  return steps;
}

}  // namespace rlx
