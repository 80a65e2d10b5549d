// ONNX's loops, beside loop of ops_control.h.
#pragma once

#include "rlx/ir/value.h"

namespace rlx {

// ONNX's Loop: while the condition holds and at most `most` times; either may be absent. The body's
// inputs are the iteration, the condition (bool[]), the carried and the captured values; its
// outputs the next condition, the next carried values, and rows to stack.
Values while_loop(Value most, Value condition, const Values& carried, Graph body,
                  const Values& captured = {});
struct ScanOptions {
  Ints input_axes = {}, output_axes = {};              // absent: 0
  Ints input_directions = {}, output_directions = {};  // 1: backwards; absent: 0
  Values captured = {};
};
// ONNX's Scan: the body's inputs are the states, a slice of each scanned value, and the captured
// values; its outputs the next states, and slices of further results.
Values scan(const Values& states, const Values& scanned, const Graph& body,
            const ScanOptions& options = {});

}  // namespace rlx
