#include "rlx/vector/conv.h"

namespace rlx::vector {
namespace {

// bench/conv_bench.cpp has what this rests on.
bool winograd_pays(const ConvSize& size) {
  constexpr int64_t kLeastChannels = 16;  // the transforms cost as much as they save below
  constexpr int64_t kCached = 8 << 20;    // bytes of weights that stay in a cache between runs
  constexpr int64_t kPixelsPerRead = 72;  // make up for weights that do not
  const int64_t bytes = 36 * size.inputs * size.outputs * 4;
  return size.inputs >= kLeastChannels && size.outputs >= kLeastChannels &&
         size.windows.y.out >= 4 && size.windows.x.out >= 4 &&
         (bytes <= kCached || size.pixels() >= kPixelsPerRead);
}

}  // namespace

ConvWay conv_choice(const Conv& conv) {
  if (depthwise(Isa::baseline).accepts(conv)) return ConvWay::depthwise;
  if (winograd(Isa::baseline).accepts(conv) && winograd_pays(conv.size)) return ConvWay::winograd;
  return ConvWay::direct;
}

}  // namespace rlx::vector
