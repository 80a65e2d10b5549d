// Pooling of pictures whose channels lie side by side.
#pragma once

#include "rlx/vector/conv.h"

namespace rlx::vector {

// Of a Conv in which every channel is a group of its own, x_channel is 1, and which has neither
// weights nor a start. A window that is the whole picture is an average of it all.
struct PoolFunctions {
  ConvBlocks (*blocks)(const Conv& conv, int threads);
  // The largest under each window; padding never counts, what is no number does.
  void (*highest)(const Conv& conv, const ConvBlocks& blocks, int64_t block);
  // Sums, padding counting as 0, divided by rows[row] * pixels[pixel] of the place in the result:
  // how many taps of a window count there along each axis.
  void (*average)(const Conv& conv, const float* rows, const float* pixels,
                  const ConvBlocks& blocks, int64_t block);
};
PoolFunctions pool(Isa isa);

}  // namespace rlx::vector
