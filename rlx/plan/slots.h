// Ways to lay out values in slots, each a buffer: given when they are alive, where do they go?
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "rlx/tensor/interval.h"

namespace rlx::detail {

// A value that needs a place, and the steps from its first to its last.
struct Stay {
  int64_t bytes;
  size_t first, last;
};
using Stays = std::vector<Stay>;

struct Slots {
  std::vector<int> of;           // by stay
  std::vector<int64_t> offsets;  // by stay, in its slot
  std::vector<int64_t> bytes;    // by slot

  int64_t total() const {  // an Error where it does not fit 64 bits
    int64_t sum = 0;
    for (const int64_t each : bytes) sum = checked_add(sum, each);
    return sum;
  }
};

// In the order of the steps: each value takes a whole slot that is free then. `end` is the last.
Slots in_order(const Stays& stays, size_t end);

// The largest first: a slot never grows, and smaller values go where larger ones leave time.
Slots largest_first(const Stays& stays);

struct SideBySide {
  int64_t alignment = 1;
  int64_t most_bytes = INT64_MAX;               // of a slot
  std::vector<std::vector<size_t>> kept_apart;  // by stay: those that may not be in its slot
  int64_t least_bytes = 0;                      // no slots are smaller together
};
// Several values in one slot at a time, beside each other.
Slots side_by_side(const Stays& stays, const SideBySide& options);

// The same, with values in the middle of their slots as long as all slots together take
// `most_bytes` at most. The result may take more: whoever asks looks at its total. Threads compute
// one half of a value each: where values have one middle, each writes again what it wrote before,
// and no memory moves from cache to cache.
Slots around_middles(const Stays& stays, int64_t alignment, int64_t most_bytes);

}  // namespace rlx::detail
