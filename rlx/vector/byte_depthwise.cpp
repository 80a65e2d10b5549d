#include "rlx/vector/byte_depthwise.h"

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "rlx/vector/byte_depthwise.cpp"
#include "rlx/vector/each_isa.h"
// After it.
#include "rlx/vector/load_bytes.h"

HWY_BEFORE_NAMESPACE();
namespace rlx::vector::HWY_NAMESPACE {
namespace {

// Neighbouring places of a row share the loads of weights.
template <int places>
HWY_INLINE void run_tile(const ByteDepthwise& c, const uint8_t* from, int64_t channel,
                         int32_t* to) {
  const Windows::Axis &ys = c.windows.y, &xs = c.windows.x;
  const int64_t step = xs.stride * c.pixel, width = ByteDepthwise::padded(c.channels);
  I sums[places];
  for (I& sum : sums) sum = load_integers(c.start + channel);
  const int32_t* weights = c.weights + channel;
  for (int64_t y = 0; y < ys.window; ++y)
    for (int64_t x = 0; x < xs.window; ++x, weights += width) {
      const I weight = load_integers(weights);
      const uint8_t* at = from + y * ys.dilation * c.row + x * xs.dilation * c.pixel + channel;
#pragma GCC unroll 8
      for (int i = 0; i < places; ++i)
        sums[i] = sums[i] + multiply(load_bytes(at + i * step), weight);
    }
  const int64_t left = c.channels - channel;
  for (int i = 0; i < places; ++i) {
    int32_t* here = to + i * c.channels + channel;
    if (left >= kLanes) {
      store_integers(sums[i], here);
    } else {
      int32_t part[kLanes];
      store_integers(sums[i], part);
      copy_elements(part, here, left);
    }
  }
}

void run(const ByteDepthwise& c, Range rows) {
  constexpr int kPlaces = 8;
  const Windows::Axis &ys = c.windows.y, &xs = c.windows.x;
  for (int64_t row = rows.begin; row < rows.end; ++row)
    for (int64_t channel = 0; channel < c.channels; channel += kLanes) {
      const uint8_t* from = c.picture + row * ys.stride * c.row;
      int32_t* to = c.y + (row - rows.begin) * xs.out * c.channels;
      int64_t x = 0;
      const auto at = [&] { return from + x * xs.stride * c.pixel; };
      for (; x + kPlaces <= xs.out; x += kPlaces)
        run_tile<kPlaces>(c, at(), channel, to + x * c.channels);
      for (; x < xs.out; ++x) run_tile<1>(c, at(), channel, to + x * c.channels);
    }
}

RunByteDepthwise make() { return run; }

}  // namespace
}  // namespace rlx::vector::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace rlx::vector {
RunByteDepthwise byte_depthwise(Isa isa) { return RLX_OF_ISA(isa, make); }
}  // namespace rlx::vector
#endif
