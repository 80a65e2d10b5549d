// Loops that append. A carried value that only grows at its end, and that the body does not read
// otherwise, is what it started as and a stack of what each iteration appends: so its length need
// not be known.
#pragma once

#include "rlx/import/onnx/site.h"

namespace rlx::onnx {

struct Append {
  size_t carried = 0;        // which of the carried values
  bool is_sequence = false;  // by SequenceInsert; else by Concat
  int64_t axis = 0;          // of Concat
};
// What a loop appended, stacked.
struct AppendedRows {
  Value rows;
  Value repeats = {};  // as in Item
  int64_t repeats_along = 0;
};

struct AppendingBody {
  Graph body;                   // of a Loop, without the values that grow
  std::vector<Append> appends;  // what each appends is a further output to stack, in this order
};
AppendingBody without_appends(const Graph& body);

// The elements of a sequence as rows of a tensor; they must have one type.
Value stacked(const NodeSite& site, const Item& sequence);
// Rows joined along an axis of theirs, or along a new one.
Value joined_rows(Value rows, int64_t axis, bool new_axis);
// What a value is that started as `initial` when so many rows were appended.
Item appended(const NodeSite& site, const Item& initial, const AppendedRows& rows,
              const Append& append);

}  // namespace rlx::onnx
