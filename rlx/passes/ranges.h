// What numbers the elements of each value can be, as far as types, constants and extents tell.
#pragma once

#include <vector>

#include "rlx/lower/site.h"

namespace rlx {

// Both ends belong to it; a float may also be NaN. Doubles, since what matters is far below 2^53.
struct Range {
  double low = 0, high = 0;
};

class Ranges {
 public:
  // On a device, whose limits bound the extents that no symbol bounds. Of a body, the inputs are
  // what the device holds.
  Ranges(const Graph& graph, const DeviceTraits& traits, bool is_body);

  Range of(const Value& value) const { return ranges_[size_t(value.node)][size_t(value.result)]; }
  // Is every element one that 32 bits hold?
  bool fits_word(const Value& value) const;

 private:
  std::vector<std::vector<Range>> ranges_;
};

}  // namespace rlx
