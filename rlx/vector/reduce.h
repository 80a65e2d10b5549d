// Reductions along the rows or the columns of a matrix.
#pragma once

#include "rlx/vector/elements.h"
#include "rlx/vector/isa.h"
#include "rlx/vector/range.h"

namespace rlx::vector {

enum class Fold : uint8_t { sum, mean, highest, lowest, product, l1, l2, sum_square, mean_square };

// Of nothing: 0, NaN, -infinity, infinity, 1, 0, 0, 0, NaN.
struct Reduce {
  Fold fold = Fold::sum;
  Element element = Element::f32;
  const void* x = nullptr;
  void* y = nullptr;   // one element after another
  int64_t length = 0;  // how many become one
  int64_t x_row = 0;
};

struct Reductions {
  void (*rows)(const Reduce& reduce, Range rows);        // x is [.., length] with steps of x_row
  void (*columns)(const Reduce& reduce, Range columns);  // x is [length, ..] with steps of x_row
};
Reductions reductions(Isa isa);

}  // namespace rlx::vector
