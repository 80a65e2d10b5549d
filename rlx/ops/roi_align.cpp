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

// The points of each region along an axis: the two elements beside each and how much they count,
// 0 far outside, as [K, bins, points]. Regions may have fewer points in a bin than others have.
struct Points {
  Value at[2], weight[2];
  Value there;   // bool: is one of the region's
  Value number;  // of the region in a bin, [K, 1, 1]
};

Points points_along(const Attrs& attrs, Value from, Value to, int64_t bins, Value extent) {
  const int64_t samples = attrs.get<int64_t>("samples");
  const bool half_pixel = attrs.get<bool>("half_pixel");
  const auto number = [&](double value) { return scalar(from, value); };
  const auto placed = [&](Value corner) {
    return unsqueeze(corner, {2}) * number(attrs.get<double>("scale")) -
           number(half_pixel ? 0.5 : 0);
  };
  const Value start = placed(from), none = number(0);
  Value length = placed(to) - start;
  if (!half_pixel) length = maximum(length, number(1));
  const Value size = length / number(static_cast<double>(bins));
  Points points;
  Value k;
  if (samples > 0) {
    points.number = reshape(number(static_cast<double>(samples)), Dims{1, 1, 1});
    k = counting(from, samples);
  } else {  // as many as the largest region has
    points.number =
        stop_gradient(where(greater(size, none), minimum(ceil(size), number(kMost)), none));
    const Value most = cast(maximum(reduce_max(points.number), none), DType::i64);
    k = range(scalar(most, 0), most, scalar(most, 1));
  }
  k = cast(k, from.dtype());
  const Value bin = unsqueeze(cast(counting(from, bins), from.dtype()), {1});
  points.there = less(k, points.number);
  const Value c = start + size * (bin + (k + number(0.5)) / maximum(points.number, number(1)));
  const Value close = logical_and(greater_equal(c, number(-1)), less_equal(c, extent));
  const Value last = extent - number(1), inside = minimum(maximum(c, none), last);
  const Value low = floor(inside), fraction = inside - low;
  const Value counts = logical_and(close, points.there);
  const auto index = [&](Value at) { return cast(where(counts, at, none), DType::i32); };
  points.at[0] = index(low);
  points.at[1] = index(minimum(low + number(1), last));
  points.weight[0] = where(counts, number(1) - fraction, none);
  points.weight[1] = where(counts, fraction, none);
  return points;
}

// The mean or the largest of points between elements, which are gathered: made of ops that have
// gradients.
Value sampled(Value x, Value rois, Value pictures, const Attrs& attrs) {
  const Dims& shape = x.shape();
  const auto corner = [&](int64_t i) { return slice(rois, {i}, {i + 1}, {1}); };
  const Value rows = extent_of(x, 2, rois), columns = extent_of(x, 3, rois);
  const Points down = points_along(attrs, corner(1), corner(3), attrs.get<int64_t>("height"), rows);
  const Points across =
      points_along(attrs, corner(0), corner(2), attrs.get<int64_t>("width"), columns);
  // [K, height, points, width, points]
  const auto both = [](Value above, Value beside) {
    return std::pair{unsqueeze(above, {3, 4}), unsqueeze(beside, {1, 2})};
  };
  const Value elements =
      reshape(transpose(x, {0, 2, 3, 1}), Dims{shape[0] * shape[2] * shape[3], shape[1]});
  const Value first = unsqueeze(cast(pictures, DType::i32), {1, 2}) * cast(rows, DType::i32);
  const Value count = unsqueeze(down.number * across.number, {3}), one = scalar(rois, 1);
  const Value nothing = equal(count, scalar(rois, 0));
  Value result;
  for (int r = 0; r < 2; ++r)
    for (int c = 0; c < 2; ++c) {
      const auto [above, beside] =
          both((first + down.at[r]) * cast(columns, DType::i32), across.at[c]);
      const auto [by_row, by_column] = both(down.weight[r], across.weight[c]);
      const Value part = gather(elements, above + beside, 0) * unsqueeze(by_row * by_column, {5});
      result = !result ? part : takes_max(attrs) ? maximum(result, part) : result + part;
    }
  if (takes_max(attrs)) {
    const auto [above, beside] = both(down.there, across.there);
    result = where(unsqueeze(logical_and(above, beside), {5}), result, scalar(x, -INFINITY));
    result = where(nothing, scalar(x, 0), reduce_max(result, {2, 4}));
  } else {
    result = sum(result, {2, 4}) / where(nothing, one, count);
  }
  return transpose(result, {0, 3, 1, 2});
}

Gradients gradient(const GradientSite& site) {
  const Values xs{site.in(0), site.in(1)};
  const Values dxs = site.sweep({sampled(xs[0], xs[1], site.in(2), site.attrs())}, {site.dy()}, xs);
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
