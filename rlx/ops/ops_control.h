// Control flow: graphs as the bodies of branches and loops.
#pragma once

#include "rlx/ir/value.h"

namespace rlx {

// The outputs of `then` or `otherwise`, bodies with the same inputs; their outputs may differ in
// extents. What a body needs from outside is among its inputs.
Values if_else(Value condition, const Values& inputs, Graph then, Graph otherwise);
struct LoopOptions {
  Values scanned = {};   // of which an iteration reads its row
  Values captured = {};  // which every iteration reads whole
  bool reverse = false;  // from the last iteration, and row, to the first
};
// Runs `body` count times. Its inputs are the iteration (i64[]), the carried values, a row of each
// scanned value, and the captured values; its outputs the carried values of the next iteration, and
// rows of further results, which are stacked.
Values loop(Value count, const Values& carried, Graph body, const LoopOptions& options = {});

}  // namespace rlx
