#include <algorithm>

#include "rlx/vector/conv.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "rlx/vector/depthwise.cpp"
#include "rlx/vector/each_isa.h"
// After it.
#include "rlx/vector/window_walk.h"

HWY_BEFORE_NAMESPACE();
namespace rlx::vector::HWY_NAMESPACE {
namespace {

struct Weighted {
  static constexpr bool weighs = true;
  static constexpr float padding = 0;
  const float* from;  // what the sums begin with
  int64_t from_pixel;
  float low, high;

  template <bool whole>
  HWY_INLINE F start(const WalkTile& t, int64_t pixel) const {
    if (!from) return set(0.0f);
    return load_channels<whole>(from + (t.first + t.at + pixel) * from_pixel + t.channel,
                                t.channels);
  }
  bool starts_alike() const { return from_pixel == 0; }
  HWY_INLINE F tap(F total, F x, F weight) const { return mul_add(x, weight, total); }
  HWY_INLINE F end(F total, const WalkTile& /*tile*/, int64_t /*pixel*/) const {
    return min(set(high), max(set(low), total));
  }
};

int64_t padded(const ConvSize& size) { return divide_up(size.outputs, kLanes) * kLanes; }

bool accepts(const Conv& conv) {
  const ConvSize& size = conv.size;
  return size.groups == size.inputs && size.groups == size.outputs && conv.x_channel == 1;
}
int64_t panels(const ConvSize& size) { return ChannelPanels(size.outputs).count; }
int64_t packed_size(const ConvSize& size) { return size.taps() * padded(size); }

void pack(const ConvSize& size, const float* weights, Range range, float* packed) {
  const int64_t row = padded(size), taps = size.taps();
  for (int64_t i = range.begin; i < range.end; ++i) {
    const Range channels = ChannelPanels(size.outputs).of(i);
    const int64_t end = i + 1 < panels(size) ? channels.end : row;
    for (int64_t tap = 0; tap < taps; ++tap)
      for (int64_t c = channels.begin; c < end; ++c)
        packed[tap * row + c] = c < size.outputs ? weights[c * taps + tap] : 0;
  }
}

void run(const Conv& conv, const ConvBlocks& blocks, int64_t block, float* /*scratch*/) {
  run_walk(Weighted{conv.start, conv.start_pixel, conv.low, conv.high}, conv, blocks, block);
}

ConvFunctions make() {
  return {.accepts = accepts,
          .panels = panels,
          .packed_size = packed_size,
          .pack = pack,
          .blocks = walk_blocks,
          .run = run};
}

}  // namespace
}  // namespace rlx::vector::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace rlx::vector {
ConvFunctions depthwise(Isa isa) { return RLX_OF_ISA(isa, make); }
}  // namespace rlx::vector
#endif
