// Elements read and written where indices say, beside gather and scatter of ops_core.h.
#pragma once

#include <string>

#include "rlx/ir/value.h"

namespace rlx {

// For each index the element at its own coordinates, but at the index along `axis`.
Value gather_elements(Value x, Value indices, int64_t axis = 0);
Value scatter_elements(Value x, Value indices, Value updates, int64_t axis = 0,
                       const std::string& reduction = "none", bool deterministic = false);
// The blocks that tuples of indices, the last dim of `indices`, name, batch by batch.
Value gather_nd(Value x, Value indices, int64_t batch_dims = 0);
Value scatter_nd(Value x, Value indices, Value updates, const std::string& reduction = "none",
                 int64_t batch_dims = 0, bool deterministic = false);

}  // namespace rlx
