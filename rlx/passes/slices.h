// What slices take of their operands, and pads put around them.
#pragma once

#include <optional>

#include "rlx/ir/graph.h"

namespace rlx {

// Elements first .. first + count - 1 of an axis, and all of the others.
struct Stretch {
  size_t axis = 0;
  int64_t first = 0, count = 0;
};

// Where it begins along each of its axes; none where only a run knows.
std::optional<Dims> starts_of(const Node& slice);

// How many elements a pad puts before each of its axes, and then behind each; none where only a run
// knows.
std::optional<Dims> pads_of(const Node& pad);

// None of what is no slice, has other steps than 1, takes part of several axes, all of each, or
// what only a run knows.
std::optional<Stretch> stretch_of(const Node& slice);

// The first element, 0 or 1, of a slice of every second one of the last axis, whose extent is even.
std::optional<int64_t> every_second(const Node& slice);

}  // namespace rlx
