// What running an image on a device needs, found once: which values must lie on it, who writes
// states, how many params there are.
#pragma once

#include <vector>

#include "rlx/backend/once_parts.h"
#include "rlx/image/image.h"

namespace rlx::detail::webgpu {

constexpr size_t kMostCommands = 1024;  // recorded before they are submitted

struct ImageNeeds {
  // By value: does a step of `run` use it on the device, or an output that is there?
  std::vector<bool> on_device;
  // Weights and constants that lie on the device for `run`, and for `once`.
  std::vector<image::ValueId> run_weights, once_weights;
  std::vector<image::ValueId> once_sources;  // all that `once` reads, wherever it does
  // Places that `once` writes on the device; of those, the ones nothing reads afterwards.
  std::vector<image::ValueId> once_places, once_temporaries;
  std::vector<OncePart> once_parts;
  std::vector<std::vector<size_t>> states_written;  // by step of `run`
  uint64_t params_bytes = 0;                        // of the block that holds them
};

ImageNeeds needs_of(const image::Image& image, const image::Implementations& implementations,
                    const DeviceTraits& traits);

inline uint64_t aligned(uint64_t bytes, int64_t alignment) {
  const auto to = static_cast<uint64_t>(alignment);
  return (bytes + to - 1) / to * to;
}

}  // namespace rlx::detail::webgpu
