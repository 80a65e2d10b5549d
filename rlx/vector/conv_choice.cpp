#include <algorithm>

#include "rlx/vector/conv.h"

namespace rlx::vector {
namespace {

// bench/conv_bench.cpp has what this rests on.
ConvWay winograd_choice(const ConvSize& size, Isa isa) {
  constexpr int64_t kLeastChannels = 16;  // the transforms cost as much as they save below
  constexpr int64_t kCached = 8 << 20;    // bytes of weights that stay in a cache between runs
  // Pixels that make up for reading weights that do not, four times as many and twice.
  constexpr int64_t kPixelsPerRead = 72, kPixelsPerSmallRead = 32;
  const int64_t bytes = 36 * size.inputs * size.outputs * 4, pixels = size.pixels();
  const auto is_wide = [&](int64_t extent) {
    return size.windows.y.out >= extent && size.windows.x.out >= extent;
  };
  if (std::min(size.inputs, size.outputs) < kLeastChannels) return ConvWay::direct;
  if (is_wide(4) && (bytes <= kCached || pixels >= kPixelsPerRead)) return ConvWay::winograd;
  // Vectors of 512 bits have computed all products by the time that those weights are read.
  const bool reads_longer = isa == Isa::avx512 && !computes_in_halves(isa);
  if (!reads_longer && is_wide(2) && bytes > kCached && pixels >= kPixelsPerSmallRead)
    return ConvWay::winograd_small;
  return ConvWay::direct;
}

}  // namespace

ConvWay conv_choice(const Conv& conv, Isa isa) {
  if (depthwise(Isa::baseline).accepts(conv)) return ConvWay::depthwise;
  return winograd(Isa::baseline).accepts(conv) ? winograd_choice(conv.size, isa) : ConvWay::direct;
}

}  // namespace rlx::vector
