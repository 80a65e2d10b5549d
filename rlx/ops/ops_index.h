// Other ops with index operands.
#pragma once

#include "rlx/ir/value.h"

namespace rlx {

// A new axis of length `depth`: on where an index names it, off elsewhere. Values are {off, on}.
Value one_hot(Value indices, int64_t depth, DType dtype = DType::f32, int64_t axis = -1);
Value one_hot(Value indices, Value depth, Value values, int64_t axis = -1);
// Of each sequence of a batch the first lengths[b] positions reversed.
Value reverse_sequence(Value x, Value lengths, int64_t time_axis = 0, int64_t batch_axis = 1);

}  // namespace rlx
