// Steps of a lowered graph as a list with jumps, in cells instead of expressions. Dispatches are
// not rendered yet: which memory their operands share is decided on the list.
#pragma once

#include <vector>

#include "rlx/compile/numbers_builder.h"
#include "rlx/lower/lowered.h"

namespace rlx::detail {

struct FlatStep {
  image::Step step;
  const Dispatch* dispatch = nullptr;  // that is to be rendered
  std::vector<InPlace> in_place = {};  // what the step allows
  int body = 0;                        // the branch or loop it is in; 0: none, it always runs
  bool constant = false;               // its sizes are numbers, or told by the step itself
  bool may_fail = false;               // by the elements of its operands
  bool shares = false;                 // in_place is what was decided: one binding serves both
};
using FlatSteps = std::vector<FlatStep>;

FlatSteps flat_steps(const Steps& steps, const Lowered& lowered, NumbersBuilder& numbers);

// Without the steps that are marked; jumps go to what follows.
void remove_steps(FlatSteps& steps, const std::vector<bool>& removed);

}  // namespace rlx::detail
