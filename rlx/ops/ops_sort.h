// Elements in order.
#pragma once

#include "rlx/ir/value.h"
#include "rlx/ops/ops_core.h"

namespace rlx {

TopK top_k(Value x, int64_t k, int64_t axis = -1, bool largest = true);  // ties to the lower index
TopK top_k(Value x, Value k, int64_t axis = -1, bool largest = true);    // k known at run time
TopK sort(Value x, int64_t axis = -1, bool descending = false);  // stable; and where each was
Value argsort(Value x, int64_t axis = -1, bool descending = false);

}  // namespace rlx
