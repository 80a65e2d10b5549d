// roi_align(x, rois, batch_indices): of x [N, C, H, W], for each region rois[k] = (x1, y1, x2, y2)
// of picture batch_indices[k], a plane of `height` by `width` bins, each the mean (or largest) of
// points sampled in it.

#include <algorithm>
#include <cmath>

#include "rlx/codegen/each_element.h"
#include "rlx/ops/bodies.h"
#include "rlx/ops/grid_sample.h"
#include "rlx/ops/kernel.h"
#include "rlx/ops/ops_core.h"
#include "rlx/ops/ops_vision.h"
#include "rlx/ops/views.h"

namespace rlx {
namespace {

bool takes_max(const Attrs& attrs) {
  const std::string& mode = attrs.get<std::string>("mode");
  require(mode == "avg" || mode == "max", "roi_align: there is no mode '", mode,
          "'; it takes avg, max");
  return mode == "max";
}

// As many points a bin has at most along an axis: a region may be endless.
constexpr double kMost = 1024;

Types infer(const InferSite& site) {
  const TensorType &x = site.in(0), &rois = site.in(1), &indices = site.in(2);
  const int64_t height = site.attrs.get<int64_t>("height"),
                width = site.attrs.get<int64_t>("width");
  takes_max(site.attrs);
  require(is_float(x.dtype) && rank(x) == 4, "roi_align: x is ", x,
          ", it needs floats [N, C, H, W]");
  require(rois.dtype == x.dtype && rank(rois) == 2 &&
              (rois.shape[1].is(4) || !rois.shape[1].is_number()),
          "roi_align: rois are ", rois, ", they need to be ", x.dtype, "[K, 4]");
  require(is_integer(indices.dtype) && rank(indices) == 1,
          "roi_align: batch_indices must be a list of integers, got ", indices);
  require(height > 0 && width > 0 && site.attrs.get<int64_t>("samples") >= 0, "roi_align: ", height,
          " by ", width, " bins of ", site.attrs.get<int64_t>("samples"), " samples cannot be");
  require(site.attrs.get<int64_t>("samples") <= static_cast<int64_t>(kMost),
          "roi_align: ", site.attrs.get<int64_t>("samples"), " samples are more than ", kMost);
  site.equal(rois.shape[1], 4, text("the last dim of rois ", rois, " holds corners"));
  site.equal(rois.shape[0], indices.shape[0], text("regions ", rois, " and pictures ", indices));
  const TensorType y{x.dtype, {rois.shape[0], x.shape[1], height, width}};
  for (const size_t d : {size_t{2}, size_t{3}})
    site.at_most(smaller(count(y.shape), 1), x.shape[d],
                 text("x ", x, " has no elements to sample"));
  return {y};
}

// A point along one axis: two neighbours and how much the second counts; none far outside.
struct Point {
  int64_t low = 0, high = 0;
  double fraction = 0;
  bool outside = false;
};

Point point_at(double c, int64_t extent) {
  if (!(c >= -1 && c <= static_cast<double>(extent))) return {0, 0, 0, true};
  c = std::max(c, 0.0);
  const auto low = static_cast<int64_t>(c);
  if (low >= extent - 1) return {extent - 1, extent - 1, 0};
  return {low, low + 1, c - static_cast<double>(low)};
}

// The points sampled in one bin along one axis.
std::vector<Point> points_of(const Attrs& attrs, double from, double to, int64_t bin, int64_t bins,
                             int64_t extent) {
  const bool half_pixel = attrs.get<bool>("half_pixel");
  const double scale = attrs.get<double>("scale"), start = from * scale - (half_pixel ? 0.5 : 0);
  double length = to * scale - (half_pixel ? 0.5 : 0) - start;
  if (!half_pixel) length = std::max(length, 1.0);
  const double size = length / static_cast<double>(bins);
  int64_t samples = attrs.get<int64_t>("samples");
  if (samples == 0) samples = size > 0 ? static_cast<int64_t>(std::min(std::ceil(size), kMost)) : 0;
  std::vector<Point> points;
  for (int64_t k = 0; k < samples; ++k)
    points.push_back(
        point_at(start + static_cast<double>(bin) * size +
                     (static_cast<double>(k) + 0.5) * size / static_cast<double>(samples),
                 extent));
  return points;
}

void reference(const ReferenceSite& site) {
  const Tensor &x = site.in(0), &rois = site.in(1), &indices = site.in(2);
  Tensor& y = site.out();
  const bool largest = takes_max(site.attrs);
  const Shape &from = x.shape(), &to = y.shape();
  for (int64_t i = 0; i < y.count(); ++i) {
    const int64_t roi = i / (to[1] * to[2] * to[3]), channel = i / (to[2] * to[3]) % to[1];
    const int64_t picture = indices.integer_at(roi);
    if (picture < 0 || picture >= from[0])
      fail(ErrorKind::invalid_input, "roi_align: picture ", picture, " of region ", roi,
           " is out of range for x ", x.type());
    const int64_t plane = (picture * from[1] + channel) * from[2];
    const auto rows = points_of(site.attrs, rois.at(roi * 4 + 1), rois.at(roi * 4 + 3),
                                i / to[3] % to[2], to[2], from[2]);
    const auto columns =
        points_of(site.attrs, rois.at(roi * 4), rois.at(roi * 4 + 2), i % to[3], to[3], from[3]);
    double total = 0, highest = -INFINITY;
    for (const Point& row : rows)
      for (const Point& column : columns) {
        const auto corner = [&](int64_t r, int64_t c, double weight) {
          return row.outside || column.outside ? 0 : weight * x.at((plane + r) * from[3] + c);
        };
        const double a = row.fraction, b = column.fraction;
        const double parts[] = {corner(row.low, column.low, (1 - a) * (1 - b)),
                                corner(row.low, column.high, (1 - a) * b),
                                corner(row.high, column.low, a * (1 - b)),
                                corner(row.high, column.high, a * b)};
        for (const double part : parts) {
          total += part;
          highest = std::max(highest, part);
        }
      }
    const auto count = static_cast<double>(rows.size() * columns.size());
    y.set(i, count == 0 ? 0 : largest ? highest : total / count);
  }
}

// ---- Gradient ----

// The two elements beside each point along an axis, and their weights: [K, bins * samples].
struct Neighbours {
  Value at[2], weight[2];
};

Neighbours neighbours_of(const Attrs& attrs, Value from, Value to, int64_t bins, Value extent) {
  const int64_t samples = attrs.get<int64_t>("samples");
  const bool half_pixel = attrs.get<bool>("half_pixel");
  const auto number = [&](double value) { return scalar(from, value); };
  const auto placed = [&](Value corner) {
    return corner * number(attrs.get<double>("scale")) - number(half_pixel ? 0.5 : 0);
  };
  const Value start = placed(from);
  Value length = placed(to) - start;
  if (!half_pixel) length = maximum(length, number(1));
  Tensor places(from.dtype(), {1, bins * samples});  // in bins
  for (int64_t i = 0; i < places.count(); ++i)
    places.set(i, (static_cast<double>(i) + 0.5) / static_cast<double>(samples));
  const Value c =
      start + length / number(static_cast<double>(bins)) * constant_beside(from, places);
  const Value there = logical_and(greater_equal(c, number(-1)), less_equal(c, extent));
  const Value last = extent - number(1), inside = minimum(maximum(c, number(0)), last);
  const Value low = floor(inside), fraction = inside - low, none = number(0);
  const auto index = [&](Value at) { return cast(where(there, at, none), DType::i32); };
  return {{index(low), index(minimum(low + number(1), last))},
          {where(there, number(1) - fraction, none), where(there, fraction, none)}};
}

// The average of points between elements, which are gathered: made of ops that have gradients.
Value averaged(Value x, Value rois, Value pictures, const Attrs& attrs) {
  const Dims& shape = x.shape();
  const int64_t height = attrs.get<int64_t>("height"), width = attrs.get<int64_t>("width"),
                samples = attrs.get<int64_t>("samples");
  const auto corner = [&](int64_t i) { return slice(rois, {i}, {i + 1}, {1}); };
  const Value rows = extent_of(x, 2, rois), columns = extent_of(x, 3, rois);
  const Neighbours above = neighbours_of(attrs, corner(1), corner(3), height, rows),
                   beside = neighbours_of(attrs, corner(0), corner(2), width, columns);
  const Value elements =
      reshape(transpose(x, {0, 2, 3, 1}), Dims{shape[0] * shape[2] * shape[3], shape[1]});
  const Value picture = unsqueeze(cast(pictures, DType::i32), {1}),
              first = picture * cast(rows, DType::i32);
  Value total;
  for (int r = 0; r < 2; ++r)
    for (int c = 0; c < 2; ++c) {
      const Value at = unsqueeze((first + above.at[r]) * cast(columns, DType::i32), {2}) +
                       unsqueeze(beside.at[c], {1});
      const Value weight = unsqueeze(above.weight[r], {2}) * unsqueeze(beside.weight[c], {1});
      const Value part = gather(elements, at, 0) * unsqueeze(weight, {3});
      total = total ? total + part : part;
    }
  const Dims by_bin{rois.shape()[0], height, samples, width, samples, shape[1]};
  return transpose(mean(reshape(total, by_bin), {2, 4}), {0, 3, 1, 2});
}

Gradients gradient(const GradientSite& site) {
  const Attrs& attrs = site.attrs();
  if (takes_max(attrs) || attrs.get<int64_t>("samples") == 0)
    fail(ErrorKind::unsupported,
         "roi_align: has a gradient for averages of a given number of samples alone");
  const Values xs{site.in(0), site.in(1)};
  const Values dxs = site.sweep({averaged(xs[0], xs[1], site.in(2), attrs)}, {site.dy()}, xs);
  return {dxs[0], dxs[1], std::nullopt};
}

Steps lower(const LowerSite& site) {
  const Dims& shape = site.in(0).shape;
  const Attrs& attrs = site.attrs();
  Dispatch dispatch{.kernel = kernel("roi_align", {"numbers"}),
                    .operands = {site.read("x", 0), site.read("rois", 1), site.read("pictures", 2)},
                    .constants = {{"MOST", kMost},
                                  {"MAXIMUM", takes_max(attrs)},
                                  {"HALF_PIXEL", attrs.get<bool>("half_pixel")}},
                    .params = {{"count", shape[0]},
                               {"channels", shape[1]},
                               {"height", shape[2]},
                               {"width", shape[3]},
                               {"rows", Dim(attrs.get<int64_t>("height"))},
                               {"columns", Dim(attrs.get<int64_t>("width"))},
                               {"samples", Dim(attrs.get<int64_t>("samples"))},
                               {"scale", attrs.get<double>("scale")}},
                    .flags_errors = true};
  return each_element(std::move(dispatch), site.results[0], site.traits);
}

}  // namespace

const OpDef& roi_align_op() {
  static const OpDef op{
      .name = "roi_align",
      .family = "pooling",
      .inputs = {3, 3, {"x", "rois", "batch_indices"}},
      .attrs = {{"mode", "avg"},
                {"height", 1},
                {"width", 1},
                {"samples", 0},
                {"scale", 1.0},
                {"half_pixel", true}},
      .infer = infer,
      .reference = reference,
      .lower = lower,
      .gradient = gradient,
      .accuracy = {64, 1e-5},
      .onnx = "RoiAlign",
  };
  return op;
}

Value roi_align(Value x, Value rois, Value batch_indices, const RoiAlignOptions& options) {
  return x.apply(roi_align_op(), {x, rois, batch_indices},
                 {{"mode", options.mode},
                  {"height", options.height},
                  {"width", options.width},
                  {"samples", options.samples},
                  {"scale", options.scale},
                  {"half_pixel", options.half_pixel}});
}

}  // namespace rlx
