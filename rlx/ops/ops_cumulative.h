// Sums and products of an element and its neighbours along an axis.
#pragma once

#include "rlx/ir/value.h"

namespace rlx {

// The sum or product of each element and those before it; exclusive: of those before it;
// reverse: of those behind it.
Value cumsum(Value x, int64_t axis, bool exclusive = false, bool reverse = false);
Value cumprod(Value x, int64_t axis, bool exclusive = false, bool reverse = false);
// Of each element, `before` ones before it and `after` ones behind it, where there are so many.
Value window_sum(Value x, int64_t axis, int64_t before, int64_t after);

}  // namespace rlx
