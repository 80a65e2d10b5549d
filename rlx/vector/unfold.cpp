#include "rlx/vector/unfold.h"

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "rlx/vector/unfold.cpp"
#include "rlx/vector/each_isa.h"
#include "rlx/vector/load_elements.h"

HWY_BEFORE_NAMESPACE();
namespace rlx::vector::HWY_NAMESPACE {
namespace {

HWY_INLINE void fill_zeros(float* to, int64_t count) {
  for (int64_t i = 0; i < count; ++i) to[i] = 0;
}
HWY_INLINE void copy(const float* from, float* to, int64_t count) {
  for (; count >= kLanes; count -= kLanes, from += kLanes, to += kLanes) store(load(from), to);
  if (count > 0) store_part(load_part(from, count), to, count);
}

// `count` places of one row of the result from place `first` on; `row` is the row of x under the
// tap, or null.
HWY_INLINE void read_places(const Windows::Axis& axis, int64_t tap, const float* row, int64_t first,
                            int64_t count, float* to) {
  if (!row) return fill_zeros(to, count);
  // Place i meets x[i * stride + shift].
  const int64_t shift = tap * axis.dilation - axis.before;
  const int64_t room = axis.in - shift;
  int64_t begin = shift >= 0 ? 0 : (-shift + axis.stride - 1) / axis.stride;
  int64_t end = room <= 0 ? 0 : (room + axis.stride - 1) / axis.stride;
  begin = std::clamp(begin - first, int64_t{0}, count);
  end = std::clamp(end - first, begin, count);
  fill_zeros(to, begin);
  const float* from = row + (first + begin) * axis.stride + shift;
  if (axis.stride == 1)
    copy(from, to + begin, end - begin);
  else
    for (int64_t i = begin; i < end; ++i, from += axis.stride) to[i] = *from;
  fill_zeros(to + end, count - end);
}

void read(const void* context, Range inner, Range columns, int64_t panel, float* to) {
  const auto& unfold = *static_cast<const Unfold*>(context);
  const Windows::Axis &ys = unfold.windows.y, &xs = unfold.windows.x;
  const int64_t plane = ys.in * xs.in, first_y = columns.begin / xs.out,
                first_x = columns.begin % xs.out;
  int64_t tap_x = inner.begin % xs.window, tap_y = inner.begin / xs.window % ys.window;
  const float* x = unfold.x + inner.begin / xs.window / ys.window * plane;
  for (int64_t k = inner.begin; k < inner.end; ++k, to += panel) {
    int64_t at = 0, place_x = first_x;
    for (int64_t place_y = first_y; at < columns.count(); ++place_y, place_x = 0) {
      const int64_t count = std::min(xs.out - place_x, columns.count() - at);
      const int64_t row = place_y * ys.stride - ys.before + tap_y * ys.dilation;
      read_places(xs, tap_x, row >= 0 && row < ys.in ? x + row * xs.in : nullptr, place_x, count,
                  to + at);
      at += count;
    }
    fill_zeros(to + at, panel - at);
    if (++tap_x < xs.window) continue;
    tap_x = 0;
    if (++tap_y < ys.window) continue;
    tap_y = 0;
    x += plane;
  }
}

Product::Read make() { return read; }

}  // namespace
}  // namespace rlx::vector::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace rlx::vector {
Product::Read unfold(Isa isa) { return RLX_OF_ISA(isa, make); }
}  // namespace rlx::vector
#endif
