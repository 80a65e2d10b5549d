// Where elements are, by what they are. See also non_zero in ops_core.h, sort and top_k in
// ops_sort.h.
#pragma once

#include <optional>

#include "rlx/ir/value.h"

namespace rlx {

// Where the extreme of each row is, as i64: the first of equals, or the last. NaN is found first.
Value argmax(Value x, int64_t axis = 0, bool keep = false, bool select_last = false);
Value argmin(Value x, int64_t axis = 0, bool keep = false, bool select_last = false);
// The different elements of x, or the different slices along an axis: in order, or as they come.
struct Unique {
  Value values, indices, inverse, counts;  // indices: of the first of each; inverse: x's in values
};
Unique unique(Value x, std::optional<int64_t> axis = {}, bool sorted = true);

}  // namespace rlx
