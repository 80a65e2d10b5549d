// Rows that repeat an element as often as the data says. torch.repeat_interleave(x, counts) is
// exported as a Loop that appends Reshape(Expand(element, count)) to a sequence: rows of another
// extent in each iteration. The elements and the counts can be stacked where such rows cannot.
#pragma once

#include <optional>

#include "rlx/ir/graph.h"

namespace rlx::onnx {

struct RepeatedRow {
  Value element;     // the row where the count is 1
  Value count;       // a scalar of integers
  int64_t axis = 0;  // of the row: it has an extent of 1 in `element`
};
// What a row repeats, if it is reshape(expand(element)) and an operand tells how often.
std::optional<RepeatedRow> repeated_row(Value row);

// What is at place i of an axis, counts[i] times, one behind the other. A negative count is an
// Error of the run.
Value repeated(Value x, Value counts, int64_t axis);

}  // namespace rlx::onnx
