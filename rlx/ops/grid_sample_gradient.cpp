// The gradient of grid_sample: what each place took of x goes back there, and a place moves by the
// slopes of its weights.

#include <cmath>

#include "rlx/ops/elementwise_row.h"
#include "rlx/ops/grid_sample.h"
#include "rlx/ops/ops_core.h"
#include "rlx/ops/ops_math.h"
#include "rlx/ops/ops_scatter.h"
#include "rlx/ops/views.h"

namespace rlx {
namespace {

using namespace rows;  // NOLINT(google-build-using-namespace)

Value number(Value like, double value) { return scalar(like, value); }

// A coordinate, and how much it moves with the one it was made of.
struct Moved {
  Value at, slope;
};

struct Axis {
  Value extent;
  std::string padding;
  bool align_corners;

  Value last() const { return extent - number(extent, 1); }
  // From -1 .. 1.
  Moved coordinate(Value place) const {
    const Value steps = align_corners ? last() : extent;
    const Value at = (place + number(place, 1)) * steps;
    return {0.5 * (align_corners ? at : at - number(at, 1)), 0.5 * steps};
  }
  Moved reflected(Value c) const {
    const Value low = number(c, align_corners ? 0 : -0.5), span = align_corners ? last() : extent;
    const Value none = equal(span, number(span, 0)), period = 2.0 * if_one(none, span);
    const Value turned = fmod(abs(c - low), period), back = greater(turned, if_one(none, span));
    const Value side = where(less(c, low), number(c, -1), number(c, 1));
    return {if_false(none, low + where(back, period - turned, turned)),
            if_false(none, where(back, -side, side))};
  }
  // Where a coordinate beyond the edge looks instead; at an edge it does not move.
  Moved inside(Value c) const {
    if (padding == "zeros") return {c, number(c, 1)};
    Moved moved{c, number(c, 1)};
    if (padding == "reflection") moved = reflected(c);
    const Value zero = number(c, 0);
    const Value stays = logical_or(less_equal(moved.at, zero), greater_equal(moved.at, last()));
    return {minimum(maximum(moved.at, zero), last()), if_false(stays, moved.slope)};
  }

 private:
  static Value if_one(Value mask, Value x) { return where(mask, number(x, 1), x); }
};

// An element along an axis, its weight, and how that moves with the place.
struct Tap {
  Value at, weight, slope;
};

Value cubic(Value distance, bool slope) {
  constexpr double kA = -0.75;
  const Value x = abs(distance), one = number(x, 1);
  const Value near = slope ? (3 * (kA + 2) * x - number(x, 2 * (kA + 3))) * x
                           : ((kA + 2) * x - number(x, kA + 3)) * x * x + one;
  const Value far =
      slope ? (3 * kA * x - number(x, 10 * kA)) * x + number(x, 8 * kA)
            : ((kA * x - number(x, 5 * kA)) * x + number(x, 8 * kA)) * x - number(x, 4 * kA);
  const Value weight = where(less_equal(x, one), near, if_true(less(x, number(x, 2)), far));
  return slope ? weight * sign(distance) : weight;
}

std::vector<Tap> taps_of(const Axis& axis, Value place, const std::string& mode) {
  const Moved raw = axis.coordinate(place);
  std::vector<Tap> taps;
  const auto add = [&](Value at, Value weight, Value slope) {
    const Value there = logical_and(greater_equal(at, number(at, 0)), less(at, axis.extent));
    taps.push_back(
        {cast(if_true(there, at), DType::i32), if_true(there, weight), if_true(there, slope)});
  };
  if (mode == "cubic") {
    const Value base = floor(raw.at), fraction = raw.at - base;
    for (int step = -1; step <= 2; ++step) {
      const Value distance = number(fraction, step) - fraction;
      add(axis.inside(base + number(base, step)).at, cubic(distance, false),
          -cubic(distance, true) * raw.slope);
    }
    return taps;
  }
  const Moved c = axis.inside(raw.at);
  if (mode == "nearest") {
    add(round(c.at), number(c.at, 1), number(c.at, 0));
    return taps;
  }
  const Value base = floor(c.at), fraction = c.at - base, slope = c.slope * raw.slope;
  add(base, number(base, 1) - fraction, -slope);
  add(base + number(base, 1), fraction, slope);
  return taps;
}

}  // namespace

Value extent_of(Value x, size_t axis, Value like) {
  const Dim& extent = x.shape()[axis];
  if (extent.is_number()) return scalar(like, static_cast<double>(extent.number()));
  const auto at = static_cast<int64_t>(axis);
  return cast(squeeze(slice(shape_of(x), Ints{at}, Ints{at + 1}), {0}), like.dtype());
}

Gradients grid_sample_gradient(const GradientSite& site) {
  const Value x = site.in(0), grid = site.in(1);
  const DType wide = bytes_of(x.dtype()) < 4 ? DType::f32 : x.dtype();
  const auto widened = [&](Value v) { return v.dtype() == wide ? v : cast(v, wide); };
  const Dims& shape = x.shape();
  const Dim places = grid.shape()[1] * grid.shape()[2];
  const Dims by_place{shape[0], shape[1], places};
  const Value dy = reshape(widened(site.dy()), by_place);
  const Value elements = reshape(widened(x), Dims{shape[0], shape[1], shape[2] * shape[3]});
  const std::string &mode = site.attrs().get<std::string>("mode"),
                    &padding = site.attrs().get<std::string>("padding");
  const auto along = [&](int64_t coordinate, size_t axis) {
    const Value place = reshape(slice(widened(grid), {coordinate}, {coordinate + 1}, {3}),
                                Dims{shape[0], 1, places});
    return taps_of({extent_of(x, axis, place), padding, site.attrs().get<bool>("align_corners")},
                   place, mode);
  };
  const std::vector<Tap> columns = along(0, 3), rows = along(1, 2);
  const Value width = cast(extent_of(x, 3, columns[0].weight), DType::i32);
  Value dx = zeros(elements, elements.shape()), d_column, d_row;
  const auto added = [](Value total, Value more) { return total ? total + more : more; };
  for (const Tap& row : rows)
    for (const Tap& column : columns) {
      const Value at = expand(row.at * width + column.at, by_place);
      dx = scatter_elements(dx, at, dy * (row.weight * column.weight), 2, "add");
      const Value pull = sum(dy * gather_elements(elements, at, 2), {1}, true);
      d_column = added(d_column, pull * (row.weight * column.slope));
      d_row = added(d_row, pull * (row.slope * column.weight));
    }
  const Dims last{shape[0], places, 1};
  const Value d_grid = concat({reshape(d_column, last), reshape(d_row, last)}, 2);
  return {cast(reshape(dx, shape), x.dtype()), cast(reshape(d_grid, grid.shape()), grid.dtype())};
}

}  // namespace rlx
