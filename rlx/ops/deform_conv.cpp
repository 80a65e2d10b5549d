// deform_conv(x, w, offset): a convolution whose window reads x between its elements, each tap
// where `offset` moves it to; outside there are zeros. Made of gathers and a product.

#include "rlx/ops/bodies.h"
#include "rlx/ops/grid_sample.h"
#include "rlx/ops/ops_core.h"
#include "rlx/ops/ops_vision.h"

namespace rlx {
namespace {

// One spatial axis of the window.
struct Taps {
  int64_t count, stride, dilation, before;
  Dim extent, places;  // of x, of the result
};

Taps taps_of(Value x, Value w, size_t axis, const DeformConvOptions& options) {
  const auto at = [&](const Ints& list, size_t i, int64_t otherwise) {
    require(list.empty() || list.size() == (otherwise == 0 ? 4u : 2u), "deform_conv: ", list.size(),
            " strides, dilations or pads are not those of two dims");
    return list.empty() ? otherwise : list[i];
  };
  Taps taps{
      w.shape()[2 + axis].number(), at(options.strides, axis, 1), at(options.dilations, axis, 1),
      at(options.pads, axis, 0),    x.shape()[2 + axis],          0};
  require(taps.stride > 0 && taps.dilation > 0 && taps.count > 0,
          "deform_conv: stride, dilation and window must be positive");
  const Dim padded = taps.extent + taps.before + at(options.pads, 2 + axis, 0);
  taps.places = max(floor_div(padded - (taps.dilation * (taps.count - 1) + 1), taps.stride) + 1, 0);
  return taps;
}

void check(Value x, Value w, Value offset, Value bias, const DeformConvOptions& options) {
  const auto is = [&](Value v, int64_t rank_of) {
    return v.dtype() == x.dtype() && rank(v.type()) == rank_of;
  };
  require(
      is_float(x.dtype()) && is(x, 4) && is(w, 4) && is(offset, 4) && (!bias || is(bias, 1)) &&
          (!options.mask || is(options.mask, 4)),
      "deform_conv: needs floats x [N, C, H, W], w [O, C / groups, h, w] and offset of one dtype, "
      "got ",
      x.type(), ", ", w.type(), " and ", offset.type());
  require(x.shape()[1].is_number() && is_concrete(w.shape()), "deform_conv: the channels of x ",
          x.type(), " and w ", w.type(), " must be numbers");
  const int64_t channels = x.shape()[1].number(), outputs = w.shape()[0].number();
  require(options.groups > 0 && options.offset_groups > 0 && channels % options.groups == 0 &&
              outputs % options.groups == 0 && channels % options.offset_groups == 0 &&
              w.shape()[1].is(channels / options.groups),
          "deform_conv: ", channels, " channels and w ", w.type(), " do not go in ", options.groups,
          " groups and ", options.offset_groups, " of offsets");
}

// Where taps lie along an axis, [N, offset groups, taps, rows, columns]: the two elements beside
// each, and how much each counts.
struct Beside {
  Value at[2], weight[2];
};
Beside beside(Value moved, const Taps& taps, bool is_row, int64_t taps_of_other, Value extent) {
  const auto number = [&](double value) { return scalar(moved, value); };
  const auto counted = [&](const Dim& count, int64_t step, const Ints& axes) {
    return unsqueeze(cast(counting(moved, count), moved.dtype()) * number(double(step)), axes);
  };
  // Taps go row by row: [h, w].
  Value tap = counted(taps.count, taps.dilation, is_row ? Ints{1} : Ints{0});
  tap = expand(tap, is_row ? Dims{taps.count, taps_of_other} : Dims{taps_of_other, taps.count});
  tap = reshape(tap, Dims{taps.count * taps_of_other, 1, 1});
  const Value place = counted(taps.places, taps.stride, is_row ? Ints{1} : Ints{0});
  const Value c = moved + (tap + place - number(double(taps.before)));
  const Value low = floor(c), fraction = c - low, none = number(0);
  Beside result;
  for (int side = 0; side < 2; ++side) {
    const Value element = low + number(side);
    const Value there = logical_and(greater_equal(element, none), less(element, extent));
    result.at[side] = cast(where(there, element, none), DType::i32);
    result.weight[side] = where(there, side == 0 ? number(1) - fraction : fraction, none);
  }
  return result;
}

}  // namespace

Value deform_conv(Value x, Value w, Value offset, Value bias, const DeformConvOptions& options) {
  check(x, w, offset, bias, options);
  if (x.dtype() == DType::f16 || x.dtype() == DType::bf16) {  // places have more digits than these
    const auto wide = [](Value v) { return v ? cast(v, DType::f32) : v; };
    DeformConvOptions in_wide = options;
    in_wide.mask = wide(options.mask);
    return cast(deform_conv(wide(x), wide(w), wide(offset), wide(bias), in_wide), x.dtype());
  }
  const Taps rows = taps_of(x, w, 0, options), columns = taps_of(x, w, 1, options);
  const int64_t taps = rows.count * columns.count, sets = options.offset_groups,
                groups = options.groups, channels = x.shape()[1].number(),
                outputs = w.shape()[0].number();
  const Dim &batch = x.shape()[0], &height = x.shape()[2], &width = x.shape()[3];
  const Value offsets = reshape(offset, Dims{batch, sets, taps, 2, rows.places, columns.places});
  const auto moved = [&](int64_t axis) {
    return squeeze(slice(offsets, {axis}, {axis + 1}, {3}), {3});
  };
  const Beside down = beside(moved(0), rows, true, columns.count, extent_of(x, 2, offset)),
               across = beside(moved(1), columns, false, rows.count, extent_of(x, 3, offset));

  // Elements [N * sets * H * W, C / sets], and where those of each picture and set begin.
  const Value by_set = reshape(x, Dims{batch, sets, channels / sets, height, width});
  const Value elements = reshape(transpose(by_set, {0, 1, 3, 4, 2}),
                                 Dims{batch * sets * height * width, channels / sets});
  const auto whole = [&](size_t axis) { return cast(extent_of(x, axis, offset), DType::i32); };
  const Value first =
      reshape(counting(x, batch * sets, DType::i32), Dims{batch, sets, 1, 1, 1}) * whole(2);
  Value read;
  for (int r = 0; r < 2; ++r)
    for (int c = 0; c < 2; ++c) {
      const Value at = (first + down.at[r]) * whole(3) + across.at[c];
      const Value part =
          gather(elements, at, 0) * unsqueeze(down.weight[r] * across.weight[c], {5});
      read = read ? read + part : part;
    }
  if (options.mask)
    read = read * reshape(options.mask, Dims{batch, sets, taps, rows.places, columns.places, 1});

  const Value windows =
      reshape(transpose(read, {0, 1, 5, 2, 3, 4}),
              Dims{batch, groups, channels / groups * taps, rows.places * columns.places});
  const Value kernels = reshape(w, Dims{groups, outputs / groups, channels / groups * taps});
  const Value y =
      reshape(matmul(kernels, windows), Dims{batch, outputs, rows.places, columns.places});
  return bias ? y + unsqueeze(bias, {1, 2}) : y;
}

}  // namespace rlx
