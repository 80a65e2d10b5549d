// What resize and its gradient share: which elements of an axis make one of the resized axis.
#pragma once

#include "rlx/lower/site.h"

namespace rlx {

// The coordinate in x of element i along an axis is the fraction (slope i + start) / divisor, the
// scale p / q. Exact, so that ties are the same on every device. Which element is nearest to it
// others find in f32, and where that may be another one so do we: Floats.
struct ResizedAxis {
  enum class Floats { none, of_scale, of_extents };  // the scale as given, or p / q in f32
  bool resized = false;
  Dim out, in;
  Dim slope = 1, start = 0, divisor = 1;
  Dim p = 1, q = 1;
  Dim reach = 1;  // how many elements each way have a weight
  Floats floats = Floats::none;
  float scale = 1;
  float before = 0, after = 0;  // the coordinate is (i + before) / scale - after
};

std::vector<AttrSpec> resize_attrs();
// Throws where an attribute is none that resize takes.
void check_resize(std::string_view op, const TensorType& x, const Attrs& attrs);
// Extents that `scales` asks for.
Dim scaled(const Dim& extent, double scale);

std::vector<ResizedAxis> resized_axes(const Dims& x, const Dims& y, const Attrs& attrs);

// An element of x and its weight; for a place that cropping does not see there are none.
struct Tap {
  int64_t at;
  double weight;
};
using Taps = std::vector<Tap>;
// Of each element of the resized axis; the extents are numbers.
std::vector<Taps> taps_of(const ResizedAxis& axis, const Attrs& attrs);

// Calls f(element of x, weight) for each element that contributes to element i of y; false if none.
struct ResizeTaps {
  Shape from, to;
  std::vector<std::vector<Taps>> axes;

  ResizeTaps(const Shape& x, const Shape& y, const Attrs& attrs);
  template <class F>
  bool for_each(int64_t i, F f) const;
};

Steps lower_resize(const LowerSite& site, const std::vector<ResizedAxis>& axes);
// Of dy, axis by axis.
Steps lower_resize_gradient(const LowerSite& site, const std::vector<ResizedAxis>& axes);

template <class F>
bool ResizeTaps::for_each(int64_t i, F f) const {
  std::vector<Tap> sum{{0, 1.0}};
  int64_t rest = i, stride = 1;
  for (size_t d = to.size(); d-- > 0;) {
    const Taps& taps = axes[d][static_cast<size_t>(rest % to[d])];
    std::vector<Tap> next;
    for (const Tap& tap : taps)
      for (const Tap& part : sum)
        next.push_back({part.at + tap.at * stride, part.weight * tap.weight});
    sum = std::move(next);
    rest /= to[d];
    stride *= from[d];
  }
  for (const Tap& tap : sum) f(tap.at, tap.weight);
  return !sum.empty();
}

}  // namespace rlx
