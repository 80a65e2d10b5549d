// Convolutions of pictures whose channels lie side by side in memory, [batch, height, width,
// channels]: products of windows and packed weights. A signal is a picture of height 1.
#pragma once

#include <limits>

#include "rlx/vector/windows.h"

namespace rlx::vector {

// What decides how the weights are packed.
struct ConvSize {
  int64_t batch = 1;
  Windows windows = {};
  int64_t groups = 1;
  int64_t inputs = 1, outputs = 1;  // channels of all groups

  int64_t taps() const { return windows.y.window * windows.x.window; }
  int64_t inner() const { return taps() * inputs / groups; }  // products in a sum
  int64_t pixels() const { return batch * windows.y.out * windows.x.out; }
};

struct Conv {
  ConvSize size = {};
  // (n, row, pixel, channel) lies at x[n * x_batch + row * x_row + pixel * x_pixel + channel *
  // x_channel]. What is not packed pixels of adjacent channels without padding is copied.
  const float* x = nullptr;
  int64_t x_batch = 0, x_row = 0, x_pixel = 0, x_channel = 1;
  const float* weights = nullptr;  // as `pack` made them
  // Pixels of the result are counted through [batch, height, width]; pixel i begins at y[i *
  // y_pixel], so that a part of the channels of something larger is written in its place.
  float* y = nullptr;
  int64_t y_pixel = 0;
  // What the sums begin with: null is 0, a step of 0 a bias by channel, y itself adds to it.
  const float* start = nullptr;
  int64_t start_pixel = 0;
  // The sums are cut to these; what is no number stays.
  float low = -std::numeric_limits<float>::infinity();
  float high = std::numeric_limits<float>::infinity();
  // Called for parts of the result as they are finished and still in the cache, each element once:
  // pixels [begin, end), counted as above, by channels [begin, end).
  using Finish = void (*)(const void* context, Range pixels, Range channels);
  Finish finish = nullptr;
  const void* context = nullptr;
};

// How a convolution is cut: rows of the result by pixels of a row by panels of channels. The result
// does not depend on it.
struct ConvBlocks {
  int64_t rows = 1, pixels = 1, panels = 1;  // of one block, at most
  int64_t row_blocks = 0, pixel_blocks = 0, panel_blocks = 0;
  // Blocks are counted through the picture, so that a thread that takes a part of them has what it
  // made of this part before in its cache; else through the channels.
  bool by_rows = false;
  int64_t scratch_size = 0;  // floats that each call of `run` needs for itself
  int64_t count() const { return row_blocks * pixel_blocks * panel_blocks; }

  struct Place {
    int64_t row, pixel, panel;  // blocks
  };
  Place place(int64_t block) const {
    const int64_t places = row_blocks * pixel_blocks,
                  place = by_rows ? block / panel_blocks : block % places,
                  panel = by_rows ? block % panel_blocks : block / places;
    return {place / pixel_blocks, place % pixel_blocks, panel};
  }
};
// Where weights are large beside the picture it is those that threads part among them. Else each
// reads all weights, and what it made of its rows stays in its cache from layer to layer.
inline bool parts_by_rows(const ConvSize& size) {
  constexpr int64_t kLeastPixels = 128, kFewPixels = 32, kFewWeights = 1 << 19;
  const int64_t pixels = size.windows.y.out * size.windows.x.out;
  return pixels >= kLeastPixels ||
         (pixels >= kFewPixels && size.inner() * size.outputs <= kFewWeights);
}

struct ConvFunctions {
  bool (*accepts)(const Conv& conv);             // by sizes and steps
  int64_t (*panels)(const ConvSize& size);       // parts of the channels
  int64_t (*packed_size)(const ConvSize& size);  // in floats; 64-byte alignment is best
  // Packs some panels of weights [outputs, inputs / groups, height, width]; different panels may be
  // packed at the same time.
  void (*pack)(const ConvSize& size, const float* weights, Range panels, float* packed);
  // Looks at sizes and steps alone.
  ConvBlocks (*blocks)(const Conv& conv, int threads);
  // Different blocks may be computed at the same time.
  void (*run)(const Conv& conv, const ConvBlocks& blocks, int64_t block, float* scratch);
};
ConvFunctions conv(Isa isa);       // any
ConvFunctions depthwise(Isa isa);  // a window of its own for each channel
// 3 x 3 at stride 1 with a quarter of the products and four times the weights.
ConvFunctions winograd(Isa isa);
// The same with 16 ninths of the weights, by four ninths of the products.
ConvFunctions winograd_small(Isa isa);

enum class ConvWay { direct, depthwise, winograd, winograd_small };
inline bool is_winograd(ConvWay way) {
  return way == ConvWay::winograd || way == ConvWay::winograd_small;
}
// Which one is expected to be the fastest on this processor, by sizes and steps alone.
ConvWay conv_choice(const Conv& conv, Isa isa);

}  // namespace rlx::vector
