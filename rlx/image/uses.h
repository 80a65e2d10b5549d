// What steps read and write, and how long values live: for planning, checking and building.
#pragma once

#include <vector>

#include "rlx/image/image.h"

namespace rlx::image {

struct Use {
  std::vector<ValueId> reads, writes;
  // Of those read, the ones that are written through the same binding.
  std::vector<ValueId> updates;
};
Use use_of(const Step& step, ValueId flag);

// The first and last step that touches a value; -1: none. What a loop's body touches but did not
// make lives until the loop ends, and outputs live to the end.
struct Life {
  int32_t first = -1, last = -1;
};
std::vector<Life> lives_of(const Image& image, const Steps& steps);

// The symbols' cells that a cell depends on, itself included.
std::vector<Number> sources_of(const Numbers& numbers, const std::vector<Number>& cells);

}  // namespace rlx::image
