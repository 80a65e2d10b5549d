// Windows that slide over the spatial axes of [B, C, spatial..]: what convolutions, pooling and
// im2col share. Pads are ONNX's: before each axis, then after each.
#pragma once

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "rlx/ir/op_def.h"
#include "rlx/tensor/attrs.h"

namespace rlx {

struct Windows {
  Ints strides, dilations;
  Dims before, after;    // padding per axis, where auto_pad does not say
  std::string auto_pad;  // empty, same_upper, same_lower, valid
  bool ceil_mode = false;

  // Of the attributes strides, dilations, pads, auto_pad and ceil_mode, each of which may be absent
  // or empty, for this many axes.
  Windows(std::string_view op, const Attrs& attrs, size_t axes);

  // How far a window of this many elements reaches.
  Dim reach(const Dim& window, size_t axis) const;
  Dim pad_before(const Dim& extent, const Dim& window, size_t axis) const;
  Dim pad_after(const Dim& extent, const Dim& window, size_t axis) const;
  // How many places it has. With ceil_mode the last one may lie over the edge, but none begins
  // beyond it.
  Dim places(const Dim& extent, const Dim& window, size_t axis) const;

 private:
  Dim same_padding(const Dim& extent, const Dim& window, size_t axis) const;
  bool is_same() const { return auto_pad == "same_upper" || auto_pad == "same_lower"; }
};

// Products of strides, dilations and windows with places fit 64 bits then.
void require_32_bits(std::string_view op, std::string_view name, const Ints& values);

// The attributes that say how windows slide.
std::vector<AttrSpec> window_attrs(std::vector<AttrSpec> more = {});

// [B, C, spatial..] with 1 to 3 spatial dims, or an Error; how many there are.
size_t spatial_axes(std::string_view op, const TensorType& x);
Dims spatial_dims(const Dims& shape);

// The extents of the result, or an Error where the window does not fit.
Dims window_places(std::string_view op, const Windows& windows, const TensorType& x,
                   const Dims& window);

// How windows slide, for kernels and references: always three axes, the first ones of extent 1.
template <class Number>
struct Slide {
  std::array<Number, 3> in, out, window, strides, dilations, before;

  Number places() const { return out[0] * out[1] * out[2]; }
  Number taps() const { return window[0] * window[1] * window[2]; }
};
Slide<Dim> slide(const Windows& windows, const Dims& in, const Dims& window, const Dims& out);
Slide<int64_t> bound(const Slide<Dim>& slide, const SymbolValues& symbols);

// Dims with ones in front, to make three.
std::array<Dim, 3> three(const Dims& dims, const Dim& filler = 1);

// The taps of a window along axis d that meet x, for its place `at` there: a window may be far
// larger than x and its padding as well, so the others are not even looked at.
struct TapRange {
  int64_t first, end;
};
inline TapRange taps_inside(const Slide<int64_t>& slide, size_t d, int64_t at) {
  const int64_t step = slide.dilations[d], start = at * slide.strides[d] - slide.before[d];
  const int64_t room = slide.in[d] - start;
  return {start < 0 ? (step - 1 - start) / step : 0,
          room > 0 ? std::min(slide.window[d], (room + step - 1) / step) : 0};
}

// Calls f(tap, element of x's plane) for each tap of the window at `place` that meets x.
template <class F>
void for_each_tap(const Slide<int64_t>& slide, int64_t place, F f) {
  const int64_t at[] = {place / slide.out[2] / slide.out[1], place / slide.out[2] % slide.out[1],
                        place % slide.out[2]};
  const TapRange taps[] = {taps_inside(slide, 0, at[0]), taps_inside(slide, 1, at[1]),
                           taps_inside(slide, 2, at[2])};
  const auto source = [&](size_t d, int64_t tap) {
    return at[d] * slide.strides[d] + tap * slide.dilations[d] - slide.before[d];
  };
  for (int64_t i = taps[0].first; i < taps[0].end; ++i)
    for (int64_t j = taps[1].first; j < taps[1].end; ++j)
      for (int64_t k = taps[2].first; k < taps[2].end; ++k)
        f((i * slide.window[1] + j) * slide.window[2] + k,
          (source(0, i) * slide.in[1] + source(1, j)) * slide.in[2] + source(2, k));
}

// The params that the functions of lib/windows.wgsl read.
struct Param;
std::vector<Param> slide_params(const Slide<Dim>& slide);

}  // namespace rlx
