// splat_raster(gaussians, bounds, rays, background): each pixel blends the Gaussians that its ray
// comes near, in their order: y += T a c, T *= 1 - a, and the background gets what is left of T.

#include <algorithm>
#include <array>
#include <cmath>

#include "rlx/ops/kernel.h"
#include "rlx/ops/ops_core.h"
#include "rlx/ops/ops_splat.h"
#include "rlx/ops/splat_lists.h"

namespace rlx {

const OpDef& splat_raster_gradient_op();

namespace {

constexpr int64_t kFields = 17, kChannels = 5, kTile = 8;
// Where the parts of a row begin.
constexpr int64_t kMiddle = 9, kOpacity = 12, kColour = 13, kDepth = 16;

using Three = std::array<double, 3>;

Three cross(const Three& a, const Three& b) {
  return {a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]};
}
double dot(const Three& a, const Three& b) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }
Three three_at(const Tensor& tensor, int64_t first) {
  return {tensor.at(first), tensor.at(first + 1), tensor.at(first + 2)};
}

struct Limits {
  double cutoff, threshold, most;
  explicit Limits(const Attrs& attrs)
      : cutoff(attrs.get<double>("cutoff")),
        threshold(attrs.get<double>("threshold")),
        most(attrs.get<double>("most_alpha")) {}
};

void check_operands(const InferSite& site) {
  const TensorType &gaussians = site.in(0), &bounds = site.in(1), &rays = site.in(2);
  const std::string& op = site.op.name;
  const auto is = [&](const TensorType& type, size_t dims, int64_t last) {
    return type.dtype == gaussians.dtype && rank(type) == static_cast<int64_t>(dims) &&
           (type.shape[dims - 1].is(last) || !type.shape[dims - 1].is_number());
  };
  const DType dtype = gaussians.dtype;
  require((dtype == DType::f32 || dtype == DType::f64) && is(gaussians, 2, kFields), op,
          ": gaussians are ", gaussians, ", they need to be f32 or f64 [N, ", kFields, "]");
  require(is(bounds, 2, 4), op, ": bounds are ", bounds, ", they need to be ", dtype, "[N, 4]");
  require(is(rays, 2, 3), op, ": rays are ", rays, ", they need to be ", dtype, "[3, 3]");
  site.equal(gaussians.shape[1], kFields, text("a row of gaussians ", gaussians));
  site.equal(bounds.shape[1], 4, text("a row of bounds ", bounds));
  site.equal(gaussians.shape[0], bounds.shape[0], text(gaussians, " and bounds ", bounds));
  site.equal(rays.shape[0], 3, text("rays ", rays));
  site.equal(rays.shape[1], 3, text("rays ", rays));
}

Types infer(const InferSite& site) {
  check_operands(site);
  const TensorType& background = site.in(3);
  const int64_t width = site.attrs.get<int64_t>("width"),
                height = site.attrs.get<int64_t>("height");
  require(background.dtype == site.in(0).dtype && rank(background) == 1,
          "splat_raster: background is ", background, ", it needs to be ", site.in(0).dtype, "[3]");
  site.equal(background.shape[0], 3, text("background ", background));
  require(width >= 0 && height >= 0 && width <= 32768 && height <= 32768,
          "splat_raster: a picture of ", width, " by ", height,
          " pixels cannot be; a side has at most 32768");
  const Limits limits(site.attrs);
  require(limits.cutoff >= 0 && limits.threshold >= 0 && limits.most > 0 && limits.most < 1,
          "splat_raster: cutoff ", limits.cutoff, " and threshold ", limits.threshold,
          " must not be negative, most_alpha ", limits.most, " lies between 0 and 1");
  return {{site.in(0).dtype, {height, width, kChannels}}};
}

// How a pixel meets a Gaussian.
struct Meeting {
  Three along, moment;  // the ray in standard deviations; its moment about the middle
  double squares = 0, distance = 0, fall = 0, raw = 0, alpha = 0;
  bool seen = false;
};

Meeting meet(const Tensor& gaussians, const Tensor& bounds, int64_t n, double x, double y,
             const Three& ray, const Limits& limits) {
  Meeting met;
  const double left = bounds.at(n * 4), top = bounds.at(n * 4 + 1), right = bounds.at(n * 4 + 2),
               bottom = bounds.at(n * 4 + 3);
  if (!(x >= left && x <= right && y >= top && y <= bottom)) return met;
  const int64_t row = n * kFields;
  for (size_t i = 0; i < 3; ++i)
    met.along[i] = dot(three_at(gaussians, row + 3 * static_cast<int64_t>(i)), ray);
  met.moment = cross(three_at(gaussians, row + kMiddle), met.along);
  met.squares = dot(met.along, met.along);
  met.distance = dot(met.moment, met.moment) / met.squares;
  met.fall = std::exp(-met.distance / 2);
  met.raw = gaussians.at(row + kOpacity) * met.fall;
  met.alpha = std::min(met.raw, limits.most);
  met.seen = met.raw >= limits.cutoff;  // not where it is NaN
  return met;
}

Three ray_of(const Tensor& rays, double x, double y) {
  Three ray;
  for (size_t i = 0; i < 3; ++i) {
    const auto at = static_cast<int64_t>(i);
    ray[i] = rays.at(at) + x * rays.at(3 + at) + y * rays.at(6 + at);
  }
  return ray;
}

// What a Gaussian adds to the channels of a pixel that it covers wholly.
std::array<double, kChannels> colours_of(const Tensor& gaussians, int64_t n) {
  const Three colour = three_at(gaussians, n * kFields + kColour);
  return {colour[0], colour[1], colour[2], 1, gaussians.at(n * kFields + kDepth)};
}

void reference(const ReferenceSite& site) {
  const Tensor &gaussians = site.in(0), &bounds = site.in(1), &rays = site.in(2);
  Tensor& picture = site.out();
  const Limits limits(site.attrs);
  const int64_t width = picture.shape()[1];
  for (int64_t pixel = 0; pixel < picture.count() / kChannels; ++pixel) {
    const double x = static_cast<double>(pixel % width) + 0.5,
                 y = static_cast<double>(pixel / width) + 0.5;
    const Three ray = ray_of(rays, x, y);
    std::array<double, kChannels> sums{};
    double light = 1;
    for (int64_t n = 0; n < gaussians.shape()[0] && light >= limits.threshold; ++n) {
      const Meeting met = meet(gaussians, bounds, n, x, y, ray, limits);
      if (!met.seen) continue;
      const auto colours = colours_of(gaussians, n);
      for (size_t c = 0; c < colours.size(); ++c) sums[c] += light * met.alpha * colours[c];
      light *= 1 - met.alpha;
    }
    for (int64_t c = 0; c < kChannels; ++c)
      picture.set(pixel * kChannels + c,
                  sums[static_cast<size_t>(c)] + (c < 3 ? light * site.in(3).at(c) : 0));
  }
}

Dispatch dispatch_of(const LowerSite& site, const std::string& name, const Dims& picture,
                     const SplatLists& lists) {
  const Attrs& attrs = site.attrs();
  const Dim across = ceil_div(picture[1], kTile), down = ceil_div(picture[0], kTile);
  Dispatch dispatch{
      .kernel = kernel(name, {"splat", lists.include}),
      .operands = {site.read("gaussians", 0), site.read("bounds", 1), site.read("rays", 2)},
      .constants = {{"TILE", kTile}, {"WORKGROUP", kTile * kTile}},
      .params = {{"count", site.in(0).shape[0]},
                 {"width", picture[1]},
                 {"height", picture[0]},
                 {"across", across},
                 {"first_tile", Dim(0)},
                 {"tiles", across * down},
                 {"cutoff", attrs.get<double>("cutoff")},
                 {"threshold", attrs.get<double>("threshold")},
                 {"most_alpha", attrs.get<double>("most_alpha")}},
      .workgroups = across * down};
  const auto add = [](auto& to, const auto& more) {
    to.insert(to.end(), more.begin(), more.end());
  };
  add(dispatch.operands, lists.operands);
  add(dispatch.constants, lists.constants);
  add(dispatch.params, lists.params);
  return dispatch;
}

SplatLists lists_of(const LowerSite& site, const Dims& picture) {
  return list_splats(site, site.inputs[1], picture[1], picture[0]);
}

Steps lower(const LowerSite& site) {
  const SplatLists lists = lists_of(site, site.out().shape);
  Dispatch dispatch = dispatch_of(site, "splat_raster", site.out().shape, lists);
  dispatch.operands.push_back(site.read("background", 3));
  dispatch.operands.push_back(site.write("y"));
  Steps steps = lists.steps;
  steps.add(std::move(dispatch));
  return steps;
}

Gradients gradient(const GradientSite& site) {
  const Value y = site.y(), dy = site.dy();
  const Value gaussians = site.in(0).apply(
      splat_raster_gradient_op(), {site.in(0), site.in(1), site.in(2), y, dy}, site.attrs());
  const Value covered = slice(y, {3}, {4}, {2}), colours = slice(dy, {0}, {3}, {2});
  const Value rest = scalar(y, 1) - covered;
  return {gaussians, std::nullopt, gaussians.of(1), sum(rest * colours, {0, 1})};
}

// ---- The way back: what the picture's gradient dy makes of each number of each Gaussian ----

Types infer_gradient(const InferSite& site) {
  check_operands(site);
  const TensorType &y = site.in(3), &dy = site.in(4);
  require(y.dtype == site.in(0).dtype && y == dy && rank(y) == 3, site.op.name, ": y ", y,
          " and dy ", dy, " are no picture");
  site.equal(y.shape[2], kChannels, text("channels of ", y));
  return {site.in(0), site.in(2)};
}

void reference_gradient(const ReferenceSite& site) {
  const Tensor &gaussians = site.in(0), &bounds = site.in(1), &rays = site.in(2), &y = site.in(3),
               &dy = site.in(4);
  const Limits limits(site.attrs);
  const int64_t width = y.shape()[1];
  std::vector<double> sums(static_cast<size_t>(gaussians.count()));
  std::array<double, 9> ray_sums{};
  for (int64_t pixel = 0; pixel < y.count() / kChannels; ++pixel) {
    const double px = static_cast<double>(pixel % width) + 0.5,
                 py = static_cast<double>(pixel / width) + 0.5;
    const Three ray = ray_of(rays, px, py);
    double light = 1, behind = 0;  // what all that is not drawn yet adds, times dy
    for (int64_t c = 0; c < kChannels; ++c)
      behind += y.at(pixel * kChannels + c) * dy.at(pixel * kChannels + c);
    for (int64_t n = 0; n < gaussians.shape()[0] && light >= limits.threshold; ++n) {
      const Meeting met = meet(gaussians, bounds, n, px, py, ray, limits);
      if (!met.seen) continue;
      double* row = sums.data() + n * kFields;
      const auto colours = colours_of(gaussians, n);
      double own = 0;
      for (int64_t c = 0; c < kChannels; ++c) {
        const double d = dy.at(pixel * kChannels + c);
        own += colours[static_cast<size_t>(c)] * d;
        if (c < 3) row[kColour + c] += light * met.alpha * d;
        if (c == 4) row[kDepth] += light * met.alpha * d;
      }
      behind -= light * met.alpha * own;
      const double d_alpha = light * own - behind / (1 - met.alpha);
      light *= 1 - met.alpha;
      if (met.raw > limits.most) continue;
      row[kOpacity] += d_alpha * met.fall;
      const double d_distance = -0.5 * d_alpha * met.raw;
      const double d_squares = -d_distance * met.distance / met.squares;
      Three d_moment;
      for (size_t i = 0; i < 3; ++i) d_moment[i] = 2 * d_distance / met.squares * met.moment[i];
      const Three middle = three_at(gaussians, n * kFields + kMiddle);
      const Three d_middle = cross(met.along, d_moment), turned = cross(d_moment, middle);
      for (size_t i = 0; i < 3; ++i) {
        row[static_cast<size_t>(kMiddle) + i] += d_middle[i];
        const double d_along = turned[i] + 2 * d_squares * met.along[i];
        for (size_t j = 0; j < 3; ++j) {
          row[3 * i + j] += d_along * ray[j];
          const double d_ray =
              d_along * gaussians.at(n * kFields + static_cast<int64_t>(3 * i + j));
          ray_sums[j] += d_ray, ray_sums[3 + j] += d_ray * px, ray_sums[6 + j] += d_ray * py;
        }
      }
    }
  }
  for (int64_t i = 0; i < gaussians.count(); ++i) site.out().set(i, sums[static_cast<size_t>(i)]);
  for (int64_t i = 0; i < 9; ++i) site.out(1).set(i, ray_sums[static_cast<size_t>(i)]);
}

// Tiles add to the same Gaussians: by atomics, in any order, or one tile after the other.
Steps lower_gradient(const LowerSite& site) {
  const bool in_order = site.attrs().get<bool>("deterministic");
  const SplatLists lists = lists_of(site, site.in(3).shape);
  Dispatch dispatch = dispatch_of(site, "splat_raster_gradient", site.in(3).shape, lists);
  dispatch.operands.push_back(site.read("y", 3));
  dispatch.operands.push_back(site.read("dy", 4));
  for (const auto& [name, result] : {std::pair("sums", 0), std::pair("ray_sums", 1)}) {
    Operand operand = site.update(name, static_cast<size_t>(result));
    operand.atomic = !in_order;
    if (!in_order) operand.dtype = DType::u32;  // atomics are of bits
    dispatch.operands.push_back(operand);
  }
  dispatch.constants.push_back({"IN_ORDER", in_order});
  for (const std::string name : {"sums", "ray_sums"}) {
    const std::string at = text("buffer_", name, "[at]");
    dispatch.prelude.push_back(
        in_order ? text("fn add_to_", name, "(at: u32, v: f32) { ", at, " = ", at, " + v; }")
                 : text("fn add_to_", name, "(at: u32, v: f32) {\n  var old = atomicLoad(&", at,
                        ");\n  loop {\n    let next = bitcast<u32>(bitcast<f32>(old) + v);\n"
                        "    let tried = atomicCompareExchangeWeak(&",
                        at,
                        ", old, next);\n    if (tried.exchanged) { break; }\n"
                        "    old = tried.old_value;\n  }\n}"));
  }
  if (in_order) {
    dispatch.repeat = dispatch.workgroups;
    dispatch.workgroups = 1;
    for (Param& param : dispatch.params)
      if (param.name == "first_tile") param.number = Dim(kShard);
  }
  Steps steps = lists.steps;
  steps.add(Clear{site.results[0].value});
  steps.add(Clear{site.results[1].value});
  steps.add(std::move(dispatch));
  return steps;
}

std::vector<AttrSpec> attributes() {
  return {{"width", 256},      {"height", 256},       {"cutoff", 1.0 / 255},
          {"threshold", 1e-4}, {"most_alpha", 0.999}, {"deterministic", false}};
}

}  // namespace

const OpDef& splat_raster_gradient_op() {
  static const OpDef op{
      .name = "splat_raster_gradient",
      .family = "vision",
      .inputs = {5, 5, {"gaussians", "bounds", "rays", "y", "dy"}},
      .results = {2, 2, {"sums", "ray_sums"}},
      .attrs = attributes(),
      .infer = infer_gradient,
      .reference = reference_gradient,
      .lower = lower_gradient,
      .never_fails = true,
      .accuracy = {256, 1e-5},
      .variants = {splat_list_variants()},
      .gradient_reason = "it is a gradient itself",
  };
  return op;
}

const OpDef& splat_raster_op() {
  static const OpDef op{
      .name = "splat_raster",
      .family = "vision",
      .inputs = {4, 4, {"gaussians", "bounds", "rays", "background"}},
      .attrs = attributes(),
      .infer = infer,
      .reference = reference,
      .lower = lower,
      .gradient = gradient,
      .never_fails = true,
      .accuracy = {64, 1e-5},
      .variants = {splat_list_variants()},
  };
  return op;
}

Value splat_raster(Value gaussians, Value bounds, Value rays, Value background,
                   const SplatOptions& options) {
  return gaussians.apply(splat_raster_op(), {gaussians, bounds, rays, background},
                         {{"width", options.width},
                          {"height", options.height},
                          {"cutoff", options.cutoff},
                          {"threshold", options.threshold},
                          {"most_alpha", options.most_alpha},
                          {"deterministic", options.deterministic}});
}

}  // namespace rlx
