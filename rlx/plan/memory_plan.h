// Where values lie: those that are never alive together share memory.
#pragma once

#include <string>
#include <vector>

#include "rlx/image/image.h"

namespace rlx::detail {

struct MemoryPlan {
  std::vector<int> slot_of;         // by value; -1: not an activation, or not sized yet
  std::vector<int64_t> offset_of;   // by value, in its slot
  std::vector<int64_t> bytes_of;    // by value, at its bound; -1: only a step will tell
  std::vector<int64_t> slot_bytes;  // by slot
  int64_t peak_bytes = 0;           // of the slots together
  int64_t live_bytes = 0;           // the most that is alive at one step: no plan can do with less
};

// Bounded symbols are planned for their bounds, others for what the cells hold.
MemoryPlan plan_memory(const image::Image& image, const image::Cells& cells);

// What is wrong with a plan: a live value overwritten, a buffer read and written in one step, a
// value larger than its slot or than a buffer may be. Empty when nothing is.
std::vector<std::string> check_plan(const image::Image& image, const MemoryPlan& plan);

}  // namespace rlx::detail
