// Which steps compute something that is needed: results of an op that nobody reads (the last states
// of an lstm, the indices of a pool) need no copies, and none of what only led to them.
#pragma once

#include "rlx/compile/flatten.h"

namespace rlx::detail {

// By step. Needed are outputs, states, errors, jumps, and what those are made of.
std::vector<bool> steps_without_readers(const FlatSteps& steps, const image::Image& image);

}  // namespace rlx::detail
