// grid_sample(x, grid): x [N, C, H, W] at the places that grid [N, H', W', 2] names: x and y, -1
// and 1 being the edges of the picture, or with `align_corners` the middles of its outermost
// elements. Modes, and what lies outside, are ONNX's and PyTorch's.

#include "rlx/ops/grid_sample.h"

#include <algorithm>
#include <cmath>

#include "rlx/codegen/each_element.h"
#include "rlx/ops/kernel.h"
#include "rlx/ops/ops_vision.h"
#include "rlx/ops/views.h"

namespace rlx {
namespace {

constexpr const char* kModes[] = {"nearest", "linear", "cubic"};
constexpr const char* kPaddings[] = {"zeros", "border", "reflection"};

int64_t choice(const Attrs& attrs, const char* attr, const char* const (&names)[3]) {
  const std::string& name = attrs.get<std::string>(attr);
  for (int64_t i = 0; i < 3; ++i)
    if (name == names[i]) return i;
  fail(ErrorKind::invalid_graph, "grid_sample: there is no ", attr, " '", name, "'; it takes ",
       names[0], ", ", names[1], ", ", names[2]);
}

Types infer(const InferSite& site) {
  const TensorType &x = site.in(0), &grid = site.in(1);
  choice(site.attrs, "mode", kModes);
  const bool zeros = choice(site.attrs, "padding", kPaddings) == 0;
  require(is_float(x.dtype) && rank(x) == 4, "grid_sample: x is ", x,
          ", it needs floats [N, C, H, W]");
  require(is_float(grid.dtype) && rank(grid) == 4 &&
              (!grid.shape[3].is_number() || grid.shape[3].is(2)),
          "grid_sample: grid is ", grid, ", it needs floats [N, H, W, 2]");
  site.equal(grid.shape[3], 2, text("the last dim of grid ", grid, " holds x and y"));
  site.equal(x.shape[0], grid.shape[0], text("dim 0 of x ", x, " and grid ", grid));
  const TensorType y{x.dtype, {x.shape[0], x.shape[1], grid.shape[1], grid.shape[2]}};
  for (const size_t d : {size_t{2}, size_t{3}})
    if (!zeros)
      site.at_most(smaller(count(y.shape), 1), x.shape[d],
                   text("x ", x, " is empty, it has no border"));
  return {y};
}

// One axis of a plane.
struct Axis {
  int64_t extent, padding;
  bool align_corners;

  double coordinate(double place) const {
    const double whole = static_cast<double>(extent);
    return align_corners ? (place + 1) / 2 * (whole - 1) : ((place + 1) * whole - 1) / 2;
  }
  // Where a coordinate beyond the edge looks instead.
  double inside(double c) const {
    const double last = static_cast<double>(extent - 1);
    if (padding == 0) return c;
    if (padding == 2) c = reflected(c);
    return std::isnan(c) ? 0 : std::clamp(c, 0.0, last);
  }
  double reflected(double c) const {
    const double low = align_corners ? 0 : -0.5;
    const double span = static_cast<double>(align_corners ? extent - 1 : extent);
    if (span == 0) return 0;
    const double turned = std::fmod(std::abs(c - low), 2 * span);
    return low + (turned > span ? 2 * span - turned : turned);
  }
};

double cubic_weight(double distance) {
  constexpr double kA = -0.75;
  const double x = std::abs(distance);
  if (x <= 1) return ((kA + 2) * x - (kA + 3)) * x * x + 1;
  return x < 2 ? ((kA * x - 5 * kA) * x + 8 * kA) * x - 4 * kA : 0;
}

struct Tap {
  int64_t at;
  double weight;
};

std::vector<Tap> taps_of(const Axis& axis, double place, int64_t mode) {
  const double raw = axis.coordinate(place), c = mode == 2 ? raw : axis.inside(raw);
  std::vector<Tap> taps;
  const auto add = [&](double at, double weight) {
    if (at >= 0 && at < static_cast<double>(axis.extent))
      taps.push_back({static_cast<int64_t>(at), weight});
  };
  const double base = std::floor(c), fraction = c - base;
  if (mode == 0) {
    add(std::nearbyint(c), 1);
  } else if (mode == 1) {
    add(base, 1 - fraction);
    add(base + 1, fraction);
  } else {
    for (int step = -1; step <= 2; ++step)
      add(axis.inside(base + step), cubic_weight(step - fraction));
  }
  return taps;
}

void reference(const ReferenceSite& site) {
  const Tensor &x = site.in(0), &grid = site.in(1);
  Tensor& y = site.out();
  const int64_t mode = choice(site.attrs, "mode", kModes);
  const int64_t padding = choice(site.attrs, "padding", kPaddings);
  const bool corners = site.attrs.get<bool>("align_corners");
  const int64_t channels = x.shape()[1], height = x.shape()[2], width = x.shape()[3];
  const int64_t places = y.shape()[2] * y.shape()[3];
  for (int64_t i = 0; i < y.count(); ++i) {
    const int64_t plane = i / places, at = (plane / channels * places + i % places) * 2;
    double sum = 0;
    for (const Tap& row : taps_of({height, padding, corners}, grid.at(at + 1), mode))
      for (const Tap& column : taps_of({width, padding, corners}, grid.at(at), mode))
        sum += row.weight * column.weight * x.at((plane * height + row.at) * width + column.at);
    y.set(i, sum);
  }
}

Steps lower(const LowerSite& site) {
  const Dims& shape = site.in(0).shape;
  Dispatch dispatch{.kernel = kernel("grid_sample", {"numbers"}),
                    .operands = {site.read("x", 0), site.read("grid", 1)},
                    .constants = {{"MODE", choice(site.attrs(), "mode", kModes)},
                                  {"PADDING", choice(site.attrs(), "padding", kPaddings)},
                                  {"ALIGN_CORNERS", site.attrs().get<bool>("align_corners")}},
                    .params = {{"channels", shape[1]},
                               {"height", shape[2]},
                               {"width", shape[3]},
                               {"places", site.out().shape[2] * site.out().shape[3]}}};
  return each_element(std::move(dispatch), site.results[0], site.traits);
}

}  // namespace

const OpDef& grid_sample_op() {
  static const OpDef op{
      .name = "grid_sample",
      .family = "shape",
      .inputs = {2, 2, {"x", "grid"}},
      .attrs = {{"mode", "linear"}, {"padding", "zeros"}, {"align_corners", false}},
      .infer = infer,
      .reference = reference,
      .lower = lower,
      .gradient = grid_sample_gradient,
      .never_fails = true,
      .accuracy = {64, 1e-5},
      .onnx = "GridSample",
  };
  return op;
}

Value grid_sample(Value x, Value grid, const GridSampleOptions& options) {
  return x.apply(grid_sample_op(), {x, grid},
                 {{"mode", options.mode},
                  {"padding", options.padding},
                  {"align_corners", options.align_corners}});
}

}  // namespace rlx
