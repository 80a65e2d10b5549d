// Ways to rearrange a tensor that are short expressions over views: flatten, split, reverse, roll,
// depth_to_space, space_to_depth.

#include "rlx/ops/kernel.h"
#include "rlx/ops/ops_core.h"
#include "rlx/ops/ops_rearrange.h"
#include "rlx/ops/views.h"

namespace rlx {

Value flatten(Value x, int64_t axis) {
  const int64_t end = rank(x.type());
  require(-end <= axis && axis <= end, "flatten: axis ", axis, " is out of range for ", x.type(),
          " (rank ", end, ")");
  const auto at = static_cast<size_t>(axis < 0 ? axis + end : axis);
  return reshape(x, {product(x.shape(), 0, at), product(x.shape(), at, x.shape().size())});
}

Values split(Value x, const Dims& lengths, int64_t axis) {
  const size_t at = axis_of("split", axis, x.type());
  Dim start = 0, sum = 0;
  for (const Dim& length : lengths) {
    require(!length.is_number() || length.number() >= 0, "split: length ", length, " is negative");
    sum = sum + length;
  }
  const Dim extent = x.shape()[at];
  require(sum == extent || !(sum - extent).is_number(), "split: lengths add up to ", sum,
          ", not to dim ", at, " of ", x.type(), " (", extent, ")");
  if (sum != extent) {  // only a run can compare them: reshape holds it to the sum
    Dims shape = x.shape();
    shape[at] = sum;
    x = reshape(x, shape);
  }
  Values parts;
  for (const Dim& length : lengths) {
    parts.push_back(slice_axis(x, at, start, start + length));
    start = start + length;
  }
  return parts;
}

Values split(Value x, int64_t parts, int64_t axis) {
  require(parts > 0, "split: cannot make ", parts, " parts");
  const size_t at = axis_of("split", axis, x.type());
  const Dim &extent = x.shape()[at], length = ceil_div(extent, parts);
  Values results;
  for (int64_t i = 0; i < parts; ++i)
    results.push_back(
        slice_axis(x, at, smaller(Dim(i) * length, extent), smaller(Dim(i + 1) * length, extent)));
  return results;
}

Value reverse(Value x, const Ints& axes) {
  if (axes.empty()) return x;
  return slice(x, Ints(axes.size(), -1), Ints(axes.size(), INT64_MIN), axes, Ints(axes.size(), -1));
}

// What leaves at one end comes in at the other: wrapped padding before, and as much off the end.
Value roll(Value x, const Ints& shifts, const Ints& axes) {
  require(shifts.size() == axes.size(), "roll: there are ", shifts.size(), " shifts and ",
          axes.size(), " axes");
  const size_t dims = x.shape().size();
  Dims shift(dims, 0), pads;
  for (size_t i = 0; i < axes.size(); ++i) {
    const size_t axis = axis_of("roll", axes[i], x.type());
    shift[axis] = shift[axis] + shifts[i];
  }
  for (size_t d = 0; d < dims; ++d) pads.push_back(mod(shift[d], larger(x.shape()[d], 1)));
  for (size_t d = 0; d < dims; ++d) pads.push_back(Dim(0) - pads[d]);
  return pad(x, pads, "wrap");
}

namespace {

struct Picture {
  Dim batch, channels, height, width;
};

Picture picture_of(const char* op, Value x, int64_t block) {
  require(rank(x.type()) == 4, op, ": takes [batch, channels, height, width], got ", x.type());
  constexpr int64_t kMost = int64_t{1} << 30;  // its square is a size, too
  require(block > 0 && block <= kMost, op, ": block ", block, " is not in [1, ", kMost, "]");
  return {x.shape()[0], x.shape()[1], x.shape()[2], x.shape()[3]};
}

Dim divided(const char* op, Value x, size_t axis, int64_t by) {
  const Dim& extent = x.shape()[axis];
  require(!extent.is_number() || extent.number() % by == 0, op, ": dim ", axis, " of ", x.type(),
          " is not a multiple of ", by);
  return floor_div(extent, by);
}

}  // namespace

Value depth_to_space(Value x, int64_t block, const std::string& mode) {
  require(mode == "DCR" || mode == "CRD", "depth_to_space: there is no mode '", mode,
          "'; it takes DCR, CRD");
  const Picture from = picture_of("depth_to_space", x, block);
  const Dim depth = divided("depth_to_space", x, 1, block * block), b = block;
  const bool depth_last = mode == "DCR";
  const Value parts =
      reshape(x, depth_last ? Dims{from.batch, b, b, depth, from.height, from.width}
                            : Dims{from.batch, depth, b, b, from.height, from.width});
  return reshape(transpose(parts, depth_last ? Ints{0, 3, 4, 1, 5, 2} : Ints{0, 1, 4, 2, 5, 3}),
                 {from.batch, depth, from.height * b, from.width * b});
}

Value space_to_depth(Value x, int64_t block) {
  const Picture from = picture_of("space_to_depth", x, block);
  const Dim height = divided("space_to_depth", x, 2, block), b = block,
            width = divided("space_to_depth", x, 3, block);
  const Value parts = reshape(x, {from.batch, from.channels, height, b, width, b});
  return reshape(transpose(parts, {0, 3, 5, 1, 2, 4}),
                 {from.batch, from.channels * b * b, height, width});
}

Value shape_of(Value x, int64_t start, int64_t end) {
  return slice(shape_of(x), Ints{start}, Ints{end}, {0});
}

}  // namespace rlx
