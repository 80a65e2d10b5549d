// Steps laid out as a list with jumps, so that an engine can stop at any of them and go on later.
#pragma once

#include <string>
#include <vector>

#include "rlx/lower/step.h"

namespace rlx {

struct Instruction {
  enum class Kind { step, jump, jump_if_zero, set_zero, increment } kind = Kind::step;
  const Step* step = nullptr;
  Dim condition = 0;    // of jump_if_zero
  size_t target = 0;    // of jumps
  std::string counter;  // of set_zero and increment
};

// The steps must outlive the list.
std::vector<Instruction> flatten(const Steps& steps);

// What a step reads and writes; a read_write operand is in both.
struct StepUse {
  std::vector<ValueId> reads, writes;
  // Reads of a value that is written in the same step through the same binding.
  std::vector<ValueId> updates;
};
StepUse use_of(const Step& step, ValueId flag);

}  // namespace rlx
