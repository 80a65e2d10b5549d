// Where values lie: those that are never alive together share a slot.
#pragma once

#include <string>
#include <vector>

#include "rlx/lower/device_traits.h"
#include "rlx/plan/instructions.h"

namespace rlx {

struct MemoryPlan {
  std::vector<ValueId> root;        // by value: the value it is placed with; itself as a rule
  std::vector<int> slot_of;         // by value; -1: not an activation, or not sized yet
  std::vector<int64_t> bytes_of;    // by value, at its bound; -1: only a step will tell
  std::vector<int64_t> slot_bytes;  // by slot
  int64_t peak_bytes = 0;           // of the slots together
};

// Symbols in `ranges` are planned for their upper bound: a bound symbol has a range of one value.
MemoryPlan plan_memory(const Lowered& lowered, const DeviceTraits& traits,
                       const SymbolRanges& ranges);

// What is wrong with a plan: a live value overwritten, a buffer read and written in one step, a
// value larger than its slot or than a buffer may be. Empty when nothing is.
std::vector<std::string> check_plan(const Lowered& lowered, const MemoryPlan& plan,
                                    const DeviceTraits& traits);

}  // namespace rlx
