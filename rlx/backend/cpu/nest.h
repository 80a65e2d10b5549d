// The loops over the elements of a result, with how far each operand moves in each of them.
#pragma once

#include <array>

#include "rlx/image/call.h"

namespace rlx::detail {

struct Nest {
  static constexpr size_t kMostOperands = 3, kMostLoops = 16;
  struct Loop {
    int64_t extent = 1;
    std::array<int64_t, kMostOperands> steps = {};  // in elements
  };
  std::array<Loop, kMostLoops> loops;  // the innermost last; the result lies row after row
  size_t count = 0;

  // Operands broadcast to the result, and may be views. False where there are too many axes.
  bool make(const std::vector<image::Argument>& operands, const Shape& result);

  int64_t rows() const;  // how often the innermost loop runs
  const Loop& inner() const { return loops[count - 1]; }
  // Where the operands are at the beginning of an innermost loop.
  std::array<int64_t, kMostOperands> at(int64_t row) const;
};

}  // namespace rlx::detail
