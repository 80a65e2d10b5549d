// gaussian_splat(scene, camera, background): what splat_raster needs of each Gaussian, in the order
// of their depths. A composition, so that its parts have gradients of their own.

#include <array>
#include <cmath>

#include "rlx/ir/graph.h"
#include "rlx/ops/ops_core.h"
#include "rlx/ops/ops_splat.h"

namespace rlx {

const OpDef& sort_op();

namespace {

using Columns = std::array<Value, 3>;  // [N, 1] each, or a vector's elements [1, 1]

Value column(Value x, int64_t i) { return slice(x, {i}, {i + 1}, {1}); }
Columns columns(Value x) { return {column(x, 0), column(x, 1), column(x, 2)}; }
Value dot(const Columns& a, const Columns& b) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }
Columns cross(const Columns& a, const Columns& b) {
  return {a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]};
}
Columns scaled(const Columns& a, Value by) { return {a[0] * by, a[1] * by, a[2] * by}; }
Columns difference(const Columns& a, const Columns& b) {
  return {a[0] - b[0], a[1] - b[1], a[2] - b[2]};
}
Columns normalised(const Columns& a) { return scaled(a, rsqrt(dot(a, a))); }
Value row(const Columns& a) { return concat({a[0], a[1], a[2]}, 1); }

// Where the camera is, what it sees to the right, above and ahead, and how far its picture reaches.
struct View {
  Columns position, right, up, ahead;
  Value half_width, half_height;  // of the picture at depth 1
  Value near, far;
};

View view_of(Value camera, const SplatOptions& options) {
  const Value flat = reshape(camera, Dims{1, 12});
  const auto at = [&](int64_t i) { return column(flat, i); };
  View view;
  view.position = {at(0), at(1), at(2)};
  view.ahead = normalised(difference({at(3), at(4), at(5)}, view.position));
  view.right = normalised(cross(view.ahead, {at(6), at(7), at(8)}));
  view.up = cross(view.right, view.ahead);
  const Value half = at(9) * scalar(camera, 0.5);
  view.half_height = sin(half) / cos(half);
  view.half_width = view.half_height * scalar(camera, static_cast<double>(options.width) /
                                                          static_cast<double>(options.height));
  view.near = at(10), view.far = at(11);
  return view;
}

Value rays_of(const View& view, const SplatOptions& options) {
  const auto number = [&](double value) { return scalar(view.half_width, value); };
  const Columns right = scaled(view.right, view.half_width), up = scaled(view.up, view.half_height);
  Columns corner = difference(view.ahead, right);
  for (size_t i = 0; i < 3; ++i) corner[i] = corner[i] + up[i];
  return concat({row(corner), row(scaled(right, number(2.0 / static_cast<double>(options.width)))),
                 row(scaled(up, number(-2.0 / static_cast<double>(options.height))))},
                0);
}

// The axes of each Gaussian, of length 1.
std::array<Columns, 3> axes_of(Value rotation) {
  const Value q = rotation * rsqrt(sum_square(rotation, {1}, true));
  const Value w = column(q, 0), x = column(q, 1), y = column(q, 2), z = column(q, 3);
  const Value one = scalar(q, 1), two = scalar(q, 2);
  return {{{one - two * (y * y + z * z), two * (x * y + w * z), two * (x * z - w * y)},
           {two * (x * y - w * z), one - two * (x * x + z * z), two * (y * z + w * x)},
           {two * (x * z + w * y), two * (y * z - w * x), one - two * (x * x + y * y)}}};
}

// Real spherical harmonics up to degree 3, in the order and with the signs that scenes are kept
// with.
Values harmonics_at(const Columns& direction, int64_t count) {
  const auto& [x, y, z] = direction;
  const auto times = [&](double factor, Value value) { return scalar(value, factor) * value; };
  const Value one = x * scalar(x, 0) + scalar(x, 1);
  Values basis{times(0.28209479177387814, one)};
  if (count == 1) return basis;
  for (const Value each :
       {times(-0.4886025119029199, y), times(0.4886025119029199, z), times(-0.4886025119029199, x)})
    basis.push_back(each);
  if (count == 4) return basis;
  const Value xx = x * x, yy = y * y, zz = z * z;
  const auto twice = [&](Value value) { return value + value; };
  for (const Value each : {times(1.0925484305920792, x * y), times(-1.0925484305920792, y * z),
                           times(0.31539156525252005, twice(zz) - xx - yy),
                           times(-1.0925484305920792, x * z), times(0.5462742152960396, xx - yy)})
    basis.push_back(each);
  if (count == 9) return basis;
  const auto thrice = [&](Value value) { return times(3, value); };
  const Value ring = times(4, zz) - xx - yy;
  for (const Value each :
       {times(-0.5900435899266435, y * (thrice(xx) - yy)), times(2.890611442640554, x * y * z),
        times(-0.4570457994644658, y * ring),
        times(0.3731763325901154, z * (twice(zz) - thrice(xx) - thrice(yy))),
        times(-0.4570457994644658, x * ring), times(1.445305721320277, z * (xx - yy)),
        times(-0.5900435899266435, x * (xx - thrice(yy)))})
    basis.push_back(each);
  return basis;
}

Value colours_of(Value harmonics, const Columns& offset) {
  const Dim count = harmonics.shape()[1];
  require(count.is(1) || count.is(4) || count.is(9) || count.is(16),
          "gaussian_splat: harmonics are ", harmonics.type(), ", a colour has 1, 4, 9 or 16");
  const Value basis = concat(harmonics_at(normalised(offset), count.number()), 1);
  const Value colour = sum(unsqueeze(basis, {2}) * harmonics, {1});
  return relu(colour + scalar(colour, 0.5));
}

// The pixels that a Gaussian may cover by `cutoff`: where planes through the camera touch the
// ellipsoid at which it does. All of them where the camera is within.
Value bounds_of(const View& view, const std::array<Columns, 3>& deviations, const Columns& offset,
                Value opacity, const SplatOptions& options) {
  const auto number = [&](double value) { return scalar(opacity, value); };
  const Value zero = number(0);
  const Value reach = maximum(
      number(2) * log(maximum(opacity, number(1e-30)) / number(std::max(options.cutoff, 1e-30))),
      zero);
  const auto side = [&](const Columns& direction, Value half, int64_t extent, double sign,
                        const Value ends[2]) {
    const Value middle = dot(offset, direction), depth = dot(offset, view.ahead);
    Value squares = zero, both = zero, ahead = zero;
    for (const Columns& deviation : deviations) {
      const Value d = dot(deviation, direction), a = dot(deviation, view.ahead);
      squares = squares + d * d, both = both + d * a, ahead = ahead + a * a;
    }
    const Value a = depth * depth - reach * ahead, b = middle * depth - reach * both,
                c = middle * middle - reach * squares;
    const Value root = sqrt(maximum(b * b - a * c, zero)), within = less_equal(a, zero);
    const double size = static_cast<double>(extent), margin = 0.5;
    const auto pixel = [&](Value u) {
      return (u / half * number(sign) + number(1)) * number(size / 2);
    };
    const Value first = pixel((b - root) / a), second = pixel((b + root) / a);
    return std::array<Value, 2>{where(within, ends[0], minimum(first, second) - number(margin)),
                                where(within, ends[1], maximum(first, second) + number(margin))};
  };
  const Value across[2] = {zero, number(static_cast<double>(options.width))},
              down[2] = {zero, number(static_cast<double>(options.height))};
  const auto x = side(view.right, view.half_width, options.width, 1, across);
  const auto y = side(view.up, view.half_height, options.height, -1, down);
  const Value hidden = less(opacity, number(std::max(options.cutoff, 1e-30)));
  return stop_gradient(
      concat({where(hidden, number(1), x[0]), y[0], where(hidden, zero, x[1]), y[1]}, 1));
}

}  // namespace

Value gaussian_splat(const SplatScene& scene, Value camera, Value background,
                     const SplatOptions& options) {
  require(options.width > 0 && options.height > 0, "gaussian_splat: a picture of ", options.width,
          " by ", options.height, " pixels cannot be");
  require(rank(scene.position.type()) == 2 && rank(scene.harmonics.type()) == 3,
          "gaussian_splat: positions are ", scene.position.type(), " and harmonics ",
          scene.harmonics.type(), ", they need to be [N, 3] and [N, K, 3]");
  const View view = view_of(camera, options);
  const Columns offset = difference(columns(scene.position), view.position);
  const std::array<Columns, 3> axes = axes_of(scene.rotation);
  std::array<Columns, 3> deviations;
  Values parts, middle;
  for (size_t i = 0; i < 3; ++i) {
    const Value log_scale = column(scene.log_scale, static_cast<int64_t>(i));
    const Columns inverse = scaled(axes[i], exp(-log_scale));
    deviations[i] = scaled(axes[i], exp(log_scale));
    parts.push_back(row(inverse));
    middle.push_back(-dot(inverse, offset));
  }
  parts.insert(parts.end(), middle.begin(), middle.end());
  const Value depth = dot(offset, view.ahead);
  const Value visible = logical_and(greater(depth, view.near), less(depth, view.far));
  const Value opacity = where(visible, sigmoid(unsqueeze(scene.opacity, {1})), scalar(depth, 0));
  parts.push_back(opacity);
  parts.push_back(colours_of(scene.harmonics, offset));
  parts.push_back(depth);
  const Value depths = stop_gradient(squeeze(depth, {1}));
  const Value order = depths.apply(sort_op(), {depths}, {{"axis", 0}, {"descending", false}}).of(1);
  const Value bounds = bounds_of(view, deviations, offset, opacity, options);
  return splat_raster(gather(concat(parts, 1), order, 0), gather(bounds, order, 0),
                      rays_of(view, options), background, options);
}

}  // namespace rlx
